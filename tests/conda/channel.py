"""The stand-in for conda with a local channel, made from the distributions that are installed here.

Packages are not packed. A folder of packages that are already extracted holds hard links to the
installed files, and environments hold links to these: nothing is compressed, and nothing is copied
but what pip brings.
"""

import json
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rattler import Subdir

from .stand_in import Environment

CONDA_NAMES = {"matplotlib": "matplotlib-base"}
PYTHON = "{}.{}".format(*sys.version_info)
SITE_PACKAGES = f"lib/python{PYTHON}/site-packages"
ACTIVATE = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n'
# A command's first line names its Python; in packages it is this, which the installer replaces.
PREFIX = "/prefix_of_the_environment_that_a_package_is_installed_in"
# Part of every environment: its Pythons write down where they find each module.
RECORDER = '''
import os
import sys
from importlib.machinery import PathFinder


class Recorder:
    """Find nothing, but write down what the next finder will find."""

    def find_spec(self, name, path=None, target=None):
        if "." not in name and "MODULES_FOUND" in os.environ:
            spec = PathFinder.find_spec(name, path)
            if spec is not None and spec.has_location:
                with open(os.environ["MODULES_FOUND"], "a") as file:
                    file.write(f"{sys.prefix}\\t{name}\\t{spec.origin}\\n")


sys.meta_path.insert(0, Recorder())
'''


def needed_by(name: str) -> set[str]:
    """List the packages that a package asks for here, without its extras."""
    requirements = [Requirement(line) for line in distribution(name).requires or []]
    wanted = [r for r in requirements if not r.marker or r.marker.evaluate({"extra": ""})]
    return {canonicalize_name(requirement.name) for requirement in wanted}


def with_dependencies(names: Iterable[str]) -> set[str]:
    """List the installed packages that come along with ``names``, themselves included."""
    reached: set[str] = set()
    waiting = {canonicalize_name(name) for name in names}
    while waiting:
        name = waiting.pop()
        try:
            waiting |= needed_by(name) - reached
        except PackageNotFoundError:
            continue
        reached.add(name)
    return reached


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def _files(package: Distribution) -> dict[str, Path]:
    """Give the files of a package by their place in an environment."""
    root = Path(sys.prefix)
    found = {}
    for file in package.files or []:
        source = Path(os.path.normpath(package.locate_file(file)))
        if source.is_file() and source.is_relative_to(root):
            found[str(source.relative_to(root))] = source
    return found


class Channel:
    """A channel with its cache of extracted packages."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.index: dict[str, object] = {}

    def add(
        self, name: str, version: str, needed: list[str],
        files: Mapping[str, Path], texts: Mapping[str, str], links: Mapping[str, str],
    ) -> None:  # fmt: skip
        """Add a package from files to link, texts to write and symbolic links."""
        package = self.folder / "packages" / f"{name}-{version}-0"
        for path, source in files.items():
            _link(source, package / path)
        for path, text in texts.items():
            (package / path).parent.mkdir(parents=True, exist_ok=True)
            (package / path).write_text(text)
            (package / path).chmod(0o755 if path.startswith("bin/") else 0o644)
        for path, target in links.items():
            (package / path).parent.mkdir(parents=True, exist_ok=True)
            (package / path).symlink_to(target)
        prefix = {"prefix_placeholder": PREFIX, "file_mode": "text"}
        entries = [{"_path": path, "path_type": "hardlink"} for path in files]
        entries += [
            {"_path": path, "path_type": "hardlink"} | (prefix if PREFIX in text else {})
            for path, text in texts.items()
        ]
        entries += [{"_path": path, "path_type": "softlink"} for path in links]
        record = {
            "name": name, "version": version, "build": "0", "build_number": 0, "depends": needed,
            "subdir": str(Subdir.current()),
        }  # fmt: skip
        (package / "info").mkdir(parents=True)
        (package / "info/index.json").write_text(json.dumps(record))
        paths = {"paths_version": 1, "paths": entries}
        (package / "info/paths.json").write_text(json.dumps(paths))
        self.index[f"{package.name}.conda"] = record

    def add_python(self) -> None:
        """Add the Python that runs here, as a virtual environment has it."""
        home = Path(sys.base_prefix) / "bin"
        texts = {
            "pyvenv.cfg": f"home = {home}\ninclude-system-site-packages = false\n",
            # Not as sitecustomize, of which Debian's Python has its own.
            f"{SITE_PACKAGES}/recorder_of_modules.py": RECORDER,
            f"{SITE_PACKAGES}/recorder_of_modules.pth": "import recorder_of_modules\n",
        }
        links = {
            f"bin/python{PYTHON}": str(home / f"python{PYTHON}"),
            "bin/python3": f"python{PYTHON}",
            "bin/python": f"python{PYTHON}",
        }
        version = "{}.{}.{}".format(*sys.version_info)
        self.add("python", version, [], {}, texts, links)

    def add_installed(self, name: str) -> None:
        """Add a package as it is installed here."""
        package = distribution(name)
        files, texts = {}, {}
        for path, source in _files(package).items():
            start = source.open("rb").readline() if path.startswith("bin/") else b""
            if start.startswith(b"#!") and b"python" in start:
                body = source.read_text().split("\n", 1)[1]
                texts[path] = f"#!{PREFIX}/bin/python\n{body}"
            else:
                files[path] = source
        needed = ["python", *(CONDA_NAMES.get(n, n) for n in sorted(needed_by(name)))]
        self.add(CONDA_NAMES.get(name, name), package.version, needed, files, texts, {})

    def write(self) -> None:
        """Write the index, without which nothing is found."""
        for subdir in (str(Subdir.current()), "noarch"):
            index = self.index if subdir != "noarch" else {}
            content = {"info": {"subdir": subdir}, "packages": {}, "packages.conda": index}
            path = self.folder / self.name / subdir / "repodata.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(content))


def _write_wheel(name: str, folder: Path) -> None:
    """Pack an installed package as a wheel again, for pip."""
    package = distribution(name)
    stem = f"{name.replace('-', '_')}-{package.version}"
    written_by_pip = {entry.name for entry in package.entry_points.select(group="console_scripts")}
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for path, source in _files(package).items():
            if path.startswith(f"{SITE_PACKAGES}/") and source.suffix != ".pyc":
                wheel.write(source, path.removeprefix(f"{SITE_PACKAGES}/"))
            elif path.startswith("bin/") and source.name not in written_by_pip:
                wheel.write(source, f"{stem}.data/scripts/{source.name}")


def _names(lines: Iterable[str]) -> set[str]:
    """Names, as they are installed here, of the packages that an environment asks for."""
    installed = {conda: name for name, conda in CONDA_NAMES.items()}
    found = {re.match(r"[\w.-]+", line)[0] for line in lines}
    return {installed.get(name, name) for name in found} - {"python"}


def make_stand_in(folder: Path, environments: Iterable[Environment]) -> None:
    """Write the stand-in with all that ``environments`` need into a folder."""
    conda: set[str] = set()
    wheels: set[str] = set()
    for environment in environments:
        packages = with_dependencies(_names(environment.packages))
        conda |= packages
        wheels |= with_dependencies(_names(environment.by_pip)) - packages
    channel = Channel(folder, "conda-forge")
    channel.add_python()
    for name in sorted(conda):
        channel.add_installed(name)
    channel.write()
    for name in sorted(wheels):
        _write_wheel(name, folder / "wheels")
    command = (
        f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("stand_in.py")}" "$@"\n'
    )
    (folder / "bin").mkdir()
    (folder / "bin/conda").write_text(command)
    (folder / "bin/conda").chmod(0o755)
    (folder / "bin/activate").write_text(ACTIVATE)
