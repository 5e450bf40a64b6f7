"""The workflow used from elsewhere: as a module, by snakedeploy, in containers, under conda."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .conftest import ROOT

MODULE = """
configfile: "config/config.yaml"


module pfl:
    snakefile:
        "{root}/Snakefile"
    config:
        config


use rule * from pfl as pfl_*


rule everything:
    default_target: True
    input:
        rules.pfl_all.input,
"""


def commands(recipe):
    """Commands that install software in a container recipe."""
    return re.findall(r"pip install [^\n]+", (ROOT / "container" / recipe).read_text())


def test_another_workflow_uses_the_rules_as_a_module(study):
    (study.path / "Snakefile").write_text(MODULE.format(root=ROOT))

    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "rules"],
        cwd=study.path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert re.search(r"^pfl_anatomical +10$", done.stdout, re.MULTILINE)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="snakedeploy allows no newer Python")
def test_snakedeploy_writes_a_folder_that_runs(tmp_path):
    source = tmp_path / "clone"
    shutil.copytree(
        ROOT, source, ignore=shutil.ignore_patterns(".*", "results", "logs", "tests", "__pycache__")
    )
    deployed = tmp_path / "deployed"
    deployed.mkdir()
    snakedeploy = Path(sys.executable).with_name("snakedeploy")

    subprocess.run(
        [snakedeploy, "deploy-workflow", source, deployed, "--branch", "main"],
        check=True, capture_output=True, cwd=tmp_path,
    )  # fmt: skip

    assert (deployed / "config/config.yaml").read_bytes() == (
        ROOT / "config/config.yaml"
    ).read_bytes()
    written = (deployed / "workflow/Snakefile").read_text()
    assert "use rule * from" in written


def test_the_catalogue_knows_how_to_run_it():
    content = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())

    assert content["usage"]["software-stack-deployment"]["conda"] is True
    assert (ROOT / "config/README.md").is_file()
    assert (ROOT / "LICENSE").is_file()


@pytest.mark.parametrize(
    ("target", "locks"),
    [
        ("setup", ["requirements.lock"]),
        ("run", ["requirements.lock"]),
        ("lint", ["requirements.lock", "requirements-dev.lock"]),
        ("test", ["requirements.lock", "requirements-dev.lock"]),
    ],
)
def test_a_run_installs_its_lock_and_development_adds_to_it(target, locks, tmp_path):
    planned = subprocess.run(
        ["make", "--dry-run", "-C", ROOT, target, f"VENV={tmp_path / 'venv'}"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    # The linters are a call of make within the tests, and so listed twice.
    found = re.findall(r"install .*--require-hashes -r (\S+)", planned)
    assert list(dict.fromkeys(found)) == locks


def test_both_containers_install_the_lock_and_then_the_workflow():
    docker, apptainer = commands("Dockerfile"), commands("apptainer.def")

    assert docker == apptainer
    assert len(docker) == 2
    assert "--require-hashes --requirement requirements.lock" in docker[0]
    assert "--no-deps" in docker[1]


def test_both_containers_start_from_the_same_image_with_the_python_of_the_environments():
    recipes = [(ROOT / "container" / name).read_text() for name in ("Dockerfile", "apptainer.def")]
    images = {re.search(r"^From:? (\S+)$", text, re.I | re.M)[1] for text in recipes}

    assert len(images) == 1
    for environment in (ROOT / "envs").glob("*.yaml"):
        python = yaml.safe_load(environment.read_text())["dependencies"][0].removeprefix("python =")
        assert f":{python}-" in next(iter(images))


def test_snakemake_finds_the_conda_environment_of_every_job(study, tmp_path):
    # There is no conda here. This one says that it exists; Snakemake asks no more to list files.
    conda = tmp_path / "bin/conda"
    conda.parent.mkdir()
    answer = {
        "conda_version": "25.1.0", "conda_prefix": "/none", "root_prefix": "/none",
        "platform": "linux-64", "get": {"channel_priority": "strict"},
    }  # fmt: skip
    conda.write_text(
        f"#!/bin/sh\n[ $1 = --version ] && echo conda 25.1.0 || echo '{json.dumps(answer)}'\n"
    )
    conda.chmod(0o755)
    path = f"{conda.parent}:{os.environ['PATH']}"

    targets = ("all", "comparison", "federated_simulation", "simulation")
    done = subprocess.run(
        study.command("--use-conda", "--list-conda-envs", "--", *targets),
        env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    listed = set(re.findall(r"envs/(\w+\.yaml)", done.stdout))
    assert listed == {path.name for path in (ROOT / "envs").glob("*.yaml")}


def test_the_readme_shows_the_rules_as_they_are(study):
    planned = study.snakemake("--rulegraph", "dot", "--", "all").stdout
    rules = set(re.findall(r'label = "(\w+)"', planned))

    shown = re.findall(r"<text[^>]*>(\w+)</text>", (ROOT / "docs/rulegraph.svg").read_text())

    assert len(rules) > 10
    assert set(shown) == rules, "run make figures"
