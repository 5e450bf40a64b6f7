"""Tables of findings with their chance level: connections, degrees and counts.

Figures of the fits come from all discovery subjects. Differences between groups and their p-values
come from labels permuted within sites; where the groups differ in size, networks are compared at
equal numbers. Frequencies come from a bootstrap of subjects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from notears_pfl.evidence.bootstrap import Bootstraps
from notears_pfl.evidence.comparison import COMPARED, COUNTS, DIRECTIONS, compare
from notears_pfl.evidence.significance import (
    PermutationResult,
    WeightTest,
    compared,
    interval,
)

KINDS = ("directed", "undirected")
CONNECTIONS = [
    "group", "from", "to", "sites", "weight", "selection", "direction", "at_every_site", "tested",
    "difference", "p", "q", "p_largest", "sites_difference", "p_sites", "replicated",
]  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """The networks of a study and what resampling says about them.

    Parameters
    ----------
    weights : ndarray of shape (2, K, d, d)
        Networks of patients and of controls, zero where there is no edge.
    groups, sites, rois : sequence of str
        Names along the axes of ``weights``.
    permuted : PermutationResult
        Differences between groups, and what permuted labels give.
    resampled : Bootstraps
        What returns in resampled subjects.
    """

    weights: np.ndarray
    groups: tuple[str, str]
    sites: Sequence[str]
    rois: Sequence[str]
    permuted: PermutationResult
    resampled: Bootstraps

    def named(self, who: str) -> str:
        """Put the study's names for patients and controls."""
        patients, controls = self.groups
        return who.replace("patients", patients).replace("controls", controls)


def stacked_networks(
    networks: Mapping[tuple[str, str], pd.DataFrame], groups: Sequence[str], sites: Sequence[str],
    edge_threshold: float,
) -> np.ndarray:  # fmt: skip
    """Weights of all networks, (2, K, d, d); those that do not exceed the threshold are zero."""
    weights = np.array([[networks[g, s].to_numpy(dtype=float) for s in sites] for g in groups])
    return np.where(np.abs(weights) > edge_threshold, weights, 0.0)


def connection_table(study: Compared, replicated: pd.DataFrame) -> pd.DataFrame:
    """List the connections of each group's networks, with everything known about them.

    Parameters
    ----------
    study : Compared
        Networks and resampling.
    replicated : DataFrame
        As from :func:`~notears_pfl.analysis.replication.replicated_edges`.

    Returns
    -------
    DataFrame
        ``group``, ``from``, ``to``, ``sites`` (number of sites), ``weight`` (mean there);
        ``selection`` and ``direction`` (shares of bootstraps with the connection, and with
        this direction among those that connect both ROIs; means over its sites),
        ``at_every_site`` (share of bootstraps); ``tested`` (as listed, reversed, no),
        ``difference`` (patients' minus controls' weight), ``p``, ``q``, ``p_largest``;
        ``sites_difference``, ``p_sites`` (number of sites at equal numbers of subjects);
        ``replicated`` (number of its sites at which validation subjects have it).
    """
    # An empty table that was read has no truth values.
    found = replicated["found"].astype(bool)
    again = replicated[found].groupby(["group", "from", "to"]).size()
    drawn, test, rows = study.resampled, study.permuted, []
    for g, group in enumerate(study.groups):
        edges = study.weights[g] != 0
        for i, j in np.argwhere(edges.any(axis=0)):
            here = edges[:, i, j]
            pair = (i, j) if test.tested[i, j] or not test.tested[j, i] else (j, i)
            tested = (
                "no" if not test.tested[pair] else "as listed" if pair == (i, j) else "reversed"
            )
            source, target = study.rois[i], study.rois[j]
            rows.append(
                {
                    "group": group,
                    "from": source,
                    "to": target,
                    "sites": int(here.sum()),
                    "weight": study.weights[g, here, i, j].mean(),
                    "selection": drawn.selection[g, here, i, j].mean(),
                    "direction": _mean(drawn.direction[g, here, i, j]),
                    "at_every_site": drawn.at_every_site[g, i, j],
                    "tested": tested,
                    "difference": test.difference[pair],
                    "p": test.p[pair],
                    "q": test.q[pair],
                    "p_largest": test.p_largest[pair],
                    "sites_difference": test.sites[pair],
                    "p_sites": test.sites_p[pair],
                    "replicated": int(again.get((group, source, target), 0)),
                }
            )
    return pd.DataFrame(rows, columns=CONNECTIONS)


def _mean(values: np.ndarray) -> float:
    """Mean of the values that exist."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def tested_table(study: Compared, weights: WeightTest) -> pd.DataFrame:
    """List all tested connections, with the interval of the difference under permuted labels."""
    test, names = study.permuted, np.array(study.rois, dtype=object)
    i, j = np.nonzero(test.tested)
    return pd.DataFrame(
        {
            "from": names[i],
            "to": names[j],
            "difference": test.difference[i, j],
            "statistic": weights.statistic,
            "low": weights.low,
            "high": weights.high,
            "p": test.p[i, j],
            "q": test.q[i, j],
            "p_largest": test.p_largest[i, j],
            "sites_difference": test.sites[i, j],
            "p_sites": test.sites_p[i, j],
        }
    ).sort_values(["p", "from", "to"], ignore_index=True)


def degree_table(study: Compared) -> pd.DataFrame:
    """Degree of every ROI over all sites: ``roi``, ``direction`` (out, in, total).

    For each group G ``degree_G`` of its networks, and ``low_G`` and ``high_G``, the interval over
    bootstraps; ``difference`` at equal numbers of subjects, ``null_low`` and ``null_high`` under
    permuted labels, ``p``, ``q`` (over the ROIs of one direction) and ``p_largest``.
    """
    own = compare(study.weights != 0).degree
    low, high = study.resampled.degree_interval()
    test = study.permuted
    _, null_low, null_high = interval(test.draws.degree)
    tables = []
    for a, direction in enumerate(DIRECTIONS):
        columns = {"roi": list(study.rois), "direction": direction}
        for g, group in enumerate(study.groups):
            columns[f"degree_{group}"] = own[g, a].astype(int)
            columns[f"low_{group}"], columns[f"high_{group}"] = low[g, a], high[g, a]
        columns |= {
            "difference": test.degree[a],
            "null_low": null_low[a],
            "null_high": null_high[a],
            "p": test.degree_p[a],
            "q": test.degree_q[a],
            "p_largest": test.degree_p_largest[a],
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def count_table(study: Compared, share_of_one: float) -> pd.DataFrame:
    """Numbers of connections, and what permuted labels give.

    Columns ``kind`` (directed, undirected), ``result``, ``who``, ``fits`` (in the networks of all
    discovery subjects), ``observed`` (at equal numbers of subjects), ``expected``, ``low``,
    ``high`` (permuted labels), ``p``, and ``smallest_p``, the smallest p-value that draws and the
    share of one labelling in all possible ones allow. Rows with "minus" compare the groups.
    """
    test, fits = study.permuted, compare(study.weights != 0).counts
    rows = []
    for k, kind in enumerate(KINDS):
        for c, (result, who) in enumerate(COUNTS):
            rows.append(
                {
                    "kind": kind,
                    "result": result,
                    "who": study.named(who),
                    "fits": fits[k, c],
                    "observed": test.counts[k, c],
                    "expected": test.counts_expected[k, c],
                    "low": test.counts_low[k, c],
                    "high": test.counts_high[k, c],
                    "p": test.counts_p[k, c],
                }
            )
        expected, low, high = interval(compared(test.draws.counts[:, k]))
        for c, (first, second) in enumerate(COMPARED):
            rows.append(
                {
                    "kind": kind,
                    "result": COUNTS[first][0],
                    "who": study.named(f"{COUNTS[first][1]} minus {COUNTS[second][1]}"),
                    "fits": fits[k, first] - fits[k, second],
                    "observed": test.counts[k, first] - test.counts[k, second],
                    "expected": expected[c],
                    "low": low[c],
                    "high": high[c],
                    "p": test.compared_p[k, c],
                }
            )
    smallest = max(1 / len(test.draws.numbers), share_of_one)
    return pd.DataFrame(rows).assign(smallest_p=smallest)


def count_draws(study: Compared) -> pd.DataFrame:
    """Numbers of connections in every draw: ``draw`` (0 has the observed labels) and the counts."""
    draws = study.permuted.draws
    columns: dict[str, np.ndarray] = {"draw": draws.numbers}
    for k, kind in enumerate(KINDS):
        for c, (result, who) in enumerate(COUNTS):
            columns[f"{result}, {study.named(who)}, {kind}"] = draws.counts[:, k, c]
    return pd.DataFrame(columns)


def site_specific_table(study: Compared) -> pd.DataFrame:
    """List connections of exactly one site in a group, and how often bootstraps agree.

    Columns ``group``, ``site``, ``from``, ``to``, ``selection`` (share of bootstraps with the
    connection at this site and no other) and ``direction``.
    """
    drawn, rows = study.resampled, []
    for g, group in enumerate(study.groups):
        edges = study.weights[g] != 0
        for k, i, j in np.argwhere(edges & (edges.sum(axis=0) == 1)):
            rows.append(
                {
                    "group": group,
                    "site": study.sites[k],
                    "from": study.rois[i],
                    "to": study.rois[j],
                    "selection": drawn.at_one_site[g, k, i, j],
                    "direction": drawn.direction[g, k, i, j],
                }
            )
    columns = ["group", "site", "from", "to", "selection", "direction"]
    return pd.DataFrame(rows, columns=columns)
