"""Five methods on the same subjects, each with as many edges as NOTEARS-PFL.

=========  =====================================================  ==========================
method     learned by                                             its m edges
=========  =====================================================  ==========================
pfl        the study's own estimator, over the sites jointly      m is their number, per site
sig        the same solver without what ties the sites            the largest absolute weight
ges        the largest penalty that leaves m edges or more        the largest gain of BIC
pc         the smallest α that leaves m edges or more             the largest weakest test
granger    one regression on the past                             the smallest p
=========  =====================================================  ==========================

With λ2 = 0 the estimator fits every site alone: NOTEARS-SIG's problem, by a solver that took
0.25 s for a real network where L-BFGS took 21 to 26 s (``benchmarks/comparison_cost.py``); its
weight of ℓ1 falls where too few edges are left. A class of DAGs (ges, pc) is represented by a
consistent extension.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from notears_pfl.baselines.equivalence import ClassFit
from notears_pfl.baselines.ges import ges_with_edges
from notears_pfl.baselines.granger import Kind, granger
from notears_pfl.baselines.pc import pc_with_edges
from notears_pfl.errors import NotConvergedWarning
from notears_pfl.model.estimator import NotearsPFL

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Series of each subject of a site, (n_volumes, d), centred and scaled.
SiteSeries = Sequence[Array]
# Where NOTEARS-SIG finds too few edges, its l1 weight falls to these shares of the automatic one.
LAMBDA1_SHARES = (0.5, 0.25, 0.1, 0.0)
Baseline = Literal["sig", "ges", "pc", "granger"]


@dataclass(frozen=True)
class MethodOptions:
    """Settings of the methods.

    Attributes
    ----------
    estimator : mapping
        Settings of NOTEARS-PFL: those of the study. What is ``auto`` is chosen anew from each
        set of subjects, never by their labels.
    max_condition : int
        PC's largest conditioning set.
    lag : int
        Past values in Granger's regression.
    kind : {"conditional", "pairwise"}
        Whose past.
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
        Edges whose direction the method leaves open: the extension chose it.
    sound : bool
        Whether the solver converged, the extension is a member of its class, the regressors
        are independent.
    """

    edges: Mask
    open: Mask
    sound: bool


@dataclass(frozen=True)
class Learned:
    """Networks of all sites by one method, and the CPU seconds that they took together."""

    networks: list[Network]
    cpu_seconds: float


def learn_all(
    sites: Sequence[SiteSeries], baselines: Sequence[Baseline], options: MethodOptions
) -> dict[str, Learned]:
    """Let NOTEARS-PFL, then every baseline at its number of edges, learn from the same series."""
    x = [np.concatenate(subjects) for subjects in sites]
    with warnings.catch_warnings():
        # Whether a fit converged is part of its result here.
        warnings.simplefilter("ignore", NotConvergedWarning)
        learned = {"pfl": _timed(_pfl, x, options)}
        n_edges = [int(network.edges.sum()) for network in learned["pfl"].networks]
        for name in baselines:
            learned[name] = _timed(_BASELINES[name], sites, x, n_edges, options)
    return learned


def strongest(strength: Array, n_edges: int) -> Mask:
    """Mark the ``n_edges`` largest positive entries; equal ones in the order of the variables."""
    order = np.argsort(-strength, axis=None, kind="stable")[:n_edges]
    chosen = np.zeros(strength.size, dtype=bool)
    chosen[order] = True
    return chosen.reshape(strength.shape) & (strength > 0)


def _timed(fit: Callable[..., list[Network]], *arguments: Any) -> Learned:
    start = time.process_time()
    networks = fit(*arguments)
    return Learned(networks, time.process_time() - start)


def _pfl(x: Sequence[Array], options: MethodOptions) -> list[Network]:
    fit = NotearsPFL(**options.estimator, progress=False).fit(x)
    return [Network(edges, np.zeros_like(edges), fit.converged_) for edges in fit.adjacency_]


def _sig(
    sites: Sequence[SiteSeries], x: Sequence[Array], n_edges: Sequence[int], options: MethodOptions
) -> list[Network]:
    return [_alone(samples, m) for samples, m in zip(x, n_edges, strict=True)]


def _alone(x: Array, n_edges: int) -> Network:
    fit = NotearsPFL(lambda2=0, threshold=0, progress=False).fit([x])
    lambda1 = fit.parameters_.lambda1
    for share in LAMBDA1_SHARES:
        if np.count_nonzero(fit.weights_) >= n_edges:
            break
        fit = fit.set_params(lambda1=share * lambda1).fit([x])
    edges = strongest(np.abs(fit.weights_[0]), n_edges)
    return Network(edges, np.zeros_like(edges), fit.converged_)


def _ges(
    sites: Sequence[SiteSeries], x: Sequence[Array], n_edges: Sequence[int], options: MethodOptions
) -> list[Network]:
    pairs = zip(x, n_edges, strict=True)
    return [_trimmed(ges_with_edges(samples, m), m) for samples, m in pairs]


def _pc(
    sites: Sequence[SiteSeries], x: Sequence[Array], n_edges: Sequence[int], options: MethodOptions
) -> list[Network]:
    limit = options.max_condition
    pairs = zip(x, n_edges, strict=True)
    return [_trimmed(pc_with_edges(samples, m, max_condition=limit), m) for samples, m in pairs]


def _trimmed(fit: ClassFit, n_edges: int) -> Network:
    edges = strongest(fit.evidence, n_edges)
    return Network(edges, edges & fit.cpdag.T, fit.consistent)


def _granger(
    sites: Sequence[SiteSeries], x: Sequence[Array], n_edges: Sequence[int], options: MethodOptions
) -> list[Network]:
    networks = []
    for subjects, m in zip(sites, n_edges, strict=True):
        fit = granger(subjects, lag=options.lag, kind=options.kind)
        edges = strongest(fit.statistic, m)
        networks.append(Network(edges, np.zeros_like(edges), fit.sound))
    return networks


_BASELINES: Mapping[str, Callable[..., list[Network]]] = {
    "sig": _sig,
    "ges": _ges,
    "pc": _pc,
    "granger": _granger,
}
