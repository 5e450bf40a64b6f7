"""The logger plugin ``stages`` of Snakemake, which passes its events on to :mod:`progress`."""

import contextlib
import logging
import os
import re
import sys
import threading
import time
from typing import ClassVar

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from notears_pfl.command.locks import CANNOT_LOCK, why_locked
from notears_pfl.command.progress import LONGEST_SILENCE, Progress, Screen, has_error
from notears_pfl.command.stages import stages_of_rules
from notears_pfl.command.workflow import RULES

# Of Snakemake's messages without an event, those that a user needs although they are no warnings.
# What it says when a signal stops it: SIGINT, or SIGTERM.
STOPPING = ("Terminating processes on user request", "Will exit after finishing currently running")
TOLD = (
    "Nothing to be done", "Creating conda environment", "Downloading", "Trying to restart job",
    *STOPPING,
)  # fmt: skip
# It repeats what was said when the job failed.
REPEATED = (
    "Exiting because a job execution failed", "At least one job did not complete", "RuleException",
)  # fmt: skip
MISSING = "affected files:\n"
# How the rules begin what they say of a study that cannot run, and where Snakemake found it.
REFUSED, PLACE = "This study cannot be run", re.compile(r"\n  File \"[^\n]*\Z")


class LogHandler(LogHandlerBase):
    """Show the stages of a run instead of its jobs."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False
    # Whether the last run was stopped by a signal.
    was_stopped: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Prepare the screen."""
        stream = sys.stderr
        is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.progress = Progress(Screen(stream, is_terminal=is_terminal), stages_of_rules(RULES))
        self._ended = threading.Event()
        if not is_terminal:
            threading.Thread(target=self._break_silence, daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Show what an event of Snakemake means."""
        try:
            self._pass_on(record)
        except Exception:  # as handlers do: a message that cannot be shown stops no run
            self.handleError(record)

    def _pass_on(self, record: logging.LogRecord) -> None:
        fields, now, progress = vars(record), record.created, self.progress
        match fields.get("event"):
            case LogEvent.RUN_INFO:
                if not progress.stages:  # a dry run counts twice
                    progress.plan({k: n for k, n in fields["stats"].items() if k != "total"})
            case LogEvent.JOB_INFO:
                if not self.common_settings.dryrun:
                    files = fields["output"] or [], fields["log"] or []
                    progress.start(fields["jobid"], fields["rule_name"], now, *files)
            case LogEvent.JOB_FINISHED:
                progress.finish(fields["job_id"], now)
            case LogEvent.JOB_ERROR:
                logs = fields["log"] or []
                # Every job of a group counts as failed, also those that had no error.
                if not fields.get("indent") or has_error(logs):
                    progress.fail(fields["jobid"], fields["rule_name"], now, logs)
            case LogEvent.GROUP_ERROR:
                logs = ", ".join(map(str, fields.get("aux_logs") or [])) or "(none)"
                progress.screen.say(f"A job of the cluster failed. Its log: {logs}")
            case None | LogEvent.ERROR:
                text = record.getMessage().removeprefix("WorkflowError:\n")
                if text.startswith(STOPPING):
                    # It says so whenever it looks which jobs still run.
                    if LogHandler.was_stopped:
                        return
                    LogHandler.was_stopped = True
                is_told = record.levelno >= logging.WARNING or text.startswith(TOLD)
                if is_told and not text.startswith(REPEATED):
                    progress.screen.say(_in_our_words(text))

    def _break_silence(self) -> None:
        """Look now and then, while jobs run, whether nothing was said for long."""
        while not self._ended.wait(LONGEST_SILENCE / 8):
            with self.lock or contextlib.nullcontext():
                self.progress.remind(time.time())

    def close(self) -> None:
        """Leave nothing on the screen that changes."""
        self._ended.set()
        self.progress.close()
        super().close()


def _in_our_words(text: str) -> str:
    """Leave out where Snakemake found an error, which is not where the user made it."""
    if CANNOT_LOCK in text:
        return why_locked()
    _, missing, files = text.partition(MISSING)
    if missing:
        names = ", ".join(files.split())
        return f"{names}: no such file, but needed. Correct the setting that names it, or the file."
    before, refused, why = text.partition(REFUSED)
    return refused + PLACE.sub("", why) if refused else before
