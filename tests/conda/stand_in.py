"""A stand-in for conda, as far as Snakemake asks for it: solves and installs with py-rattler.

STAND_IN names the folder with its channels (channel.py makes it). A channel that an environment
names must be there, so ``nodefaults`` is an error, as it is with conda from 26.7 on.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

import yaml
from rattler import (
    Channel,
    ChannelPriority,
    PackageCache,
    PackageCacheLayer,
    Subdir,
    ValidationMode,
    VirtualPackage,
    install,
    solve,
)


@dataclass(frozen=True)
class Environment:
    """What an environment's file asks for."""

    channels: list[str]
    packages: list[str]
    by_pip: list[str]


def read_environment(file: Path) -> Environment:
    """Read an environment's file."""
    content = yaml.safe_load(file.read_text())
    asked = content["dependencies"]
    by_pip = [line for entry in asked if isinstance(entry, dict) for line in entry["pip"]]
    packages = [entry for entry in asked if isinstance(entry, str)]
    return Environment(content["channels"], packages, by_pip)


async def create(folder: Path, environment: Environment, prefix: Path) -> None:
    """Create an environment: packages first, then what pip brings."""
    records = await solve(
        sources=[Channel((folder / name).as_uri()) for name in environment.channels],
        specs=environment.packages,
        platforms=[Subdir.current(), "noarch"],
        virtual_packages=VirtualPackage.detect(),
        channel_priority=ChannelPriority.Strict,
    )
    # Everything is there, and nothing changes it: no need to hash a gigabyte for each environment.
    layer = PackageCacheLayer(folder / "packages").with_validation_mode(ValidationMode.skip())
    cache = PackageCache.from_layers([layer])
    await install(records, target_prefix=prefix, package_cache=cache, show_progress=False)
    if environment.by_pip:
        pip = [prefix / "bin/python", "-m", "pip", "install", "--quiet", "--no-compile"]
        local = ["--no-index", "--find-links", folder / "wheels"]
        subprocess.run([*pip, *local, *environment.by_pip], check=True)


def main() -> None:
    """Answer one of the commands that Snakemake gives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="version", version="stand-in for conda 26.7.0")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info").add_argument("--json", action="store_true")
    config = commands.add_parser("config")
    config.add_argument("--get", required=True)
    config.add_argument("--json", action="store_true")
    clean = commands.add_parser("clean")  # there are no archives to remove
    clean.add_argument("-y", "--tarballs", action="store_true")
    env = commands.add_parser("env").add_subparsers(required=True).add_parser("create")
    env.add_argument("--quiet", action="store_true")
    env.add_argument("--no-default-packages", action="store_true")
    env.add_argument("--file", type=Path, required=True)
    env.add_argument("--prefix", type=Path, required=True)
    given = parser.parse_args()
    folder = Path(os.environ["STAND_IN"])
    if given.command == "info":
        print(json.dumps({"conda_prefix": str(folder), "platform": str(Subdir.current())}))
    elif given.command == "config":
        print(json.dumps({"get": {given.get: "strict"}}))
    elif given.command == "env":
        asyncio.run(create(folder, read_environment(given.file), given.prefix))


if __name__ == "__main__":
    # Threads of rattler outlive the work, and some crash the interpreter while it shuts down.
    code = 0
    try:
        main()
    except BaseException as error:
        code = error.code if isinstance(error, SystemExit) else 1
        if not isinstance(error, SystemExit):
            traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)
