"""The wheel, built and installed with the three packages that it asks for and nothing else."""

import subprocess
import sys
import venv
import zipfile
from email.parser import HeaderParser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from notears_pfl import __version__

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from flit_core.buildapi import build_wheel; build_wheel(sys.argv[1])"
# Patients have the collider 0 -> 2 <- 1 at both sites, controls no connection.
FIT = """
import numpy as np
from notears_pfl import NotearsPFL, baselines
from notears_pfl.evidence import permutation

rng = np.random.default_rng(7)
x = rng.normal(size=(2, 2, 400, 3))
x[0, :, :, 2] += x[0, :, :, 0] + x[0, :, :, 1]
fit = NotearsPFL(progress=False).fit(list(x[0]))
print(*np.argwhere(fit.adjacency_[1]).tolist())
for method in (baselines.ges, baselines.pc):
    print(*np.argwhere(method(x[0, 0]).dag).tolist())
print(*np.argwhere(baselines.notears(x[0, 0]).weights).tolist())
both = [np.concatenate([x[0, k], x[1, k]]) for k in range(2)]
subjects = [np.repeat(np.arange(16) + 16 * k, 50) for k in range(2)]
patients = [np.arange(800) < 400] * 2
found = permutation(
    both, subjects, patients, n_permutations=1, n_weight_permutations=99, progress=False
)
print(*np.argwhere(found.p < 0.05).tolist())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-c", BUILD, folder], cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def asked_for(wheel):
    """Names of the packages that installing the wheel without extras brings."""
    with zipfile.ZipFile(wheel) as file:
        (name,) = [n for n in file.namelist() if n.endswith(".dist-info/METADATA")]
        lines = HeaderParser().parsestr(file.read(name).decode()).get_all("Requires-Dist")
    requirements = [Requirement(line) for line in lines]
    return {r.name for r in requirements if not r.marker or r.marker.evaluate({"extra": ""})}


@pytest.fixture(scope="module")
def python(wheel, asked_for, tmp_path_factory):
    """Python of a new environment with the wheel and these packages."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(site_packages)
    for name in asked_for:
        package = distribution(name)
        for top in {file.parts[0] for file in package.files} - {"..", "__pycache__"}:
            (site_packages / top).symlink_to(package.locate_file(top))
    return folder / "bin/python"


def run(python, program):
    return subprocess.run(
        [python, "-I", "-c", program], capture_output=True, text=True, check=False
    )


def test_installing_the_wheel_brings_numpy_scipy_and_tqdm(asked_for):
    assert asked_for == {"numpy", "scipy", "tqdm"}


def test_three_packages_fit_a_network(python):
    done = run(python, FIT)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[0, 2] [1, 2]"] * 5


@pytest.mark.parametrize("module", ["pandas", "sklearn", "snakemake", "nibabel", "yaml"])
def test_the_environment_has_nothing_else(python, module):
    assert f"No module named '{module}'" in run(python, f"import {module}").stderr


def test_the_wheel_has_the_version_of_the_package(wheel, python):
    assert wheel.name.startswith(f"notears_pfl-{__version__}-")
    assert (
        run(python, "import notears_pfl as n; print(n.__version__)").stdout.strip() == __version__
    )


def test_the_command_explains_itself_and_says_what_a_study_needs(python):
    command = "from notears_pfl.cli import main; raise SystemExit(main({}))"

    explained = run(python, command.format(["--help"]))
    refused = run(python, command.format(["study", "check", "x.yaml"]))

    assert explained.returncode == 0
    assert {"study", "federated"} <= set(explained.stdout.split())
    assert refused.returncode == 1
    assert "snakemake, pandas, nibabel, jsonschema, yaml is not installed" in refused.stderr
    assert "pip install 'notears-pfl[workflow]'" in refused.stderr
