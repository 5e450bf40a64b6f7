"""Results of other programs are read in their own conventions.

Programs stand in for themselves as scripts that write a known answer.
"""

import shutil
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import nibabel as nib
import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.errors import ConfigError, OutOfMemoryError, SignalError, StorageError
from notears_pfl.geometry import rigid_matrix, transform
from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.preproc.choice import anatomical_engines, functional_engines
from notears_pfl.preproc.external import map_from_lps, map_from_positions, world_from_fsl
from notears_pfl.preproc.options import RealignOptions
from notears_pfl.preproc.resample import Grid

OWN_ANATOMY = dict.fromkeys(("bias", "brain", "tissues", "normalise"), "own")
OWN_RUN = {"slice_timing": "own", "realign": "own", "coregister": "own"}
# As neurological images are stored: x counts up to the right, so FSL flips it.
AFFINE = np.array([[3.0, 0, 0, -30], [0, 3, 0, -40], [0, 0, 4, -20], [0, 0, 0, 1]])


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Give a maker of programs on the path, each a line of Python."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("FSLOUTPUTTYPE", "NIFTI")

    def write(name, code):
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
        path.chmod(0o755)

    return write


def scaled_voxels(grid, points):
    """Give FSL's coordinates of world ``points``: mm from the far end of a neurological x."""
    voxels = transform(np.linalg.inv(grid.affine), points)
    voxels[0] = grid.shape[0] - 1 - voxels[0]
    return voxels * grid.voxel_mm[:, None]


def test_fsl_matrices_are_turned_into_world_ones(rng):
    moving, reference = Grid((20, 24, 16), AFFINE), Grid((30, 30, 30), np.diag([2.0, 2, 2, 1]))
    world = rigid_matrix(np.array([2.0, -3.0, 1.0, 0.1, -0.05, 0.2]))
    points = rng.uniform(-20, 20, size=(3, 12))
    theirs, ours = scaled_voxels(reference, transform(world, points)), scaled_voxels(moving, points)
    homogeneous = np.vstack([ours, np.ones(12)])
    rows = np.linalg.lstsq(homogeneous.T, theirs.T, rcond=None)[0].T
    fsl = np.vstack([rows, [0, 0, 0, 1]])

    assert_allclose(world_from_fsl(fsl, moving, reference), world, atol=1e-9)


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


def test_the_mask_of_another_program_is_taken(program):
    program(
        "bet",
        "import nibabel as nib, numpy as np\n"
        "image = nib.load(sys.argv[1])\n"
        "mask = (np.asarray(image.dataobj) > 5).astype('uint8')\n"
        "nib.save(image, sys.argv[2])\n"
        "nib.save(nib.Nifti1Image(mask, image.affine), sys.argv[2].replace('.nii', '_mask.nii'))",
    )
    t1w = np.arange(27, dtype=np.float32).reshape(3, 3, 3)

    with anatomical_engines({**OWN_ANATOMY, "brain": "fsl"}) as steps:
        found = steps.find_brain(t1w, AFFINE)

    np.testing.assert_array_equal(found, t1w > 5)


def test_the_tissues_of_another_program_are_taken(program, rng):
    program(
        "fast",
        "import nibabel as nib, numpy as np\n"
        "image = nib.load(sys.argv[-1])\n"
        "data = np.asarray(image.dataobj)\n"
        "shares = {f'pve_{k}': data == k + 1 for k in range(3)}\n"
        "for name, share in {**shares, 'seg': data, 'pveseg': data, 'mixeltype': data}.items():\n"
        "    path = sys.argv[-1].replace('.nii', f'_{name}.nii')\n"
        "    nib.save(nib.Nifti1Image(share.astype('float32'), image.affine), path)",
    )
    brain = rng.integers(0, 4, size=(5, 6, 7)).astype(np.float32)

    with anatomical_engines({**OWN_ANATOMY, "tissues": "fsl"}) as steps:
        found = steps.find_tissues(brain, AFFINE, brain > 0, None, None)

    np.testing.assert_array_equal(found.argmax(axis=0) + 1, brain[brain > 0])
    np.testing.assert_array_equal(found.sum(axis=0), 1)


def test_deepbet_is_called_for_a_mask_on_the_processor(monkeypatch):
    class BrainExtraction:
        """Stand in for deepbet's class; deepbet itself brings gigabytes of PyTorch."""

        def __init__(self, no_gpu=False):
            assert no_gpu

        def run(self, image):
            mask = (image.get_fdata() > 5).astype("uint8")
            return image, nib.Nifti1Image(mask, image.affine), 0.0

    package, module = ModuleType("deepbet"), ModuleType("deepbet.bet")
    module.BrainExtraction = BrainExtraction
    monkeypatch.setitem(sys.modules, "deepbet", package)
    monkeypatch.setitem(sys.modules, "deepbet.bet", module)
    t1w = np.arange(27, dtype=np.float32).reshape(3, 3, 3)

    with anatomical_engines({**OWN_ANATOMY, "brain": "deepbet"}) as steps:
        found = steps.find_brain(t1w, AFFINE)

    np.testing.assert_array_equal(found, t1w > 5)


@pytest.mark.skipif(find_spec("deepbet") is not None, reason="deepbet is installed")
def test_without_deepbet_the_message_says_how_to_get_it():
    with (
        anatomical_engines({**OWN_ANATOMY, "brain": "deepbet"}) as steps,
        pytest.raises(ConfigError, match=r"pip install 'notears-pfl\[deepbet\]'"),
    ):
        steps.find_brain(np.ones((3, 3, 3)), AFFINE)


def test_a_program_that_is_not_installed_is_named_with_its_setting(monkeypatch):
    monkeypatch.setenv("PATH", "")

    with (
        anatomical_engines({**OWN_ANATOMY, "brain": "fsl"}) as steps,
        pytest.raises(ConfigError, match=r'preproc\.engine\.brain asks .* No command "bet"'),
    ):
        steps.find_brain(np.ones((3, 3, 3)), AFFINE)


@pytest.mark.parametrize("code", ["sys.exit('no brain in this image')", "pass"])
def test_a_program_that_fails_or_leaves_no_file_fails_the_subject(program, code):
    program("bet", code)

    with (
        anatomical_engines({**OWN_ANATOMY, "brain": "fsl"}) as steps,
        pytest.raises(SignalError, match=r"program of preproc\.engine\.brain failed"),
    ):
        steps.find_brain(np.ones((3, 3, 3)), AFFINE)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("import os; os.kill(os.getpid(), 9)", OutOfMemoryError, "Killed, as a rule for want of"),
        ("sys.exit('std::bad_alloc')", OutOfMemoryError, "Out of memory"),
        ("sys.exit('fwrite: No space left on device')", StorageError, "Free some space"),
    ],
)
def test_a_program_that_the_machine_failed_fails_the_job_not_the_subject(
    program, tmp_path, code, kind, words
):
    program("bet", code)
    report = tmp_path / "report.json"

    with (
        pytest.raises(kind, match=rf"^sub-01_T1w\.nii: .*preproc\.engine\.brain: .*{words}"),
        mark_failure(report, []),
        naming("sub-01_T1w.nii"),
        anatomical_engines({**OWN_ANATOMY, "brain": "fsl"}) as steps,
    ):
        steps.find_brain(np.ones((3, 3, 3)), AFFINE)

    assert not report.exists()


def test_a_program_that_fails_on_a_full_disk_fails_the_job(program, monkeypatch):
    program("bet", "sys.exit('it just failed')")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))

    with (
        pytest.raises(StorageError, match=r"the disk is full. Free some space .*just failed"),
        anatomical_engines({**OWN_ANATOMY, "brain": "fsl"}) as steps,
    ):
        steps.find_brain(np.ones((3, 3, 3)), AFFINE)


def test_the_motion_of_another_program_is_taken(program):
    program(
        "mcflirt",
        "import os, shutil, numpy as np\n"
        "out = sys.argv[sys.argv.index('-out') + 1]\n"
        "shutil.copy(sys.argv[sys.argv.index('-in') + 1], out)\n"
        "folder = out + '.mat'\n"
        "os.makedirs(folder)\n"
        "for t in range(3):\n"
        "    matrix = np.eye(4)\n"
        "    matrix[:3, 3] = [t, 2 * t, 0]\n"
        "    np.savetxt(os.path.join(folder, f'MAT_{t:04d}'), matrix)",
    )

    with functional_engines({**OWN_RUN, "realign": "fsl"}) as steps:
        motion = steps.estimate_motion(np.ones((4, 4, 4, 3)), AFFINE, 2.0, RealignOptions())

    # FSL's x runs against the world's.
    assert_allclose(motion.parameters[:, :3], [[0, 0, 0], [-1, 2, 0], [-2, 4, 0]], atol=1e-9)


def test_steps_left_to_us_stay_ours():
    with anatomical_engines(OWN_ANATOMY) as anatomy, functional_engines(OWN_RUN) as run:
        assert anatomy.find_brain.__module__ == "notears_pfl.preproc.brain"
        assert run.coregister.__module__ == "notears_pfl.preproc.coregister"
