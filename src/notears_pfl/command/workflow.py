"""The workflow beside the package, and Snakemake on it."""

import contextlib
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from notears_pfl.errors import ConfigError
from notears_pfl.io.rulelog import SHOWN

ROOT = Path(__file__).parents[3]
SNAKEFILE, RULES, SCHEMAS = ROOT / "Snakefile", ROOT / "workflow/rules", ROOT / "workflow/schemas"
DEFAULTS = Path("config/config.yaml")
REPORT = Path("results/report/index.html")
# Atlases with a configuration in config/atlases.
READY_ATLASES = ("AAL3", "Schaefer100", "Schaefer200", "Schaefer400", "Power264")
# Options of Snakemake with which it starts no job (as it calls them once read).
IDLE = (
    "dryrun", "lint", "list_rules", "list_target_rules", "summary", "detailed_summary", "dag",
    "rulegraph", "filegraph", "d3dag", "unlock", "cleanup_metadata", "cleanup_shadow",
    "conda_cleanup_envs", "conda_create_envs_only", "list_conda_envs", "container_cleanup_images",
    "list_changes", "list_input_changes", "list_params_changes", "list_untracked",
    "delete_all_output", "delete_temp_output", "containerize", "generate_unit_tests",
    "print_compilation", "archive", "report",
)  # fmt: skip
# Those with which its jobs do not make all of the targets.
PARTIAL = ("touch", "until", "omit_from", "batch")
# Exit codes of a command that was called with wrong options, and of one that a signal has stopped.
USAGE, STOPPED = 2, 130


def require_workflow() -> None:
    """Refuse a package without its workflow, or without the packages that the workflow needs."""
    needed = ("snakemake", "pandas", "nibabel", "jsonschema", "yaml")
    lacking = [module for module in needed if importlib.util.find_spec(module) is None]
    if lacking:
        msg = (
            f"{sys.executable}: a study needs the packages of the workflow; {', '.join(lacking)} "
            "is not installed. Install them: make setup in the clone, or pip install "
            "'notears-pfl[workflow]'."
        )
        raise ConfigError(msg)
    if not SNAKEFILE.is_file():
        msg = (
            f"{SNAKEFILE}: the workflow is not there: notears-pfl was installed without it. Clone "
            "the repository, run make setup in the clone, and use the command of its .venv."
        )
        raise ConfigError(msg)


def run_snakemake(arguments: Sequence[str]) -> int:
    """Run Snakemake in this process, with a line per stage; return its exit code."""
    from snakemake.cli import args_to_api
    from snakemake.exceptions import print_exception
    from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

    from notears_pfl.command import logger

    # Snakemake finds plugins that are distributions of their own; others are registered.
    LoggerPluginRegistry().register_plugin("stages", logger)
    command = ["--snakefile", str(SNAKEFILE), "--logger", "stages", *arguments]
    # The rules look there for options that force jobs.
    sys.argv = ["snakemake", *command]
    os.environ[SHOWN] = "1"
    logger.LogHandler.was_stopped = False
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            parser, options = _parsed(command)
    except SystemExit:
        sys.stderr.write(told.getvalue())
        return USAGE
    try:
        is_done = args_to_api(options, parser)
    except Exception as error:
        print_exception(error)
        return 1
    failure = STOPPED if logger.LogHandler.was_stopped else 1
    return 0 if is_done else failure


def targets_of(arguments: Sequence[str]) -> set[str]:
    """Targets that Snakemake makes with these options; none if it makes nothing, or not all.

    None either if these are no options of Snakemake, as where another program has called it.
    """
    options = _read(arguments)
    if options is None or any(getattr(options, name, None) for name in IDLE + PARTIAL):
        return set()
    return {*options.targets} or {"all"}


def starts_jobs(arguments: Sequence[str]) -> bool:
    """Whether Snakemake starts jobs with these options, as far as they are options of it."""
    options = _read(arguments)
    return options is None or not any(getattr(options, name, None) for name in IDLE)


def _read(arguments: Sequence[str]) -> Any:
    """Snakemake's options; None if these are not."""
    try:
        # It names its profile even if nothing is wrong.
        with contextlib.redirect_stderr(io.StringIO()):
            return _parsed(arguments)[1]
    except SystemExit:
        return None


def _parsed(arguments: Sequence[str]) -> tuple[Any, Any]:
    """Snakemake's parser and what it makes of the options, with the profile of the workflow."""
    from snakemake.cli import parse_args

    profile = ["--workflow-profile", str(ROOT / "profiles/default")]
    parser, options = parse_args([*profile, *arguments])
    return parser, options


def config_option(config: Path) -> list[str]:
    """Option of Snakemake that names a settings file, if it is not the one that it always reads."""
    return [] if config.resolve() == DEFAULTS.resolve() else ["--configfile", str(config)]
