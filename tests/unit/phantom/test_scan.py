"""A subject depends on the seed and on its own name only."""

from functools import partial

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from notears_pfl.phantom.scan import scan_subject, truth_sidecar
from notears_pfl.seeds import stream


def scan(head, protocol, options, seed=1, name="a"):
    return scan_subject(
        partial(stream, seed, name), head, np.zeros((2, 2)), protocol, 1000, options
    )


def test_the_same_seed_and_name_give_the_same_scan(head, protocol, options):
    first, second = (scan(head, protocol, options) for _ in range(2))

    for name, value in vars(first).items():
        assert_array_equal(value, getattr(second, name), err_msg=name)


def test_another_seed_or_name_gives_another_subject(head, protocol, options):
    first = scan(head, protocol, options)

    for other in (scan(head, protocol, options, seed=2), scan(head, protocol, options, name="b")):
        for name in ("t1w", "bold", "motion", "series", "field", "head_from_t1w"):
            assert not np.array_equal(getattr(first, name), getattr(other, name)), name


def test_the_head_moves_little_between_the_two_scans(head, protocol, options):
    subject = scan(head, protocol, options)

    between = np.linalg.inv(subject.head_from_t1w) @ subject.head_from_bold
    assert 0 < np.linalg.norm(between[:3, 3]) < 8
    assert_allclose(between[:3, :3] @ between[:3, :3].T, np.eye(3), atol=1e-12)


def test_the_truth_names_every_region_and_its_coverage(head, protocol, options):
    subject = scan(head, protocol, options)

    truth = truth_sidecar(subject, 1000.0, ["INS.L", "INS.R"])

    assert truth["Coverage"] == {"INS.L": subject.coverage[0], "INS.R": subject.coverage[1]}
    assert truth["SeriesTime"] == subject.reference_time
