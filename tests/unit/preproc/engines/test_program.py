"""The settings choose the programs, and a failure is blamed on the right party."""

import shutil
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from notears_pfl.errors import ConfigError, OutOfMemoryError, SignalError, StorageError
from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.preproc.anatomy import ANATOMICAL_PROGRAMS
from notears_pfl.preproc.engines.program import program_names, programs_for
from notears_pfl.preproc.run import FUNCTIONAL_PROGRAMS

ROOT = Path(__file__).parents[4]
OWN = dict.fromkeys(ANATOMICAL_PROGRAMS, "own")
BET = {**OWN, "brain": "fsl"}
T1W, EYE = np.ones((3, 3, 3)), np.eye(4)


def test_the_programs_are_those_of_the_schema():
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    steps = schema["properties"]["preproc"]["properties"]["engine"]["properties"]

    allowed = {step: set(setting["enum"]) - {"own"} for step, setting in steps.items()}
    known = {**ANATOMICAL_PROGRAMS, **FUNCTIONAL_PROGRAMS}
    assert {step: set(places) for step, places in known.items()} == allowed


@pytest.mark.parametrize(
    ("step", "place"),
    [
        (step, place)
        for known in (ANATOMICAL_PROGRAMS, FUNCTIONAL_PROGRAMS)
        for step, places in known.items()
        for place in places.values()
    ],
)
def test_every_program_does_the_step_it_is_listed_for_and_has_a_name(step, place):
    module, _, function = place.rpartition(".")

    program = getattr(import_module(module), function)

    assert program.step == step
    assert program.name


def test_the_programs_of_the_settings_are_given_with_their_names():
    engine = {**OWN, "brain": "deepbet", "normalise": "spm"}

    with programs_for(engine, ANATOMICAL_PROGRAMS) as programs:
        folders = {program.folder for program in programs.values()}
        assert all(folder.is_dir() for folder in folders)

    assert set(programs) == {"brain", "normalise"}
    assert len(folders) == 1
    assert not any(folder.exists() for folder in folders)
    names = program_names(engine, ANATOMICAL_PROGRAMS)
    assert names == {"brain": "deepbet", "normalise": "the unified segmentation of SPM"}


def test_our_own_steps_need_no_program():
    with programs_for(OWN, ANATOMICAL_PROGRAMS) as programs:
        assert programs == {}


def test_an_unknown_program_is_refused_with_the_known_ones():
    engine = {**dict.fromkeys(FUNCTIONAL_PROGRAMS, "own"), "realign": "afni"}

    with (
        pytest.raises(ConfigError, match=r"realign is 'afni'\. Choose one of own, spm, fsl"),
        programs_for(engine, FUNCTIONAL_PROGRAMS),
    ):
        pass


def test_a_program_that_is_not_installed_is_named_with_its_setting(monkeypatch):
    monkeypatch.setenv("PATH", "")

    with (
        programs_for(BET, ANATOMICAL_PROGRAMS) as programs,
        pytest.raises(ConfigError, match=r'preproc\.engine\.brain needs .* No command "bet"'),
    ):
        programs["brain"](T1W, EYE)


@pytest.mark.parametrize("code", ["sys.exit('no brain in this image')", "pass"])
def test_a_program_that_fails_or_leaves_no_file_fails_the_subject(stand_in, code):
    stand_in("bet", code)

    with (
        programs_for(BET, ANATOMICAL_PROGRAMS) as programs,
        pytest.raises(SignalError, match=r"program of preproc\.engine\.brain failed"),
    ):
        programs["brain"](T1W, EYE)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("import os; os.kill(os.getpid(), 9)", OutOfMemoryError, "Killed, usually for lack of"),
        ("sys.exit('std::bad_alloc')", OutOfMemoryError, "Out of memory"),
        ("sys.exit('fwrite: No space left on device')", StorageError, "Free some space"),
    ],
)
def test_a_program_that_the_machine_failed_fails_the_job_not_the_subject(
    stand_in, tmp_path, code, kind, words
):
    stand_in("bet", code)
    report = tmp_path / "report.json"

    with (
        pytest.raises(kind, match=rf"^sub-01_T1w\.nii: .*preproc\.engine\.brain: .*{words}"),
        mark_failure(report, []),
        naming("sub-01_T1w.nii"),
        programs_for(BET, ANATOMICAL_PROGRAMS) as programs,
    ):
        programs["brain"](T1W, EYE)

    assert not report.exists()


def test_a_program_that_fails_on_a_full_disk_fails_the_job(stand_in, monkeypatch):
    stand_in("bet", "sys.exit('it just failed')")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))

    with (
        pytest.raises(StorageError, match=r"the disk is full. Free some space .*just failed"),
        programs_for(BET, ANATOMICAL_PROGRAMS) as programs,
    ):
        programs["brain"](T1W, EYE)
