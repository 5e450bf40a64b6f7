"""The methods text says what was done, with the numbers that were used."""

from pathlib import Path

import pytest
import yaml

from notears_pfl.preproc.engines import ENGINES
from notears_pfl.preproc.methods import (
    PROGRAMS,
    anatomical_methods,
    clean_methods,
    functional_methods,
    with_programs,
)
from notears_pfl.preproc.options import (
    FRISTON_24,
    MOTION,
    CleanOptions,
    FunctionalOptions,
    NormaliseOptions,
    SmoothOptions,
)

ROOT = Path(__file__).parents[3]
FIGURES = {"voxel_mm": 3.0, "slice_reference_time": 1.1875}


def test_the_paper_steps_are_told_with_their_numbers():
    options = FunctionalOptions(motion_from="slice_timed")

    told = functional_methods(options, SmoothOptions(), FIGURES, "AAL from aal.nii")

    assert told["drop_volumes"] == "The first 10 volumes were left out."
    assert "1.188 s" in told["slice_timing"]
    assert "6 mm FWHM (spm kernel, effectively 6.66 mm)" in told["smooth"]
    assert "the slice-timed volumes" in told["realign"]
    assert "AAL from aal.nii" in told["roi"]


def test_what_was_not_done_is_told_too():
    figures = {**FIGURES, "slice_reference_time": None}
    options = FunctionalOptions(motion_from="slice_timed")

    told = functional_methods(options, SmoothOptions(fwhm_mm=0), figures, "AAL")

    assert told["slice_timing"] == "Slice timing was not corrected."
    assert told["smooth"] == "Data were not smoothed."
    assert "the volumes as acquired" in told["realign"]
    assert "without skull" in anatomical_methods(NormaliseOptions(), True)["brain"]


def test_a_step_of_another_program_names_it_and_the_others_stay():
    ours = anatomical_methods(NormaliseOptions(), False)
    engine = {"bias": "ants", "brain": "deepbet", "tissues": "own", "normalise": "spm"}

    told = with_programs(ours, engine)

    assert told["brain"] == "The brain was extracted from the T1w image by deepbet."
    assert told["bias"].endswith("bias by N4 of ANTs.")
    assert "greedy" not in told["normalise"]
    assert told["tissues"] == ours["tissues"]


@pytest.mark.parametrize(
    ("options", "reference_time", "timing", "basis"),
    [
        (
            FunctionalOptions(motion_from="slice_timed"),
            1.1875,
            "mid-way, 1.188 s after",
            "the slice-timed volumes",
        ),
        (FunctionalOptions(), 1.1875, "each volume, by SPM", "as acquired"),
        (FunctionalOptions(slice_timing=False), None, "timing was not corrected.", "as acquired"),
    ],
)
def test_another_program_is_not_said_to_do_what_was_not_asked_for(
    options, reference_time, timing, basis
):
    figures = {**FIGURES, "slice_reference_time": reference_time}
    ours = functional_methods(options, SmoothOptions(), figures, "AAL")

    told = with_programs(ours, {"slice_timing": "spm", "realign": "fsl", "coregister": "ants"})

    assert timing in told["slice_timing"]
    assert ("SPM" in told["slice_timing"]) == (reference_time is not None)
    assert told["realign"].startswith("Head motion was estimated on")
    assert f"{basis} by MCFLIRT of FSL." in told["realign"]
    assert told["coregister"].endswith("to the T1w image's tissues by ANTs.")
    assert basis in ours["realign"]


def test_every_engine_of_the_schema_has_a_sentence_and_every_sentence_an_engine():
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    steps = schema["properties"]["preproc"]["properties"]["engine"]["properties"]

    allowed = {step: set(setting["enum"]) - {"own"} for step, setting in steps.items()}
    assert {step: set(programs) for step, (_, programs) in PROGRAMS.items()} == allowed
    interfaces = {step: set(makers) for step, makers in ENGINES.items()}
    assert {**interfaces, "brain": interfaces["brain"] | {"deepbet"}} == allowed


@pytest.mark.parametrize(
    ("confounds", "named"),
    [
        (FRISTON_24, "24 nuisance regressors (the Friston 24 of head motion)"),
        ((*MOTION, "csf"), "7 nuisance regressors (the six parameters of head motion, csf)"),
        ((), "0 nuisance regressors (none)"),
    ],
)
def test_the_model_of_motion_is_told(confounds, named):
    assert named in clean_methods(CleanOptions(), list(confounds))["regress"]


@pytest.mark.parametrize(
    ("order", "sentences"),
    [("dparsf", ["detrend", "regress", "filter"]), ("simultaneous", ["clean"])],
)
def test_the_order_of_cleaning_is_told(order, sentences):
    told = clean_methods(CleanOptions(order=order), [*FRISTON_24, "csf"])

    assert list(told) == sentences
    text = " ".join(told.values())
    assert "25 nuisance regressors (the Friston 24 of head motion, csf)" in text
    assert "0.01 to 0.08 Hz" in text
