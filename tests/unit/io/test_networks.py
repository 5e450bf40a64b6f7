"""Networks travel with their labels and with what is known of them."""

import json
from importlib.metadata import PackageNotFoundError

import numpy as np
import pandas as pd
import pytest

from notears_pfl import NotearsPFL, __version__
from notears_pfl.errors import TableError
from notears_pfl.io.networks import (
    plain,
    read_discovery_series,
    read_networks,
    read_start,
    read_subjects,
    with_parameters,
    write_fit,
    write_network,
    write_pooled_fit,
)
from notears_pfl.io.tables import write_table

ROIS = ["INS.R", "ACG.R"]


def test_a_network_comes_back_with_its_labels_and_direction(tmp_path):
    weights = np.array([[0, 0.7], [0, 0]])

    path = tmp_path / "group-MDD_site-COI_relmat.tsv"

    write_network(weights, ROIS, {"Converged": True}, path)
    network = read_networks([path], [("MDD", "COI")])["MDD", "COI"]

    assert network.loc["INS.R", "ACG.R"] == 0.7
    assert network.loc["ACG.R", "INS.R"] == 0
    sidecar = json.loads(path.with_suffix(".json").read_text())
    assert sidecar["Directed"]
    assert sidecar["Converged"]
    assert sidecar["Versions"]["numpy"] == np.__version__


def test_a_fit_is_written_with_what_is_known_about_every_edge(tmp_path, rng):
    x = rng.normal(size=(300, 2))
    x[:, 1] += 0.8 * x[:, 0]
    fit = NotearsPFL(kappa=0.5).fit([x, x[::2]])
    counts = {"Subjects": 1, "Samples": 300, "EffectiveSamples": 300.0}

    write_fit(fit, "MDD", ROIS, {"COI": counts, "KUT": counts}, tmp_path, scale="subject", about={})

    edges = pd.read_csv(tmp_path / "group-MDD_edges.tsv", sep="\t")
    assert list(edges["site"]) == ["COI", "KUT"]
    assert edges[["from", "to"]].to_numpy().tolist() == [ROIS, ROIS]
    assert edges["weight"].tolist() == pytest.approx(fit.weights_[:, 0, 1].tolist())
    assert edges["standard_error"].tolist() == pytest.approx(fit.standard_errors_[:, 0, 1].tolist())
    assert (edges["probability"] > 0.99).all()
    assert edges["direction_support"].tolist() == pytest.approx(
        fit.direction_support_[:, 0, 1].tolist()
    )
    sidecar = json.loads((tmp_path / "group-MDD_site-KUT_relmat.json").read_text())
    assert sidecar["UnclearDirections"] == 0
    assert sidecar["Ties"] == pytest.approx(fit.ties_[1])
    assert json.loads((tmp_path / "group-MDD_fit.json").read_text())["Doubts"] == fit.doubts_


def test_a_network_is_written_by_a_package_that_is_not_installed(tmp_path, monkeypatch):
    def installed(name):
        if name == "notears-pfl":
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr("notears_pfl.io.networks.version", installed)
    write_network(np.zeros((2, 2)), ROIS, {}, tmp_path / "group-MDD_site-COI_relmat.tsv")

    sidecar = json.loads((tmp_path / "group-MDD_site-COI_relmat.json").read_text())
    assert sidecar["Versions"]["notears-pfl"] == __version__


def test_networks_are_told_apart_by_their_names_not_by_their_order(tmp_path):
    keys = [("MDD", "COI"), ("MDD", "KUT"), ("HC", "COI"), ("HC", "KUT")]
    paths = {key: tmp_path / "group-{}_site-{}_relmat.tsv".format(*key) for key in keys}
    for number, path in enumerate(paths.values()):
        write_network(np.array([[0, number], [0, 0]]), ROIS, {}, path)
    shuffled = [paths[keys[i]] for i in (0, 2, 1, 3)]

    networks = read_networks(shuffled, keys)

    assert list(networks) == keys
    assert [networks[key].loc["INS.R", "ACG.R"] for key in keys] == [0, 1, 2, 3]


def test_a_network_that_is_missing_or_misnamed_is_refused(tmp_path):
    path = tmp_path / "group-MDD_site-COI_relmat.tsv"
    write_network(np.zeros((2, 2)), ROIS, {}, path)

    with pytest.raises(TableError, match=r"no network was given for group HC at site COI"):
        read_networks([path], [("MDD", "COI"), ("HC", "COI")])
    with pytest.raises(TableError, match=r"MDD_COI\.tsv: a network's file is named"):
        read_networks([tmp_path / "MDD_COI.tsv"], [("MDD", "COI")])


def test_only_discovery_subjects_of_the_group_are_read_by_site(tmp_path):
    rows = [
        ("sub-1", "COI", "MDD", "discovery"), ("sub-2", "COI", "MDD", "validation"),
        ("sub-3", "COI", "HC", "discovery"), ("sub-4", "KUT", "MDD", "discovery"),
        ("sub-5", "KUT", "MDD", ""),
    ]  # fmt: skip
    cohort = pd.DataFrame(rows, columns=["participant_id", "site", "group", "split"])
    paths = {name: str(tmp_path / f"{name}.tsv") for name in cohort["participant_id"]}
    for number, path in enumerate(paths.values()):
        table = pd.DataFrame({"ACG.R": [number, 1], "THA.L": [0, 0], "INS.R": [2, 3]})
        write_table(table, path, index=False)

    series = read_discovery_series(cohort, "MDD", paths, ROIS)

    assert {site: list(subjects) for site, subjects in series.items()} == {
        "COI": ["sub-1"], "KUT": ["sub-4"],
    }  # fmt: skip
    assert series["KUT"]["sub-4"].columns.tolist() == ROIS
    assert series["KUT"]["sub-4"]["ACG.R"].tolist() == [3, 1]


def test_regions_whose_names_a_spreadsheet_would_run_are_read(tmp_path, rng):
    table = pd.DataFrame(rng.normal(size=(3, 3)), columns=["-A1", "B", "=C"])
    write_table(table, tmp_path / "sub-1.tsv", index=False)

    found = read_subjects(["sub-1"], {"sub-1": str(tmp_path / "sub-1.tsv")}, ["=C", "-A1"])

    assert (tmp_path / "sub-1.tsv").read_text().startswith("'-A1\tB\t'=C\n")
    pd.testing.assert_frame_equal(found["sub-1"], table[["=C", "-A1"]])


def test_plain_makes_json_of_arrays_and_turns_nan_into_null():
    assert plain({"a": np.array([1.0, np.nan]), "b": (np.int64(2), "x"), 3: float("inf")}) == {
        "a": [1.0, None], "b": [2, "x"], "3": None,
    }  # fmt: skip


def test_draws_start_where_a_written_fit_ended(tmp_path, rng):
    x = rng.normal(size=(300, 3))
    x[:, 2] += 0.8 * x[:, 0]
    fit = NotearsPFL(kappa=0.5).fit([x, x[::2]])
    rois, sites = ["INS.R", "ACG.R", "PCG.L"], ["COI", "KUT"]
    write_pooled_fit(fit, rois, {"COI": {}, "KUT": {}}, tmp_path / "fit.json", scale="subject")

    # Another order of ROIs and sites than that of the fit.
    settings, orders, adjacency = read_start(tmp_path / "fit.json", rois[::-1], sites[::-1])

    assert settings == fit.get_params()
    assert (2 - orders[::-1]).tolist() == fit.order_.tolist()
    np.testing.assert_array_equal(adjacency[::-1, ::-1, ::-1], fit.adjacency_)


def test_the_pooled_parameters_replace_automatic_ones(tmp_path, rng):
    fit = NotearsPFL(kappa=0.5).fit([rng.normal(size=(50, 2))] * 2)
    write_pooled_fit(fit, ROIS, {"COI": {}, "KUT": {}}, tmp_path / "fit.json", scale="subject")

    fixed = with_parameters({"kappa": "auto", "threshold": 0.2}, tmp_path / "fit.json")

    assert fixed["kappa"] == 0.5
    assert fixed["lambda2"] == fit.parameters_.lambda2
    assert fixed["threshold"] == 0.2
    assert with_parameters({"kappa": "auto"}, []) == {"kappa": "auto"}


def test_a_start_with_other_rois_is_refused(tmp_path, rng):
    fit = NotearsPFL(kappa=0.5).fit([rng.normal(size=(50, 2))] * 2)
    write_pooled_fit(fit, ROIS, {"COI": {}, "KUT": {}}, tmp_path / "fit.json", scale="subject")

    with pytest.raises(TableError, match="the orders of the ROIs at COI do not have"):
        read_start(tmp_path / "fit.json", ["INS.R", "PCG.L"], ["COI"])
