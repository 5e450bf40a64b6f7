"""The split is 70 to 30 within each site and group, and stays put."""

import pandas as pd
import pytest

from notears_pfl.cohort.split import split_subjects
from notears_pfl.errors import CohortError

GROUPS = ("MDD", "HC")
SITES = ["COI", "KUT"]


def cohort(**counts):
    """Make subjects from e.g. COI_MDD=4."""
    rows = [
        {"participant_id": f"sub-{name}{i:03d}", "site": name[:3], "group": name[4:]}
        for name, count in counts.items()
        for i in range(count)
    ]
    return pd.DataFrame(rows)


def test_each_site_and_group_is_split_seventy_to_thirty():
    subjects = cohort(COI_MDD=10, COI_HC=20, KUT_MDD=16, KUT_HC=6)

    split = split_subjects(subjects, GROUPS, SITES, 0.7, seed=1)

    counts = (split == "discovery").groupby([subjects["site"], subjects["group"]]).sum()
    assert counts.to_dict() == {
        ("COI", "MDD"): 7, ("COI", "HC"): 14, ("KUT", "MDD"): 11, ("KUT", "HC"): 4,
    }  # fmt: skip


def test_a_new_subject_leaves_other_sites_alone_and_moves_at_most_one_of_its_own():
    before = cohort(COI_MDD=10, COI_HC=10, KUT_MDD=10, KUT_HC=10)
    after = cohort(COI_MDD=11, COI_HC=10, KUT_MDD=10, KUT_HC=10)

    first = split_subjects(before, GROUPS, SITES, 0.7, 1).set_axis(before["participant_id"])
    second = split_subjects(after, GROUPS, SITES, 0.7, 1).set_axis(after["participant_id"])

    moved = first.index[first != second[first.index]]
    assert len(moved) <= 1
    assert all(name.startswith("sub-COI_MDD") for name in moved)


def test_the_split_does_not_depend_on_the_order_of_the_rows():
    subjects = cohort(COI_MDD=10, COI_HC=10)
    shuffled = subjects.sample(frac=1, random_state=3)

    first = split_subjects(subjects, GROUPS, SITES[:1], 0.7, 1)

    assert split_subjects(shuffled, GROUPS, SITES[:1], 0.7, 1).sort_index().equals(first)


def test_another_seed_gives_another_split():
    subjects = cohort(COI_MDD=30, COI_HC=30)

    first, second = (split_subjects(subjects, GROUPS, SITES[:1], 0.7, seed) for seed in (1, 2))

    assert not first.equals(second)


def test_every_site_and_group_too_small_to_split_is_named_even_if_nobody_is_left():
    subjects = cohort(COI_MDD=1, COI_HC=5)

    with pytest.raises(CohortError) as caught:
        split_subjects(subjects, GROUPS, SITES, 0.7, 1)

    lines = str(caught.value).splitlines()
    assert lines[0].startswith("site COI, group MDD: 1 included subjects cannot be split 70%")
    assert lines[1].startswith("site KUT, group MDD: 0 included subjects")
    assert lines[2].startswith("site KUT, group HC: 0 included subjects")
    assert len(lines) == 3
