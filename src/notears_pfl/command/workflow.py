"""The workflow beside the package, and Snakemake on it."""

import contextlib
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from notears_pfl.errors import ConfigError
from notears_pfl.io.rulelog import SHOWN

ROOT = Path(__file__).parents[3]
SNAKEFILE, RULES, SCHEMAS = ROOT / "Snakefile", ROOT / "workflow/rules", ROOT / "workflow/schemas"
DEFAULTS = Path("config/config.yaml")
REPORT = Path("results/report/index.html")
# Atlases with a configuration in config/atlases.
READY_ATLASES = ("AAL3", "Schaefer100", "Schaefer200", "Schaefer400", "Power264")
# Exit code of a command that was called with wrong options.
USAGE = 2


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
    from snakemake.cli import args_to_api, parse_args
    from snakemake.exceptions import print_exception
    from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

    from notears_pfl.command import logger

    # Snakemake finds plugins that are distributions of their own; others are registered.
    LoggerPluginRegistry().register_plugin("stages", logger)
    profile = ["--workflow-profile", str(ROOT / "profiles/default")]
    command = ["--snakefile", str(SNAKEFILE), *profile, "--logger", "stages", *arguments]
    # The rules look there for options that force jobs.
    sys.argv = ["snakemake", *command]
    os.environ[SHOWN] = "1"
    told = io.StringIO()
    try:
        # It names its profile even if nothing is wrong.
        with contextlib.redirect_stderr(told):
            parser, options = parse_args(command)
    except SystemExit:
        sys.stderr.write(told.getvalue())
        return USAGE
    try:
        return 0 if args_to_api(options, parser) else 1
    except Exception as error:
        print_exception(error)
        return 1


def config_option(config: Path) -> list[str]:
    """Option of Snakemake that names a settings file, if it is not the one that it always reads."""
    return [] if config.resolve() == DEFAULTS.resolve() else ["--configfile", str(config)]
