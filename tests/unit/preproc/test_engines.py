"""Other programs are asked for the same step; the programs themselves are not run here."""

import numpy as np
import pytest

from notears_pfl.errors import ConfigError
from notears_pfl.io.images import write_image
from notears_pfl.preproc.engines import ENGINES, engine_for, field_ants

TIMES = np.array([0.0, 0.5, 1.0, 1.5])


@pytest.fixture
def images(tmp_path, monkeypatch):
    """Give paths of a small BOLD and T1w image."""
    monkeypatch.setenv("FSLOUTPUTTYPE", "NIFTI")
    monkeypatch.chdir(tmp_path)
    for name, shape in (("bold", (4, 4, 4, 3)), ("t1w", (4, 4, 4)), ("template", (5, 5, 5))):
        write_image(np.ones(shape, np.float32), np.eye(4), tmp_path / f"{name}.nii")
    return {name: tmp_path / f"{name}.nii" for name in ("bold", "t1w", "template")}


def spm_job(interface):
    """Give the job that nipype would hand to SPM, line by line."""
    script = interface._make_matlab_command(interface._parse_inputs())
    return [line.strip() for line in script.splitlines() if line.startswith("jobs{1}")]


def test_spm_slice_timing_gets_times_in_milliseconds_and_the_mid_way_slice(images):
    job = spm_job(engine_for("slice_timing", "spm")(images["bold"], 2.0, TIMES))

    assert "jobs{1}.spm.temporal.st.tr = 2.0;" in job
    assert "jobs{1}.spm.temporal.st.so(4) = 1500.0;" in job
    assert "jobs{1}.spm.temporal.st.refslice = 500.0;" in job


def test_afni_slice_timing_gets_the_same_reference(images):
    line = engine_for("slice_timing", "afni")(images["bold"], 2.0, TIMES).cmdline

    assert line.startswith("3dTshift -Fourier")
    assert "-TR 2s -tzero 0.5" in line


def test_spm_realigns_as_dparsf_does(images):
    job = spm_job(engine_for("realign", "spm")(images["bold"]))

    options = {line.split("eoptions.")[1] for line in job if "eoptions." in line}
    assert options == {"quality = 0.9;", "fwhm = 5.0;", "sep = 4.0;", "rtm = 1;", "interp = 2;"}


def test_spm_writes_the_deformation_from_template_to_t1w(images):
    job = spm_job(engine_for("normalise", "spm")(images["t1w"], images["template"]))

    assert "jobs{1}.spm.tools.preproc8.warp.write(2) = 1;" in job


@pytest.mark.parametrize(
    ("step", "engine", "arguments", "expected"),
    [
        ("realign", "fsl", ["bold"], ["mcflirt -in", "-refvol 0", "-mats"]),
        ("brain", "fsl", ["t1w"], ["bet t1w.nii", "-m", "-R"]),
        ("bias", "ants", ["t1w"], ["N4BiasFieldCorrection -d 3", "--shrink-factor 4"]),
        ("coregister", "fsl", ["bold", "t1w"], ["flirt -in", "-dof 6", "-omat bold_to_t1w.mat"]),
        ("coregister", "ants", ["bold", "t1w"], ["antsRegistration", "--transform Rigid[ 0.1 ]"]),
        ("tissues", "fsl", ["t1w", "template"], ["fast -t 1", "-N", "-n 3"]),
        (
            "tissues",
            "ants",
            ["t1w", "template"],
            ["Atropos --image-dimensionality 3", "KMeans[3]", "--mask-image", "tissue_%02d.nii"],
        ),
        (
            "normalise",
            "ants",
            ["t1w", "template"],
            ["antsRegistration", "--transform SyN[ 0.1, 3.0, 0.0 ]", "template.nii, "],
        ),
    ],
)
def test_command_lines_ask_for_what_is_read_back(images, step, engine, arguments, expected):
    line = engine_for(step, engine)(*(images[name] for name in arguments)).cmdline

    for part in expected:
        assert part in line


def test_ants_composes_its_transforms_on_the_grid_of_the_template(images, tmp_path):
    for name in ("0GenericAffine.mat", "1Warp.nii.gz"):
        (tmp_path / name).touch()
    transforms = [str(tmp_path / "1Warp.nii.gz"), str(tmp_path / "0GenericAffine.mat")]

    line = field_ants(images["t1w"], images["template"], transforms).cmdline

    assert "--output [ to_moving_field.nii, 1 ]" in line
    assert line.index("1Warp.nii.gz") < line.index("0GenericAffine.mat")


def test_an_unknown_engine_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"realign is 'afni'\. Choose one of own, spm, fsl"):
        engine_for("realign", "afni")
    assert set(ENGINES) == {
        "slice_timing",
        "realign",
        "brain",
        "bias",
        "tissues",
        "coregister",
        "normalise",
    }
