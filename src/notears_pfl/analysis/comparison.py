"""Compare patients with controls: for each connection and method, counts of draws and tests."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from notears_pfl.analysis.permutation import PermutationTest, contributions, permutation_test
from notears_pfl.analysis.presence import CONNECTION, Rule, needed_sites
from notears_pfl.analysis.proportion import compare_proportions
from notears_pfl.false_discovery import benjamini_hochberg

TEST = [*CONNECTION, "method"]
COUNTED = ("present", "compelled", "either")
# P-values that are adjusted over the connections of each source, separately for each method.
ADJUSTED = ("p_z", "p_permutation", "p_permutation_two_sided")


@dataclass(frozen=True)
class Design:
    """Design of the comparison.

    Attributes
    ----------
    groups : tuple of str
        Patients and controls.
    sites : sequence of str
        Sites of every draw.
    rule : {"any", "majority", "all"}
        At how many sites a draw must have a connection.
    n_permutations : int
        Number of permutations of the labels.
    """

    groups: tuple[str, str]
    sites: Sequence[str]
    rule: Rule
    n_permutations: int


def proportion_tests(
    presence: pd.DataFrame,
    connections: pd.DataFrame,
    draws: pd.DataFrame,
    labels: pd.Series,
    design: Design,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Test every connection for every method.

    Parameters
    ----------
    presence : DataFrame
        As from :func:`~notears_pfl.analysis.presence.connection_presence`.
    connections : DataFrame
        ``from``, ``to``, ``source`` and further columns.
    draws : DataFrame
        ``draw``, ``set``, ``site`` and ``participant_id``.
    labels : Series
        Group by participant.
    design : Design
        Groups, sites, rule of presence and number of permutations.
    rng : Generator
        Draws the permutations.

    Returns
    -------
    DataFrame
        The connections with ``method`` and ``n_draws``; for each group G, the number of draws
        with the connection, ``count_G``, with a compelled direction only, ``compelled_G``, and in
        either direction, ``either_G``; the mean share of sites, ``site_share_G``; the fields of
        :class:`~notears_pfl.analysis.proportion.ProportionTest`; ``p_permutation`` and
        ``p_permutation_two_sided``; and ``q_…`` adjusted by Benjamini and Hochberg.
    """
    counts = _draw_counts(presence, design)
    permutation = _permutation(presence, draws, labels, design, rng)
    table = counts.join(permutation)
    n = presence["draw"].nunique()
    pair = [f"count_{group}" for group in design.groups]
    tests = [compare_proportions(int(a), n, int(b), n) for a, b in table[pair].to_numpy()]
    judged = pd.DataFrame([asdict(test) for test in tests], index=table.index)
    table = table.drop(columns=permutation.columns).join(judged).join(permutation)
    table.insert(0, "n_draws", n)
    table = connections.merge(table.reset_index(), on=CONNECTION, how="left")
    families = table.groupby(["source", "method"], sort=False)
    for column in ADJUSTED:
        table[f"q_{column.removeprefix('p_')}"] = families[column].transform(benjamini_hochberg)
    return table


def _draw_counts(presence: pd.DataFrame, design: Design) -> pd.DataFrame:
    """Count the draws in which a connection is present; index (from, to, method)."""
    per_draw = presence.groupby([*TEST, "set", "draw"], sort=False)[list(COUNTED)]
    n_sites = per_draw.sum()
    found = n_sites >= needed_sites(design.rule, len(design.sites))
    counts = found.groupby(level=[*TEST, "set"], sort=False).sum()
    shares = n_sites["present"].groupby(level=[*TEST, "set"], sort=False).mean() / len(design.sites)
    columns = {}
    for group in design.groups:
        of_group = counts.xs(group, level="set")
        columns[f"count_{group}"] = of_group["present"]
        columns[f"compelled_{group}"] = of_group["compelled"]
        columns[f"either_{group}"] = of_group["either"]
        columns[f"site_share_{group}"] = shares.xs(group, level="set")
    return pd.DataFrame(columns)


def _permutation(
    presence: pd.DataFrame,
    draws: pd.DataFrame,
    labels: pd.Series,
    design: Design,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Permutation tests on the sets drawn from both groups; index (from, to, method)."""
    mixed = presence[~presence["set"].isin(design.groups)]
    drawn = draws[~draws["set"].isin(design.groups)]
    tests = pd.MultiIndex.from_frame(mixed[TEST].drop_duplicates())
    per_site, patients = [], []
    for site in design.sites:
        found = mixed[mixed["site"] == site].pivot_table(
            index=["draw", "set"], columns=TEST, values="present", aggfunc="first", sort=False
        )[tests]
        in_set = drawn[drawn["site"] == site].assign(member=True)
        members = (
            in_set.pivot(index=["draw", "set"], columns="participant_id", values="member")
            .reindex(found.index)
            .notna()
        )
        per_site.append(contributions(members.to_numpy(), found.to_numpy(dtype=float)))
        patients.append((labels.loc[members.columns] == design.groups[0]).to_numpy())
    result: PermutationTest = permutation_test(per_site, patients, design.n_permutations, rng)
    return pd.DataFrame(
        {"p_permutation": result.p, "p_permutation_two_sided": result.p_two_sided}, index=tests
    )


def draws_note(sites: pd.DataFrame) -> str:
    """List, in one line, the sites and groups with too few or repeated draws.

    ``sites`` has ``site``, ``group`` and ``note``, as from
    :func:`~notears_pfl.cohort.draws.describe_draws`.
    """
    noted = sites[sites["note"].notna() & (sites["note"] != "")]
    return " | ".join(f"{row.site} {row.group}: {row.note}" for row in noted.itertuples())


def cost_per_network(cost: pd.DataFrame) -> pd.DataFrame:
    """CPU seconds by method: number of networks, total, and per network."""
    table = cost.groupby("method", sort=False)[["n_networks", "cpu_seconds"]].sum().reset_index()
    return table.assign(cpu_seconds_per_network=table["cpu_seconds"] / table["n_networks"])
