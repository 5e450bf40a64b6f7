"""A run that fMRIPrep normalised gives the ROI series of the run that we normalised."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from notears_pfl.acquisition import MOTION
from notears_pfl.errors import SignalError
from notears_pfl.preproc.cautions import unlisted_figures, with_cautions
from notears_pfl.preproc.fmriprep import non_steady_volumes, prepare_fmriprep_run
from notears_pfl.preproc.nuisance import friston24
from notears_pfl.preproc.realign import displacement_power

from .test_run import TR, means_of, run_of, scan  # noqa: F401
from .toy import toy_head

N_EARLY = 3


@pytest.fixture(scope="module")
def direct(scan):  # noqa: F811
    return run_of(scan)


@pytest.fixture(scope="module")
def derivatives(direct):
    """Give the run as fMRIPrep would: an image in MNI space with more volumes, and confounds."""
    n = len(direct.series)
    image = np.stack([direct.volume(t) for t in range(n)], axis=-1)
    early = np.repeat(1.4 * image[..., :1], N_EARLY, axis=-1)
    motion = np.vstack([np.full((N_EARLY, 6), 0.01), direct.motion.parameters])
    confounds = pd.DataFrame(motion, columns=list(MOTION))
    confounds["rmsd"] = [np.nan, *np.linspace(0.1, 0.2, len(confounds) - 1)]
    confounds["csf"] = np.arange(len(confounds), dtype=float)
    confounds["non_steady_state_outlier00"] = 0
    return np.concatenate([early, image], axis=-1), direct.grid.affine, confounds


def prepared(derivatives, **changes):
    image, affine, confounds = derivatives
    _, t1w_affine, brain, _ = toy_head()
    values = {"bold": image, "confounds": confounds, "n_dropped": N_EARLY} | changes
    return prepare_fmriprep_run(
        values["bold"], affine, TR, values["confounds"], (brain, t1w_affine), values["n_dropped"]
    )


def test_the_series_of_regions_are_those_of_the_direct_way(direct, derivatives):
    run = prepared(derivatives)

    np.testing.assert_array_equal(run.near, direct.near)
    np.testing.assert_array_equal(run.covered, direct.covered)
    assert_allclose(means_of(run)[0], means_of(direct)[0], rtol=1e-6)


def test_the_motion_regressors_are_those_of_the_direct_way(direct, derivatives):
    motion = prepared(derivatives).motion

    assert_allclose(friston24(motion.to_numpy()), friston24(direct.motion.parameters), atol=1e-12)


def test_figures_are_the_direct_ones_or_none_with_a_reason(direct, derivatives):
    figures, direct_figures = prepared(derivatives).figures(), direct.figures()

    for name in ("n_volumes", "mean_fd_power_mm", "mean_dvars_percent", "median_tsnr"):
        assert figures[name] == pytest.approx(direct_figures[name], rel=1e-6)
    assert set(direct_figures) <= set(figures)
    nothing = {name for name, value in figures.items() if value is None}
    assert nothing == set(figures["why_none"])
    assert {"bold_t1w_agreement", "template_agreement"} <= nothing
    assert unlisted_figures(figures) == unlisted_figures(direct_figures) == []
    assert with_cautions(figures)["cautions"] == []
    jenkinson = np.linspace(0.1, 0.2, len(derivatives[2]) - 1)[N_EARLY:]
    assert figures["mean_fd_jenkinson_mm"] == pytest.approx(jenkinson.sum() / figures["n_volumes"])


def test_without_rmsd_jenkinsons_displacement_is_none(derivatives):
    run = prepared(derivatives, confounds=derivatives[2].drop(columns="rmsd"))

    assert run.figures()["mean_fd_jenkinson_mm"] is None
    assert "no column rmsd" in run.figures()["why_none"]["mean_fd_jenkinson_mm"]
    assert run.figures()["mean_fd_power_mm"] > 0


def test_volumes_and_confounds_are_dropped_together(derivatives):
    run = prepared(derivatives, n_dropped=N_EARLY + 5)

    assert len(run.series) == len(run.motion) == len(run.volume_figures())
    assert run.all_confounds()["csf"].iloc[0] == N_EARLY + 5
    expected = displacement_power(derivatives[2][list(MOTION)].to_numpy()[N_EARLY + 5 :])
    assert_allclose(run.volume_figures()["fd_power_mm"], expected)
    assert non_steady_volumes(derivatives[2]) == 1


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c.drop(columns="rot_x"), r"have no rot_x"),
        (lambda c: c.iloc[1:], r"rows, the run \d+ volumes"),
        (lambda c: c.assign(trans_x=np.nan), "Some motion parameters .* are missing"),
        (lambda c: c.assign(rot_z=2.5), "Rotations reach 2.5, but must be in radians"),
    ],
)
def test_confounds_that_do_not_fit_are_refused(derivatives, edit, message):
    with pytest.raises(SignalError, match=message):
        prepared(derivatives, confounds=edit(derivatives[2]))


def test_an_image_that_is_elsewhere_is_refused(derivatives):
    image, affine, confounds = derivatives
    away = affine.copy()
    away[0, 3] += 1000

    with pytest.raises(SignalError, match="does not overlap"):
        prepared((image, away, confounds))


def test_all_columns_of_fmriprep_are_kept_but_motion_and_those_we_compute(derivatives):
    image, affine, confounds = derivatives
    more = confounds.assign(a_comp_cor_00=1.0, std_dvars=-1.0, w_comp_cor_00=2.0)

    run = prepared((image, affine, more), n_dropped=2)

    names = ["fd_power_mm", "fd_jenkinson_mm", "dvars_percent", "std_dvars"]
    names += ["rmsd", "csf", "non_steady_state_outlier00", "a_comp_cor_00", "w_comp_cor_00"]
    assert list(run.all_confounds()) == names
    assert run.all_confounds()["std_dvars"].min() == 0


def test_volumes_that_fmriprep_marked_and_that_were_kept_are_told(derivatives):
    image, affine, confounds = derivatives
    marked = confounds.assign(**{f"non_steady_state_outlier0{n}": 0 for n in range(5)})

    figures = prepared((image, affine, marked)).figures()

    assert (figures["non_steady_volumes"], figures["non_steady_kept"]) == (5, 2)
    (caution,) = with_cautions(figures)["cautions"]
    assert "2 volumes look as if before the steady state" in caution
    assert "(usual: 0)" in caution
