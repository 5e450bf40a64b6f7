"""Networks small enough to check by eye, and the paper's own."""

from pathlib import Path

import pandas as pd
import pytest

PAPER = Path(__file__).parents[2] / "reference/paper"
ROIS = ["INS.R", "INS.L", "ACG.R", "THA.L"]


def network(edges):
    """Build a labelled matrix from (from, to, weight)."""
    matrix = pd.DataFrame(0.0, index=ROIS, columns=ROIS)
    for source, target, weight in edges:
        matrix.loc[source, target] = weight
    return matrix


@pytest.fixture
def networks():
    """Give two sites; patients share two edges, controls one, and one of these is common."""
    return {
        ("MDD", "COI"): network([("INS.R", "INS.L", 0.5), ("INS.R", "ACG.R", -0.4)]),
        ("MDD", "KUT"): network(
            [("INS.R", "INS.L", 0.7), ("INS.R", "ACG.R", -0.6), ("THA.L", "INS.L", 0.35)]
        ),
        ("HC", "COI"): network([("INS.R", "INS.L", 0.4), ("ACG.R", "THA.L", 0.31)]),
        ("HC", "KUT"): network([("INS.R", "INS.L", 0.6), ("THA.L", "ACG.R", 0.9)]),
    }


@pytest.fixture
def paper():
    return {path.stem: pd.read_csv(path, sep="\t") for path in PAPER.glob("*.tsv")}
