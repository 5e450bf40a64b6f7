"""Images come back as they were written, with the same bytes every time."""

import gzip
import hashlib
import os
import time
from functools import partial

import nibabel as nib
import numpy as np
import pytest

from notears_pfl.errors import ImageError
from notears_pfl.io.images import (
    read_arrays,
    read_bare_image,
    read_image,
    read_volume,
    write_arrays,
    write_image,
)

AFFINE = np.array([[3.0, 0, 0, -90], [0, 3, 0, -126], [0, 0, 4, -72], [0, 0, 0, 1]])


def test_an_image_survives_the_disk(rng, tmp_path):
    data = rng.integers(0, 3000, size=(4, 5, 6, 7)).astype(np.int16)

    write_image(data, AFFINE, tmp_path / "bold.nii.gz", repetition_time=2.7)

    image = read_image(tmp_path / "bold.nii.gz")
    assert image.data.dtype == np.int16
    np.testing.assert_array_equal(image.data, data)
    np.testing.assert_array_equal(image.affine, AFFINE)
    header = nib.load(tmp_path / "bold.nii.gz").header
    assert header.get_zooms() == pytest.approx((3, 3, 4, 2.7))
    assert header.get_xyzt_units() == ("mm", "sec")


def test_the_same_image_gives_the_same_bytes_later(rng, tmp_path, monkeypatch):
    data = rng.normal(size=(4, 4, 4)).astype(np.float32)
    digests = []
    for when in (1e9, 2e9):
        monkeypatch.setattr(time, "time", lambda when=when: when)
        write_image(data, AFFINE, tmp_path / "t1w.nii.gz")
        digests.append(hashlib.sha256((tmp_path / "t1w.nii.gz").read_bytes()).hexdigest())

    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("largest", "step", "error"),
    [(1.0, 0.0, 1 / 65_000), (4000.0, 0.0, 4 / 65), (0.0, 0.0, 0), (4000.0, 8.0, 4.001)],
)
def test_a_compact_image_is_rounded_to_its_step(largest, step, error, rng, tmp_path):
    data = (largest * rng.uniform(0, 1, size=(6, 6, 6))).astype(np.float32)
    data[:3] = 0

    write_image(data, AFFINE, tmp_path / "t1w.nii", step=step)

    assert nib.load(tmp_path / "t1w.nii").get_data_dtype() == np.int16
    found = read_image(tmp_path / "t1w.nii").data
    np.testing.assert_allclose(found, data, rtol=0, atol=error)
    if step:
        np.testing.assert_allclose(found / step, np.rint(found / step), atol=1e-6)
    assert not found[:3].any()


def test_an_image_that_is_not_finite_everywhere_is_not_rounded(rng, tmp_path):
    data = rng.normal(size=(4, 4, 4)).astype(np.float32)
    data[0] = np.nan

    write_image(data, AFFINE, tmp_path / "xfm.nii", step=0.5)

    np.testing.assert_array_equal(read_image(tmp_path / "xfm.nii").data, data)


def test_vectors_are_marked_as_such(rng, tmp_path):
    field = rng.normal(size=(4, 5, 6, 3)).astype(np.float32)

    write_image(field, AFFINE, tmp_path / "xfm.nii.gz", vectors=True)

    image = nib.load(tmp_path / "xfm.nii.gz")
    assert image.shape == (4, 5, 6, 1, 3)
    assert image.header.get_intent()[0] == "vector"


def test_a_truncated_image_is_refused_by_name(rng, tmp_path):
    path = tmp_path / "bold.nii.gz"
    write_image(rng.normal(size=(16, 16, 16)), AFFINE, path)
    os.truncate(path, path.stat().st_size // 2)

    with pytest.raises(ImageError, match=r"bold\.nii\.gz: cannot be read as a NIfTI image"):
        read_image(path)


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
def test_a_header_that_tells_of_more_voxels_than_its_file_holds_is_damage_not_want_of_memory(
    ending, tmp_path
):
    """Such a header asks for 46 exabytes."""
    path = tmp_path / f"bold{ending}"
    image = nib.Nifti1Image(np.ones((4, 4, 4, 4), np.float32), AFFINE)
    content = bytearray(image.to_bytes())
    content[40:50] = np.array([4, 32767, 32767, 32767, 32767], "<i2").tobytes()
    path.write_bytes(gzip.compress(content) if ending == ".nii.gz" else content)

    for read in (read_image, read_bare_image) if ending == ".nii" else (read_image,):
        with pytest.raises(ImageError, match=rf"bold\{ending}: .*bytes of voxels, the file has"):
            read(path)


def test_a_header_of_an_unknown_unit_is_damage(tmp_path):
    path = tmp_path / "bold.nii"
    content = bytearray(nib.Nifti1Image(np.ones((4, 4, 4), np.float32), AFFINE).to_bytes())
    content[123] = 7
    path.write_bytes(content)

    with pytest.raises(ImageError, match=r"bold\.nii: cannot be read as a NIfTI image"):
        read_image(path)


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
def test_an_image_cut_short_anywhere_is_damage(ending, rng, tmp_path):
    write_image(rng.normal(size=(6, 6, 6)), AFFINE, tmp_path / f"whole{ending}")
    content = (tmp_path / f"whole{ending}").read_bytes()

    for length in (0, 1, 20, 300, 348, 352, 360, len(content) // 2, len(content) - 60):
        (tmp_path / f"cut{ending}").write_bytes(content[:length])
        with pytest.raises(ImageError, match=r"truncated or damaged"):
            read_image(tmp_path / f"cut{ending}")


def test_one_volume_is_read_whatever_axes_of_length_one_follow(rng, tmp_path):
    data = rng.normal(size=(4, 5, 6)).astype(np.float32)
    write_image(data[..., None], AFFINE, tmp_path / "t1w.nii.gz")

    np.testing.assert_array_equal(read_volume(tmp_path / "t1w.nii.gz").data, data)


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 1), (4, 4, 4, 2)])
def test_an_image_that_is_not_one_volume_is_refused_by_name(shape, tmp_path):
    write_image(np.ones(shape, np.float32), AFFINE, tmp_path / "t1w.nii.gz")

    with pytest.raises(ImageError, match=r"t1w\.nii\.gz: one volume was needed, the shape is"):
        read_volume(tmp_path / "t1w.nii.gz")


def test_a_scan_whose_header_does_not_say_left_from_right_is_refused(rng, tmp_path):
    path, data = tmp_path / "bold.nii", rng.normal(size=(4, 4, 4)).astype(np.float32)
    nib.save(nib.Nifti1Image(data, None), path)

    for read in (partial(read_image, oriented=True), partial(read_volume, oriented=True)):
        with pytest.raises(ImageError, match=r"bold\.nii: a stored orientation was needed"):
            read(path)
    with pytest.raises(ImageError, match="which side is left is unknown"):
        read_bare_image(path)
    assert read_image(path).data.shape == (4, 4, 4)


@pytest.mark.parametrize(
    ("stored", "unit", "told"),
    [
        (2.5, "sec", 2.5),
        (2500, "msec", 2.5),
        (2.5, "unknown", None),
        (0, "sec", None),
        (1, "sec", None),
        (2.5, "msec", None),
        (2500, "sec", None),
    ],
)
def test_the_header_tells_the_repetition_time_unless_a_tool_did_not_know_it(
    stored, unit, told, tmp_path
):
    image = nib.Nifti1Image(np.ones((4, 4, 4, 3), np.float32), AFFINE)
    image.header.set_xyzt_units("mm", unit)
    image.header["pixdim"][4] = stored
    nib.save(image, tmp_path / "bold.nii")

    assert read_image(tmp_path / "bold.nii").repetition_time == told


@pytest.mark.parametrize("form", ["set_sform", "set_qform"])
def test_either_form_of_the_header_orients_a_scan(form, tmp_path):
    image = nib.Nifti1Image(np.ones((4, 4, 4), np.float32), None)
    getattr(image, form)(AFFINE, code=1)
    nib.save(image, tmp_path / "t1w.nii")

    assert read_volume(tmp_path / "t1w.nii", oriented=True).affine == pytest.approx(AFFINE)


def test_arrays_come_back_with_their_names_and_types(tmp_path):
    arrays = {"image": np.arange(6, dtype=np.uint8).reshape(2, 3), "mm": np.array([1.5, -2])}

    write_arrays(arrays, tmp_path / "slices.npz")

    found = read_arrays(tmp_path / "slices.npz")
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_the_empty_file_of_a_failed_subject_has_no_arrays(tmp_path):
    (tmp_path / "slices.npz").touch()

    assert read_arrays(tmp_path / "slices.npz") is None


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_arrays({"a": np.ones(5)}, tmp_path / f"{name}.npz")

    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
