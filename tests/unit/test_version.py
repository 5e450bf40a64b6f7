"""The version is one, wherever it stands."""

import tomllib
from importlib.metadata import version
from pathlib import Path

import yaml
from packaging.requirements import Requirement

from notears_pfl import __version__

ROOT = Path(__file__).parents[2]


def test_the_package_its_metadata_and_its_citation_name_the_same_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())

    assert project["version"] == citation["version"] == __version__


def test_the_extra_pins_the_nvflare_that_the_tests_run_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = [Requirement(line) for line in project["optional-dependencies"]["federated"]]
    pins = {requirement.name: str(requirement.specifier) for requirement in extra}

    # We rely on its internals: before another version is pinned here, look at what has changed.
    assert pins["nvflare"] == f"=={version('nvflare')}"
