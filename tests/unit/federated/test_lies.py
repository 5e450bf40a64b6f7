"""A site that lies: its words are bounded, and nobody else is blamed for them."""

from dataclasses import replace

import numpy as np
import pytest

from notears_pfl import NotearsPFL
from notears_pfl.errors import FederatedError
from notears_pfl.federated.messages import Message, MessageError, decode, encode
from notears_pfl.model.local import Description


def fitted(courier, hospitals):
    return NotearsPFL(progress=False).fit_over(courier, len(hospitals.names))


def described_as(**changes):
    """Change what a site says of itself."""

    def spoil(data):
        *first, last = [message for message, _ in decode(data)]
        if isinstance(last.values[0], Description):
            told = replace(last.values[0], **changes)
            last = Message("answer", last.round, last.basis, (told,))
        return b"".join(map(encode, [*first, last]))

    return spoil


def test_a_site_is_not_blamed_for_the_variances_of_another(hospitals):
    """They make the scale D that S0 refuses."""
    courier = hospitals.courier()
    hospitals.spoil = {"S1": described_as(variances=np.full(8, 1e5))}

    with pytest.raises(FederatedError, match=r"S1 .*\. Look at the site that is out of line") as no:
        fitted(courier, hospitals)

    assert "Their medians differ: S0 " in str(no.value)


def test_a_site_is_not_blamed_for_weights_that_another_drove_up(hospitals, monkeypatch):
    """S1 sends weights below the largest that are taken; the others have to answer for them."""
    courier, exchange = hospitals.courier(), hospitals.exchange

    def growing(bundles):
        answers = dict(exchange(bundles))
        request, answer = (decode(data["S1"])[-1][0] for data in (bundles, answers))
        if request.kind == "step" and request.round > 3:
            size = min(2.3 * np.abs(request.values[0]).max(), 4e5)
            last = Message("answer", answer.round, answer.basis, ((size * (1 - np.eye(8)), 1.0),))
            earlier = [m for m, _ in decode(answers["S1"])[:-1]]
            answers["S1"] = b"".join(map(encode, [*earlier, last]))
        return answers

    courier._exchange = growing

    with pytest.raises(FederatedError, match=r"site S1: "):
        fitted(courier, hospitals)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n": 10**30}, "n must be a whole number from 2 to 1000000000"),
        ({"n": 80.0}, "n must be a whole number"),
        ({"has_samples": "yes"}, "has_samples must be true or false"),
        ({"has_samples": 1}, "has_samples must be true or false"),
    ],
)
def test_what_a_site_says_of_itself_is_typed_and_bounded(hospitals, changes, reason):
    courier = hospitals.courier()
    hospitals.spoil = {"S1": described_as(**changes)}

    with pytest.raises(MessageError, match=f"site S1.*{reason}"):
        fitted(courier, hospitals)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({"subjects": 2.5}, "subjects must be a whole number"),
        ({"subjects": True}, "subjects must be a whole number"),
        ({"samples": 10**12}, "samples must be a whole number"),
        ({"effective_samples": 1e300}, "effective_samples must be at most"),
        ({"noise": "\x1b[2J"}, "noise must be nothing, or its epsilon"),
        ({"noise": {"epsilon": 1.0}}, "noise must be nothing, or its epsilon"),
        ({"noise": {"epsilon": "a", "delta": 0.1, "clip": 1.0}, "effective_samples": None},
         "epsilon must be numbers"),
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


def test_words_of_a_site_are_cleaned_and_cut(hospitals):
    words = "\x1b[31mowned\r" + "a" * 10**5
    hospitals.spoil = {"S1": lambda data: encode(Message("refusal", 0, 0, (words,)))}

    with pytest.raises(FederatedError, match=r"site S1 refuses:  \[31mowned a+ …") as raised:
        hospitals.courier()

    assert len(str(raised.value)) < 400
    assert str(raised.value).isprintable()
