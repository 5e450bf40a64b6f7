"""What is compared follows from the sites' sizes, and the scores pick the right kind of tie."""

from dataclasses import replace

import numpy as np
import pytest

from notears_pfl import NotearsPFL
from notears_pfl.model import estimator, selection
from notears_pfl.model.federation import Description, LocalSites, site_from_samples
from notears_pfl.model.selection import (
    FUSIONS,
    KAPPAS,
    USUAL_KAPPA,
    candidates,
    noise_variance,
    sparsity_level,
)
from notears_pfl.model.solver import Options

SITES = [Description(np.ones(8), 12, has_samples=True) for _ in range(4)]


def test_sparsity_falls_with_the_root_of_the_samples_down_to_its_floor():
    few, more, endless = (sparsity_level(1, 20, n) for n in (5, 20, 10**9))

    assert few == pytest.approx(2 * more)
    assert endless == pytest.approx(0.1)


def test_edgewise_compares_kappa_at_one_sparsity():
    settings, usual = candidates("edgewise", "auto", "auto", "auto", SITES)

    assert [s.kappa for s in settings] == sorted(KAPPAS)
    assert {s.lambda2 for s in settings} == {sparsity_level(4, 8, 12)}
    assert settings[usual].kappa == 1


def test_chain_compares_the_sparsity_of_one_site_and_of_all_sites_together():
    settings, usual = candidates("chain", "auto", "auto", "auto", SITES)

    assert {s.lambda1 for s in settings} == {sparsity_level(1, 8, 12), sparsity_level(1, 8, 48)}
    assert len({s.lambda2 for s in settings}) == len(settings) // 2
    assert settings[usual].lambda1 == sparsity_level(1, 8, 12)


def test_chain_compares_every_setting_once_where_both_sparsities_are_on_their_floor(samples):
    compared = [c.parameters for c in NotearsPFL("chain", progress=False).fit(samples).candidates_]

    assert len(set(compared)) == len(compared) == len(FUSIONS)
    assert [setting.lambda2 for setting in compared] == sorted(s.lambda2 for s in compared)


@pytest.mark.parametrize("penalty", ["chain", "edgewise"])
def test_given_parameters_leave_nothing_to_compare(penalty):
    settings, _ = candidates(penalty, 0.1, 0.2, 0.5, SITES)

    assert [(s.lambda1, s.lambda2) for s in settings] == [(0.1, 0.2)]


def test_noise_is_the_variance_of_rois_without_causes():
    variances = np.array([1.0, 1.0, 1.0, 7.0, 9.0, 20.0])

    assert noise_variance([Description(variances, 50, has_samples=True)]) == pytest.approx(1)


def test_a_ladder_ends_after_two_steps_that_raise_the_score(samples):
    scores = [c.score for c in NotearsPFL(progress=False).fit(samples).candidates_]

    # 500 samples of sites with other weights: every tie hurts.
    scored = [score for score in scores if score is not None]
    assert scored == sorted(scored)
    assert len(scored) == 3
    assert scores[3:] == [None] * (len(KAPPAS) - 3)


def test_equal_sites_are_tied_more_than_sites_with_opposite_weights(truth, rng):
    noise = rng.normal(size=(4, 12, *truth.shape[1:2]))

    def chosen_kappa(signs):
        eye = np.eye(truth.shape[-1])
        sites = [e @ np.linalg.inv(eye - s * truth[0]) for e, s in zip(noise, signs, strict=True)]
        return NotearsPFL(center=False, progress=False).fit(sites).parameters_.kappa

    assert chosen_kappa([1, 1, 1, 1]) > chosen_kappa([1, -1, 1, -1])


class Recorded(LocalSites):
    """Sites that note every preparation, as (without an order, fold), and count steps."""

    def __init__(self, sites, numbers=None):
        super().__init__(sites, numbers)
        self.begun, self.n_steps = [], 0

    def begin(self, D, orders, fold):
        """Note what the sites prepare for."""
        self.begun.append((orders[0] is None, fold))
        super().begin(D, orders, fold)

    def step(self, V, rho):
        """Count a step."""
        self.n_steps += 1
        return super().step(V, rho)


def recorded(samples):
    return Recorded([site_from_samples(x, demean=False) for x in samples])


def test_cross_validation_of_many_samples_needs_no_path_of_its_own(samples):
    """Without an order and a fold, the sites prepare for the moments and for the final path."""
    sites = recorded(samples)

    model = NotearsPFL(progress=False).fit_over(sites)

    assert sites.begun.count((True, None)) == 2
    assert sum(candidate.score is not None for candidate in model.candidates_) > 1


def test_the_first_stage_of_a_chosen_pilot_is_not_run_again_and_changes_nothing(
    samples, monkeypatch
):
    """The pilot's κ has the best score."""

    def scores(problems, settings, *_):
        return [abs(setting.kappa - USUAL_KAPPA) for setting in settings]

    monkeypatch.setattr(selection, "cross_validate", scores)
    few = [x[:10] for x in samples]
    model, again = NotearsPFL(progress=False), NotearsPFL(progress=False)
    reusing, repeating = recorded(few), recorded(few)
    model.fit_over(reusing)

    choose = estimator.select
    monkeypatch.setattr(estimator, "select", lambda *given: replace(choose(*given), begun=None))
    again.fit_over(repeating)

    assert repeating.n_steps - reusing.n_steps == Options().path[0].rounds
    assert model.weights_.tobytes() == again.weights_.tobytes()
    assert model.history_.objective.tobytes() == again.history_.objective.tobytes()
