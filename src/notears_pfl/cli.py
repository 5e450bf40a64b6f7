"""The notears-pfl command."""

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from notears_pfl.errors import ConfigError, FederatedError, PflError

# Atlases that can be written without --image (``roi.ready``, which loads slowly).
READY = ("AAL3", "Schaefer100", "Schaefer200", "Schaefer400", "Power264")
# Exit code of a command interrupted by its user, as in a shell.
STOPPED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; print errors that the user can fix as one line."""
    parser = argparse.ArgumentParser(prog="notears-pfl", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
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

    atlas = commands.add_parser(
        "atlas", help="write the image and the table of regions of an atlas"
    )
    atlas.add_argument("name", help=f"{', '.join(READY)}; any other name with --image and --labels")
    atlas.add_argument("folder", type=Path, help="folder for NAME.nii.gz and NAME.tsv")
    atlas.add_argument("--image", type=Path, help="labelled image, instead of a download")
    atlas.add_argument(
        "--labels", type=Path, help="TSV with its labels: index, name, and network or lobe if known"
    )

    options = parser.parse_args(arguments)
    try:
        return _atlas(options) if options.command == "atlas" else _federated(options)
    except PflError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # All child processes have stopped. An interrupted NVFLARE log-in leaves threads that never
        # end: exit without waiting for them.
        sys.stdout.flush()
        os._exit(STOPPED)


def _atlas(options: argparse.Namespace) -> int:
    # Imported only now, because other commands need neither.
    from notears_pfl.io.images import read_volume, write_image
    from notears_pfl.io.tables import read_table, write_table
    from notears_pfl.roi.ready import fetch_ready, power_spheres, table_of_regions

    given = [path for path in (options.image, options.labels) if path is not None]
    if len(given) == 1 or (not given and options.name not in READY):
        msg = (
            f"atlas {options.name}: known without files are {', '.join(READY)}. For any other, "
            "give both --image and --labels."
        )
        raise ConfigError(msg)
    if not given and options.name == "Power264":
        image, affine, table = power_spheres()
    else:
        if given:
            path, labels = options.image, read_table(options.labels)
            labels = labels.rename(columns={"index": "code"}).query("code > 0")
        else:
            path, labels = fetch_ready(options.name)
        volume = read_volume(path)
        image, affine = volume.data.astype("int32"), volume.affine
        table = table_of_regions(volume.data, affine, labels)
        left_out = len(labels) - len(table)
        if left_out:
            print(f"{left_out} labels without a voxel in {path} were left out of the table.")
    options.folder.mkdir(parents=True, exist_ok=True)
    write_image(image, affine, options.folder / f"{options.name}.nii.gz")
    write_table(table, options.folder / f"{options.name}.tsv", index=False)
    print(f"{len(table)} regions: {options.folder / options.name}.nii.gz and .tsv")
    return 0


def _federated(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("nvflare") is None:
        msg = (
            "the federated fit needs NVFLARE, which is not installed. "
            "Install it: pip install 'notears-pfl[federated]'"
        )
        raise FederatedError(msg)

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
