"""A stream depends on the seed and on its own name, and on nothing else."""

import pytest

from notears_pfl.seeds import stream


def test_the_same_seed_and_name_give_the_same_draws():
    assert stream(7, "motion", "sub-01").random() == stream(7, "motion", "sub-01").random()


@pytest.mark.parametrize(
    "other",
    [
        (8, "motion", "sub-01"),
        (7, "motion", "sub-02"),
        (7, "motionsub-01"),
        (7, "sub-01", "motion"),
    ],
)
def test_another_seed_or_name_gives_other_draws(other):
    assert stream(*other).random() != stream(7, "motion", "sub-01").random()
