"""Whether a connection could be head motion."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr
from statsmodels.api import OLS

from notears_pfl.analysis.motion import motion_association

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
