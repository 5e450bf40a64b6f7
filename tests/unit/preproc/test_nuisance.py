"""Every named strategy regresses out the columns that the field means by its name, and says so."""

import numpy as np
import pandas as pd
import pytest
import yaml
from numpy.testing import assert_allclose

from notears_pfl.acquisition import MOTION
from notears_pfl.errors import SignalError
from notears_pfl.preproc.nuisance import (
    ACOMPCOR,
    COMPONENTS,
    FRISTON_24,
    NILEARN,
    STRATEGIES,
    friston24,
    nuisance_regressors,
)

from .toy import ROOT

SECTION = yaml.safe_load((ROOT / "config/config.yaml").read_text())["preproc"]["clean"]
TEN = [*COMPONENTS["csf"], *COMPONENTS["white_matter"]]
OWN = {ACOMPCOR: {"columns": TEN}}
SIX = "the six head-motion parameters"


@pytest.fixture
def tables(rng):
    """Give the motion of 60 volumes and their confounds."""
    motion = pd.DataFrame(rng.normal(size=(60, 6)), columns=list(MOTION))
    names = ["csf", "white_matter", "global_signal", *TEN]
    return motion, pd.DataFrame(1000 + rng.normal(size=(60, len(names))), columns=names)


def regressors(tables, chosen=OWN, **changes):
    return nuisance_regressors(*tables, {**SECTION, **changes}, chosen)


EXPECTED = {
    "none": (0, "none"),
    "6P": (6, SIX),
    "24P": (24, "the Friston 24-parameter model of head motion"),
    "26P": (
        26,
        "the Friston 24-parameter model of head motion; the mean signals of CSF and white matter",
    ),
    "32P": (
        32,
        f"{SIX}, their temporal derivatives, and the squares of both; the mean signals of CSF and "
        "white matter, their temporal derivatives, and the squares of both",
    ),
    "36P": (
        36,
        f"{SIX}, their temporal derivatives, and the squares of both; the mean signals of CSF, "
        "white matter and the whole brain (global signal), their temporal derivatives, and the "
        "squares of both",
    ),
    "acompcor": (
        22,
        f"{SIX} and their temporal derivatives; the first five principal components each of CSF "
        "and white matter",
    ),
    "acompcor_global": (
        23,
        f"{SIX} and their temporal derivatives; the mean signal of the whole brain (global "
        "signal); the first five principal components each of CSF and white matter",
    ),
}


def test_every_strategy_is_tested_here():
    assert {*EXPECTED, *NILEARN} == set(STRATEGIES)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_strategy_has_its_number_of_regressors_and_its_words(tables, name):
    found = regressors(tables, strategy=name)

    n, words = EXPECTED[name]
    assert (found.table.shape, found.words) == ((60, n), words)
    # None repeats another: with a constant they have full rank.
    centred = found.table - found.table.mean()
    if n:
        assert np.linalg.matrix_rank((centred / centred.std()).to_numpy()) == n
    assert (len(found.censored), found.censors) == (0, "")


def test_the_default_is_the_papers_model(tables):
    found = regressors(tables)

    assert SECTION["strategy"] == "24P"
    assert list(found.table) == list(FRISTON_24)
    assert_allclose(found.table, friston24(tables[0].to_numpy()))


def test_36p_holds_all_nine_signals_their_changes_and_the_squares_of_both(tables):
    found = regressors(tables, strategy="36P").table

    nine = tables[0].join(tables[1][["csf", "white_matter", "global_signal"]])
    assert nine.shape[1] == 9
    for name, signal in nine.items():
        change = np.concatenate([[0], np.diff(signal)])
        expected = {"": signal, "_derivative1": change}
        expected |= {f"{key}_power2": value**2 for key, value in expected.items()}
        for suffix, values in expected.items():
            assert_allclose(found[f"{name}{suffix}"], values, atol=1e-9)
    without = regressors(tables, strategy="32P").table
    assert_allclose(without, found[[name for name in found if "global" not in name]])


@pytest.mark.parametrize(("motion", "n"), [("friston24", 24), ("six", 6), ("none", 0)])
@pytest.mark.parametrize("tissues", [[], ["csf"], ["white_matter", "csf"]])
def test_the_settings_motion_and_tissues_mean_what_they_meant(tables, motion, n, tissues):
    found = regressors(tables, motion=motion, tissues=tissues).table

    assert found.shape == (60, n + len(tissues))
    assert list(found)[n:] == tissues
    assert_allclose(found[tissues], tables[1][tissues])


def test_motion_and_tissues_replace_a_part_of_a_strategy_alone(tables):
    found = regressors(tables, strategy="acompcor_global", motion="six", tissues=["csf"]).table

    assert list(found) == [*MOTION, "csf", "global_signal", *TEN]


def test_columns_are_added_by_name_once(tables):
    found = regressors(tables, strategy="6P", columns=["c_comp_cor_03", "trans_x"])

    assert list(found.table) == [*MOTION, "c_comp_cor_03"]
    assert found.words == f"{SIX}; the columns c_comp_cor_03, trans_x"


def test_the_lag_of_the_first_volume_is_zero_and_the_names_tell_the_columns(rng):
    motion = rng.normal(size=(9, 6))

    columns = dict(zip(FRISTON_24, friston24(motion).T, strict=True))

    for name, series in zip(MOTION, motion.T, strict=True):
        assert_allclose(columns[name], series)
        assert_allclose(columns[f"{name}_lag1"], [0, *series[:-1]])
        assert_allclose(columns[f"{name}_sq"], series**2)
        assert_allclose(columns[f"{name}_lag1_sq"], [0, *series[:-1] ** 2])


def test_friston24_equals_that_of_dparsf(reference_table):
    found = friston24(reference_table("dparsf_in_rp.txt"))

    assert_allclose(found, reference_table("dparsf_out_f24_regressors.tsv"), atol=1e-8)


def test_what_is_not_known_of_the_first_volume_is_that_of_the_second(tables):
    motion, confounds = tables
    confounds.loc[0, "csf"] = np.nan

    found = regressors((motion, confounds), tissues=["csf"]).table["csf"]

    assert_allclose(found, [confounds["csf"][1], *confounds["csf"][1:]])


@pytest.mark.parametrize(
    ("edit", "changes", "message"),
    [
        (lambda c: c.assign(csf=np.nan), {"strategy": "26P"}, "No values of csf in every volume"),
        (lambda c: c.assign(csf="x"), {"tissues": ["csf"]}, "No values of csf in every volume"),
        (
            lambda c: c.assign(w_comp_cor_02=np.nan),
            {"strategy": "acompcor"},
            "No values of w_comp_cor_02 .* no pure voxels .* Choose another preproc.clean.strategy",
        ),
        (
            lambda c: c.drop(columns="global_signal"),
            {"strategy": "36P"},
            "have no global_signal among their 12 columns",
        ),
        (lambda c: c, {"columns": ["rmsd"]}, "The confounds have no rmsd among their 19 columns"),
        (
            lambda c: c,
            {"strategy": "simple"},
            "needs the confounds of simple, which this run lacks",
        ),
    ],
)
def test_confounds_that_are_not_there_are_refused_by_name(tables, edit, changes, message):
    motion, confounds = tables

    with pytest.raises(SignalError, match=message):
        regressors((motion, edit(confounds)), **changes)
