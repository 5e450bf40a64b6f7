"""Five methods on the same subjects, each with as many edges as NOTEARS-PFL (section 5.2).

=========  =====================================================  ==========================
method     learned by                                             its m edges
=========  =====================================================  ==========================
pfl        the study's own estimator, jointly over the sites      m is their number, per site
sig        the same solver without the penalty between sites      the largest absolute weight
ges        the largest penalty that leaves m edges or more        the largest gain of BIC
pc         the smallest α that leaves m edges or more             the largest minimal statistic
granger    one regression on the past                             the smallest p
=========  =====================================================  ==========================

With λ2 = 0 the estimator fits every site separately, which is the problem of NOTEARS-SIG; this
solver took 0.25 s for a real network, L-BFGS 21 to 26 s (``benchmarks/comparison_cost.py``). λ1 is
lowered if too few edges are left. A class of DAGs (ges, pc) is represented by one consistent DAG.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from notears_pfl.baselines.equivalence import ClassFit
from notears_pfl.baselines.ges import ges_with_edges
from notears_pfl.baselines.granger import Kind, granger
from notears_pfl.baselines.pc import pc_with_edges
from notears_pfl.errors import DoubtfulFitWarning, NotConvergedWarning
from notears_pfl.model.estimator import NotearsPFL
from notears_pfl.model.problem import Array, Mask

# Runs of each subject of a site: series of shape (n_volumes, d), centred and scaled.
SiteRuns = Sequence[Sequence[Array]]
# Series of all runs of a site; for methods that do not ask whose they are.
SiteSeries = Sequence[Array]
# If NOTEARS-SIG finds too few edges, λ1 is lowered to these shares of its automatic value.
LAMBDA1_SHARES = (0.5, 0.25, 0.1, 0.0)
Baseline = Literal["sig", "ges", "pc", "granger"]


@dataclass(frozen=True)
class ComparisonOptions:
    """Settings of the methods.

    Attributes
    ----------
    estimator : mapping
        The study's settings of NOTEARS-PFL. Settings that are ``auto`` are chosen anew for each set
        of subjects, without their labels.
    max_condition : int
        Size of PC's largest conditioning set.
    lag : int
        Number of past values in Granger's regression.
    kind : {"conditional", "pairwise"}
        Whether Granger's regression uses the past of all variables or of the pair only.
    """

    estimator: Mapping[str, Any]
    max_condition: int
    lag: int
    kind: Kind


@dataclass(frozen=True)
class Network:
    """A directed network.

    Attributes
    ----------
    edges : ndarray of bool, shape (d, d)
        Entry (i, j) is the edge i → j.
    open : ndarray of bool, shape (d, d)
        Edges whose direction the method leaves open; the consistent extension chose it.
    sound : bool
        Whether the solver converged (pfl, sig), the extension belongs to the class (ges, pc), or
        the regressors are linearly independent (granger).
    """

    edges: Mask
    open: Mask
    sound: bool


@dataclass(frozen=True)
class MethodResult:
    """Networks of all sites by one method, and their total CPU seconds."""

    networks: list[Network]
    cpu_seconds: float


def learn_all(
    sites: Sequence[SiteRuns], baselines: Sequence[Baseline], options: ComparisonOptions
) -> dict[str, MethodResult]:
    """Fit NOTEARS-PFL, then every baseline with as many edges, to the same series."""
    series = [[run for runs in subjects for run in runs] for subjects in sites]
    with warnings.catch_warnings():
        # The result records whether a fit converged, so no warning is needed.
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", DoubtfulFitWarning)
        learned = {"pfl": _timed(_pfl, sites, options)}
        n_edges = [int(network.edges.sum()) for network in learned["pfl"].networks]
        for name in baselines:
            learned[name] = _timed(_at_every_site, BASELINES[name], series, n_edges, options)
    return learned


def strongest(strength: Array, n_edges: int) -> Mask:
    """Mark the ``n_edges`` largest positive entries; ties go by the order of the variables."""
    order = np.argsort(-strength, axis=None, kind="stable")[:n_edges]
    chosen = np.zeros(strength.size, dtype=bool)
    chosen[order] = True
    return chosen.reshape(strength.shape) & (strength > 0)


def _timed(fit: Callable[..., list[Network]], *arguments: Any) -> MethodResult:
    start = time.process_time()
    networks = fit(*arguments)
    return MethodResult(networks, time.process_time() - start)


def _pfl(sites: Sequence[SiteRuns], options: ComparisonOptions) -> list[Network]:
    x, subjects, runs = [], [], []
    for site in sites:
        series = [run for own in site for run in own]
        lengths = [len(run) for run in series]
        x.append(np.concatenate(series))
        owners = np.repeat(np.arange(len(site)), [len(own) for own in site])
        subjects.append(np.repeat(owners, lengths))
        runs.append(np.repeat(np.arange(len(series)), lengths))
    estimator = NotearsPFL(**options.estimator, progress=False)
    fit = estimator.fit(x, subjects=subjects, runs=runs)
    return [Network(edges, np.zeros_like(edges), fit.converged_) for edges in fit.adjacency_]


def _at_every_site(
    baseline: Callable[[SiteSeries, int, ComparisonOptions], Network],
    sites: Sequence[SiteSeries],
    n_edges: Sequence[int],
    options: ComparisonOptions,
) -> list[Network]:
    return [baseline(series, m, options) for series, m in zip(sites, n_edges, strict=True)]


def _sig(series: SiteSeries, n_edges: int, options: ComparisonOptions) -> Network:
    x = np.concatenate(series)
    fit = NotearsPFL(lambda2=0, progress=False).fit([x])
    lambda1 = fit.parameters_.lambda1
    for share in LAMBDA1_SHARES:
        if np.count_nonzero(fit.penalised_weights_) >= n_edges:
            break
        fit = fit.set_params(lambda1=share * lambda1).fit([x])
    # NOTEARS has no evidence to decide by: its edges are those of its penalised weights.
    edges = strongest(np.abs(fit.penalised_weights_[0]), n_edges)
    return Network(edges, np.zeros_like(edges), fit.converged_)


def _ges(series: SiteSeries, n_edges: int, options: ComparisonOptions) -> Network:
    return _trimmed(ges_with_edges(np.concatenate(series), n_edges), n_edges)


def _pc(series: SiteSeries, n_edges: int, options: ComparisonOptions) -> Network:
    x, largest = np.concatenate(series), options.max_condition
    return _trimmed(pc_with_edges(x, n_edges, max_condition=largest), n_edges)


def _trimmed(fit: ClassFit, n_edges: int) -> Network:
    edges = strongest(fit.evidence, n_edges)
    return Network(edges, edges & fit.cpdag.T, fit.consistent)


def _granger(series: SiteSeries, n_edges: int, options: ComparisonOptions) -> Network:
    fit = granger(series, lag=options.lag, kind=options.kind)
    edges = strongest(fit.statistic, n_edges)
    return Network(edges, np.zeros_like(edges), fit.sound)


BASELINES: Mapping[Baseline, Callable[[SiteSeries, int, ComparisonOptions], Network]] = {
    "sig": _sig,
    "ges": _ges,
    "pc": _pc,
    "granger": _granger,
}


@dataclass(frozen=True)
class DrawTables:
    """Results of all methods on one draw.

    Attributes
    ----------
    edges : DataFrame
        ``set``, ``method``, ``site``, ``from``, ``to`` and ``open`` (whether its direction is).
    networks : DataFrame
        ``set``, ``method``, ``site``, ``m`` (edges of NOTEARS-PFL), ``n_edges``, ``n_open`` and
        ``sound``.
    cost : DataFrame
        ``set``, ``method``, ``n_networks`` and their total ``cpu_seconds``.
    """

    edges: pd.DataFrame
    networks: pd.DataFrame
    cost: pd.DataFrame


def compare_draw(
    sets: Mapping[str, Mapping[str, SiteRuns]],
    rois: Sequence[str],
    baselines: Sequence[Baseline],
    options: ComparisonOptions,
) -> DrawTables:
    """Fit every method to every set of subjects.

    Parameters
    ----------
    sets : mapping of str to mapping of str to sequence of sequence of ndarray
        Runs of the subjects of each set, by site: series of shape (n_volumes, d).
    rois : sequence of str
        Labels of the columns.
    baselines : sequence of str
        Methods other than NOTEARS-PFL.
    options : ComparisonOptions
        Their settings.
    """
    edges, networks, cost = [], [], []
    for name, sites in sets.items():
        learned = learn_all(list(sites.values()), baselines, options)
        n_edges = [int(network.edges.sum()) for network in learned["pfl"].networks]
        for method, result in learned.items():
            key = {"set": name, "method": method}
            cost.append(key | {"n_networks": len(sites), "cpu_seconds": result.cpu_seconds})
            for site, m, network in zip(sites, n_edges, result.networks, strict=True):
                edges.append(_edge_rows(network, rois).assign(**key, site=site))
                networks.append(key | {"site": site, "m": m} | _counts(network))
    columns = ["set", "method", "site", "from", "to", "open"]
    return DrawTables(
        pd.concat(edges, ignore_index=True)[columns], pd.DataFrame(networks), pd.DataFrame(cost)
    )


def _edge_rows(network: Network, rois: Sequence[str]) -> pd.DataFrame:
    sources, targets = np.nonzero(network.edges)
    labels = np.array(rois, dtype=object)
    return pd.DataFrame(
        {"from": labels[sources], "to": labels[targets], "open": network.open[sources, targets]}
    )


def _counts(network: Network) -> dict[str, object]:
    return {
        "n_edges": int(network.edges.sum()),
        "n_open": int(network.open.sum()),
        "sound": network.sound,
    }
