"""Series are labelled by the ROI table and refused where they cannot be used."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.errors import SignalError
from notears_pfl.study.timeseries import checked_series, labelled_series

ROIS, SELECTED = ["A", "B", "C", "D"], ["B", "D"]


def test_as_many_columns_as_regions_are_all_of_them(rng):
    values = rng.normal(size=(10, 4))

    series = labelled_series(values, ROIS, SELECTED)

    assert series.columns.tolist() == ROIS
    np.testing.assert_array_equal(series["C"], values[:, 2])


def test_as_many_columns_as_selected_are_those(rng):
    assert labelled_series(rng.normal(size=(10, 2)), ROIS, SELECTED).columns.tolist() == SELECTED


@pytest.mark.parametrize("shape", [(10, 3), (10,), (2, 3, 4), (4, 10)])
def test_any_other_shape_is_refused(rng, shape):
    with pytest.raises(SignalError, match=r"volumes by 4 regions, or by the 2 selected"):
        labelled_series(rng.normal(size=shape), ROIS, SELECTED)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda s: s.drop(columns="B"), r"1 selected region has no column \(B\)"),
        (lambda s: s.iloc[:0], r"the series have no volumes"),
        (
            lambda s: s.assign(B=["#DIV/0!", *map(str, range(9))]),
            r"1 selected region contains text instead of numbers \(B; '#DIV/0!' in B\)",
        ),
        (lambda s: s.astype(str), r"2 selected regions contain text instead of numbers"),
        (
            lambda s: s.assign(D=np.nan),
            r"1 selected region contains missing or infinite values \(D\)",
        ),
        (lambda s: s.assign(B=1.0, D=2.0), r"2 selected regions are constant \(B, D\)"),
    ],
)
def test_a_selected_region_must_be_there_finite_and_vary(rng, spoil, message):
    series = pd.DataFrame(rng.normal(size=(10, 4)), columns=ROIS)

    with pytest.raises(SignalError, match=message):
        checked_series(spoil(series), SELECTED)


def test_a_region_that_is_not_selected_may_be_bad(rng):
    series = pd.DataFrame(rng.normal(size=(10, 4)), columns=ROIS).assign(A=0.0, C=np.nan)

    assert checked_series(series, SELECTED) is series


def test_of_unnamed_columns_those_of_one_atlas_can_be_taken(rng):
    values = rng.normal(size=(10, 9))

    series = labelled_series(values, ROIS, SELECTED, (3, 6))

    np.testing.assert_array_equal(series, values[:, 2:6])
    with pytest.raises(SignalError, match=r"columns 8 to 11 were needed \(source\.series_columns"):
        labelled_series(values, ROIS, SELECTED, (8, 11))


def test_columns_with_an_atlass_labels_are_the_regions_of_the_table_that_was_made_from_it(rng):
    labels = ["7Networks_RH_Default_pCunPCC_2", "LH_Vis_1", "LH-Hippocampus", "elsewhere"]
    values = rng.normal(size=(10, 4))
    rois = ["LH.Vis.1", "RH.Default.pCunPCC.2", "LH.Hippocampus"]

    series = checked_series(labelled_series(pd.DataFrame(values, columns=labels), rois, rois), rois)

    np.testing.assert_array_equal(series[rois], values[:, [1, 0, 2]])
    assert "elsewhere" in series


def test_a_column_with_a_regions_own_abbreviation_comes_first(rng):
    given = pd.DataFrame(rng.normal(size=(10, 2)), columns=["LH_Vis_1", "LH.Vis.1"])

    assert labelled_series(given, ["LH.Vis.1"], ["LH.Vis.1"]).equals(given)


def test_two_columns_for_one_region_are_refused(rng):
    given = pd.DataFrame(rng.normal(size=(10, 2)), columns=["LH_Vis_1", "LH-Vis-1"])

    with pytest.raises(
        SignalError, match=r"columns LH_Vis_1, LH-Vis-1 all stand for .* LH\.Vis\.1"
    ):
        labelled_series(given, ["LH.Vis.1"], ["LH.Vis.1"])
