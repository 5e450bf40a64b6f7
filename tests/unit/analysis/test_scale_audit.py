"""The audit shows when directions are the variances' doing."""

import pandas as pd

from notears_pfl.analysis.scale_audit import scale_audit

ROIS = ["A", "B", "C"]


def frame(weights):
    return pd.DataFrame(weights, index=ROIS, columns=ROIS)


def test_directions_along_growing_variance_are_what_sorting_finds(rng):
    x = rng.normal(size=(3000, 3))
    x[:, 1] += 1.5 * x[:, 0]
    x[:, 2] += 1.2 * x[:, 1]
    chain = frame([[0, 1.5, 0], [0, 0, 1.2], [0, 0, 0]])
    other = frame([[0, 0, 0], [1.5, 0, 0], [0, 0, 0]])
    key = ("MDD", "COI")

    audit = scale_audit({key: x}, {key: chain}, {key: other}, 0, 0.3).iloc[0]

    assert audit["var_sortability"] == 1
    assert (audit["edges"], audit["also_by_sort_and_regress"]) == (2, 2)
    assert (audit["other_scale_edges"], audit["common_connections"]) == (1, 1)
    assert (audit["same_direction"], audit["share_same_direction"]) == (0, 0)


def test_what_sorting_finds_is_missing_where_samples_are_too_few(rng):
    chain, key = frame([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), ("MDD", "COI")

    audit = scale_audit({key: rng.normal(size=(3, 3))}, {key: chain}, {key: chain}, 0, 0.3)

    assert audit["also_by_sort_and_regress"].isna().all()
    assert audit["r2_sortability"].isna().all()
    assert audit.to_csv().count("<NA>") == 0


def test_networks_that_agree_on_both_scales_keep_their_directions(rng):
    x = rng.normal(size=(500, 3))
    chain, key = frame([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), ("MDD", "COI")

    audit = scale_audit({key: x}, {key: chain}, {key: chain}, 0, 0.3).iloc[0]

    assert (audit["common_connections"], audit["share_same_direction"]) == (2, 1)
    assert audit["sort_and_regress_edges"] == 0
