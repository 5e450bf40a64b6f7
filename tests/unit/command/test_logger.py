"""Of Snakemake's messages, those that a user needs are shown, and in the words of the study."""

import logging
import time
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from notears_pfl.command.logger import LogHandler

JOB = {"rule_name": "cohort", "jobid": 3, "output": [], "log": ["logs/none.log"]}


@pytest.fixture
def shown(capsys):
    """Send messages to the handler; give what it shows."""

    def show(*messages):
        handler = LogHandler(SimpleNamespace(dryrun=False), None)
        for text, level, fields in messages:
            record = logging.LogRecord("snakemake", level, "x.py", 1, text, None, None)
            vars(record).update(fields)
            handler.emit(record)
        handler.close()
        return capsys.readouterr().err

    return show


def test_a_job_is_followed_from_its_plan_to_its_end(shown):
    err = shown(
        ("stats", 20, {"event": LogEvent.RUN_INFO, "stats": {"cohort": 1, "all": 1, "total": 2}}),
        ("", 20, {"event": LogEvent.JOB_INFO, **JOB}),
        ("", 20, {"event": LogEvent.JOB_FINISHED, "job_id": 3}),
        ("", 20, {"event": LogEvent.JOB_FINISHED, "job_id": 4}),
    )

    assert err.splitlines() == [
        "1 job: Cohort 1",
        "Cohort         begins: 1 job",
        "Cohort         1 of 1 job done in 0 s",
    ]


@pytest.mark.parametrize(
    ("text", "level", "expected"),
    [
        ("Select jobs to execute...", logging.INFO, ""),
        ("Building DAG of jobs...", logging.INFO, ""),
        ("Nothing to be done (all requested files are present).", logging.INFO, "Nothing to be"),
        ("people.tsv: site A is excluded", logging.WARNING, "people.tsv: site A is excluded"),
        ("Exiting because a job execution failed. Look below", logging.ERROR, ""),
    ],
)
def test_only_what_a_user_needs_is_shown(shown, text, level, expected):
    err = shown((text, level, {}))

    assert err.startswith(expected)
    assert bool(err) == bool(expected)


def test_a_refusal_is_shown_without_the_places_in_snakemakes_files(shown):
    text = (
        'WorkflowError in file "/x/common.smk", line 15:\nThis study cannot be run as it is '
        'configured.\nmy.yaml: correct it.\n  File "/x/common.smk", line 15, in <module>'
    )

    err = shown((text, logging.ERROR, {"event": LogEvent.ERROR}))

    assert err == "This study cannot be run as it is configured.\nmy.yaml: correct it.\n"


def test_a_file_that_is_needed_and_missing_is_named_with_the_next_step(shown):
    text = (
        'MissingInputException in rule atlas in file "/x/roi.smk", line 32:\nMissing input files '
        "for rule atlas:\n    output: a.nii.gz\n    affected files:\n        /data/aal.nii.gz\n"
    )

    err = shown((text, logging.ERROR, {"event": LogEvent.ERROR}))

    assert err.startswith("/data/aal.nii.gz: no such file, but needed. Correct the setting")


def test_of_a_group_on_a_cluster_the_jobs_with_an_error_are_named(shown, tmp_path):
    plan = ("", 20, {"event": LogEvent.RUN_INFO, "stats": {"cohort": 2}})
    bad, good = tmp_path / "bad.log", tmp_path / "good.log"
    bad.write_text("Traceback\nValueError: seven\n")
    good.write_text("sub-01:\n")
    error = {"event": LogEvent.JOB_ERROR, **JOB, "indent": True}

    err = shown(
        plan,
        ("", 40, {"event": LogEvent.GROUP_ERROR, "aux_logs": ["logs/slurm/7.log"]}),
        ("", 40, error | {"log": [str(good)]}),
        ("", 40, error | {"log": [str(bad)], "jobid": 4}),
    )

    assert "A job of the cluster failed. Its log: logs/slurm/7.log" in err
    assert err.count("a job of the rule cohort failed") == 1
    assert "failed: ValueError: seven" in err


def test_a_long_job_without_a_terminal_is_reported_while_it_runs(capsys, monkeypatch):
    monkeypatch.setattr("notears_pfl.command.logger.LONGEST_SILENCE", 0.4)
    handler = LogHandler(SimpleNamespace(dryrun=False), None)
    stats = {"event": LogEvent.RUN_INFO, "stats": {"cohort": 1, "total": 1}}
    for fields in (stats, {"event": LogEvent.JOB_INFO, **JOB}):
        record = logging.LogRecord("snakemake", 20, "x.py", 1, "", None, None)
        # The job has begun long ago.
        vars(record).update(fields, created=record.created - 300)
        handler.handle(record)
    time.sleep(0.3)
    handler.close()

    assert capsys.readouterr().err.splitlines()[1:] == [
        "Cohort         begins: 1 job",
        "Cohort         0 of 1 job",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Terminating processes on user request, this might take some time.",
        "Will exit after finishing currently running jobs (scheduler).",
    ],
)
def test_a_run_that_a_signal_stops_is_known_to_be_stopped(shown, text, monkeypatch):
    monkeypatch.setattr(LogHandler, "was_stopped", False)

    assert shown(*[(text, logging.INFO, {})] * 3) == f"{text}\n"

    assert LogHandler.was_stopped
