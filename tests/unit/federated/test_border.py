"""What a site refuses and what it records."""

import re

import numpy as np
import pytest

from notears_pfl.federated.ledger import read_ledger
from notears_pfl.federated.message_kinds import KINDS, PREPARATIONS
from notears_pfl.federated.messages import Message, decode, encode
from notears_pfl.federated.site_rules import SiteRules
from notears_pfl.model.federation import Site

D, V = np.ones(8), np.zeros((8, 8))


def ask(border, *messages):
    """Send one bundle; return the answers."""
    reply = border.handle(b"".join(map(encode, messages)))
    return [message for message, _ in decode(reply)]


@pytest.fixture
def border(hospitals):
    border = hospitals.borders["S0"]
    ask(border, Message("plan", 0, 1, (hospitals.plan,)), Message("begin", 0, 2, (D, None, None)))
    return border


def test_every_request_of_a_site_is_an_agreed_kind():
    methods = {name for name in vars(Site) if not name.startswith("_")}

    assert methods | {"plan"} == set(KINDS)


def test_a_bundle_is_answered_message_by_message(border, hospitals):
    begin = Message("begin", 1, 3, (2 * D, None, None))

    answers = ask(border, begin, Message("step", 1, 3, (V, 0.5)))

    assert [answer.kind for answer in answers] == ["answer", "answer"]
    W, loss = answers[1].values[0]
    assert W.shape == (8, 8)
    assert loss > 0


@pytest.mark.parametrize(
    ("kind", "values", "reason"),
    [
        ("step", (np.full((8, 8), np.nan), 0.5), "V must be finite"),
        ("step", (np.zeros((9, 9)), 0.5), r"V must have shape \(8, 8\); found \(9, 9\)"),
        ("step", (np.zeros((8, 8), dtype=int), 0.5), "V must be a number or an array of float64"),
        ("step", (V, 1e-9), "rho must be from 0.01 to 10 here; found 1e-09"),
        ("step", (V, -1.0), "rho must be positive"),
        ("step", (V, 10**400), "rho must be finite"),
        ("step", (V,), "its 1 values do not match its kind"),
        ("begin", (0 * D, None, None), "D must be positive"),
        ("begin", (D, np.zeros(8, dtype=int), None), "order must list each of the 8 ROIs once"),
        ("begin", (D, None, -1), "fold must be an integer"),
        ("split", (10**6,), "folds must be an integer from 2 to 100"),
        ("split", (4,), "this site allows 3 folds and no other number; found 4"),
        ("begin", (D, None, 0), "fold 0 does not exist; this site has 0 folds"),
        ("score", (V, 3), "fold 3 does not exist; this site has 0 folds"),
        ("score", (V, 0.5), "fold must be an integer"),
        ("samples", (), "messages of kind 'samples' are not allowed here"),
        ("__init__", (), "messages of kind '__init__' are not allowed here"),
    ],
)
def test_a_bad_request_is_refused_with_its_reason(border, kind, values, reason):
    (answer,) = ask(border, Message(kind, 1, 3 if kind in PREPARATIONS else 2, values))

    assert answer.kind == "refusal"
    assert re.search(reason, answer.values[0])


def test_requests_after_a_refused_one_are_not_carried_out(border):
    answers = ask(border, Message("peek", 1, 2, ()), Message("step", 1, 2, (V, 0.5)))

    assert [answer.kind for answer in answers] == ["refusal"]


def test_a_kind_that_the_site_does_not_allow_is_refused(hospitals):
    hospitals.rules = SiteRules(**{**vars(hospitals.rules), "messages": ("plan", "describe")})
    hospitals.start("S0")

    answers = ask(
        hospitals.borders["S0"],
        Message("plan", 0, 1, (hospitals.plan,)),
        Message("begin", 0, 2, (D, None, None)),
    )

    assert [answer.kind for answer in answers] == ["answer", "refusal"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"group": "BPD"}, "group 'BPD' is not allowed here (MDD, HC)"),
        ({"rois": ["R0", "R1", "R99"]}, "ROIs R99 (1 in all) are not allowed here"),
        ({"rois": ["R0", "R0"]}, "at least two ROIs, without duplicates"),
        ({"scale": "roi"}, "scale 'roi' is not allowed here (subject)"),
        ({"estimator": {"lambda2": 9.0}}, "lambda2 must be from 0 to 5 here; found 9.0"),
        ({"estimator": {"kappa": "high"}}, "kappa must be from 0 to 4 here; found 'high'"),
        ({"extra": 1}, "do not match its kind"),
    ],
)
def test_a_plan_beyond_the_agreement_is_refused(hospitals, change, reason):
    (answer,) = ask(hospitals.borders["S0"], Message("plan", 0, 1, ({**hospitals.plan, **change},)))

    assert answer.kind == "refusal"
    assert reason in answer.values[0]


def test_a_site_that_was_not_prepared_says_so(hospitals, border):
    (fresh,) = ask(hospitals.borders["S1"], Message("step", 5, 2, (V, 0.5)))
    (behind,) = ask(border, Message("step", 5, 4, (V, 0.5)))

    assert fresh.kind == behind.kind == "lost"


def test_an_unexpected_failure_tells_the_centre_nothing(hospitals, border, monkeypatch):
    def fail(self, V, rho):
        raise RuntimeError("sub-042 has a tumour")

    monkeypatch.setattr(Site, "step", fail)

    (answer,) = ask(border, Message("step", 1, 2, (V, 0.5)))

    assert answer.values == ("the site failed to answer; see the site's log.",)


def test_a_site_never_sends_values_that_are_not_finite(border, monkeypatch):
    monkeypatch.setattr(Site, "step", lambda self, V, rho: (np.full((8, 8), np.inf), 0.0))

    (answer,) = ask(border, Message("step", 1, 2, (V, 0.5)))

    assert answer.kind == "refusal"
    assert "W must be finite" in answer.values[0]


def test_unreadable_bytes_are_refused_and_recorded(hospitals):
    reply = hospitals.borders["S0"].handle(b"\x01\x02\x03")

    ((answer, size),) = decode(reply)
    ledger = read_ledger(hospitals.folder / "S0.tsv")
    assert answer.kind == "refusal"
    assert ledger["kind"].tolist() == ["unreadable", "refusal"]
    assert ledger["bytes"].tolist() == [3, size]


def test_the_ledger_lists_every_message_with_its_size(border, hospitals):
    step = encode(Message("step", 1, 2, (V, 0.5)))
    reply = border.handle(step)

    ledger = read_ledger(hospitals.folder / "S0.tsv")

    assert ledger["kind"].tolist() == ["plan", "plan", "begin", "begin", "step", "step"]
    assert ledger["direction"].tolist() == ["in", "out"] * 3
    last = ledger.iloc[-2:]
    assert last["shape"].tolist() == ["8x8 1", "8x8 1"]
    assert last["bytes"].tolist() == [len(step), len(reply)]
    assert last["round"].tolist() == [1, 1]
    assert last["group"].tolist() == ["MDD", "MDD"]


@pytest.mark.parametrize(
    ("D_of_centre", "reason"),
    [
        (1e-9 * D, "rho D must be from 0.01 to 10 times this site's variances; found values from"),
        (np.where(np.arange(8) == 3, 1e9, D), "from 0.5 to 5e\\+08"),
    ],
)
def test_a_scale_that_undoes_the_limit_on_rho_is_refused(border, D_of_centre, reason):
    """A step depends on ρD: ρ = 0.5 with D = 1e-9 is the same as ρ = 5e-10 with D = 1."""
    begin = Message("begin", 1, 3, (D_of_centre, None, None))

    *_, answer = ask(border, begin, Message("step", 1, 3, (V, 0.5)))

    assert answer.kind == "refusal"
    assert re.search(reason, answer.values[0])


def test_a_step_of_a_new_plan_needs_its_own_begin(border, hospitals):
    answers = ask(border, Message("plan", 1, 3, (hospitals.plan,)), Message("step", 1, 3, (V, 0.5)))

    assert answers[-1].values == ("'step' was requested before 'begin'.",)


def test_the_ledger_records_a_plan_under_the_group_that_it_names(border, hospitals):
    for group in ("HC", "BPD", "H\tC\n"):
        ask(border, Message("plan", 1, 3, ({**hospitals.plan, "group": group},)))

    ledger = read_ledger(hospitals.folder / "S0.tsv")
    assert ledger["group"].tolist()[-6:] == ["HC", "HC", "BPD", "BPD", "unknown", "unknown"]
    assert ledger["kind"].tolist()[-6:] == ["plan", "plan", "plan", "refusal", "plan", "refusal"]


def test_a_foreign_preparation_is_noticed_at_the_next_request(border):
    """Whatever its number, the centre's next request is not answered from the state it set."""
    for number in (1, 2):
        (known,) = ask(border, Message("begin", 1, number, (2 * D, None, None)))
        assert known.kind == "lost"
    ask(border, Message("begin", 1, 3, (2 * D, None, None)))

    (next_step,) = ask(border, Message("step", 1, 2, (V, 0.5)))
    (next_begin, *_) = ask(border, Message("begin", 1, 3, (D, None, None)))

    assert next_step.kind == next_begin.kind == "lost"
