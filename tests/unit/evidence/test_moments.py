"""Moments of subjects add up to those of a fit."""

import numpy as np
import pytest

from notears_pfl import NotearsPFL
from notears_pfl.autocorrelation import effective_sample_size
from notears_pfl.errors import InputError
from notears_pfl.evidence.moments import subject_moments


def test_sums_over_all_subjects_are_the_moments_of_the_fit(study):
    fit = NotearsPFL(kappa=0.0).fit(study.samples, subjects=study.subjects)

    U, n = subject_moments(study.series, study.site).summed(np.ones(len(study.series)))

    np.testing.assert_allclose(U, fit.moments_, atol=1e-12)
    np.testing.assert_allclose(n, fit.effective_samples_)


def test_effective_samples_of_a_subject_and_of_a_fit_are_those_of_its_runs(study):
    runs = [np.repeat([0, 1], [40, len(x) - 40]) for x in study.series]
    halves = [x[own == run] for x, own in zip(study.series, runs, strict=True) for run in (0, 1)]
    centred = [half - half.mean(axis=0) for half in halves]

    moments = subject_moments(study.series, study.site, runs=runs)

    expected = np.array([effective_sample_size(half) for half in centred]).reshape(-1, 2)
    np.testing.assert_allclose(moments.n_effective, expected.sum(axis=1))

    labels = [
        np.concatenate([2 * i + own for i, own in enumerate(runs) if study.site[i] == site])
        for site in np.unique(study.site)
    ]
    fit = NotearsPFL(kappa=0.0).fit(study.samples, subjects=study.subjects, runs=labels)
    per_site = [moments.n_effective[study.site == site].sum() for site in np.unique(study.site)]
    np.testing.assert_allclose(fit.effective_samples_, per_site)


@pytest.mark.parametrize("center", [True, False])
def test_a_subject_that_counts_twice_is_stacked_twice(study, center):
    counts = np.zeros(len(study.series))
    counts[study.patients] = 1
    counts[0] = 2

    U, _ = subject_moments(study.series, study.site, center=center).summed(counts)

    twice = [
        study.series[0],
        *(
            x
            for x, p, k in zip(study.series, study.patients, study.site, strict=True)
            if p and k == 0
        ),
    ]
    x = np.concatenate(twice)
    x = x - x.mean(axis=0) if center else x
    np.testing.assert_allclose(U[0], x.T @ x / len(x), atol=1e-12)


def test_lower_triangles_add_up_to_whole_matrices(study):
    moments = subject_moments(study.series, study.site, center=False)

    U, _ = moments.summed(np.ones(len(study.series)))

    own = [x for x, k in zip(study.series, study.site, strict=True) if k == 1]
    n_rois = own[0].shape[1]
    assert moments.S[np.array([0])].shape == (1, n_rois * (n_rois + 1) // 2)
    np.testing.assert_allclose(U[1], sum(x.T @ x for x in own) / sum(map(len, own)))


def test_a_subset_of_subjects_reads_their_own_rows(study):
    moments = subject_moments(study.series, study.site)
    kept = np.arange(len(study.series)) % 3 > 0

    part, n = moments.subset(kept).summed(np.ones(kept.sum()))

    whole, expected = moments.summed(kept)
    np.testing.assert_allclose(part, whole)
    np.testing.assert_allclose(n, expected)


def test_a_batch_of_counts_is_the_same_as_one_at_a_time(study):
    moments = subject_moments(study.series, study.site)
    counts = np.random.default_rng(0).integers(1, 3, (4, len(study.series)))

    U, n = moments.summed(counts)

    for own, U_one, n_one in zip(counts, U, n, strict=True):
        np.testing.assert_allclose(moments.summed(own)[0], U_one)
        np.testing.assert_allclose(moments.summed(own)[1], n_one)


def test_identical_subjects_are_refused(study):
    series = [*study.series[:-2], study.series[5], study.series[3]]
    names = [f"sub-{i}" for i in range(len(series))]

    with pytest.raises(
        InputError,
        match=r"^sub-3 and sub-47; sub-5 and sub-46 have identical series.*remove all but one",
    ):
        subject_moments(series, study.site, names=names)
