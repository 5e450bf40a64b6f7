"""The notears-pfl command."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from notears_pfl.command.workflow import READY_ATLASES, STOPPED, require_workflow
from notears_pfl.errors import PflError

# What follows is for Snakemake.
FURTHER = "--"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; print errors that the user can fix as one line."""
    parser = argparse.ArgumentParser(prog="notears-pfl", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_study(commands)
    _add_atlas(commands)
    _add_federated(commands)

    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index(FURTHER) if FURTHER in given else len(given)
    options = parser.parse_args(given[:end], argparse.Namespace(further=given[end + 1 :]))
    if options.further and options.run != _run_study:
        parser.error(f"only notears-pfl study run takes options of Snakemake after {FURTHER}")
    try:
        return int(options.run(options))
    except PflError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # All child processes have stopped. An interrupted NVFLARE log-in leaves threads that never
        # end: exit without waiting for them.
        sys.stdout.flush()
        os._exit(STOPPED)


def _add_study(commands: Any) -> None:
    study = commands.add_parser("study", help="set up, check and run a study of your own")
    actions = study.add_subparsers(dest="action", required=True, metavar="ACTION")

    new = actions.add_parser("new", help="look at a folder of data and write the settings for it")
    new.add_argument(
        "folder",
        type=Path,
        help="BIDS, output of fMRIPrep, XCP-D or giga_connectome, SRPBS release, or ROI series",
    )
    new.add_argument("--out", type=Path, default=Path("config/my_study.yaml"), help="settings file")
    new.add_argument(
        "--participants", type=Path, help="table of participants, if it is not in the folder"
    )
    new.set_defaults(run=_new_study)

    check = actions.add_parser("check", help="run every check, start no job")
    check.add_argument("config", type=Path, help="the study's settings file")
    check.add_argument(
        "--preprocessing",
        action="store_true",
        help="check what study run CONFIG -- preprocessing needs, for which one group is enough",
    )
    check.set_defaults(run=_check_study)

    run = actions.add_parser(
        "run",
        help="run the study; a line per stage shows its progress",
        usage="notears-pfl study run [-h] [--cores CORES] config [-- OPTION OF SNAKEMAKE ...]",
    )
    run.add_argument("config", type=Path, help="the study's settings file")
    run.add_argument("--cores", default="all", help="number of cores, or all (the default)")
    run.set_defaults(run=_run_study)

    unlock = actions.add_parser("unlock", help="unlock this folder after a run that was killed")
    unlock.set_defaults(run=_unlock_study)


# The following are imported only when asked for, because they need the packages of the workflow.


def _new_study(options: argparse.Namespace) -> int:
    require_workflow()
    from notears_pfl.command.new import new_study

    return new_study(options.folder, options.out, options.participants)


def _check_study(options: argparse.Namespace) -> int:
    require_workflow()
    from notears_pfl.command.study import check_study

    return check_study(options.config, preprocessing=options.preprocessing)


def _run_study(options: argparse.Namespace) -> int:
    require_workflow()
    from notears_pfl.command.study import run_study

    return run_study(options.config, options.cores, options.further)


def _unlock_study(options: argparse.Namespace) -> int:
    require_workflow()
    from notears_pfl.command.locks import unlock

    return unlock()


def _add_federated(commands: Any) -> None:
    federated = commands.add_parser(
        "federated", help="fit the networks between hospitals that keep their data"
    )
    actions = federated.add_subparsers(dest="action", required=True, metavar="ACTION")

    provision = actions.add_parser("provision", help="create the start-up kits of a federation")
    provision.add_argument("federation", type=Path, help="the federation file")
    provision.add_argument("kits", type=Path, help="new folder for the kits")

    site = actions.add_parser("site", help="run a site until you stop it")
    site.add_argument("kit", type=Path, help="the site's start-up kit")
    site.add_argument("site_file", type=Path, help="the site's file: its data and what it allows")

    centre = actions.add_parser("centre", help="run the centre until the study is fitted")
    centre.add_argument("kit", type=Path, help="the centre's start-up kit")
    centre.add_argument("federation", type=Path, help="the federation file")
    centre.add_argument("out", type=Path, help="folder for the results and the saved state")

    simulate = actions.add_parser(
        "simulate", help="fit a federation on this machine, in NVFLARE's simulator"
    )
    simulate.add_argument("federation", type=Path, help="the federation file")
    simulate.add_argument(
        "site_files", help="path of the sites' files, with {site} in place of the site's name"
    )
    simulate.add_argument("out", type=Path, help="folder for the results")
    federated.set_defaults(run=_federated)


def _add_atlas(commands: Any) -> None:
    atlas = commands.add_parser(
        "atlas", help="write the image and the table of regions of an atlas"
    )
    atlas.add_argument(
        "name", help=f"{', '.join(READY_ATLASES)}; any other with --image and --labels"
    )
    atlas.add_argument("folder", type=Path, help="folder for NAME.nii.gz and NAME.tsv")
    atlas.add_argument("--image", type=Path, help="labelled image, instead of a download")
    atlas.add_argument(
        "--labels", type=Path, help="TSV with its labels: index, name, and network or lobe if known"
    )
    atlas.set_defaults(run=_write_atlas)


def _write_atlas(options: argparse.Namespace) -> int:
    require_workflow()
    from notears_pfl.command.atlas import write_atlas

    return write_atlas(options.name, options.folder, options.image, options.labels)


def _federated(options: argparse.Namespace) -> int:
    from notears_pfl.federated import require_nvflare

    require_nvflare()
    # Imported only now, because these modules need NVFLARE.
    from notears_pfl.federated.federated_study import read_federation

    if options.action == "site":
        from notears_pfl.federated.engine import run_site

        return run_site(options.kit, options.site_file)
    federation = read_federation(options.federation)
    if options.action == "provision":
        from notears_pfl.federated.kits import provision

        provision(federation, options.kits)
    elif options.action == "centre":
        from notears_pfl.federated.centre import run_centre

        run_centre(options.kit, federation, options.out)
    else:
        from notears_pfl.federated.engine import simulate

        simulate(federation, options.site_files, options.out)
    return 0
