"""nipype's algorithms on our arrays: CompCor, and volumes before the steady state."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from nipype.algorithms.confounds import compute_dvars
from numpy.testing import assert_allclose

from notears_pfl.io.images import write_image
from notears_pfl.preproc.noise import compcor, count_non_steady
from notears_pfl.preproc.nuisance import COMPONENTS
from notears_pfl.preproc.volumes import non_steady_figures, standardised_dvars

TR, N = 2.5, 120


@pytest.fixture
def tissues(rng):
    """Give voxels of two tissues, each with its own noise, and slow drifts in all of them."""
    noise = {"csf": rng.normal(size=(N, 3)), "white_matter": rng.normal(size=(N, 3))}
    drift = np.linspace(-1, 1, N)[:, None]
    signals = {
        name: 1000 + 5 * courses @ rng.normal(size=(3, 400)) + 80 * drift * rng.random(400)
        + rng.normal(size=(N, 400))
        for name, courses in noise.items()
    }  # fmt: skip
    return noise, {name: values.astype(np.float32) for name, values in signals.items()}


def explained(courses, components):
    """Share of the variance of ``courses`` in the span of the components and of slow drifts."""
    time = (np.arange(N) + 0.5) / N
    slow = np.cos(np.pi * np.outer(time, np.arange(5)))
    basis = np.linalg.qr(np.hstack([slow, components]))[0]
    centred = courses - courses.mean(axis=0)
    return 1 - np.sum((centred - basis @ (basis.T @ centred)) ** 2) / np.sum(centred**2)


def test_components_of_a_tissue_span_its_noise_and_not_that_of_the_other(tissues):
    noise, signals = tissues

    found = compcor(signals, TR)

    assert found.shape == (N, 10)
    for tissue, names in COMPONENTS.items():
        shares = {name: explained(courses, found[[*names]]) for name, courses in noise.items()}
        assert shares.pop(tissue) > 0.97
        assert max(shares.values()) < 0.3


def test_components_equal_a_decomposition_of_the_filtered_voxels(tissues):
    _, signals = tissues

    found = compcor(signals, TR)[list(COMPONENTS["csf"])].to_numpy()

    # Cosines with periods of 128 s and more: half waves up to floor(2 · 300 s / 128 s) - 1.
    time = (np.arange(N) + 0.5) / N
    slow = np.linalg.qr(np.cos(np.pi * np.outer(time, np.arange(4))))[0]
    voxels = signals["csf"].astype(float)
    voxels = voxels - slow @ (slow.T @ voxels)
    left = np.linalg.svd(voxels / voxels.std(axis=0), full_matrices=False)[0][:, :5]
    assert_allclose(np.abs(left.T @ found), np.eye(5), atol=1e-5)


def test_a_tissue_with_few_voxels_has_no_components(tissues):
    _, signals = tissues
    signals["csf"] = signals["csf"][:, :4]

    found = compcor(signals, TR)

    assert found[list(COMPONENTS["csf"])].isna().all(axis=None)
    assert found[list(COMPONENTS["white_matter"])].notna().all(axis=None)


@pytest.mark.parametrize("n_early", [0, 1, 4])
def test_bright_volumes_at_the_start_are_counted_and_later_ones_are_not(n_early, rng):
    bold = 1000 + rng.normal(size=(5, 5, 5, 60))
    bold[..., :n_early] *= 1.3
    bold[..., 20] *= 1.3

    assert count_non_steady(bold) == n_early


def test_a_run_without_any_change_is_steady():
    assert count_non_steady(np.ones((3, 3, 3, 20))) == 0


def test_volumes_before_the_steady_state_that_were_not_dropped_are_told():
    assert non_steady_figures(4, 3) == {"non_steady_volumes": 4, "non_steady_kept": 1}
    assert non_steady_figures(4, 10) == {"non_steady_volumes": 4, "non_steady_kept": 0}


def test_standardised_dvars_equals_that_of_nipype(rng, tmp_path, monkeypatch):
    """Nipype takes the autocorrelation from nitime, which is replaced by its equation."""

    def autocorrelation(x, order, rxx):
        return np.array([x[1:] @ x[:-1] / (x @ x)]), None

    algorithms = SimpleNamespace(AR_est_YW=autocorrelation)
    monkeypatch.setitem(sys.modules, "nitime", SimpleNamespace(algorithms=algorithms))
    monkeypatch.setitem(sys.modules, "nitime.algorithms", algorithms)
    series = np.cumsum(rng.normal(size=(40, 27)), axis=0).astype(np.float32) + 1000
    series[25:] += 30
    write_image(series.T.reshape(3, 3, 3, 40), np.eye(4), tmp_path / "bold.nii.gz")
    write_image(np.ones((3, 3, 3), np.uint8), np.eye(4), tmp_path / "mask.nii.gz")

    expected, _, _ = compute_dvars(str(tmp_path / "bold.nii.gz"), str(tmp_path / "mask.nii.gz"))

    found = standardised_dvars(series)
    assert_allclose(found[1:], expected, rtol=1e-4)
    assert found[0] == 0
    assert found.argmax() == 25
