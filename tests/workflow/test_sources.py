"""Series that others have made: XCP-D's with two runs, ABIDE's and REST-meta-MDD's as released."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.io import savemat
from tests.unit.study.derived_trees import write_xcpd_run

from notears_pfl.io.tables import read_table

from .conftest import ROOT, compare_little, new_study

ROIS = pd.read_csv(ROOT / "config/rois.tsv", sep="\t")["abbreviation"].tolist()
# One of the paper's, and its neighbour: an edge is planted between them.
PLANTED = ("PreCG.L", "PreCG.R")
SELECTED = ROIS[:8]
CLEAN = "results/timeseries/{}_seg-AAL116_desc-clean_timeseries"


def few_regions(study):
    """Leave few regions in the networks: the runs here are about what goes into them."""
    study.edit_table(
        "rois",
        lambda t: t.assign(selected=np.where(t["abbreviation"].isin(SELECTED), "true", "false")),
    )
    pd.DataFrame([PLANTED], columns=["from", "to"]).to_csv(
        study.path / "tested.tsv", sep="\t", index=False
    )
    study.edit_config(
        rois__n_selected=len(SELECTED), comparison__connections="tested.tsv",
        network__estimator__kappa=1, cohort__limits__min_volumes=60,
    )  # fmt: skip
    return compare_little(study)


def simulated(rng, n_volumes, gain=1.0):
    """Series of all regions with the planted edge."""
    x = rng.normal(size=(n_volumes, len(ROIS)))
    x[:, 1] += 0.8 * x[:, 0]
    return pd.DataFrame(gain * x, columns=ROIS)


@pytest.fixture(scope="module")
def xcpd_study(tmp_path_factory):
    """Run a study of XCP-D's series to the report; of each subject, there are two runs.

    Of one subject's second run the series and outliers do not fit together.
    """
    study = few_regions(new_study(tmp_path_factory.mktemp("xcpd")))
    rng = np.random.default_rng(20230)
    people = [
        (f"sub-{site}{group}{i}", site, group)
        for site in ("PITT", "YALE") for group in ("MDD", "HC") for i in range(5)
    ]  # fmt: skip
    table = pd.DataFrame(people, columns=["participant_id", "site", "group"])
    table.to_csv(study.path / "participants.tsv", sep="\t", index=False)
    for name in table["participant_id"]:
        for run, gain in (("task-rest_run-01", 1.0), ("task-rest_run-02", 100.0)):
            outliers = np.zeros(80)
            outliers[:10] = 1
            if (name, run) == ("sub-PITTMDD0", "task-rest_run-02"):
                outliers = np.zeros(50)
            write_xcpd_run(
                study.path / "xcp_d", name[4:], run, simulated(rng, 80, gain) + 1000, outliers,
                np.full(80, 0.1 if gain == 1 else 0.3),
            )  # fmt: skip
    study.edit_config(
        source={
            "kind": "timeseries", "layout": "xcpd", "dataset": "xcp_d", "bold": {"task": "rest"},
            "participants": "participants.tsv", "site_column": "site", "group_column": "group",
        }
    )  # fmt: skip
    (study.path / "said.txt").write_text(study.run().stderr)
    return study


def test_two_runs_are_freed_of_outliers_and_joined(xcpd_study):
    series = read_table(xcpd_study.path / f"{CLEAN.format('sub-PITTHC0')}.tsv")
    report = json.loads((xcpd_study.path / f"{CLEAN.format('sub-PITTHC0')}.json").read_text())

    assert series["run"].value_counts().to_dict() == {
        "task-rest_run-01": 70, "task-rest_run-02": 70,
    }  # fmt: skip
    assert report["n_volumes"] == 140
    assert report["mean_fd_power_mm"] == pytest.approx(0.2)
    assert [own["status"] for own in report["runs"].values()] == ["ok", "ok"]
    assert "20 of 20 subjects have several runs" in (xcpd_study.path / "said.txt").read_text()


def test_a_run_that_fails_leaves_the_other_and_is_named_in_the_report(xcpd_study):
    series = read_table(xcpd_study.path / f"{CLEAN.format('sub-PITTMDD0')}.tsv")
    cohort = read_table(xcpd_study.path / "results/cohort/participants.tsv")
    cautions = cohort.set_index("participant_id").loc["sub-PITTMDD0", "cautions"]

    assert len(series) == 70
    assert "task-rest_run-02 was left out" in cautions
    assert "50 were acquired and 50 of them are not censored" in cautions
    page = xcpd_study.path / "results/report/subjects/site-PITT/sub-PITTMDD0.html"
    assert "task-rest_run-02 was left out" in page.read_text()


def test_the_network_and_the_methods_are_those_of_the_runs(xcpd_study):
    path = xcpd_study.path / "results/fit/group-HC_site-PITT_relmat.json"
    fit = json.loads(path.read_text())
    overlap = read_table(xcpd_study.path / "results/analysis/overlap.tsv")
    page = (xcpd_study.path / "results/report/index.html").read_text()

    # White series: one run's gain of 100 would otherwise leave the samples of one run alone.
    assert fit["EffectiveSamples"] > 0.8 * fit["Samples"]
    edges = overlap[["from", "to", "found_in"]].to_numpy().tolist()
    assert [*PLANTED, "both"] in edges or [*PLANTED[::-1], "both"] in edges
    assert "ROI series were extracted and cleaned by XCP-D" in page
    assert "Several runs of a subject were cleaned one by one and joined" in page
    assert "Head motion is not known" not in page


def with_settings(study, name, folder):
    """Put a study's own settings where the default ones are, the release in ``folder``."""
    own = yaml.safe_load((ROOT / f"config/{name}.yaml").read_text())
    default = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    study.edit_config(source=default["source"] | own["source"], cohort__describe=[])
    study.edit_config(**{"groups": own.get("groups", default["groups"])})
    return study.path / folder


def test_abide_is_read_as_released(study):
    few_regions(study)
    root = with_settings(study, "abide", "ABIDE")
    folder = root / "Outputs/cpac/filt_global/rois_aal"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    rows = []
    for i in range(16):
        site, number = ("PITT", "MAX_MUN")[i % 2], 51000 + i
        name = f"{site.title()}_00{number}"
        series = simulated(rng, 80).to_numpy()
        np.savetxt(folder / f"{name}_rois_aal.1D", series, header="\t".join(map(str, range(116))))
        rows.append((i, number, site, name, 1 + i // 2 % 2, 20 + i, 1 + i % 2, 100, 0.1))
    rows += [(99 + i, 52000 + i, "PITT", "no_filename", 1, 30, 1, -9999, "") for i in range(2)]
    columns = "Unnamed: 0,SUB_ID,SITE_ID,FILE_ID,DX_GROUP,AGE_AT_SCAN,SEX,FIQ,func_mean_fd"
    table = pd.DataFrame(rows, columns=columns.split(","))
    table.to_csv(root / "Phenotypic_V1_0b_preprocessed1.csv")

    done = study.run("results/cohort/participants.tsv")

    assert "2 of 18 subjects cannot be used. They are excluded." in done.stderr
    assert "no_filename_rois_aal.1D does not exist" in done.stderr
    cohort = read_table(study.path / "results/cohort/participants.tsv").set_index("participant_id")
    assert cohort["included"].sum() == 16
    assert cohort["group"].value_counts().to_dict() == {"ASD": 10, "TC": 8}
    assert set(cohort["site"]) == {"PITT", "MAXMUN"}
    assert cohort.loc["sub-51000", ["age", "mean_fd_mm"]].tolist() == [20, 0.1]
    series = read_table(study.path / f"{CLEAN.format('sub-51001')}.tsv")
    written = np.loadtxt(folder / "Max_Mun_0051001_rois_aal.1D")
    np.testing.assert_allclose(series, written)


def test_rest_meta_mdd_is_read_as_released(study):
    few_regions(study)
    root = with_settings(study, "rest_meta_mdd", "REST-meta-MDD-Phase1-Sharing")
    folder = root / "Results/ROISignals_FunImgARCWF"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(2)
    signals = {}
    for site in ("S1", "S4", "S14"):
        for group in (1, 2):
            for i in range(4):
                own = f"{site}-{group}-000{i}"
                signals[own] = rng.normal(size=(70, 1833))
                savemat(folder / f"ROISignals_{own}.mat", {"ROISignals": signals[own]})

    study.run("results/cohort/participants.tsv")

    cohort = read_table(study.path / "results/cohort/participants.tsv").set_index("participant_id")
    assert cohort["included"].sum() == 16
    assert cohort["site"].value_counts().to_dict() == {"S1": 8, "S14": 8}
    assert cohort.loc["sub-S1420003", "group"] == "HC"
    series = read_table(study.path / f"{CLEAN.format('sub-S1420003')}.tsv")
    np.testing.assert_array_equal(series, signals["S14-2-0003"][:, :116])
