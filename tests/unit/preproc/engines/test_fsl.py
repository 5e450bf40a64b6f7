"""FSL is asked for the files that are read back, in its own coordinates.

The programs are scripts that write a known answer.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.geometry import rigid_matrix, transform
from notears_pfl.preproc.engines import fsl
from notears_pfl.preproc.resample import Grid


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        (fsl.mcflirt, ["bold"], ["mcflirt -in", "-refvol 0", "-mats"]),
        (fsl.bet, ["t1w"], ["bet t1w.nii", "-m", "-R"]),
        (fsl.flirt, ["bold", "t1w"], ["flirt -in", "-dof 6", "-omat bold_to_t1w.mat"]),
        (fsl.fast, ["t1w"], ["fast -t 1", "-N", "-n 3"]),
    ],
)
def test_command_lines_ask_for_what_is_read_back(images, command, arguments, expected):
    line = command(*(images[name] for name in arguments)).cmdline

    for part in expected:
        assert part in line


def scaled_voxels(grid, points):
    """Give FSL's coordinates of world ``points``: mm from the far end of a neurological x."""
    voxels = transform(np.linalg.inv(grid.affine), points)
    voxels[0] = grid.shape[0] - 1 - voxels[0]
    return voxels * grid.voxel_mm[:, None]


def test_matrices_are_turned_into_world_ones(rng, affine):
    moving, reference = Grid((20, 24, 16), affine), Grid((30, 30, 30), np.diag([2.0, 2, 2, 1]))
    world = rigid_matrix(np.array([2.0, -3.0, 1.0, 0.1, -0.05, 0.2]))
    points = rng.uniform(-20, 20, size=(3, 12))
    theirs, ours = scaled_voxels(reference, transform(world, points)), scaled_voxels(moving, points)
    homogeneous = np.vstack([ours, np.ones(12)])
    rows = np.linalg.lstsq(homogeneous.T, theirs.T, rcond=None)[0].T
    matrix = np.vstack([rows, [0, 0, 0, 1]])

    assert_allclose(fsl.world_from_fsl(matrix, moving, reference), world, atol=1e-9)


def test_the_mask_of_bet_is_read(stand_in, tmp_path, affine):
    stand_in(
        "bet",
        "import nibabel as nib, numpy as np\n"
        "image = nib.load(sys.argv[1])\n"
        "mask = (np.asarray(image.dataobj) > 5).astype('uint8')\n"
        "nib.save(image, sys.argv[2])\n"
        "nib.save(nib.Nifti1Image(mask, image.affine), sys.argv[2].replace('.nii', '_mask.nii'))",
    )
    t1w = np.arange(27, dtype=np.float32).reshape(3, 3, 3)

    found = replace(fsl.find_brain, folder=tmp_path)(t1w, affine)

    np.testing.assert_array_equal(found, t1w > 5)


def test_the_tissues_of_fast_are_read(stand_in, tmp_path, affine, rng):
    stand_in(
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

    found = replace(fsl.find_tissues, folder=tmp_path)(brain, affine, brain > 0)

    np.testing.assert_array_equal(found.argmax(axis=0) + 1, brain[brain > 0])
    np.testing.assert_array_equal(found.sum(axis=0), 1)


def test_the_motion_of_mcflirt_is_read(stand_in, tmp_path, affine):
    stand_in(
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

    parameters = replace(fsl.estimate_motion, folder=tmp_path)(np.ones((4, 4, 4, 3)), affine, 2.0)

    # FSL's x runs against the world's.
    assert_allclose(parameters[:, :3], [[0, 0, 0], [-1, 2, 0], [-2, 4, 0]], atol=1e-9)


def test_the_matrix_of_flirt_leads_from_t1w_to_bold(stand_in, tmp_path, affine):
    stand_in(
        "flirt",
        "import shutil, numpy as np\n"
        "def after(flag): return sys.argv[sys.argv.index(flag) + 1]\n"
        "shutil.copy(after('-in'), after('-out'))\n"
        "matrix = np.eye(4)\n"
        "matrix[1, 3] = 2\n"
        "np.savetxt(after('-omat'), matrix)",
    )
    grid = Grid((4, 4, 4), affine)
    tissues = np.ones((3, *grid.shape)) / 3

    matrix = replace(fsl.coregister, folder=tmp_path)(tissues[0], affine, tissues, grid)

    assert_allclose(matrix, rigid_matrix(np.array([0.0, -2, 0, 0, 0, 0])), atol=1e-9)
