"""A small study in a folder of its own, and Snakemake run on it for real."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from notears_pfl.io.batches import Listed, read_list, write_list

ROOT = Path(__file__).parents[2]
# Rows of a dry run's table that are not jobs with work of their own.
TARGETS = (
    "all", "comparison", "federated_simulation", "phantom_cohort", "preprocessing", "simulation",
    "total",
)  # fmt: skip

# The one subject whose cleaned image is made too.
CLEAN_BOLD = "results/preproc/sub-COIHC001/func/sub-COIHC001_task-rest_space-MNI152_desc-clean_bold"

# Of the study whose series are ready.
SERIES_SITES, SERIES_GROUPS = ("PITT", "YALE"), ("ASD", "TC")


@dataclass(frozen=True)
class StudyFolder:
    """A working directory with its own copy of config/."""

    path: Path

    def edit_config(self, **changes):
        """Set keys of config.yaml; a double underscore goes one level down."""
        file = self.path / "config/config.yaml"
        config = yaml.safe_load(file.read_text())
        for name, value in changes.items():
            *parents, key = name.split("__")
            section = config
            for parent in parents:
                section = section[parent]
            section[key] = value
        file.write_text(yaml.safe_dump(config))

    def edit_table(self, name, edit):
        """Pass config/<name>.tsv, as text, through ``edit``."""
        file = self.path / f"config/{name}.tsv"
        table = pd.read_csv(file, sep="\t", dtype=str, keep_default_na=False)
        edit(table).to_csv(file, sep="\t", index=False)

    def command(self, *arguments):
        """Command line of Snakemake on this study."""
        snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
        return [*snakemake, "--directory", str(self.path), *arguments]

    def snakemake(self, *arguments):
        """Run Snakemake; return the finished process, whatever became of it."""
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False)

    def start(self, *arguments):
        """Start Snakemake in a process group of its own."""
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(
            self.command(*arguments), stdout=nowhere, stderr=nowhere, start_new_session=True
        )

    def run(self, *arguments):
        """Run Snakemake on all cores and expect it to succeed."""
        done = self.snakemake("--cores", "all", *arguments)
        assert done.returncode == 0, done.stderr
        return done

    def jobs(self, *targets):
        """Count the jobs by rule that a run would start now."""
        done = self.snakemake("--dry-run", "--quiet", "rules", "--", *targets)
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in done.stdout.splitlines()]
        rows = [line for line in lines if len(line) == 2 and line[1].isdigit()]
        return {rule: int(count) for rule, count in rows if rule not in TARGETS}

    def batch(self, rule, site="COI", number=1):
        """Path of the list of a batch: the target that makes its files."""
        return f"results/batches/{rule}/site-{site}_batch-{number}.tsv"

    def list_again(self, rule):
        """Take the files of a rule, changed by hand, for those that it made."""
        folder = self.path / f"results/batches/{rule}"
        for receipt in folder.glob("sub-*.json"):
            content = json.loads(receipt.read_text())
            content["Files"] = [[*row[:3], *self._measured(row[2])] for row in content["Files"]]
            receipt.write_text(json.dumps(content, indent=2) + "\n")
        for path in folder.glob("*.tsv"):
            self.write_list(path, [tuple(row[:3]) for row in read_list(path)])

    def write_list(self, path, files):
        """Write the list of a batch whose files (participant, kind, path) exist."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_list([Listed(*file, *self._measured(file[2])) for file in files], path)

    def _measured(self, path):
        content = (self.path / path).read_bytes()
        return len(content), hashlib.sha256(content).hexdigest()

    def checksums(self):
        """Digest of every result by its path, but for the dated page, the command and the times."""
        found = (self.path / "results").rglob("*")
        varying = ("index.html", "cost.tsv", "provenance.json")
        files = sorted(p for p in found if p.is_file() and not p.name.endswith(varying))
        return {
            str(p.relative_to(self.path)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files
        }


def workflow_rules():
    """Give the name and the body of every rule of the workflow."""
    rule = re.compile(
        r"^( *)(?:rule|use rule \w+ as) (\w+)(?::| with:)\n(.*?)(?=^(?!\1    ).|\Z)",
        re.MULTILINE | re.DOTALL,
    )
    for path in [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]:
        for _, name, body in rule.findall(path.read_text()):
            yield name, body


# Draws of the evidence: one job of each kind.
FEW_DRAWS = {"permutations": 19, "weight_permutations": 99, "bootstraps": 10}


def new_study(path):
    shutil.copytree(ROOT / "config", path / "config")
    study = StudyFolder(path)
    study.edit_config(evidence__quick=FEW_DRAWS)
    return study


def compare_little(study):
    """Leave two draws and one other method in the comparison, which every run includes."""
    study.edit_config(
        comparison__n_draws=2, comparison__baselines=["granger"], comparison__permutations=99
    )
    return study


def shrink(study):
    """Leave two sites, two patients and two controls at each, short scans and large voxels."""
    study.edit_config(phantom__spatial_reduction=3)
    few = {"n_volumes": "30", "phantom_patients": "2", "phantom_controls": "2"}
    study.edit_table("sites", lambda sites: sites.iloc[[0, 3]].assign(**few))
    return study


def with_series(study):
    """Give it twenty subjects at two sites, with a few edges between the first regions."""
    rng = np.random.default_rng(20230)
    rows = [
        (f"sub-{site}{group}{i}", site, group)
        for site in SERIES_SITES for group in SERIES_GROUPS for i in range(5)
    ]  # fmt: skip
    participants = pd.DataFrame(rows, columns=["participant_id", "site", "group"])
    participants.to_csv(study.path / "participants.tsv", sep="\t", index=False)
    series = {}
    for name, *_ in rows:
        x = rng.normal(size=(100, 116))
        for region in range(1, 6):
            x[:, region] += 0.8 * x[:, region - 1]
        series[name] = x
    np.savez(study.path / "series.npz", **series)
    study.edit_config(
        source={
            "kind": "timeseries", "participants": "participants.tsv", "series": "series.npz",
            "site_column": "site", "group_column": "group",
        },
        groups=dict(zip(("patients", "controls"), SERIES_GROUPS, strict=True)),
        network__estimator__kappa=1,
    )  # fmt: skip
    return study


@pytest.fixture
def study(tmp_path):
    return new_study(tmp_path)


@pytest.fixture
def small_study(study):
    return shrink(study)


def made_once(tmp_path_factory, make):
    """Give a folder that ``make`` fills in the process that comes first; others wait for it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / make.__name__
    with folder.with_suffix(".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if lock.read() != "done":
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            lock.write("done")
    return folder


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """Give a small phantom cohort that was made once, to be looked at and never changed."""

    def finished(folder):
        shrink(new_study(folder)).run("phantom_cohort")

    return StudyFolder(made_once(tmp_path_factory, finished))


@pytest.fixture
def finished(finished_run, tmp_path):
    """Give a copy of the finished study that may be changed."""
    shutil.copytree(finished_run.path, tmp_path / "study")
    return StudyFolder(tmp_path / "study")


@pytest.fixture(scope="session")
def preprocessed_once(tmp_path_factory):
    """Give a study of one site whose preprocessing was run once; never changed."""

    def preprocessed(folder):
        study = shrink(new_study(folder))
        study.edit_table("sites", lambda sites: sites.iloc[:1].assign(n_volumes="70"))
        study.run("preprocessing", "results/bids/participants.tsv", f"{CLEAN_BOLD}.nii.gz")

    return StudyFolder(made_once(tmp_path_factory, preprocessed))


@pytest.fixture(scope="session")
def bids_study(preprocessed_once, tmp_path_factory):
    """Run a dataset with good and bad subjects, and one with several runs, once up to the cohort.

    The work on T1w images, which has no part in this, is taken over from the phantom's own run.
    """
    from .own_dataset import (
        AT_WORK,
        GOOD,
        SEVERAL,
        SOURCE,
        add_bad_subjects,
        add_subject_with_runs,
        name_of,
        own_study,
    )  # fmt: skip

    def own_bids(folder):
        shutil.copytree(preprocessed_once.path / "results/bids", folder / "dataset")
        add_bad_subjects(folder / "dataset")
        add_subject_with_runs(folder / "dataset")
        study = own_study(folder / "study", folder / "dataset", kind="bids", on_problem="exclude")
        template = preprocessed_once.path / "results/preproc/template"
        shutil.copytree(template, study.path / "results/preproc/template")
        files = []
        for name in [*GOOD, *map(name_of, AT_WORK), SEVERAL]:
            model = name if name in GOOD else SOURCE
            for file in (preprocessed_once.path / f"results/preproc/{model}/anat").iterdir():
                renamed = file.name.replace(model, name)
                target = study.path / f"results/preproc/{name}/anat" / renamed
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
                files.append((name, file.name, str(target.relative_to(study.path))))
        for rule in ("anatomical", "anatomical_working"):
            study.write_list(study.path / study.batch(rule), files)
        study.run("--rerun-triggers", "mtime", "--", "results/cohort/participants.tsv")

    return StudyFolder(made_once(tmp_path_factory, own_bids) / "study")


def shorten(study):
    """Leave two sites, two patients and two controls at each, in scans just long enough to fit."""
    few = {"n_volumes": "70", "phantom_patients": "2", "phantom_controls": "2"}
    study.edit_table("sites", lambda sites: sites.iloc[[0, 4]].assign(**few))
    # Short scans: too few volumes for 24 regressors, and each spike of movement weighs more.
    study.edit_config(
        preproc__clean__motion="six", cohort__limits__max_mean_fd_mm=5,
        cohort__limits__max_share_fd_above=1, cohort__limits__min_volumes=20,
    )  # fmt: skip
    return compare_little(study)


@pytest.fixture(scope="session")
def full_run(tmp_path_factory):
    """Give a study of eight short scans that was run to its end; a copy for each process."""

    def full(folder):
        shorten(new_study(folder)).run()

    own = tmp_path_factory.mktemp("full")
    shutil.copytree(made_once(tmp_path_factory, full), own, dirs_exist_ok=True)
    return StudyFolder(own)


@pytest.fixture
def full_study(full_run, tmp_path):
    """Give a copy of it that may be changed."""
    shutil.copytree(full_run.path, tmp_path / "study")
    return StudyFolder(tmp_path / "study")
