"""Our steps run as nipype interfaces and give what the functions give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.io.images import read_image, write_image
from notears_pfl.preproc.interfaces import (
    Clean,
    ExtractBrain,
    Normalise,
    Realign,
    SliceTiming,
    Smooth,
)

from .toy import toy_head, toy_texture


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_slice_timing_gives_that_of_spm(reference_image, reference_table, tmp_path):
    bold, affine = reference_image("stc_c1_in")
    write_image(bold, affine, tmp_path / "bold.nii", repetition_time=2.0)
    times = reference_table("stc_c1_slicetimes_s.tsv").tolist()

    done = SliceTiming(in_file="bold.nii", repetition_time=2.0, slice_times=times).run()

    corrected = read_image(done.outputs.out_file).data
    assert_allclose(corrected, reference_image("stc_c1_spm")[0], atol=1e-4)


def test_realign_writes_six_parameters_per_volume(tmp_path):
    head, affine, _, _ = toy_head(voxel_mm=6.0, shape=(32, 38, 32))
    bold = np.stack([head, np.roll(head, 1, axis=0)], axis=-1).astype(np.float32)
    write_image(bold, affine, tmp_path / "bold.nii")

    done = Realign(in_file="bold.nii").run()

    parameters = np.loadtxt(done.outputs.out_file)
    assert parameters.shape == (2, 6)
    assert parameters[1, 0] == pytest.approx(-6, abs=0.2)


def test_smooth_gives_that_of_spm(reference_image, tmp_path):
    impulse, affine = reference_image("smooth_iso3_in")
    write_image(impulse, affine, tmp_path / "impulse.nii")

    done = Smooth(in_file="impulse.nii").run()

    smoothed, spm = read_image(done.outputs.out_file).data, reference_image("smooth_iso3_spm6")[0]
    assert np.linalg.norm(smoothed - spm) < 0.001 * np.linalg.norm(spm)


def test_clean_gives_that_of_dparsf(reference_table, tmp_path):
    np.savetxt(tmp_path / "signals.txt", reference_table("dparsf_in_ts.tsv"))
    np.savetxt(tmp_path / "rp.txt", reference_table("dparsf_in_rp.txt"))

    done = Clean(in_file="signals.txt", motion="rp.txt", repetition_time=2.5).run()

    cleaned = np.loadtxt(done.outputs.out_file)
    assert_allclose(cleaned, reference_table("dparsf_out_detrend_f24_bp.tsv"), atol=1e-8)


def test_extract_brain_writes_a_mask(tmp_path):
    t1w, affine, brain, _ = toy_head()
    write_image(t1w.astype(np.float32), affine, tmp_path / "t1w.nii")

    done = ExtractBrain(in_file="t1w.nii").run()

    mask = read_image(done.outputs.out_file).data > 0
    assert np.mean(mask == brain) > 0.95


def test_normalise_writes_displacements(tmp_path):
    grid = np.diag([4.0, 4, 4, 1])
    grid[:3, 3] = [-90, -110, -80]
    points = np.stack(np.meshgrid(*[np.arange(n) for n in (45, 48, 44)], indexing="ij"))
    points = 4.0 * points + grid[:3, 3].reshape(3, 1, 1, 1)
    write_image(toy_texture(points).astype(np.float32), grid, tmp_path / "template.nii")
    write_image(toy_texture(points + 5).astype(np.float32), grid, tmp_path / "brain.nii")

    done = Normalise(in_file="brain.nii", template="template.nii").run()

    displacement = read_image(done.outputs.out_file).data
    assert displacement.shape[-2:] == (1, 3)
    assert_allclose(np.median(displacement, axis=(0, 1, 2, 3)), -5, atol=1.5)
