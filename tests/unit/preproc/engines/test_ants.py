"""ANTs is asked for the files that are read back."""

import pytest

from notears_pfl.preproc.engines import ants


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        (ants.n4, ["t1w"], ["N4BiasFieldCorrection -d 3", "--shrink-factor 4"]),
        (ants.rigid, ["bold", "t1w"], ["antsRegistration", "--transform Rigid[ 0.1 ]"]),
        (
            ants.atropos,
            ["t1w", "template"],
            ["Atropos --image-dimensionality 3", "KMeans[3]", "--mask-image", "tissue_%02d.nii"],
        ),
        (
            ants.syn,
            ["t1w", "template"],
            ["antsRegistration", "--transform SyN[ 0.1, 3.0, 0.0 ]", "template.nii, "],
        ),
    ],
)
def test_command_lines_ask_for_what_is_read_back(images, command, arguments, expected):
    line = command(*(images[name] for name in arguments)).cmdline

    for part in expected:
        assert part in line


def test_transforms_are_composed_on_the_grid_of_the_template(images, tmp_path):
    for name in ("0GenericAffine.mat", "1Warp.nii.gz"):
        (tmp_path / name).touch()
    transforms = [str(tmp_path / "1Warp.nii.gz"), str(tmp_path / "0GenericAffine.mat")]

    line = ants.composed(images["t1w"], images["template"], transforms).cmdline

    assert "--output [ to_moving_field.nii, 1 ]" in line
    assert line.index("1Warp.nii.gz") < line.index("0GenericAffine.mat")
