"""A site that lies: its answers are bounded, and no other site is blamed for them."""

from dataclasses import replace

import numpy as np
import pytest

from notears_pfl import NotearsPFL
from notears_pfl.errors import FederatedError, InputError
from notears_pfl.federated.messages import Message, MessageError, decode, encode
from notears_pfl.model.federation import Description


def fitted(courier, **settings):
    return NotearsPFL(**settings, progress=False).fit_over(courier.sites)


def described_as(**changes):
    """Change what a site reports about itself."""

    def spoil(data):
        *first, last = [message for message, _ in decode(data)]
        if isinstance(last.values[0], Description):
            told = replace(last.values[0], **changes)
            last = Message("answer", last.round, last.basis, (told,))
        return b"".join(map(encode, [*first, last]))

    return spoil


def test_a_site_is_not_blamed_for_the_variances_of_another(hospitals):
    """The variances of most sites determine the scale D that S0 refuses."""
    courier = hospitals.courier()
    loud = described_as(variances=np.full(8, 1e5))
    hospitals.spoil = dict.fromkeys(hospitals.names[1:], loud)

    with pytest.raises(FederatedError, match=r"S1 .*\. Check the site that stands out") as no:
        fitted(courier)

    assert "their medians differ: S0 " in str(no.value)


def test_a_site_whose_variances_are_not_those_of_its_weights_is_named(hospitals):
    courier = hospitals.courier()
    hospitals.spoil = {"S1": described_as(variances=np.full(8, 2.0))}

    with pytest.raises(InputError, match=r"sites \[1\]: weights and variances must come from"):
        fitted(courier)


def test_a_site_that_claims_units_that_it_does_not_have_refuses_the_requests_that_follow(hospitals):
    courier = hospitals.courier()
    hospitals.spoil = {"S1": described_as(variances=np.full(8, 1e5))}

    with pytest.raises(FederatedError, match=r"site S1 refuses: rho D .* S1 1e\+05.* stands out"):
        fitted(courier)


def inflating(hospitals, step, *, in_folds):
    """Have S1 move away from V in the rounds of cross-validation, or in all others.

    A step of 2 is as far as one answer may go without refusal; the limit on weights is kept.
    """
    exchange, begun = hospitals.exchange, {}

    def spoil(bundles):
        requests = [message for message, _ in decode(bundles["S1"])]
        begun.update({m.kind: m.values for m in requests if m.kind == "begin"})
        answers = dict(exchange(bundles))
        *earlier, answer = [message for message, _ in decode(answers["S1"])]
        if requests[-1].kind == "step" and requests[-1].round > 3:
            (V, rho), (D, _, fold) = requests[-1].values, begun["begin"]
            root = np.sqrt(D)[:, None]
            reach = np.sqrt((1 + rho * ((root * V) ** 2).sum(axis=0)) / rho / 7)
            W = (V + step * reach / root) * (1 - np.eye(8))
            W *= min(1.0, 9e5 / (np.abs(W) * root / root.T).max())
            if in_folds == (fold is not None):
                answer = Message("answer", answer.round, answer.basis, ((W, 1.0),))
            answers["S1"] = b"".join(map(encode, [*earlier, answer]))
        return answers

    return spoil


@pytest.mark.parametrize("step", [1e-3, 0.9, 1.9])
def test_a_site_whose_weights_are_not_those_of_its_first_answer_is_named_at_once(hospitals, step):
    courier = hospitals.courier()
    courier._exchange = inflating(hospitals, step, in_folds=False)

    with pytest.raises(MessageError, match=r"site S1: .* follow from the samples of the first"):
        fitted(courier, kappa=0.5)

    assert courier.exchanges <= 4


@pytest.mark.parametrize("kappa", [0.5, "auto"])
def test_a_small_lie_outside_cross_validation_is_named(hospitals, kappa):
    courier = hospitals.courier()
    courier._exchange = inflating(hospitals, 1e-3, in_folds=False)

    with pytest.raises(MessageError, match=r"site S1: .* follow from the samples of the first"):
        fitted(courier, kappa=kappa)


def test_a_site_that_inflates_weights_without_a_fold_is_named_before_others_answer(hospitals):
    """What the samples without a fold say is not known, so only the bounds hold there."""
    courier = hospitals.courier()
    courier._exchange = inflating(hospitals, 1.9, in_folds=True)

    with pytest.raises(FederatedError, match="site S1: the weights of all sites grew"):
        fitted(courier)


def test_a_site_whose_loss_is_not_that_of_its_weights_is_named(hospitals):
    def spoil(data):
        *first, last = [message for message, _ in decode(data)]
        if last.round > 3 and isinstance(last.values[0], tuple):
            W, loss = last.values[0]
            last = Message("answer", last.round, last.basis, ((W, 1.001 * loss),))
        return b"".join(map(encode, [*first, last]))

    courier = hospitals.courier()
    hospitals.spoil = {"S1": spoil}

    with pytest.raises(MessageError, match=r"site S1: .*W and its loss must follow from"):
        fitted(courier)


def test_a_first_answer_that_no_samples_have_is_named(hospitals):
    def spoil(data):
        *first, last = [message for message, _ in decode(data)]
        if isinstance(last.values[0], tuple):
            W, loss = last.values[0]
            W = np.zeros_like(W)
            W[0, 1] = W[1, 0] = 1.0
            last = Message("answer", last.round, last.basis, ((W, loss),))
        return b"".join(map(encode, [*first, last]))

    courier = hospitals.courier()
    hospitals.spoil = {"S1": spoil}

    with pytest.raises(InputError, match=r"sites \[1\]: weights and variances must come from"):
        fitted(courier)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n": 10**30}, "n must be an integer from 2 to 1000000000"),
        ({"n": 80.0}, "n must be an integer"),
        ({"has_samples": "yes"}, "has_samples must be true or false"),
        ({"has_samples": 1}, "has_samples must be true or false"),
        ({"n_effective": 0.0}, "n_effective must be positive"),
        ({"n_effective": 1e9}, "n_effective must be at most n"),
    ],
)
def test_what_a_site_reports_about_itself_is_typed_and_bounded(hospitals, changes, reason):
    courier = hospitals.courier()
    hospitals.spoil = {"S1": described_as(**changes)}

    with pytest.raises(MessageError, match=f"site S1.*{reason}"):
        fitted(courier)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({"subjects": 2.5}, "subjects must be an integer"),
        ({"subjects": True}, "subjects must be an integer"),
        ({"samples": 10**12}, "samples must be an integer"),
        ({"effective_samples": 1e300}, "effective_samples must be at most"),
        ({"noise": "\x1b[2J"}, "noise must be absent, or give epsilon"),
        ({"noise": {"epsilon": 1.0}}, "noise must be absent, or give epsilon"),
        ({"noise": {"epsilon": "a", "delta": 0.1, "clip": 1.0}, "effective_samples": None},
         "epsilon must be a number"),
        ({"noise": {"epsilon": 1.0, "delta": 0.1, "clip": 1.0}}, "without effective_samples"),
    ],
)  # fmt: skip
def test_counts_of_a_site_are_typed_and_bounded(hospitals, counts, reason):
    def spoil(data):
        ((answer, _),) = decode(data)
        told = {**answer.values[0], **counts}
        return encode(Message("answer", answer.round, answer.basis, (told,)))

    hospitals.spoil = {"S1": spoil}

    with pytest.raises(MessageError, match=f"site S1.*{reason}"):
        hospitals.courier()


def test_text_from_a_site_is_cleaned_and_shortened(hospitals):
    words = "\x1b[31mowned\r" + "a" * 10**5
    hospitals.spoil = {"S1": lambda data: encode(Message("refusal", 0, 0, (words,)))}

    with pytest.raises(FederatedError, match=r"site S1 refuses:  \[31mowned a+ …") as raised:
        hospitals.courier()

    assert len(str(raised.value)) < 400
    assert str(raised.value).isprintable()
