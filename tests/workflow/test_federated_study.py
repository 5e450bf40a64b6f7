"""The workflow's federated simulation: the same networks, and the same analyses of them."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.federated.ledger import read_ledger

SITES, GROUPS = ("PITT", "YALE"), ("ASD", "TC")


@pytest.fixture
def series_study(study):
    """Write twenty subjects at two sites, with a few edges between the first regions."""
    rng = np.random.default_rng(20230)
    rows = [(f"sub-{s}{g}{i}", s, g) for s in SITES for g in GROUPS for i in range(5)]
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
        groups={"patients": "ASD", "controls": "TC"},
        network__estimator__kappa=1,
    )  # fmt: skip
    return study


def test_the_federated_networks_are_those_of_one_machine_and_analysed_alike(series_study):
    pooled = [f"results/analysis/{name}.tsv" for name in ("degree", "overlap")]
    series_study.run("federated_simulation", *pooled)

    results = series_study.path / "results"
    agreement = pd.read_csv(results / "federated/agreement.tsv", sep="\t")
    assert len(agreement) == 4
    assert (agreement["edges_federated"] > 3).all()
    assert (agreement["largest_difference"] == 0).all()
    for name in ("degree", "overlap"):
        here, there = (results / folder / f"{name}.tsv" for folder in
                       ("analysis", "federated/analysis"))  # fmt: skip
        assert there.read_bytes() == here.read_bytes()
    for site in SITES:
        ledger = read_ledger(results / f"federated/sites/{site}/ledger.tsv")
        assert set(ledger["group"]) >= set(GROUPS)
        statement = (results / f"federated/sites/{site}/statement.md").read_text()
        sent = ledger.loc[ledger["direction"] == "out", "bytes"].sum()
        assert f"{sent} bytes. Received" in statement
    assert series_study.jobs("federated_simulation") == {}
