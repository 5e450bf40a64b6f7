"""The workflow's federated simulation: the same networks, and the same analyses of them."""

import pandas as pd
import pytest

from notears_pfl.federated.ledger import read_ledger

from .conftest import SERIES_GROUPS as GROUPS
from .conftest import SERIES_SITES as SITES
from .conftest import with_series


@pytest.fixture
def series_study(study):
    return with_series(study)


def test_the_federated_networks_are_those_of_one_machine_and_analysed_alike(series_study):
    pooled = [f"results/analysis/{name}.tsv" for name in ("degree", "overlap")]
    series_study.run("federated_simulation", *pooled)

    results = series_study.path / "results"
    agreement = pd.read_csv(results / "federated/agreement.tsv", sep="\t")
    assert len(agreement) == 4
    assert (agreement["edges_federated"] > 3).all()
    assert (agreement["largest_difference"] == 0).all()
    for name in ("degree", "overlap"):
        here, there = (
            pd.read_csv(results / folder / f"{name}.tsv", sep="\t", dtype=str)
            for folder in ("analysis", "federated/analysis")
        )
        # Chance levels need subjects, which hospitals do not share.
        chance = [c for c in here if c.split("_")[0] in ("p", "q", "difference")]
        assert chance
        assert there[chance].isna().all(axis=None)
        assert there.drop(columns=chance).equals(here.drop(columns=chance))
    for site in SITES:
        ledger = read_ledger(results / f"federated/sites/{site}/ledger.tsv")
        assert set(ledger["group"]) >= set(GROUPS)
        statement = (results / f"federated/sites/{site}/statement.md").read_text()
        sent = ledger.loc[ledger["direction"] == "out", "bytes"].sum()
        assert f"{sent} bytes. Received" in statement
    assert series_study.jobs("federated_simulation") == {}
