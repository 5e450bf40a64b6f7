"""The version is one, wherever it stands."""

import tomllib
from importlib.metadata import version
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def test_a_release_changes_the_version_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())

    # The wheel takes it from the package (test_wheel.py).
    assert "version" in project["dynamic"]
    assert "version" not in project.keys() | citation.keys()


def test_the_extra_pins_the_nvflare_that_the_tests_run_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = [Requirement(line) for line in project["optional-dependencies"]["federated"]]
    pins = {requirement.name: str(requirement.specifier) for requirement in extra}

    # We rely on its internals: before another version is pinned here, look at what has changed.
    assert pins["nvflare"] == f"=={version('nvflare')}"
