"""Snakemake with --use-conda, for real, on a stand-in for conda: tests/conda says what it is.

The launcher is a Python that has what docs/guide/running.md asks of it and nothing else.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml

from ..conda.channel import make_stand_in
from ..conda.stand_in import Environment, read_environment
from .conftest import ROOT, StudyFolder, new_study, with_series
from .test_environments import rules, third_party_imports

PYTHON = "python =3.11"
ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
SUBJECTS = "results/batches/anatomical/site-COI_batch-1.tsv"
SIMULATED = "results/simulate/runs/variables-7_weights-shared_run-1.tsv"


def launcher_packages():
    """List the packages of the documented command for a launcher."""
    page = (ROOT / "docs/guide/running.md").read_text()
    return re.search(r"pip install (snakemake .*)", page)[1].split()


@dataclass(frozen=True)
class StandIn:
    """The stand-in for conda, in a folder of its own."""

    folder: Path

    def variables(self, found):
        """Environment of a process that takes it for conda, and writes which modules it finds."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "STAND_IN": self.folder, "MODULES_FOUND": found}

    def python(self, name, *packages):
        """Create an environment with ``packages``; return its Python."""
        file = self.folder / f"{name}.yaml"
        asked = {"channels": ["conda-forge"], "dependencies": [PYTHON, *packages]}
        file.write_text(yaml.safe_dump(asked))
        prefix = self.folder / "environments" / name
        command = [self.folder / "bin/conda", "env", "create", "--file", file, "--prefix", prefix]
        subprocess.run(command, env=self.variables(os.devnull), check=True)
        return prefix / "bin/python"

    def snakemake(self, launcher, study, *arguments):
        """Run Snakemake with --use-conda; return the finished process."""
        prefix = self.folder / "conda"
        _, *command = study.command("--cores", "all", "--use-conda", "--conda-prefix", prefix)
        variables = self.variables(study.path / "found.tsv")
        return subprocess.run(
            [launcher, *command, *arguments],
            env=variables, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    if "python ={}.{}".format(*sys.version_info) != PYTHON:
        reason = f"the environments ask for {PYTHON}, and the stand-in has {sys.version} alone"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    folder = tmp_path_factory.mktemp("stand_in")
    environments = [read_environment(path) for path in ENVIRONMENTS]
    make_stand_in(folder, [*environments, Environment([], launcher_packages(), [])])
    yield StandIn(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def launcher(stand_in):
    """Give a Python that has what the documentation asks for to start Snakemake."""
    return stand_in.python("launcher", *launcher_packages())


@pytest.fixture(scope="module")
def series_run(stand_in, launcher, tmp_path_factory):
    """Run the federated study of series, with a rule of each environment that it can have."""
    study = with_series(new_study(tmp_path_factory.mktemp("series")))
    targets = ("results/compare/draws.tsv", "results/report/figures/cohort_flow.png", SIMULATED)
    return study, stand_in.snakemake(launcher, study, "--", "federated_simulation", *targets)


@pytest.fixture(scope="module")
def phantom_run(stand_in, launcher, finished_run, tmp_path_factory):
    """Validate a finished phantom cohort, and preprocess the T1w images of one batch."""
    study = StudyFolder(tmp_path_factory.mktemp("phantom") / "study")
    shutil.copytree(finished_run.path, study.path)
    (study.path / "results/bids_validation.json").unlink()
    targets = ("results/bids_validation.json", SUBJECTS)
    return study, stand_in.snakemake(launcher, study, "--rerun-triggers", "mtime", "--", *targets)


def test_the_federated_study_runs_in_conda_environments(series_run):
    study, done = series_run

    assert done.returncode == 0, done.stderr
    agreement = pd.read_csv(study.path / "results/federated/agreement.tsv", sep="\t")
    assert len(agreement) == 4
    assert (agreement["edges_federated"] > 3).all()
    assert (agreement["largest_difference"] == 0).all()
    assert (study.path / SIMULATED).exists()


def test_validation_and_preprocessing_run_in_conda_environments(phantom_run):
    study, done = phantom_run

    assert done.returncode == 0, done.stderr
    assert (study.path / SUBJECTS).exists()


def modules_of_the_launcher(found, launcher):
    """Modules that the jobs of each environment took from the launcher, and from their own."""
    table = pd.read_csv(found, sep="\t", names=["prefix", "module", "origin"])
    home = launcher.parents[1]
    jobs = table[table["prefix"] != str(home)]
    borrowed = jobs["origin"].map(lambda origin: Path(origin).is_relative_to(home))
    own = [Path(o).is_relative_to(p) for o, p in zip(jobs["origin"], jobs["prefix"], strict=True)]
    return jobs[borrowed], jobs[own]


def test_jobs_take_what_they_import_from_their_own_environment(series_run, phantom_run, launcher):
    ran = set()
    for study, _ in (series_run, phantom_run):
        borrowed, own = modules_of_the_launcher(study.path / "found.tsv", launcher)
        for prefix in own["prefix"].unique():
            # Snakemake keeps the file beside the environment; two of ours may be the same.
            text = Path(f"{prefix}.yaml").read_text()
            names = {path.name for path in ENVIRONMENTS if path.read_text() == text}
            scripts = [case.values[0] for case in rules() if case.values[1] in names]
            imported = set().union(*map(third_party_imports, scripts))
            ran |= names
            assert imported & set(own.loc[own["prefix"] == prefix, "module"])
            # What is left is Snakemake, with which a job begins, and what libraries can do without.
            assert not imported & set(borrowed.loc[borrowed["prefix"] == prefix, "module"])
    assert ran == {path.name for path in ENVIRONMENTS}


def test_a_package_that_an_environment_lacks_is_taken_from_the_launcher_and_seen(
    stand_in, launcher, tmp_path
):
    (tmp_path / "env.yaml").write_text(f"channels: [conda-forge]\ndependencies: [{PYTHON}]\n")
    (tmp_path / "job.py").write_text("import pandas\n")
    (tmp_path / "Snakefile").write_text(
        'rule job:\n    output: touch("done")\n    conda: "env.yaml"\n    script: "job.py"\n'
    )

    subprocess.run(
        [launcher, "-m", "snakemake", "--cores", "1", "--use-conda", "--quiet", "all"],
        cwd=tmp_path, env=stand_in.variables(tmp_path / "found.tsv"), check=True,
    )  # fmt: skip

    borrowed, _ = modules_of_the_launcher(tmp_path / "found.tsv", launcher)
    assert "pandas" in set(borrowed["module"])


def test_a_launcher_with_snakemake_alone_is_told_what_to_install(stand_in, study):
    launcher = stand_in.python("plain", "snakemake")

    done = stand_in.snakemake(launcher, study)

    assert done.returncode != 0
    assert "it lacks nibabel, numpy, pandas." in done.stderr
    assert f"Install what is missing: {launcher} -m pip install nibabel numpy pandas" in done.stderr
    assert "ModuleNotFoundError" not in done.stderr
