"""Our steps run as nipype interfaces and give what the functions give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform
from notears_pfl.io.images import read_image, write_image
from notears_pfl.preproc.interfaces import (
    Clean,
    Coregister,
    DropVolumes,
    ExtractBrain,
    Normalise,
    Realign,
    Resample,
    SliceTiming,
    Smooth,
    Tissues,
)

from .toy import CENTRE_MM, toy_head, toy_texture, toy_tissues


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


def test_drop_volumes_leaves_out_the_first(tmp_path):
    bold = 1 + np.arange(2 * 3 * 4 * 6, dtype=np.float32).reshape(2, 3, 4, 6)
    write_image(bold, np.eye(4), tmp_path / "bold.nii", repetition_time=2.0)

    done = DropVolumes(in_file="bold.nii", repetition_time=2.0, n_dropped=2).run()

    np.testing.assert_array_equal(read_image(done.outputs.out_file).data, bold[..., 2:])


def test_tissues_writes_a_volume_per_tissue(tmp_path, rng):
    t1w, affine, brain, tissues = toy_head()
    t1w = t1w + 15 * rng.standard_normal(t1w.shape)
    write_image(t1w.astype(np.float32), affine, tmp_path / "t1w.nii")
    write_image(brain, affine, tmp_path / "mask.nii")

    done = Tissues(in_file="t1w.nii", mask_file="mask.nii").run()

    found = np.moveaxis(read_image(done.outputs.out_file).data, -1, 0)
    pure = brain & (tissues.max(axis=0) > 0.98)
    assert np.mean(found.argmax(axis=0)[pure] == tissues.argmax(axis=0)[pure]) > 0.9
    assert not found[:, ~brain].any()


def test_coregister_and_resample_bring_bold_to_the_template(tmp_path):
    matrix = rigid_matrix(np.array([4.0, -3.0, 2.0, 0.05, -0.04, 0.03]))
    _, affine, brain, tissues = toy_head()
    write_image(np.moveaxis(tissues, 0, -1).astype(np.float32), affine, tmp_path / "tissues.nii")
    shape = (50, 56, 40)
    bold_affine = centred_affine(shape, np.array([3.5, 3.5, 4.0]), CENTRE_MM)
    brightness = np.array([1300.0, 1000, 850])
    at_first = transform(np.linalg.inv(matrix), grid_points(shape, bold_affine))
    motion = np.array([[0.0] * 6, [3.0, 0, 0, 0, 0, 0]])
    moved = transform(
        np.linalg.inv(matrix) @ rigid_matrix(motion[1]), grid_points(shape, bold_affine)
    )
    volumes = [np.tensordot(brightness, toy_tissues(where), axes=1) for where in (at_first, moved)]
    write_image(volumes[0].astype(np.float32), bold_affine, tmp_path / "mean.nii")
    bold = np.stack(volumes, axis=-1).astype(np.float32)
    write_image(bold, bold_affine, tmp_path / "bold.nii", repetition_time=2.0)
    np.savetxt(tmp_path / "motion.txt", motion)
    field = np.zeros((*brain.shape, 3), dtype=np.float32)
    write_image(field, affine, tmp_path / "field.nii", vectors=True)

    found = Coregister(in_file="mean.nii", tissues="tissues.nii").run().outputs.out_file
    done = Resample(
        in_file="bold.nii",
        motion="motion.txt",
        t1w_to_bold=found,
        template_to_t1w="field.nii",
        repetition_time=2.0,
        voxel_mm=4.0,
    ).run()

    assert_allclose(np.loadtxt(found)[:3, 3], matrix[:3, 3], atol=1.5)
    image = read_image(done.outputs.out_file)
    expected = np.tensordot(
        brightness, toy_tissues(grid_points(image.data.shape[:3], image.affine)), axes=1
    )
    for volume in np.moveaxis(image.data, -1, 0):
        assert np.corrcoef(volume.ravel(), expected.ravel())[0, 1] > 0.98
    # The planted motion of 3 mm, left in, would show.
    assert_allclose(image.data[..., 1], image.data[..., 0], atol=0.3 * expected.max())
