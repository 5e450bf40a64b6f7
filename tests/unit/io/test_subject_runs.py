"""A run that fails leaves the others of its subject."""

import pandas as pd
import pytest

from notears_pfl.errors import ConfigError, SignalError
from notears_pfl.io.subject_runs import SubjectRuns

TABLE = pd.DataFrame({"A": [1.0, 2.0]})


def test_a_failed_run_is_left_out_and_named():
    runs = SubjectRuns(["run-1", "run-2"], {"run-3": "is a link"})
    for name in runs.names:
        with runs.attempt(name):
            if name == "run-1":
                raise SignalError("no signal")
            runs.add(name, TABLE, {"n_volumes": 2})

    series, report = runs.joined()

    assert series is TABLE
    assert {run: own["status"] for run, own in report["runs"].items()} == {
        "run-2": "ok", "run-3": "failed", "run-1": "failed",
    }  # fmt: skip
    assert report["runs"]["run-1"]["reason"] == "no signal"


def test_a_subject_without_a_run_fails_for_all_reasons():
    runs = SubjectRuns(["run-1", "run-2"])
    for name in runs.names:
        with runs.attempt(name):
            raise SignalError(f"no signal in {name}")

    with pytest.raises(SignalError, match=r"none of 2 runs .*run-1: no signal in run-1; run-2: no"):
        runs.joined()


def test_the_only_run_of_a_subject_fails_as_ever():
    runs = SubjectRuns(["task-rest"])

    with pytest.raises(SignalError, match=r"^no signal$"), runs.attempt("task-rest"):
        raise SignalError("no signal")


def test_a_mistake_in_the_settings_is_not_a_runs():
    runs = SubjectRuns(["run-1", "run-2"])

    with pytest.raises(ConfigError), runs.attempt("run-1"):
        raise ConfigError("wrong")


def test_every_run_has_its_own_files():
    runs = SubjectRuns(["run-1", "run-2"])

    files = dict(runs.files({"series": ["a", "b"], "atlas": "c"}))

    assert files["run-2"] == {"series": "b", "atlas": "c"}
    assert files["run-1"].series == "a"
