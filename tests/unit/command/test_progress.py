"""What a run shows: stages with counts and time left, failed subjects, warnings and failed jobs."""

import io
import json
import re

import pytest

from notears_pfl.command.progress import Progress, Screen, duration, reason_in
from notears_pfl.io.batches import Listed, write_list

STAGES = {"scan": "Phantom", "anatomical": "Preprocessing", "functional": "Preprocessing"}


def seen(text):
    """Lines of a terminal after it was sent ``text``."""
    screen, row = [""], 0
    for token in re.split(r"(\x1b\[1A|\x1b\[2K|\n)", text):
        if token == "\x1b[1A":
            row -= 1
        elif token == "\x1b[2K":
            screen[row] = ""
        elif token == "\n":
            row += 1
            screen += [""] * (row == len(screen))
        else:
            screen[row] += token
    return [line for line in screen if line]


@pytest.fixture
def run(monkeypatch):
    """Give a run on a terminal, or in a log file, and what it has written."""
    monkeypatch.setenv("COLUMNS", "100")

    def start(counts, *, is_terminal):
        stream = io.StringIO()
        progress = Progress(Screen(stream, is_terminal=is_terminal), STAGES)
        progress.plan(counts)
        return progress, lambda: seen(stream.getvalue())

    return start


def test_a_stage_shows_its_counts_and_the_time_left(run):
    progress, lines = run({"anatomical": 3, "functional": 1, "all": 1}, is_terminal=True)

    progress.start(1, "anatomical", 100.0, [], [])
    progress.finish(1, 130.0)
    progress.start(2, "anatomical", 130.0, [], [])

    # Three jobs of 30 s, one after another.
    assert lines() == [
        "4 jobs: Preprocessing 4",
        "Preprocessing  [#####...............] 1 of 4 jobs, about 2 min left",
    ]


def test_the_time_left_counts_jobs_that_run_together_and_what_they_have_done(run):
    progress, lines = run({"scan": 5}, is_terminal=True)
    for job in (1, 2):
        progress.start(job, "scan", 0.0, [], [])
    progress.finish(1, 40.0)
    progress.start(3, "scan", 40.0, [], [])

    # Two cores share job 2, which has done its 40 s, and three others.
    assert "1 of 5 jobs, about 60 s left" in lines()[-1]


def test_lines_that_change_leave_nothing_behind_when_the_stages_are_done(run):
    progress, lines = run({"scan": 1, "anatomical": 1}, is_terminal=True)
    progress.start(1, "scan", 0.0, [], [])
    progress.start(2, "anatomical", 0.0, [], [])
    progress.finish(1, 5.0)
    progress.finish(2, 200.0)
    progress.close()

    assert lines() == [
        "2 jobs: Phantom 1, Preprocessing 1",
        "Phantom        1 of 1 job done in 5 s",
        "Preprocessing  1 of 1 job done in 3 min",
    ]


def test_a_log_file_gets_a_line_per_stage_and_quarter_and_nothing_is_overwritten(run):
    progress, lines = run({"scan": 40}, is_terminal=False)
    for job in range(40):
        progress.start(job, "scan", float(job), [], [])
        progress.finish(job, job + 1.0)

    assert lines() == [
        "40 jobs: Phantom 40",
        "Phantom        begins: 40 jobs",
        "Phantom        10 of 40 jobs, about 30 s left",
        "Phantom        20 of 40 jobs, about 20 s left",
        "Phantom        30 of 40 jobs, about 10 s left",
        "Phantom        40 of 40 jobs done in 40 s",
    ]


def test_a_failed_subject_is_named_once_with_its_reason_when_its_batch_is_done(
    run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    reports = {"sub-01": {"status": "ok"}, "sub-02": {"status": "failed", "reason": "no brain."}}
    progress, lines = run({"anatomical": 1, "functional": 1}, is_terminal=False)
    for job, rule in enumerate(("anatomical", "functional")):
        path = tmp_path / f"results/batches/{rule}/site-A_batch-1.tsv"
        path.parent.mkdir(parents=True)
        rows = []
        for who, report in reports.items():
            (tmp_path / f"{who}_{rule}.json").write_text(json.dumps(report))
            rows.append(Listed(who, "report", f"{who}_{rule}.json", 1, "0"))
        write_list(rows, path)
        progress.start(job, rule, 0.0, [str(path.relative_to(tmp_path))], [])
        progress.finish(job, 1.0)

    said = [line for line in lines() if "sub-" in line]
    assert said == ["Preprocessing: sub-02 failed and is left out: no brain."]


def test_a_failed_run_is_named_and_does_not_hide_that_its_subject_fails_later(run, tmp_path):
    stem = f"{tmp_path}/sub-01"
    of_run = f"{stem}_task-rest_run-2_seg-AAL116_desc-raw_timeseries.json"
    of_subject = f"{stem}_seg-AAL116_desc-clean_timeseries.json"
    progress, lines = run({"functional": 2}, is_terminal=False)
    for job, (path, reason) in enumerate([(of_run, "no volumes."), (of_subject, "run-1 is flat.")]):
        with open(path, "w") as file:
            json.dump({"status": "failed", "reason": reason}, file)
        progress.start(job, "functional", 0.0, [path], [])
        progress.finish(job, 1.0)

    assert [line for line in lines() if "sub-" in line] == [
        "Preprocessing: sub-01 task-rest_run-2 failed and is left out: no volumes.",
        "Preprocessing: sub-01 failed and is left out: run-1 is flat.",
    ]


def test_the_runs_of_a_failed_subject_are_not_named_again(run, tmp_path):
    names = ["sub-01_desc-preproc_T1w", "sub-01_task-rest_run-2_seg-AAL116_desc-raw_timeseries"]
    progress, lines = run({"anatomical": 2}, is_terminal=False)
    for job, name in enumerate(names):
        (tmp_path / f"{name}.json").write_text('{"status": "failed", "reason": "no brain."}')
        progress.start(job, "anatomical", 0.0, [str(tmp_path / f"{name}.json")], [])
        progress.finish(job, 1.0)

    said = [line for line in lines() if "sub-" in line]
    assert said == ["Preprocessing: sub-01 failed and is left out: no brain."]


def test_warnings_of_ours_are_shown_once_and_those_of_others_stay_in_the_log(run, tmp_path):
    log = tmp_path / "fit.log"
    log.write_text(
        "/a/fit.py:12: NotConvergedWarning: not converged after 9 rounds\n  warnings.warn(\n"
        "/b/pandas.py:3: FutureWarning: will change\n"
    )
    progress, lines = run({"scan": 2}, is_terminal=False)
    for job in (1, 2):
        progress.start(job, "scan", 0.0, [], [str(log)])
        progress.finish(job, 1.0)

    assert [line for line in lines() if "warning" in line or "Warning" in line] == [
        "Phantom: warning: not converged after 9 rounds"
    ]


def test_a_failed_job_says_why_and_where_its_log_is(run, tmp_path):
    log = tmp_path / "scan.log"
    log.write_text(
        "Traceback (most recent call last):\n  File x\nValueError: first\n\nDuring …\n"
        "notears_pfl.errors.StorageError: disk full.\n  Free some space.\n"
    )
    progress, lines = run({"scan": 1}, is_terminal=True)
    progress.start(1, "scan", 0.0, [], [str(log)])
    progress.fail(1, "scan", 2.0, [str(log)])
    progress.close()

    said = "\n".join(lines())
    assert "Phantom: a job of the rule scan failed: StorageError: disk full.\n" in said
    assert said.endswith(f"  Free some space.\n  Its whole log: {log}")


def test_an_empty_log_is_no_place_to_look(run, tmp_path):
    log = tmp_path / "scan.log"
    log.touch()
    progress, lines = run({"scan": 1}, is_terminal=False)
    progress.start(1, "scan", 0.0, [], [str(log)])
    progress.fail(1, "scan", 2.0, [str(log)])

    assert "failed, and left nothing in its log: it was stopped from outside" in lines()[-1]
    assert str(log) not in lines()[-1]


def test_a_log_without_an_error_gives_its_last_line(tmp_path):
    (tmp_path / "x.log").write_text("one\nKilled\n")

    assert reason_in([str(tmp_path / "x.log"), str(tmp_path / "none.log")]) == "Killed"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3599, "1 h 0 min"), (7800, "2 h 10 min")],
)
def test_times_are_written_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_a_log_file_is_not_silent_for_long(run):
    progress, lines = run({"scan": 2, "anatomical": 3}, is_terminal=False)
    progress.start(1, "scan", 1000.0, [], [])
    progress.remind(1119.0)
    progress.remind(1120.0)
    progress.remind(1239.0)
    progress.finish(1, 1240.0)
    progress.remind(1240.0)

    assert lines()[1:] == ["Phantom        begins: 2 jobs", "Phantom        0 of 2 jobs"]


def test_after_a_failure_a_log_file_is_silent_for_as_long(run):
    progress, lines = run({"scan": 2}, is_terminal=False)
    progress.start(1, "scan", 1000.0, [], [])
    progress.start(2, "scan", 1000.0, [], [])
    progress.fail(2, "scan", 1100.0, [])
    progress.remind(1120.0)

    assert lines()[-1] == "Phantom: a job of the rule scan failed."

    progress.remind(1220.0)

    assert lines()[-1] == "Phantom        0 of 2 jobs"


def test_a_terminal_needs_no_reminder(run):
    progress, lines = run({"scan": 2}, is_terminal=True)
    progress.start(1, "scan", 0.0, [], [])
    before = lines()
    progress.remind(10_000.0)

    assert lines() == before
