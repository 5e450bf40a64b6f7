"""Pairs are optimal, within the caliper, and nobody is left out without a reason."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest

from notears_pfl.cohort.balance import standardised_difference
from notears_pfl.cohort.matching import Matching, match_subjects, optimal_pairs
from notears_pfl.errors import CohortError

GROUPS = ("MDD", "HC")


def cohort(rng, n_patients=6, n_controls=9, sites=("COI", "KUT"), apart=0.4):
    rows = [
        {"participant_id": f"sub-{s}{g}{i:02d}", "site": s, "group": g,
         "age": rng.normal(40 + 10 * apart * (g == "MDD"), 10), "sex": rng.choice(["F", "M"]),
         "mean_fd_mm": rng.normal(0.3 + 0.1 * apart * (g == "MDD"), 0.1)}
        for s in sites for g, n in zip(GROUPS, (n_patients, n_controls), strict=True)
        for i in range(n)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def match(subjects, *covariates, caliper=0.75, sites=("COI", "KUT"), **settings):
    settings = Matching(covariates, caliper, **settings)
    return match_subjects(subjects, GROUPS, sites, settings, "people.tsv")


def best_by_trying_all(distance, reach):
    """Give the number of pairs and total distance of the best assignment, from all there are."""
    n, m = reach.shape
    for size in range(min(n, m), 0, -1):
        totals = [
            sum(distance[i, j] for i, j in zip(rows, columns, strict=True))
            for rows in combinations(range(n), size)
            for columns in permutations(range(m), size)
            if all(reach[i, j] for i, j in zip(rows, columns, strict=True))
        ]
        if totals:
            return size, min(totals)
    return 0, 0.0


@pytest.mark.parametrize("seed", range(25))
def test_pairs_are_the_most_and_of_these_the_closest_of_all_that_can_be_made(seed):
    rng = np.random.default_rng(seed)
    distance = rng.uniform(0, 3, (rng.integers(1, 5), rng.integers(1, 6)))
    reach = rng.uniform(size=distance.shape) < rng.uniform(0.1, 1)

    rows, columns = optimal_pairs(distance, reach)

    assert reach[rows, columns].all()
    assert len(set(rows)) == len(set(columns)) == len(rows)
    assert (len(rows), distance[rows, columns].sum()) == pytest.approx(
        best_by_trying_all(distance, reach)
    )


def test_a_nearest_neighbour_gives_way_to_the_closest_pairs_in_all():
    ages = {"sub-p1": 30.0, "sub-p2": 34.0, "sub-c1": 31.0, "sub-c2": 25.0}
    people = pd.DataFrame(
        {"participant_id": list(ages), "site": "COI", "group": ["MDD"] * 2 + ["HC"] * 2,
         "age": list(ages.values())}
    )  # fmt: skip

    pair = match(people, "age", caliper=10, sites=["COI"]).pair

    # Greedily, p1 would take c1 and leave p2 nine years apart: 1 + 9 > 3 + 5.
    assert pair.tolist() == ["sub-p1", "sub-p2", "sub-p2", "sub-p1"]


def test_pairs_keep_site_caliper_and_category(rng):
    people = cohort(rng, 12, 20)

    pair = match(people, "age", "sex", "mean_fd", caliper=0.6).pair

    paired = people.assign(pair=pair)[pair != ""]
    assert len(paired) > 12
    assert (paired.groupby("pair").size() == 2).all()
    p = paired[paired["group"] == "MDD"].set_index("pair")
    c = paired[paired["group"] == "HC"].set_index("pair").loc[p.index]
    assert (p["participant_id"] == p.index).all()
    assert (p["site"] == c["site"]).all()
    assert (p["sex"] == c["sex"]).all()
    for column in ("age", "mean_fd_mm"):
        variances = people.groupby(["group", "site"])[column].var()
        sd = np.sqrt(variances.groupby("group").mean().mean())
        assert ((p[column] - c[column]).abs() <= 0.6 * sd).all()


def test_every_subject_is_in_a_pair_or_has_a_reason(rng):
    people = cohort(rng, 6, 9)
    people.loc[0, "age"] = 140
    people["sex"] = ["F", "M"] * 15

    found = match(people, "age", "sex")

    assert ((found.pair == "") == (found.reason != "")).all()
    assert found.reason[0] == (
        "no partner: none of 9 HC at COI has the same sex and is within 0.75 SD in age"
    )
    alike = found.reason[found.reason.str.contains("alike, but paired closer")]
    assert len(alike)
    assert (people.loc[alike.index, "group"] == "HC").any()


def test_pairs_do_not_depend_on_the_order_of_the_table(rng):
    people = cohort(rng, 10, 12).round({"age": -1})
    shuffled = people.sample(frac=1, random_state=1)

    first, second = match(people, "age", "sex"), match(shuffled, "age", "sex")

    pd.testing.assert_series_equal(first.pair, second.pair.sort_index())
    pd.testing.assert_series_equal(first.reason, second.reason.sort_index())


def test_without_covariates_nobody_is_matched_or_left_out(rng):
    found = match(cohort(rng))

    assert (found.pair == "").all()
    assert (found.reason == "").all()


@pytest.mark.parametrize(
    ("caliper", "left", "share"), [(0.5, 0.01, 0.37), (0.75, 0.05, 0.56), (1.0, 0.10, 0.68)]
)
def test_the_calipers_of_the_configuration_do_what_its_comment_says(caliper, left, share):
    rng = np.random.default_rng(0)
    differences, shares = [], []
    for _ in range(60):
        people = cohort(rng, 20, 20, sites=["COI"])
        pair = match(people, "age", "sex", "mean_fd", caliper=caliper, sites=["COI"]).pair
        kept = people[pair != ""]
        # In standard deviations of everyone: those who are left vary less.
        means = kept.groupby("group")["age"].mean()
        differences.append((means["MDD"] - means["HC"]) / 10)
        shares.append(len(kept) / len(people))

    assert np.mean(differences) == pytest.approx(left, abs=0.03)
    assert np.mean(shares) == pytest.approx(share, abs=0.03)


def test_matching_balances_the_groups(rng):
    people = cohort(rng, 40, 80, apart=0.8)
    patients = people["group"] == "MDD"

    kept = people[match(people, "age", caliper=0.3).pair != ""]

    before = standardised_difference(people["age"], patients, people["site"])
    after = standardised_difference(kept["age"], patients[kept.index], kept["site"])
    assert before > 0.5
    assert abs(after) < 0.1


def test_a_missing_value_is_refused_by_name_or_leaves_its_subject_out(rng):
    people = cohort(rng)
    people.loc[[1, 7], "age"] = np.nan

    with pytest.raises(
        CohortError,
        match=r"people.tsv: cohort.match needs a value of age for every subject; 2 of 30 have none "
        r"\(sub-COIMDD01, sub-COIHC01\)\.\nFill in .* source.on_problem to exclude",
    ):
        match(people, "age", "sex")
    found = match(people, "age", "sex", without_values="exclude")

    assert found.reason[1] == found.reason[7] == "no partner: no value of age"
    assert not found.reason.drop([1, 7]).str.contains("no value").any()


def test_an_unknown_column_is_refused_with_those_there_are(rng):
    with pytest.raises(
        CohortError, match=r"people.tsv: cohort.match names 'iq' and 'handed', .* there are .*age"
    ):
        match(cohort(rng), "iq", "age", "handed")


@pytest.mark.parametrize(("column", "value"), [("sex", "F"), ("age", 31.0)])
def test_a_constant_covariate_is_refused(rng, column, value):
    people = cohort(rng).assign(**{column: value})

    with pytest.raises(
        CohortError,
        match=rf"needs subjects that differ in {column}; all 30 have {value}\. Remove {column}",
    ):
        match(people, "mean_fd", column)


def test_a_covariate_that_differs_between_sites_and_groups_only_is_refused(rng):
    people = cohort(rng)
    people["age"] = people["site"].map({"COI": 30, "KUT": 50}) + 5 * (people["group"] == "HC")

    with pytest.raises(CohortError, match="needs a spread of age within sites and groups"):
        match(people, "age")


def test_numbers_among_text_are_refused(rng):
    people = cohort(rng).astype({"age": object})
    people.loc[3, "age"] = "unknown"

    with pytest.raises(
        CohortError,
        match=r"in age; it has 29 numbers and 1 texts \('unknown' of sub-COIMDD03\)\. Write n/a",
    ):
        match(people, "age")


def test_sites_without_a_pair_are_named(rng):
    people = cohort(rng)
    at_kut = people["site"] == "KUT"
    people.loc[at_kut, "sex"] = np.where(people.loc[at_kut, "group"] == "HC", "M", "F")

    with pytest.raises(
        CohortError,
        match=r"alike in age and sex; none was found at KUT \(6 MDD, 9 HC\)\. Raise cohort.caliper "
        r"\(0.75\), match on fewer",
    ):
        match(people, "age", "sex")
