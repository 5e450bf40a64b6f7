"""The centre's files: what it reads and writes, and when it continues without a site."""

import importlib.util
import itertools
import json
import math
import socket
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest
import yaml

from notears_pfl import NotearsPFL
from notears_pfl.cli import main
from notears_pfl.errors import ConfigError, FederatedError
from notears_pfl.federated.centre import run_centre, sites_left
from notears_pfl.federated.federated_study import fit_study, read_federation
from notears_pfl.federated.kits import provision
from notears_pfl.federated.ledger import read_ledger
from notears_pfl.federated.simulated_federation import (
    largest_differences,
    simulated_federation,
    write_site_files,
)
from notears_pfl.federated.site_rules import SCHEMAS, read_rules
from notears_pfl.io.networks import read_networks
from notears_pfl.io.schema import read_schema
from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.report.study_page import Extras, study_page

from ..report.toy import blank_pictures, toy_findings, toy_origin


@pytest.fixture
def settings():
    return {
        "name": "study",
        "centre": {"host": "centre.org", "port": 8002},
        "sites": ["S0", "S1", "S2"],
        "groups": ["MDD"],
        "rois": [f"R{i}" for i in range(8)],
        "scale": "subject",
        "estimator": {"lambda1": 0.0, "lambda2": 0.5, "kappa": 1.0},
        "waiting": {"answer_s": 1, "patience_s": 5, "without": "continue", "minimum_sites": 2},
    }


@pytest.fixture
def federation(tmp_path, settings):
    def write(**changes):
        (tmp_path / "federation.yaml").write_text(yaml.safe_dump({**settings, **changes}))
        return tmp_path / "federation.yaml"

    return write


def test_the_analyses_read_what_the_centre_writes(hospitals, federation, tmp_path):
    out = tmp_path / "out"

    fit_study(hospitals.exchange, read_federation(federation()), hospitals.names, out)

    keys = [("MDD", site) for site in hospitals.names]
    networks = read_networks(sorted(out.glob("*_relmat.tsv")), keys)
    assert [list(network.columns) for network in networks.values()] == [hospitals.rois] * 3
    assert sum((network != 0).to_numpy().sum() for network in networks.values()) > 10
    assert not list((out / "state").glob("*.journal"))


def test_the_report_reads_the_record_of_a_federated_fit(hospitals, federation, tmp_path):
    fit_study(hospitals.exchange, read_federation(federation()), hospitals.names, tmp_path)

    fit = read_sidecar(tmp_path / "group-MDD_fit.json")
    sidecar = read_sidecar(tmp_path / "group-MDD_site-S0_relmat.json")
    toy = toy_findings()
    findings = replace(
        toy,
        fits=dict.fromkeys(toy.groups, fit),
        sidecars=dict.fromkeys(toy.sidecars, sidecar),
    )
    page = study_page(findings, blank_pictures(findings), Extras(), toy_origin()).text
    assert f"{fit['Rounds']:g}" in page
    assert f"{sidecar['EffectiveSamples']:.0f}" in page


def test_reports_count_what_was_exchanged_before_a_restart(hospitals, federation, tmp_path):
    """One group is finished when the centre is killed in the middle of the next."""
    agreed, out = read_federation(federation(groups=["MDD", "HC"])), tmp_path / "out"
    late = itertools.count()

    def dying(bundles):
        if (out / "group-MDD_fit.json").exists() and next(late) == 50:
            raise KeyboardInterrupt
        return hospitals.exchange(bundles)

    with pytest.raises(KeyboardInterrupt):
        fit_study(dying, agreed, hospitals.names, out)
    finished = (out / "group-MDD_fit.json").read_bytes()
    fit_study(hospitals.exchange, agreed, hospitals.names, out)

    assert (out / "group-MDD_fit.json").read_bytes() == finished
    reports = [json.loads((out / f"group-{g}_fit.json").read_text()) for g in agreed.groups]
    assert sum(report["RoundTrips"] for report in reports) == hospitals.n_exchanges
    for name in hospitals.names:
        total = read_ledger(tmp_path / f"{name}.tsv").groupby("direction")["bytes"].sum()
        assert sum(report["BytesToSites"][name] for report in reports) == total["in"]
        assert sum(report["BytesFromSites"][name] for report in reports) == total["out"]


def test_a_fit_without_a_site_leaves_no_network_of_an_earlier_one(hospitals, federation, tmp_path):
    out, agreed = tmp_path / "out", read_federation(federation())
    fit_study(hospitals.exchange, agreed, hospitals.names, out)

    fit_study(hospitals.exchange, agreed, hospitals.names[:2], out)

    assert {path.name.split("_")[1] for path in out.glob("*_relmat.*")} == {"site-S0", "site-S1"}


def test_a_simulation_begins_without_the_records_of_an_earlier_one(tmp_path):
    agreed = simulated_federation(["S0", "S1"], ["G"], ["R0", "R1"], "subject", {})
    left = tmp_path / "sites/S1/group-G_release.txt"
    left.parent.mkdir(parents=True)
    left.write_text("other ROIs")

    files = write_site_files(agreed, "cohort.tsv", "{participant_id}.tsv", 2, tmp_path)

    assert not left.exists()
    assert read_rules(files.replace("{site}", "S1")).minimum_fold_subjects == 0


def test_the_largest_difference_between_networks_is_found():
    rois = ["A", "B"]
    one = pd.DataFrame([[0.0, 0.5], [0.0, 0.0]], index=rois, columns=rois)

    table = largest_differences({("G", "S"): one}, {("G", "S"): one.T})

    assert table.iloc[0].tolist() == ["G", "S", 1, 1, 0.5]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sites": ["S0"]}, "'sites' is"),
        ({"waiting": {}}, "missing under 'waiting'"),
        ({"centre": {"host": "c", "port": 80}}, "'centre.port' is 80"),
        ({"estimator": {"lambda3": 1}}, "unknown key 'lambda3'.*mean 'lambda"),
        ({"estimator": {"penalty": "ring"}}, "'estimator.penalty' is 'ring'"),
        ({"estimator": {"lambda1": -1}}, "'estimator.lambda1' is -1"),
        ({"estimator": {"kappa": "high"}}, "'estimator.kappa' is 'high'"),
        ({"estimator": {"lambda2": math.inf}}, "'estimator.lambda2' is inf"),
        ({"estimator": {"lambda2": math.nan}}, "every number must be finite"),
        ({"estimator": {"max_rounds": 0}}, "'estimator.max_rounds' is 0"),
        ({"estimator": {"progress": True}}, "unknown key 'progress'"),
        ({"sites": ["COI", "COI\n"]}, r"'sites.1' is 'COI\\n': it does not match"),
        ({"sites": ["COI", "coi"]}, "federation.yaml: the sites 'COI', 'coi' differ only by case"),
        ({"groups": ["HC", "hc"]}, "federation.yaml: the groups 'HC', 'hc' differ only by case"),
        ({"sites": ["COI", "Centre"], "centre": {"host": "centre", "port": 8002}}, "differ only"),
        ({"sites": ["COI", "A" * 300]}, "has 300 characters, but at most 64 are allowed"),
        ({"name": "A" * 300}, "has 300 characters, but at most 50 are allowed"),
        ({"centre": {"host": "a b", "port": 8002}}, "'centre.host' is 'a b'"),
        ({"rois": ["R0", "R0\n"]}, r"'rois.1' is 'R0\\n'"),
    ],
)
def test_a_wrong_federation_is_refused(federation, changes, reason):
    with pytest.raises(ConfigError, match=reason):
        read_federation(federation(**changes))


def test_the_schema_has_the_estimators_settings():
    """All except the progress bar, which nobody would see."""
    schema = read_schema(SCHEMAS / "federation.schema.yaml")

    known = set(schema["properties"]["estimator"]["properties"])
    own = {"progress", "required", "forbidden", "tiers"}
    assert known == set(NotearsPFL().get_params()) - own


def test_without_a_site_the_centre_stops_or_continues_as_agreed():
    agreed = simulated_federation(["A", "B", "C"], ["G"], ["R0", "R1"], "subject", {})

    with pytest.raises(FederatedError, match=r"B did not answer .* The state is saved"):
        sites_left(agreed, ["A", "B", "C"], ["B"])
    going_on = replace(agreed, without="continue")
    assert sites_left(going_on, ["A", "B", "C"], ["B"]) == ["A", "C"]
    with pytest.raises(FederatedError, match=r"sites left \(1\) is below waiting.minimum_sites"):
        sites_left(going_on, ["A", "B", "C"], ["A", "B"])


def test_the_command_says_what_is_missing(federation, capsys, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    code = main(["federated", "centre", "kit", str(federation()), "out"])

    assert code == 1
    assert "pip install 'notears-pfl[federated]'" in capsys.readouterr().err


def test_the_command_refuses_a_folder_that_is_not_a_kit(federation, capsys, tmp_path):
    code = main(["federated", "centre", str(tmp_path), str(federation()), str(tmp_path / "out")])

    assert code == 1
    assert "no such certificate. Give the folder of a start-up kit." in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"name: [study", b"name: st\xfcdy"], ids=["open bracket", "not UTF-8"]
)
def test_the_command_names_a_file_that_is_not_yaml(content, capsys, tmp_path):
    (tmp_path / "federation.yaml").write_bytes(content)

    code = main(["federated", "provision", str(tmp_path / "federation.yaml"), "kits"])

    assert code == 1
    assert "federation.yaml: cannot be read as YAML" in capsys.readouterr().err


def test_kits_are_never_overwritten(federation, capsys, tmp_path):
    code = main(["federated", "provision", str(federation()), str(tmp_path)])

    assert code == 1
    assert "exists already" in capsys.readouterr().err


def test_a_centre_stopped_during_log_in_exits(federation, tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.settimeout(60)
        file = federation(centre={"host": "localhost", "port": silent.getsockname()[1]})
        provision(read_federation(file), tmp_path / "kits")
        command = [sys.executable, "-m", "notears_pfl", "federated", "centre"]
        centre = subprocess.Popen([*command, tmp_path / "kits/centre", file, tmp_path / "out"])
        try:
            deadline = time.monotonic() + 60
            while not (tmp_path / "out/state/server.log").exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            silent.listen()
            # The centre checks that its server is listening, then logs in.
            silent.accept()
            silent.accept()
            centre.terminate()

            assert centre.wait(30) == 130
        finally:
            centre.kill()


def test_a_centre_whose_port_is_taken_says_so_before_it_starts(federation, tmp_path, monkeypatch):
    monkeypatch.setattr("notears_pfl.federated.centre.FREE_S", 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        agreed = read_federation(federation(centre={"host": "localhost", "port": port}))
        provision(agreed, tmp_path / "kits")

        with pytest.raises(
            FederatedError, match=f"localhost:{port}: another program already uses this port"
        ):
            run_centre(tmp_path / "kits/centre", agreed, tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_a_duplicate_key_in_a_federation_file_is_refused(federation):
    file = federation()
    file.write_text(file.read_text() + "scale: roi\n")

    with pytest.raises(
        ConfigError, match=r"federation.yaml: the key 'scale' appears twice in lines"
    ):
        read_federation(file)
