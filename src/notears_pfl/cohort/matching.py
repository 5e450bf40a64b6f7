"""Match patients to controls within sites: pairs that are alike in the chosen covariates.

A patient p and a control c of one site are within reach of each other if they agree in every
categorical covariate and differ in no numeric one by more than the caliper,

    |x_pj − x_cj| / s_j ≤ caliper for all j,   d(p, c)² = Σ_j ((x_pj − x_cj) / s_j)²,

with s_j the standard deviation of covariate j within sites and groups (:mod:`balance`). Of all sets
of disjoint pairs within reach, those with the most pairs are considered, and of these the one with
the smallest sum of d: the optimal assignment. Nothing is random, and the order of the subjects in
the table has no part in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linear_sum_assignment

from notears_pfl.cohort.balance import within_site_sd
from notears_pfl.cohort.covariates import (
    MOST_NAMED,
    SHORT_NAMES,
    check_known,
    listed,
    refuse_constant,
    refuse_numbers_in_text,
)
from notears_pfl.cohort.exclusion import NO_PARTNER
from notears_pfl.errors import CohortError


@dataclass(frozen=True)
class Matching:
    """What to match on; the settings ``cohort.match`` and ``cohort.caliper``.

    Parameters
    ----------
    covariates : sequence of str
        Columns of the cohort table; none for no matching.
    caliper : float
        Largest difference within a pair in a numeric covariate, in standard deviations.
    without_values : {"stop", "exclude"}
        Whether a subject without a value stops the study or is left out; ``source.on_problem``.
    """

    covariates: Sequence[str] = ()
    caliper: float = 0.75
    without_values: str = "stop"

    @property
    def columns(self) -> list[str]:
        """Columns of the covariates."""
        return [SHORT_NAMES.get(name, name) for name in self.covariates]


NO_MATCHING = Matching()


@dataclass(frozen=True)
class Matched:
    """Pairs, and why the others have none; both indexed as the subjects.

    Parameters
    ----------
    pair : Series of str
        Id of the pair's patient, for both of its subjects; empty without a partner.
    reason : Series of str
        Why a subject has no partner; empty in a pair.
    """

    pair: pd.Series
    reason: pd.Series


def match_subjects(
    subjects: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str], matching: Matching,
    name: str = "The participants table",
) -> Matched:  # fmt: skip
    """Pair patients with controls of the same site.

    Parameters
    ----------
    subjects : DataFrame
        Subjects that pass the exclusion criteria: ``participant_id``, ``site``, ``group`` and the
        covariates. A column of numbers is numeric, any other categorical.
    groups : tuple of str
        Patients and controls.
    sites : sequence of str
        Sites of the study; each needs a pair.
    matching : Matching
        Covariates and caliper.
    name : str
        Name of the table in error messages: its file.
    """
    pair = pd.Series("", index=subjects.index, dtype=object)
    reason = pair.copy()
    if not matching.columns:
        return Matched(pair, reason)
    check_known(matching.covariates, subjects.columns, name)
    blank = _without_values(subjects, matching, name)
    reason[blank[blank != ""].index] = blank[blank != ""]
    known = subjects[blank == ""].sort_values("participant_id")
    numeric = [c for c in matching.columns if pd.api.types.is_numeric_dtype(known[c])]
    refuse_constant(known, matching.columns, name)
    refuse_numbers_in_text(known, [c for c in matching.columns if c not in numeric], name)
    scaled = _scaled(known, groups[0], numeric, name)
    kinds = known[[c for c in matching.columns if c not in numeric]].astype(str)
    lonely = []
    for site in sites:
        members = [known.index[(known["site"] == site) & (known["group"] == g)] for g in groups]
        x, kind = ([table.loc[m].to_numpy() for m in members] for table in (scaled, kinds))
        reach, distance = _distances(x[0], x[1], matching.caliper)
        reach &= (kind[0][:, None] == kind[1][None, :]).all(axis=2)
        rows, columns = optimal_pairs(distance, reach)
        names = known.loc[members[0][rows], "participant_id"].to_numpy()
        pair[members[0][rows]] = names
        pair[members[1][columns]] = names
        if not len(rows):
            lonely.append(f"{site} ({len(members[0])} {groups[0]}, {len(members[1])} {groups[1]})")
        for own, other, near in ((0, 1, reach.sum(axis=1)), (1, 0, reach.sum(axis=0))):
            for row, within in zip(members[own], near, strict=True):
                if not pair[row]:
                    reason[row] = _reason(
                        groups[other], site, len(members[other]), within, matching.columns, numeric,
                        matching.caliper,
                    )  # fmt: skip
    if lonely:
        msg = (
            f"cohort.match: every site needs a pair of {groups[0]} and {groups[1]} that is alike "
            f"in {listed(matching.columns)}; none was found at {', '.join(lonely)}. Raise "
            f"cohort.caliper ({matching.caliper:g}), match on fewer covariates, or leave the site "
            "out."
        )
        raise CohortError(msg)
    return Matched(pair, reason)


def optimal_pairs(
    distance: npt.NDArray[np.float64], reach: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of the most pairs within reach, of least total distance, (n_pairs,) each."""
    if not reach.any():
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    # A pair out of reach costs more than any sum of pairs within reach could save.
    beyond = (1 + min(reach.shape)) * (1 + float(distance[reach].max()))
    rows, columns = linear_sum_assignment(np.where(reach, distance, beyond))
    kept = reach[rows, columns]
    return rows[kept], columns[kept]


def _distances(
    p: npt.NDArray[np.float64], c: npt.NDArray[np.float64], caliper: float
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:  # fmt: skip
    """Which patients (rows) and controls (columns) keep the caliper, and their distances d."""
    apart = np.abs(p[:, None, :] - c[None, :, :])
    # Differences of exactly the caliper are within reach, whatever rounding makes of them.
    reach = np.all(apart <= caliper * (1 + 1e-9), axis=2)
    return reach, np.sqrt((apart**2).sum(axis=2))


def _scaled(subjects: pd.DataFrame, patients: str, numeric: list[str], name: str) -> pd.DataFrame:
    """Numeric covariates in standard deviations within sites and groups."""
    scaled = {}
    for column in numeric:
        values = subjects[column].astype(float)
        sd = within_site_sd(values, subjects["group"] == patients, subjects["site"])
        if not sd > 0:
            msg = (
                f"{name}: cohort.match needs a spread of {column} within sites and groups, to "
                "standardise differences; all subjects of every site and group have the same "
                f"value, or there are too few. Remove {column} from cohort.match."
            )
            raise CohortError(msg)
        scaled[column] = values / sd
    return pd.DataFrame(scaled, index=subjects.index)


def _without_values(subjects: pd.DataFrame, matching: Matching, name: str) -> pd.Series:
    """Why subjects without a value cannot be matched; refuse them unless they are left out."""
    missing = subjects[matching.columns].isna()
    if missing.any(axis=None) and matching.without_values == "stop":
        lines = []
        for column in missing.columns[missing.any()]:
            who = subjects["participant_id"][missing[column]].tolist()
            more = ", …" if len(who) > MOST_NAMED else ""
            lines.append(
                f"{name}: cohort.match needs a value of {column} for every subject; {len(who)} of "
                f"{len(subjects)} have none ({', '.join(who[:MOST_NAMED])}{more})."
            )
        raise CohortError(
            "\n".join(lines) + "\nFill in the values, match on other covariates, or set "
            "source.on_problem to exclude, which leaves these subjects out."
        )
    words = [", ".join(missing.columns[row]) for row in missing.to_numpy()]
    return pd.Series([f"{NO_PARTNER}: no value of {w}" if w else "" for w in words],
                     index=subjects.index, dtype=object)  # fmt: skip


def _reason(
    others: str, site: str, n: int, within: int, columns: list[str], numeric: list[str],
    caliper: float,
) -> str:  # fmt: skip
    if within:
        are = "are" if within > 1 else "is"
        return f"{NO_PARTNER}: {within} of {n} {others} at {site} {are} alike, but paired closer"
    same = [c for c in columns if c not in numeric]
    terms = [f"has the same {listed(same)}"] if same else []
    terms += [f"is within {caliper:g} SD in {listed(numeric)}"] if numeric else []
    return f"{NO_PARTNER}: none of {n} {others} at {site} {' and '.join(terms)}"
