"""Draws are seeded, disjoint where they must be, and say where they cannot differ."""

import pandas as pd
import pytest

from notears_pfl.cohort.draws import MIXED, describe_draws, draw_subjects

GROUPS, SITES = ("MDD", "HC"), ("COI", "KUT")
# Validation subjects: as in the paper, one site has just as many patients as a draw takes.
VALIDATION = {("COI", "MDD"): 9, ("COI", "HC"): 8, ("KUT", "MDD"): 5, ("KUT", "HC"): 3}


@pytest.fixture
def cohort():
    rows = [
        (f"sub-{site}{group}{i}", site, group, "validation" if i < n else "discovery")
        for (site, group), n in VALIDATION.items()
        for i in range(n + 4)
    ]
    return pd.DataFrame(rows, columns=["participant_id", "site", "group", "split"])


def draw(cohort, n_draws=20, seed=1):
    return draw_subjects(cohort, GROUPS, SITES, (5, 5), range(1, n_draws + 1), seed)


def test_a_draw_takes_so_many_of_each_group_and_site_from_validation_alone(cohort):
    draws = draw(cohort)

    sizes = draws.groupby(["draw", "set", "site"]).size().unstack("draw")
    assert (sizes.loc[["MDD"]] == 5).all(axis=None)
    assert (sizes.loc[("HC", "COI")] == 5).all()
    assert (sizes.loc[("HC", "KUT")] == 3).all()
    who = draws.merge(cohort, on="participant_id", suffixes=("", "_cohort"))
    assert len(who) == len(draws)
    assert (who["split"] == "validation").all()
    assert (who["site"] == who["site_cohort"]).all()
    pure = who[who["set"].isin(GROUPS)]
    assert (pure["set"] == pure["group"]).all()


def test_nobody_is_twice_in_a_set_and_mixed_sets_are_disjoint_and_of_the_groups_sizes(cohort):
    draws = draw(cohort)

    assert not draws.duplicated(["draw", "set", "participant_id"]).any()
    mixed = draws[draws["set"].isin(MIXED)]
    assert not mixed.duplicated(["draw", "participant_id"]).any()
    sizes = draws.groupby(["draw", "site", "set"]).size().unstack()
    assert (sizes["mixed_1"] == sizes["MDD"]).all()
    assert (sizes["mixed_2"] == sizes["HC"]).all()


def test_mixed_sets_do_not_look_at_the_labels(cohort):
    swapped = cohort.assign(group=cohort["group"].map({"MDD": "HC", "HC": "MDD"}))
    at_one_site = swapped[swapped["site"] == "COI"]

    first = draw_subjects(cohort, GROUPS, ["COI"], (5, 5), [6], 1)
    second = draw_subjects(at_one_site, GROUPS, ["COI"], (5, 5), [6], 1)

    of = [table[table["set"].isin(MIXED)].reset_index(drop=True) for table in (first, second)]
    pd.testing.assert_frame_equal(*of)


def test_everybody_is_drawn_about_equally_often(cohort):
    draws = draw(cohort, n_draws=400)

    counts = draws[(draws["set"] == "MDD") & (draws["site"] == "COI")]["participant_id"]
    shares = counts.value_counts() / 400
    assert len(shares) == 9
    assert (shares - 5 / 9).abs().max() < 0.1


def test_a_draw_depends_on_its_number_and_the_seed_alone(cohort):
    few, many = draw(cohort, 3), draw(cohort, 5)

    pd.testing.assert_frame_equal(few, many[many["draw"] <= 3])
    fifth = draw_subjects(cohort, GROUPS, SITES, (5, 5), [5], 1)
    pd.testing.assert_frame_equal(fifth, many[many["draw"] == 5].reset_index(drop=True))
    assert not few.equals(draw(cohort, 3, seed=2))


def test_the_table_says_where_draws_are_too_few_or_all_the_same(cohort):
    draws = draw(cohort)

    table = describe_draws(draws, cohort, GROUPS, SITES, (5, 5)).set_index(["site", "group"])

    assert table["n_validation"].to_dict() == VALIDATION
    assert table["n_possible"].tolist() == [126, 56, 1, 1]
    assert 1 < table.loc[("COI", "MDD"), "n_distinct"] <= 20
    assert table["note"].tolist() == [
        "",
        "",
        "every draw is the same",
        "3 of the 5 subjects that a draw should have; every draw is the same",
    ]
    more = draw(cohort, n_draws=80)
    notes = describe_draws(more, cohort, GROUPS, SITES, (5, 5))["note"]
    assert notes[1] == "only 56 different draws are possible, so some of 80 repeat"
