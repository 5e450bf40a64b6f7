"""Split the included subjects of each site and group into discovery and validation sets."""

from collections.abc import Sequence

import pandas as pd

from notears_pfl.errors import CohortError
from notears_pfl.seeds import stream

DISCOVERY, VALIDATION = "discovery", "validation"


def split_subjects(
    subjects: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str], discovery_share: float,
    seed: int,
) -> pd.Series:  # fmt: skip
    """Assign ``discovery`` or ``validation`` to each row, within its site and group.

    Every subject gets a random number from its own stream; the smallest numbers form the discovery
    set. The two subjects of a pair share their number, so that both are in the same set. Adding a
    subject leaves other sites and groups unchanged, and moves at most one subject of
    its own site and group to the other set.

    Parameters
    ----------
    subjects : DataFrame
        The included subjects, with ``participant_id``, ``site``, ``group`` and, if they are
        matched, ``matched_pair``.
    groups : tuple of str
        Groups that every site must have, each large enough for both sets.
    sites : sequence of str
        Sites of the study, including sites without any included subject.
    discovery_share : float
        Share of the subjects in the discovery set, between 0 and 1.
    seed : int
        Seed of the study.
    """
    problems = []
    names = subjects["participant_id"]
    if "matched_pair" in subjects:
        names = subjects["matched_pair"].where(subjects["matched_pair"] != "", names)
    split = pd.Series(VALIDATION, index=subjects.index, dtype=object)
    for site in sites:
        for group in groups:
            members = subjects[(subjects["site"] == site) & (subjects["group"] == group)]
            n_discovery = round(discovery_share * len(members))
            if not 0 < n_discovery < len(members):
                problems.append(
                    f"site {site}, group {group}: {len(members)} included subjects cannot be "
                    f"split {discovery_share:.0%} to {1 - discovery_share:.0%} into discovery and "
                    "validation sets with at least one subject each. Relax the limits (or "
                    "cohort.caliper, if subjects are matched), or exclude the site."
                )
                continue
            draws = names[members.index].map(lambda name: stream(seed, "split", name).random())
            split[draws.nsmallest(n_discovery).index] = DISCOVERY
    if problems:
        raise CohortError("\n".join(problems))
    return split
