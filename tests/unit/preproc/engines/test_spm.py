"""SPM gets the jobs of DPARSF, and its deformation is read in its own convention."""

import numpy as np
from numpy.testing import assert_allclose

from notears_pfl.geometry import transform
from notears_pfl.preproc.engines.ants import map_from_lps
from notears_pfl.preproc.engines.spm import map_from_positions, realign, segment, slice_timing
from notears_pfl.preproc.resample import Grid


def spm_job(interface):
    """Give the job that nipype would hand to SPM, line by line."""
    script = interface._make_matlab_command(interface._parse_inputs())
    return [line.strip() for line in script.splitlines() if line.startswith("jobs{1}")]


def test_slice_timing_gets_times_in_milliseconds_and_the_reference(images):
    job = spm_job(slice_timing(images["bold"], 2.0, np.array([0.0, 0.5, 1.0, 1.5]), 0.5))

    assert "jobs{1}.spm.temporal.st.tr = 2.0;" in job
    assert "jobs{1}.spm.temporal.st.so(4) = 1500.0;" in job
    assert "jobs{1}.spm.temporal.st.refslice = 500.0;" in job


def test_realignment_is_set_up_as_in_dparsf(images):
    job = spm_job(realign(images["bold"]))

    options = {line.split("eoptions.")[1] for line in job if "eoptions." in line}
    assert options == {"quality = 0.9;", "fwhm = 5.0;", "sep = 4.0;", "rtm = 1;", "interp = 2;"}


def test_segmentation_writes_the_deformation_from_template_to_t1w(images):
    job = spm_job(segment(images["t1w"]))

    assert "jobs{1}.spm.tools.preproc8.warp.write(2) = 1;" in job


def test_fields_of_spm_and_itk_give_the_same_map(rng):
    grid = Grid((8, 9, 7), np.diag([4.0, 4, 4, 1]))
    shift = rng.uniform(-3, 3, size=(*grid.shape, 3))
    points = grid.points().T.reshape(*grid.shape, 3)
    inside = transform(grid.affine, rng.uniform(1, 5, size=(3, 20)))

    spm = map_from_positions((points + shift)[..., None, :], grid.affine)
    itk = map_from_lps((shift * [-1, -1, 1])[..., None, :], grid.affine)

    assert_allclose(spm.to_t1w(inside), itk.to_t1w(inside), atol=1e-4)
    assert np.abs(spm.to_t1w(inside) - inside).max() > 0.5
    assert_allclose(
        spm.to_template(spm.to_t1w(grid.points()[:, 200:201])), grid.points()[:, 200:201], atol=2
    )
