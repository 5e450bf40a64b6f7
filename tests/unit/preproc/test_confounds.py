"""Friston-24 is DPARSF's, column by column."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from notears_pfl.errors import SignalError
from notears_pfl.preproc.confounds import confound_design, friston24
from notears_pfl.preproc.options import FRISTON_24, MOTION


def test_friston24_equals_that_of_dparsf(reference_table):
    regressors = friston24(reference_table("dparsf_in_rp.txt"))

    assert_allclose(regressors, reference_table("dparsf_out_f24_regressors.tsv"), atol=1e-8)


def test_names_tell_what_the_columns_hold(rng):
    motion = rng.normal(size=(9, 6))

    columns = dict(zip(FRISTON_24, friston24(motion).T, strict=True))

    for name, series in zip(MOTION, motion.T, strict=True):
        assert_allclose(columns[name], series)
        assert_allclose(columns[f"{name}_lag1"], [0, *series[:-1]])
        assert_allclose(columns[f"{name}_sq"], series**2)
        assert_allclose(columns[f"{name}_lag1_sq"], [0, *series[:-1] ** 2])


@pytest.fixture
def tables(rng):
    motion = pd.DataFrame(rng.normal(size=(9, 6)), columns=list(MOTION))
    others = pd.DataFrame({"csf": rng.normal(size=9), "white_matter": np.nan})
    return motion, others


@pytest.mark.parametrize(("model", "expected"), [("friston24", 24), ("six", 6), ("none", 0)])
def test_the_named_motion_model_is_built_with_the_tissues_asked_for(tables, model, expected):
    motion, others = tables

    assert confound_design(motion, others, model, []).shape == (9, expected)
    with_csf = confound_design(motion, others, model, ["csf"])
    assert with_csf.shape == (9, expected + 1)
    assert_allclose(with_csf["csf"], others["csf"])


def test_a_tissue_without_voxels_is_refused(tables):
    with pytest.raises(SignalError, match="No mean signal of white_matter"):
        confound_design(*tables, "friston24", ["csf", "white_matter"])
