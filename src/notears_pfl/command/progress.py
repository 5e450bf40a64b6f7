"""Show what a run does: a line per stage with the time left, and failures as they come.

On a terminal the lines of running stages are drawn anew with every job that starts or ends. In a
log file each stage has a line when it begins and when it ends, and large ones one at every quarter;
after two minutes of silence, the stages that are at work have one each.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from notears_pfl.command.stages import OTHER
from notears_pfl.errors import PflError
from notears_pfl.io.batches import is_list, read_list
from notears_pfl.io.bids_tree import BidsFile
from notears_pfl.io.sidecars import read_sidecar

BAR, QUARTERS = 20, 4
# A stage of so many jobs has lines in a log file on the way.
LARGE = 20
# A log file is silent for at most so many seconds while jobs run.
LONGEST_SILENCE = 120
# A warning of ours as Python writes it to a job's log; other packages' warnings stay there.
WARNING = re.compile(r"^\S+:\d+: (?:NotConverged|DoubtfulFit)Warning: (.+)$", re.MULTILINE)
# The last lines of a traceback.
ERROR = re.compile(r"^(?:\w+\.)*(?P<message>\w+(?:Error|Exception)(?:: |$))", re.MULTILINE)
# Reports on series name the run, but only if the subject has several.
OF_RUNS = "timeseries"
UP_AND_CLEAR = "\x1b[1A\x1b[2K"


@dataclass
class Stage:
    """The jobs of a stage: how many of each rule are left, and how long they take."""

    name: str
    left: Counter[str]
    total: int = 0
    done: int = 0
    began: float | None = None
    running: dict[int, tuple[str, float]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Count all jobs."""
        self.total = self.left.total()

    def start(self, job: int, rule: str, now: float) -> None:
        """Note that a job has started."""
        self.began = now if self.began is None else self.began
        self.running[job] = rule, now

    def finish(self, job: int, now: float) -> None:
        """Note that a job has finished."""
        rule, started = self.running.pop(job)
        self.seconds.setdefault(rule, []).append(now - started)
        self.left[rule] -= 1
        self.done += 1

    def seconds_left(self, now: float) -> float | None:
        """Time until the stage is done if as many jobs run as now; None before the first is."""
        known = {rule: sum(took) / len(took) for rule, took in self.seconds.items()}
        if not known:
            return None
        # A rule of which no job is done yet is taken to be like the others of its stage.
        usual = sum(map(sum, self.seconds.values())) / self.done
        work = sum(n * known.get(rule, usual) for rule, n in self.left.items())
        for rule, started in self.running.values():
            work -= min(now - started, known.get(rule, usual))
        return work / max(1, len(self.running))

    def line(self, now: float) -> str:
        """Give counts and the time left."""
        remaining = self.seconds_left(now)
        left = "" if remaining is None else f", about {duration(remaining)} left"
        return f"{self.name:<14} {self.done} of {jobs_of(self.total)}{left}"

    def bar(self, now: float) -> str:
        """Give the same with a bar."""
        name, filled = self.name, "#" * (BAR * self.done // self.total)
        return self.line(now).replace(f"{name:<14}", f"{name:<14} [{filled:.<{BAR}}]", 1)

    def summary(self, now: float) -> str:
        """Say how long the stage took."""
        took = duration(now - (now if self.began is None else self.began))
        return f"{self.name:<14} {self.done} of {jobs_of(self.total)} done in {took}"


class Screen:
    """Messages above lines that change; without a terminal, messages alone."""

    def __init__(self, stream: TextIO, *, is_terminal: bool) -> None:
        self.stream, self.is_terminal = stream, is_terminal
        self._drawn: list[str] = []

    def say(self, text: str) -> None:
        """Print a message that stays."""
        lines = self._drawn
        self._write("", [])
        self._write(text.rstrip("\n") + "\n", lines)

    def show(self, lines: Sequence[str]) -> None:
        """Draw the lines that change, in place of those drawn before."""
        if self.is_terminal:
            width = shutil.get_terminal_size().columns - 1
            self._write("", [line[:width] for line in lines])

    def forget(self) -> None:
        """Leave the lines that change as they are, because something else was printed below."""
        self._drawn = []

    def _write(self, text: str, lines: Sequence[str]) -> None:
        drawn = "".join(f"{line}\n" for line in lines)
        self.stream.write(UP_AND_CLEAR * len(self._drawn) + text + drawn)
        self.stream.flush()
        self._drawn = list(lines)


class Progress:
    """The stages of a run, and what is said of them.

    Parameters
    ----------
    screen : Screen
        Where it is shown.
    stage_of : mapping of str to str
        Stage of every rule.
    """

    def __init__(self, screen: Screen, stage_of: Mapping[str, str]) -> None:
        self.screen, self.stage_of = screen, stage_of
        self.stages: dict[str, Stage] = {}
        # Files of the jobs that have started: outputs and logs.
        self._files: dict[int, tuple[list[str], list[str]]] = {}
        self._said: set[str] = set()
        self._spoke = 0.0

    def plan(self, counts: Mapping[str, int]) -> None:
        """Take the number of jobs of each rule, and say how many there are of each stage."""
        jobs: dict[str, Counter[str]] = {}
        for rule, count in counts.items():
            stage = self.stage_of.get(rule, OTHER)
            # Targets are jobs of Snakemake without work.
            if stage != OTHER:
                jobs.setdefault(stage, Counter())[rule] = count
        self.stages = {name: Stage(name, left) for name, left in jobs.items()}
        total = sum(stage.total for stage in self.stages.values())
        parts = ", ".join(f"{stage.name} {stage.total}" for stage in self.stages.values())
        self.screen.say(f"{jobs_of(total)}: {parts}" if total else "No jobs to run")

    def start(
        self, job: int, rule: str, now: float, outputs: Iterable[str], logs: Iterable[str]
    ) -> None:
        """Note that a job has started."""
        stage = self._stage(rule)
        if stage is None:
            return
        self._files[job] = list(outputs), list(logs)
        if stage.began is None and not self.screen.is_terminal:
            self._say(f"{stage.name:<14} begins: {jobs_of(stage.total)}", now)
        stage.start(job, rule, now)
        self._draw(now)

    def finish(self, job: int, now: float) -> None:
        """Note that a job has finished; name the subjects that failed in it, and its warnings."""
        stage = next((s for s in self.stages.values() if job in s.running), None)
        if stage is None:
            return
        outputs, logs = self._files.pop(job)
        for who, reason in failed_subjects(outputs):
            # Later steps, and the runs, of a failed subject fail for the same reason.
            if self._said.isdisjoint({who, who.partition(" ")[0]}):
                self._said.add(who)
                self._say(f"{stage.name}: {who} failed and is left out: {reason}", now)
        for text in warnings_in(logs):
            if text not in self._said:
                self._said.add(text)
                self._say(f"{stage.name}: warning: {text}", now)
        quarter = QUARTERS * stage.done // stage.total
        stage.finish(job, now)
        is_next = stage.total >= LARGE and QUARTERS * stage.done // stage.total > quarter
        if stage.done == stage.total:
            self._say(stage.summary(now), now)
        elif is_next and not self.screen.is_terminal:
            self._say(stage.line(now), now)
        self._draw(now)

    def fail(self, job: int, rule: str, now: float, logs: Sequence[str]) -> None:
        """Say that a job has failed, why, and where its log is."""
        stage = self._stage(rule)
        if stage is not None:
            stage.running.pop(job, None)
        # Whatever the job printed itself stays where it is.
        self.screen.forget()
        reason = reason_in(logs)
        is_empty = not any(map(_text, logs))
        silent = ", and left nothing in its log: it was stopped from outside, or could not start."
        self._say(
            f"{stage.name if stage else OTHER}: a job of the rule {rule} failed"
            + (f": {reason}" if reason else silent if logs and is_empty else ".")
            + (f"\n  Its whole log: {', '.join(logs)}" if logs and not is_empty else ""),
            now,
        )
        self._draw(now)

    def remind(self, now: float) -> None:
        """Break a long silence in a log file: say how far the stages are that are at work."""
        if not self.screen.is_terminal and now - self._spoke >= LONGEST_SILENCE:
            for stage in self.stages.values():
                if stage.running:
                    self._say(stage.line(now), now)

    def close(self) -> None:
        """Leave nothing on the screen that changes."""
        self.screen.show([])

    def _say(self, text: str, now: float) -> None:
        self.screen.say(text)
        self._spoke = now

    def _stage(self, rule: str) -> Stage | None:
        return self.stages.get(self.stage_of.get(rule, OTHER))

    def _draw(self, now: float) -> None:
        self.screen.show([stage.bar(now) for stage in self.stages.values() if stage.running])


def failed_subjects(outputs: Iterable[str]) -> list[tuple[str, str]]:
    """Subjects that a job marked as failed, with the reasons, from the reports among its files.

    Of a subject with several runs, each run by itself: ``sub-01 task-rest_run-2``.
    """
    found = {}
    for output in outputs:
        # A file that cannot be read now is for the job that needs it to report.
        try:
            paths = [row.path for row in read_list(output)] if is_list(output) else [output]
            for path in paths:
                file = BidsFile.parse(path)
                if file and "sub" in file.entities and file.extension == ".json":
                    report = read_sidecar(path)
                    if report.get("status") == "failed":
                        run = file.run_name if file.suffix == OF_RUNS else ""
                        found[f"sub-{file.entities['sub']} {run}".strip()] = str(report["reason"])
        except (OSError, PflError):
            continue
    return list(found.items())


def warnings_in(logs: Iterable[str]) -> list[str]:
    """Warnings of this package in the logs of a job."""
    return [text for path in logs for text in WARNING.findall(_text(path))]


def reason_in(logs: Iterable[str]) -> str:
    """Error that a failed job's log ends with, or its last line."""
    text = "\n".join(map(_text, logs)).strip()
    errors = list(ERROR.finditer(text))
    return text[errors[-1].start("message") :] if errors else text.rpartition("\n")[2]


def has_error(logs: Iterable[str]) -> bool:
    """Whether a log ends with an error."""
    return any(ERROR.search(_text(path)) for path in logs)


def jobs_of(number: int) -> str:
    """Write a number of jobs."""
    return f"{number} job" if number == 1 else f"{number} jobs"


def duration(seconds: float) -> str:
    """Write a time as people say it: 40 s, 3 min, 2 h 10 min."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
