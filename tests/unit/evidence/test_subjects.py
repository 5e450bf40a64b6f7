"""Every subject of a study has the moments of its own series."""

from typing import NamedTuple

import numpy as np
import pytest

from notears_pfl.evidence.moments import subject_moments, subject_sums
from notears_pfl.evidence.subjects import moments_from, subjects_from
from notears_pfl.io.arrays import StoredRows, read_arrays, write_records


class Written(NamedTuple):
    """Arrays that were read, and the series and sites that they were made of."""

    arrays: dict
    series: list
    site: np.ndarray


@pytest.fixture(params=["in memory", "in its file"])
def written(request, tmp_path, monkeypatch, rng):
    """Write twelve subjects of two sites, each with a scale of its own, and read them."""
    series = [scale * rng.normal(size=(30, 4)) for scale in range(1, 13)]
    site = np.tile([0, 1], 6)
    who = {
        "site": site, "patients": np.arange(12) % 4 < 2, "discovery": np.arange(12) >= 4,
        "strata": np.zeros(12, dtype=int),
    }  # fmt: skip
    runs = np.zeros(30, dtype=np.intp)
    sums = subject_sums((f"sub-{i}", x, runs) for i, x in enumerate(series))
    write_records(sums, 12, who, tmp_path / "moments.npz")
    if request.param == "in its file":
        monkeypatch.setattr("notears_pfl.io.arrays.LARGE", 1)
    arrays = read_arrays(tmp_path / "moments.npz", table="S")
    assert isinstance(arrays["S"], StoredRows) == (request.param == "in its file")
    return Written(arrays, series, site)


def assert_those_of(found, written, keep):
    """Compare with the moments of the series of these subjects."""
    counts = np.arange(1, keep.sum() + 1)
    kept = [x for x, is_kept in zip(written.series, keep, strict=True) if is_kept]
    expected = subject_moments(kept, written.site[keep])
    for one, other in zip(found.summed(counts), expected.summed(counts), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_some_subjects_of_a_study_have_the_moments_of_their_series(written):
    keep = np.arange(12) % 3 > 0

    assert_those_of(moments_from(written.arrays, keep), written, keep)


@pytest.mark.parametrize("discovery", [True, False])
def test_both_halves_of_a_study_have_the_moments_of_their_subjects(written, discovery):
    half = subjects_from(written.arrays, discovery=discovery)

    keep = (np.arange(12) >= 4) == discovery
    assert_those_of(half.moments, written, keep)
    np.testing.assert_array_equal(half.patients, (np.arange(12) % 4 < 2)[keep])
