"""Every input that fails without an error warns by name."""

import warnings

import numpy as np
import pytest

from notears_pfl import NotearsPFL
from notears_pfl.errors import DoubtfulFitWarning
from notears_pfl.model.doubts import doubts
from notears_pfl.model.federation import Description
from notears_pfl.model.problem import Parameters
from notears_pfl.model.selection import KAPPAS, Candidate
from notears_pfl.model.solver import Certificate, Options

SITES = [Description(np.ones(4), 50, True, 50.0) for _ in range(3)]
SOUND = Certificate(1.0, 1e-4, 1e-4, 1e-3, 1e-6, 0.05, "path")


def found(certificate=SOUND, candidates=()):
    return list(doubts(SITES, range(3), np.ones((3, 4)), certificate, candidates, Options()))


def test_sound_samples_raise_no_doubt(samples):
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        assert NotearsPFL(kappa=0.5).fit(samples).doubts_ == []


@pytest.mark.parametrize("gain", [100, 0.01])
def test_a_loud_or_faint_site_is_named(samples, gain):
    unlike = [samples[0], gain * samples[1], samples[2]]

    with pytest.warns(DoubtfulFitWarning, match=r"site 1: its typical variance is .* times that"):
        model = NotearsPFL(kappa=0.5).fit(unlike)

    assert len([doubt for doubt in model.doubts_ if doubt.startswith("site")]) == 1


def test_columns_scaled_apart_are_named(samples, rng):
    scale = 10 ** rng.permutation(np.linspace(-1, 1, 8))

    with pytest.warns(DoubtfulFitWarning, match="ROIs differ in scale: .* factor of"):
        NotearsPFL(kappa=0.5).fit([x * scale for x in samples])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"acyclic_threshold": 0.2}, "the path ended with cycles of weights up to 0.2, above 0.15"),
        ({"path_residual": 0.02}, "the path ended with a relative residual of 0.02, above 0.01"),
    ],
)
def test_a_path_that_failed_is_named_where_orders_rest_on_it(changes, message):
    failed = Certificate(**vars(SOUND) | changes)
    unused = Certificate(**vars(failed) | {"start": "consensus"})

    assert found() == []
    assert [message in doubt for doubt in found(failed)] == [True]
    assert found(unused) == []


def test_the_edge_of_the_grid_is_named():
    candidates = [Candidate(Parameters(0.0, 0.1, kappa), -kappa) for kappa in KAPPAS]

    assert ["largest κ that it compares, 4" in doubt for doubt in found(SOUND, candidates)] == [
        True
    ]
    assert found(SOUND, candidates[:-1]) == []
