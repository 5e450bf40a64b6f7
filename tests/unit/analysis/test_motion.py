"""Whether a connection could be head motion."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr
from statsmodels.api import OLS

from notears_pfl.analysis.motion import motion_association
from notears_pfl.io.tables import read_table, write_table
from notears_pfl.runs import joined_series

from ..batch_lists import files_made, list_made

SCRIPT = Path(__file__).parents[3] / "scripts/edge_motion.py"
EDGES = pd.DataFrame({"from": ["A", "D", "A"], "to": ["B", "C", "B"]})


@pytest.fixture
def study(rng):
    """Give forty subjects at two sites; the more one moves, the more A and B correlate."""
    n = 40
    subjects = pd.DataFrame(
        {
            "participant_id": [f"sub-{i}" for i in range(n)],
            "site": np.repeat(["S", "T"], n // 2),
            "group": np.tile(["P", "C"], n // 2),
            # One site moves much more: this alone must not make a correlation.
            "mean_fd_mm": rng.uniform(0.1, 0.5, n) + np.repeat([0.0, 2.0], n // 2),
        }
    )
    series = {}
    within = subjects["mean_fd_mm"] - np.repeat([0.0, 2.0], n // 2)
    for name, motion, site in zip(
        subjects["participant_id"], within, subjects["site"], strict=True
    ):
        a, b, c = rng.normal(size=(3, 400))
        series[name] = pd.DataFrame(
            {"A": a, "B": b + 2 * motion * a, "C": c + (0.8 * b if site == "T" else 0), "D": b}
        )
    return series, subjects


def test_a_connection_that_follows_motion_is_found_and_each_counts_once(study):
    table = motion_association(EDGES, *study)

    assert table[["from", "to"]].to_numpy().tolist() == [["A", "B"], ["D", "C"]]
    assert table["r"][0] > 0.8
    assert table["p"][0] < 1e-6
    assert (table["n"] == 40).all()


def test_a_difference_between_sites_is_not_taken_for_motion(study):
    series, subjects = study
    z = [np.arctanh(np.corrcoef(series[p]["D"], series[p]["C"])[0, 1]) for p in series]
    assert pearsonr(z, subjects["mean_fd_mm"]).statistic > 0.8

    table = motion_association(EDGES, *study)

    assert abs(table["r"][1]) < 0.4


def test_p_is_that_of_motion_in_a_regression_with_a_mean_per_site_and_group(study):
    series, subjects = study
    z = [np.arctanh(np.corrcoef(series[p]["A"], series[p]["B"])[0, 1]) for p in series]
    cells = pd.get_dummies(subjects["site"] + subjects["group"], dtype=float)
    fit = OLS(z, cells.assign(motion=subjects["mean_fd_mm"])).fit()

    table = motion_association(EDGES, *study)

    assert table["p"][0] == pytest.approx(fit.pvalues["motion"], rel=1e-6)


def test_without_motion_there_is_no_answer(study):
    series, subjects = study

    table = motion_association(EDGES, series, subjects.assign(mean_fd_mm=np.nan))

    assert table["r"].isna().all()
    assert table["p"].isna().all()
    assert (table["n"] == 0).all()


def test_a_step_between_runs_is_no_connectivity(study, tmp_path):
    series, subjects = study
    # A step that all regions share, larger in those who move more, between two runs.
    steps = subjects.set_index("participant_id")["mean_fd_mm"] * 100
    files = files_made(
        [who.removeprefix("sub-") for who in series], {"series": f"{tmp_path}/{{subject}}.tsv"}
    )
    for who, table in series.items():
        runs = {"run-1": table[:200], "run-2": table[200:] + steps[who]}
        write_table(joined_series(runs), files[who].series, index=False)
    list_made(files, tmp_path / "list.tsv")
    write_table(subjects.assign(included=True), tmp_path / "cohort.tsv", index=False)
    edges = EDGES.drop_duplicates().set_index(["from", "to"]).assign(weight=0.5)["weight"]
    network = edges.unstack(fill_value=0).reindex(index=list("ABCD"), columns=list("ABCD"))
    write_table(network.fillna(0), tmp_path / "group-P_site-S_relmat.tsv")
    snakemake = SimpleNamespace(
        input=SimpleNamespace(
            cohort=tmp_path / "cohort.tsv", series=[tmp_path / "list.tsv"],
            networks=[tmp_path / "group-P_site-S_relmat.tsv"],
        ),
        output=SimpleNamespace(table=tmp_path / "table.tsv"),
        log=[tmp_path / "log"],
        params=SimpleNamespace(
            participants=list(series), group_sites=[("P", "S")], rois=list("ABCD"),
            scale="roi", edge_threshold=0.0,
        ),
    )  # fmt: skip

    runpy.run_path(str(SCRIPT), {"snakemake": snakemake})

    halves = {
        who: pd.concat([(part - part.mean()) / part.std() for part in (table[:200], table[200:])])
        for who, table in series.items()
    }
    expected = motion_association(EDGES, halves, subjects).set_index(["from", "to"])
    found = read_table(tmp_path / "table.tsv").set_index(["from", "to"])
    np.testing.assert_allclose(found["r"], expected.loc[found.index, "r"], rtol=1e-6)
