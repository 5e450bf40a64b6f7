"""The version is one, wherever it stands."""

import tomllib
from pathlib import Path

import yaml

from notears_pfl import __version__

ROOT = Path(__file__).parents[2]


def test_the_package_its_metadata_and_its_citation_name_the_same_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())

    assert project["version"] == citation["version"] == __version__
