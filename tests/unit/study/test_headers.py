"""What image headers show is a problem of its subject before any job starts, said in words."""

import errno
import os

import nibabel as nib
import numpy as np
import pytest
from tests.tiny_images import tiny_bold, tiny_image, tiny_t1w, write_tiny_release

from notears_pfl.errors import StorageError
from notears_pfl.io.sidecars import write_json
from notears_pfl.study.headers import HeaderChecks


@pytest.fixture
def checks():
    return HeaderChecks(drop_volumes=10, needs_slice_times=True)


@pytest.fixture
def saved(tmp_path):
    """Write an image, and give its path."""

    def save(image, name="scan.nii.gz"):
        nib.save(image, tmp_path / name)
        return str(tmp_path / name)

    return save


@pytest.fixture
def sidecar(tmp_path):
    """Write the sidecar of a run with two slices, with some fields changed."""

    def write(**changes):
        content = {"RepetitionTime": 2.5, "SliceTiming": [0.0, 1.0]} | changes
        write_json(content, tmp_path / "scan.json")
        return [str(tmp_path / "scan.json")]

    return write


def oriented(image, *, sform=None, qform=None, codes=(1, 1)):
    """Give the header of ``image`` other orientations."""
    affine = image.affine.copy()
    image.set_sform(affine if sform is None else sform, codes[0])
    image.set_qform(affine if qform is None else qform, codes[1])
    return image


def with_affine(image, affine):
    """Store a matrix that nibabel would not write."""
    image.header["srow_x"], image.header["srow_y"], image.header["srow_z"] = affine[:3]
    return nib.Nifti1Image(np.asanyarray(image.dataobj), None, image.header)


def moved(mm):
    affine = np.diag([4.0, 4.0, 4.0, 1.0])
    affine[0, 3] = mm
    return affine


THIN = np.diag([7.0, 7.0, 0.25, 1.0])
MIRRORED = np.diag([-4.0, 4.0, 4.0, 1.0])


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
def test_good_scans_have_no_problems(ending, checks, saved, sidecar):
    assert checks.t1w(saved(tiny_t1w(), f"t1w{ending}")) == []
    assert checks.bold(saved(tiny_bold(tr=2.5), f"bold{ending}"), sidecar()) == []


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (tiny_image((16, 16, 16, 2), 7.0), "one volume was needed, the shape is (16, 16, 16, 2)."),
        (tiny_image((16, 16), 7.0), "one volume was needed, the shape is (16, 16)."),
        (
            oriented(tiny_image((16, 16, 400), 7.0), sform=THIN, qform=THIN),
            "edges of 0.3 to 7 mm, these have 7 × 7 × 0.25 mm",
        ),
        (tiny_image((16, 16, 16), 8.0), "edges of 0.3 to 7 mm, these have 8 × 8 × 8 mm."),
        (
            tiny_image((16, 16, 12), 7.0),
            "at least 100 mm in every direction; it measures 112 × 112 × 84 mm",
        ),
    ],
)  # fmt: skip
def test_a_t1w_image_that_is_not_one_of_a_head_is_named(image, message, checks, saved):
    path = saved(image)

    (problem,) = checks.t1w(path)

    assert problem.startswith(f"{path}: ")
    assert message in problem


def test_axes_of_length_one_may_follow_those_of_a_t1w_image(checks, saved):
    assert checks.t1w(saved(tiny_image((16, 16, 16, 1), 7.0))) == []


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (tiny_image((4, 4, 2), 4.0), "a 4D run was needed, the shape is (4, 4, 2). Give the 4D"),
        (tiny_bold(n_volumes=1), "preproc.drop_volumes discards 10; the run has 1."),
        (tiny_bold(n_volumes=12), "at least 13 volumes were needed, since preproc.drop"),
        (tiny_image((4, 4, 2, 13), 0.004), "edges of 0.5 to 15 mm, these have 0.004 × 0.004"),
        (tiny_image((4, 4, 2, 13), 16.0), "BOLD run must have edges of 0.5 to 15 mm"),
    ],
    ids=["3D", "one volume", "short", "metres", "coarse"],
)  # fmt: skip
def test_a_bold_image_that_is_not_a_run_is_named(image, message, checks, saved):
    path = saved(image)

    (problem,) = checks.bold(path, [])

    assert problem.startswith(f"{path}: ")
    assert message in problem


def test_a_run_just_long_enough_depends_on_the_volumes_discarded(saved):
    path = saved(tiny_bold(n_volumes=3))

    assert HeaderChecks(0, False).bold(path, []) == []
    assert "at least 4 volumes were needed" in HeaderChecks(1, False).bold(path, [])[0]


@pytest.mark.parametrize(
    ("orientation", "message"),
    [
        ({"codes": (0, 0)}, "orientation was needed, but sform_code and qform_code are both 0"),
        (
            {"qform": MIRRORED},
            "the sform (code 1, axes RAS), which would be used, and the qform (code 1, axes LAS) "
            "are mirror images of each other: left and right are swapped",
        ),
        ({"qform": MIRRORED, "codes": (2, 1)}, "the qform (code 1, axes LAS) are mirror images"),
        ({"sform": moved(6)}, "are up to 6 mm apart at the image's corners. Find out which"),
    ],
    ids=["none", "mirrored", "mirrored in another space", "apart"],
)  # fmt: skip
def test_an_orientation_that_is_missing_or_contradicts_itself_is_named(
    orientation, message, checks, saved
):
    path = saved(oriented(tiny_bold(), **orientation))

    (problem,) = checks.bold(path, [])

    assert problem.startswith(f"{path}: ")
    assert message in problem


@pytest.mark.parametrize(
    "orientation",
    [
        {"sform": moved(4)},
        {"sform": moved(60), "codes": (2, 1)},
        {"codes": (1, 0)},
        {"codes": (0, 1)},
    ],
    ids=["rounded", "another space", "sform alone", "qform alone"],
)
def test_orientations_that_agree_or_mean_different_spaces_are_no_problem(
    orientation, checks, saved
):
    assert checks.bold(saved(oriented(tiny_bold(), **orientation)), []) == []


@pytest.mark.parametrize(
    "affine",
    [np.diag([4.0, 4.0, 0.0, 1.0]), np.diag([4.0, np.nan, 4.0, 1.0]), np.ones((4, 4))],
    ids=["no third axis", "not finite", "one axis thrice"],
)
def test_an_affine_without_three_axes_is_named(affine, checks, saved):
    problems = checks.bold(saved(with_affine(tiny_bold(), affine)), [])

    assert len(problems) == 1
    assert "an affine with three different axes and finite numbers was needed" in problems[0]


def test_a_header_whose_repetition_time_is_not_the_sidecars_is_named(checks, saved, sidecar):
    path = saved(tiny_bold(tr=2.0))

    (problem,) = checks.bold(path, sidecar())

    assert f"The repetition time is 2 s in the header of {path}, but 2.5 s in" in problem
    assert "scan.json. Find out which is right" in problem


def test_a_header_without_a_plausible_repetition_time_is_no_problem(checks, saved, sidecar):
    assert checks.bold(saved(tiny_bold(tr=1.0)), sidecar()) == []


def test_slice_times_for_other_slices_are_named(checks, saved, sidecar):
    path = saved(tiny_bold(n_slices=3))

    assert checks.bold(path, sidecar())[0].startswith(
        f"{path}: SliceTiming lists 2 times for 3 slices. Correct SliceTiming"
    )
    assert HeaderChecks(10, needs_slice_times=False).bold(path, sidecar()) == []


def test_slices_along_another_axis_are_named(checks, saved, sidecar):
    (problem,) = checks.bold(saved(tiny_bold()), sidecar(SliceEncodingDirection="j"))

    assert "SliceEncodingDirection is 'j'; slices along the third axis" in problem


def test_all_problems_of_an_image_are_named_at_once(checks, saved, sidecar):
    image = oriented(tiny_bold(n_slices=3, n_volumes=12, tr=2.0), codes=(0, 0))

    words = ("at least 13 volumes", "stored orientation", "repetition time is 2 s", "for 3 slices")
    problems = checks.bold(saved(image), sidecar())
    assert len(problems) == len(words)
    for problem, word in zip(problems, words, strict=True):
        assert word in problem


@pytest.mark.parametrize("length", [0, 1, 20, 40])
def test_an_image_without_a_whole_header_is_named(length, checks, saved):
    path = saved(tiny_t1w())
    os.truncate(path, length)

    assert "cannot be read as a NIfTI image" in checks.t1w(path)[0]
    assert "truncated or damaged: copy or convert it again" in checks.t1w(path)[0]


def test_an_image_that_lacks_voxels_is_named_if_it_is_not_compressed(checks, saved):
    path = saved(tiny_t1w(), "scan.nii")
    os.truncate(path, 3000)

    assert "declares 4096 bytes of voxels, the file has 3000 bytes in all" in checks.t1w(path)[0]


def test_a_link_to_a_file_that_was_not_fetched_is_named(checks, tmp_path):
    link = tmp_path / "scan.nii.gz"
    link.symlink_to(tmp_path / ".git/annex/objects/scan.nii.gz")

    (problem,) = checks.t1w(str(link))

    assert problem == (
        f"{link} is a link to a file that is not here. Fetch the file, for example with datalad get"
    )


def test_a_pipe_in_place_of_an_image_is_named_and_not_waited_for(checks, tmp_path):
    os.mkfifo(tmp_path / "scan.nii")

    assert "(it is no file)" in checks.t1w(str(tmp_path / "scan.nii"))[0]


def test_a_header_that_the_disk_does_not_give_stops_the_study_and_costs_no_subject(
    checks, saved, monkeypatch
):
    path = saved(tiny_t1w())

    def fail(*_, **__):
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    monkeypatch.setattr("builtins.open", fail)

    with pytest.raises(StorageError, match=r"scan\.nii\.gz: cannot be read: Input/output error"):
        checks.t1w(path)


@pytest.fixture
def release(tmp_path):
    """Write a subject of the SRPBS release, and give the folder of its volumes."""

    def write(volume=None, n_volumes=13):
        image = tiny_image((4, 4, 4), 4.0) if volume is None else volume
        write_tiny_release(tmp_path, tiny_t1w().to_bytes(), image.to_bytes(), n_volumes)
        return tmp_path / "rsfmri"

    return write


def test_a_good_run_of_bare_volumes_has_no_problems(checks, release):
    assert checks.volumes(str(release())) == []


def test_bare_volumes_that_are_missing_are_named(checks, release):
    folder = release()
    (folder / "vol_7").unlink()

    (problem,) = checks.volumes(str(folder))

    assert problem.startswith(f"{folder}: Of the volumes 1 to 13, volumes [7] are missing")


def test_too_few_bare_volumes_are_named(checks, release):
    assert "at least 13 volumes were needed" in checks.volumes(str(release(n_volumes=5)))[0]


def test_a_first_bare_volume_that_cannot_be_used_is_named(checks, release):
    folder = release()
    (folder / "vol_1").write_bytes(b"")

    assert f"{folder}/vol_1: cannot be read as a NIfTI image" in checks.volumes(str(folder))[0]


def test_bare_volumes_without_orientation_or_in_sagittal_slices_are_named(checks, release):
    sagittal = tiny_image((4, 4, 4), 4.0)
    turned = sagittal.affine[[2, 0, 1, 3]]

    folder = release(oriented(sagittal, sform=turned, qform=turned))
    assert "third axis of the run does not go from feet to head" in checks.volumes(str(folder))[0]

    bare = oriented(tiny_image((4, 4, 4), 4.0), codes=(0, 0))
    (folder / "vol_1").write_bytes(bare.to_bytes())
    again = HeaderChecks(10, needs_slice_times=True)
    assert "a stored orientation was needed" in again.volumes(str(folder))[0]
