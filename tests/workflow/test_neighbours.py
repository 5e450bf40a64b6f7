"""What other programs get from a finished study: tables, networks, derivatives, snippets."""

import json
import re
import shutil
import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from notears_pfl.io.bids_validator import validate_dataset
from notears_pfl.io.tables import read_table

from .conftest import ROOT

# Columns that only some studies have.
ONLY_SOMETIMES = {"run"}
# Lists of files, and datasets with dictionaries of their own.
NOT_RESULTS = ("results/batches", "results/bids", "results/simulate")


def dictionary_of(table):
    """Give the path of a table's dictionary: its own, or the nearest that it inherits."""
    own = table.with_suffix(".json")
    if own.exists() and not table.name.endswith("_timeseries.tsv"):
        return own
    *entities, suffix = table.stem.split("_")
    for folder in list(table.parents)[:4]:
        for path in sorted(folder.glob(f"*{suffix}.json")):
            *wanted, last = path.stem.split("_")
            if last == suffix and set(wanted) <= set(entities) and path != own:
                return path
    pytest.fail(f"{table} has no dictionary of columns")


def test_every_column_of_every_table_is_described(full_run):
    tables = [
        path for path in sorted((full_run.path / "results").rglob("*.tsv"))
        if not str(path.relative_to(full_run.path)).startswith(NOT_RESULTS)
        and not path.name.endswith("_relmat.tsv")
    ]  # fmt: skip
    assert len(tables) > 60

    for table in tables:
        path = dictionary_of(table)
        columns = json.loads(path.read_text())
        lacking = [name for name in pd.read_csv(table, sep="\t", nrows=0) if name not in columns]
        assert not lacking, f"{path} does not describe {lacking} of {table}"
        if not table.name.startswith(("participants", "proportion_tests")):
            described = columns.keys() - ONLY_SOMETIMES
            assert len(described) == len(read_table(table).columns), f"{path} describes too much"


@pytest.mark.parametrize(
    ("folder", "source"), [("preproc", "../bids"), ("timeseries", "../preproc")]
)
def test_the_official_validator_finds_no_errors_in_derivatives(full_run, folder, source):
    dataset = full_run.path / "results" / folder

    assert validate_dataset(dataset)["Errors"] == 0

    content = json.loads((dataset / "dataset_description.json").read_text())
    assert content["DatasetType"] == "derivative"
    assert content["GeneratedBy"][0]["Name"] == "notears-pfl"
    assert content["SourceDatasets"] == [{"URL": source}]
    assert (dataset / source).is_dir()


def test_all_exports_have_the_edges_of_the_networks(full_run):
    folder = full_run.path / "results/export"
    edges, nodes = read_table(folder / "edges.tsv"), read_table(folder / "nodes.tsv")

    assert len(nodes) == 56
    assert edges["stability"].between(0, 1).all()
    for (group, site), own in edges.groupby(["group", "site"]):
        stem = f"group-{group}_site-{site}"
        relmat = pd.read_csv(
            full_run.path / f"results/fit/{stem}_relmat.tsv", sep="\t", index_col=0
        )
        graph = nx.read_graphml(folder / f"{stem}.graphml")
        weights = nx.to_numpy_array(graph, nodelist=relmat.index)
        np.testing.assert_array_equal(weights, relmat)
        np.testing.assert_allclose(np.loadtxt(folder / f"{stem}.edge"), relmat, rtol=1e-6)
        assert len(own) == (relmat.to_numpy() != 0).sum()
        labels = [
            line.split("\t")[5] for line in (folder / f"{stem}.node").read_text().split("\n")[:-1]
        ]
        assert labels == relmat.index.tolist()


def test_subjects_weights_are_those_of_their_groups_edges(full_run):
    cohort = read_table(full_run.path / "results/cohort/participants.tsv")
    for group, site in {(g, s) for g in ("MDD", "HC") for s in ("COI", "HUH")}:
        stem = f"group-{group}_site-{site}"
        table = read_table(full_run.path / f"results/subject_networks/{stem}_weights.tsv")
        relmat = pd.read_csv(
            full_run.path / f"results/fit/{stem}_relmat.tsv", sep="\t", index_col=0
        )
        own = cohort[(cohort["group"] == group) & (cohort["site"] == site) & cohort["included"]]
        assert table["participant_id"].unique().tolist() == own["participant_id"].tolist()
        assert len(table) == len(own) * (relmat.to_numpy() != 0).sum()
        # One discovery subject at each site: its network's weights are its own.
        alone = table[table["split"] == "discovery"]
        found = [relmat.loc[a, b] for a, b in alone[["from", "to"]].to_numpy()]
        np.testing.assert_allclose(alone["weight"], found, atol=0.02)


def test_provenance_names_command_settings_and_inputs(full_run):
    record = json.loads((full_run.path / "results/provenance.json").read_text())

    assert "--cores" in record["Command"]
    assert record["Settings"]["source"]["kind"] == "phantom"
    sums = (full_run.path / "results/report/checksums.txt").read_text()
    files = record["InputChecksums"]["Files"]
    assert sums == "".join(f"{digest}  {path}\n" for path, digest in files.items())


def snippet(language):
    page = (ROOT / "docs/exports.md").read_text()
    return re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)[1]


def test_the_python_snippet_of_the_documentation_runs(full_run):
    command = [sys.executable, "-c", snippet("python")]
    done = subprocess.run(command, cwd=full_run.path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "stability" in done.stdout


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_r_snippet_of_the_documentation_runs(full_run):
    done = subprocess.run(
        ["Rscript", "-e", snippet("r")], cwd=full_run.path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
