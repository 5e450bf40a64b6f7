"""The centre's courier gives the bytes of one machine, despite faults and restarts."""

from dataclasses import replace

import numpy as np
import pytest

from notears_pfl import NotearsPFL
from notears_pfl.errors import FederatedError
from notears_pfl.federated.courier import SilentError
from notears_pfl.federated.ledger import read_ledger
from notears_pfl.federated.messages import Message, MessageError, decode, encode
from notears_pfl.model.federation import LocalSites, Site, site_from_samples
from notears_pfl.model.problem import second_moments


def fitted(courier, **settings):
    return NotearsPFL(progress=False, **settings).fit_over(courier.sites)


def on_one_machine(hospitals, **settings):
    return NotearsPFL(progress=False, **settings).fit(hospitals.samples)


def test_five_hospitals_with_56_rois_get_the_bytes_of_one_machine(five_hospitals):
    there = fitted(five_hospitals.courier())

    here = on_one_machine(five_hospitals)
    assert np.count_nonzero(here.weights_) > 100
    assert there.weights_.tobytes() == here.weights_.tobytes()
    assert there.candidates_ == here.candidates_


@pytest.mark.parametrize("settings", [{"penalty": "chain"}, {"lambda2": 0.0}])
def test_other_penalties_get_the_bytes_of_one_machine(hospitals, settings):
    there = fitted(hospitals.courier(), **settings)

    here = on_one_machine(hospitals, **settings)
    assert np.any(here.weights_)
    assert there.weights_.tobytes() == here.weights_.tobytes()


def test_a_site_without_folds_leaves_kappa_at_its_documented_value(hospitals):
    load = hospitals.borders["S1"]._load
    sites = [site_from_samples(x, demean=True) for x in hospitals.samples]
    sites[1] = foldless = Site(second_moments(hospitals.samples[1], demean=True))
    hospitals.borders["S1"]._load = lambda plan: replace(load(plan), site=foldless)

    there = fitted(hospitals.courier())

    here = NotearsPFL(progress=False).fit_over(LocalSites(sites))
    assert there.parameters_.kappa == 1.0
    assert there.weights_.tobytes() == here.weights_.tobytes()


def test_ledgers_add_up_to_what_the_centre_sent_and_received(hospitals):
    courier = hospitals.courier()
    fitted(courier)

    for name in hospitals.names:
        ledger = read_ledger(hospitals.folder / f"{name}.tsv")
        total = ledger.groupby("direction")["bytes"].sum()
        assert total["in"] == courier.bytes_out[name] > 0
        assert total["out"] == courier.bytes_in[name] > 0


def test_a_round_is_one_round_trip(hospitals):
    courier = hospitals.courier()
    fit = fitted(courier, lambda1=0.0, lambda2=0.5, kappa=1.0)

    # Three more exchanges than rounds: the plan, the description and the moments.
    assert courier.exchanges == hospitals.n_exchanges == fit.n_rounds_ + 3


class KilledError(Exception):
    """The centre is killed."""


def cut_after(hospitals, n_exchanges):
    """Kill the centre in the middle of a fit, after ``n_exchanges``."""
    exchange = hospitals.exchange

    def dying(bundles):
        if hospitals.n_exchanges == n_exchanges:
            raise KilledError
        return exchange(bundles)

    hospitals.exchange = dying
    with pytest.raises(KilledError):
        fitted(hospitals.courier())
    hospitals.exchange = exchange


@pytest.mark.parametrize("n_exchanges", [1, 2, 150, 400])
@pytest.mark.parametrize("sites_too", [False, True])
def test_a_killed_centre_resumes_where_it_was(hospitals, n_exchanges, sites_too):
    cut_after(hospitals, n_exchanges)
    if sites_too:
        for name in hospitals.names:
            hospitals.start(name)

    courier = hospitals.courier()
    resumed = fitted(courier)

    here = on_one_machine(hospitals)
    assert resumed.weights_.tobytes() == here.weights_.tobytes()
    assert resumed.candidates_ == here.candidates_
    # Nothing that was already answered is requested again, and everything is counted.
    assert courier.exchanges == hospitals.n_exchanges
    for name in hospitals.names:
        total = read_ledger(hospitals.folder / f"{name}.tsv").groupby("direction")["bytes"].sum()
        assert (courier.bytes_out[name], courier.bytes_in[name]) == (total["in"], total["out"])


def test_a_record_cut_off_by_a_crash_is_asked_for_again(hospitals):
    cut_after(hospitals, 150)
    path = hospitals.folder / "saved.journal"
    path.write_bytes(path.read_bytes()[:-5])

    resumed = fitted(hospitals.courier())

    assert resumed.weights_.tobytes() == on_one_machine(hospitals).weights_.tobytes()


def test_a_saved_state_of_another_fit_is_not_used(hospitals):
    cut_after(hospitals, 150)

    with pytest.raises(FederatedError, match="belongs to another version of the fit"):
        fitted(hospitals.courier(), penalty="chain", lambda2=0.7)


def test_a_site_that_forgot_everything_is_prepared_again(hospitals):
    exchange = hospitals.exchange

    def forgetting(bundles):
        if hospitals.n_exchanges in (100, 300):
            hospitals.start("S1")
        return exchange(bundles)

    hospitals.exchange = forgetting

    fit = fitted(hospitals.courier())

    assert fit.weights_.tobytes() == on_one_machine(hospitals).weights_.tobytes()


def test_a_site_that_comes_back_with_other_data_is_refused(hospitals):
    cut_after(hospitals, 150)
    hospitals.samples[1] = hospitals.samples[1][:-7]
    hospitals.start("S1")

    with pytest.raises(FederatedError, match="site S1: its data have changed since the fit began"):
        fitted(hospitals.courier())


def test_a_site_that_drops_out_and_returns_changes_nothing(hospitals):
    exchange = hospitals.exchange

    def flaky(bundles):
        hospitals.away = {"S2"} if hospitals.n_exchanges in (50, 51, 200) else set()
        return exchange(bundles)

    hospitals.exchange = flaky

    fit = fitted(hospitals.courier(answer_s=30))

    assert fit.weights_.tobytes() == on_one_machine(hospitals).weights_.tobytes()


def test_answers_lost_in_transit_change_nothing(hospitals):
    exchange = hospitals.exchange

    def lossy(bundles):
        answers = exchange(bundles)
        return {} if hospitals.n_exchanges % 97 == 0 else answers

    hospitals.exchange = lossy

    fit = fitted(hospitals.courier(answer_s=30))

    assert hospitals.n_exchanges > 300
    assert fit.weights_.tobytes() == on_one_machine(hospitals).weights_.tobytes()


def test_silent_sites_are_named(hospitals):
    hospitals.away = {"S0", "S2"}

    with pytest.raises(SilentError, match="no answer from S0, S2") as raised:
        hospitals.courier()

    assert raised.value.sites == ("S0", "S2")


def off_diagonal(value):
    return value * (1 - np.eye(8))


def poisoned(change):
    """Change the last answer of a bundle if it answers a step."""

    def spoil(data):
        *first, last = [message for message, _ in decode(data)]
        if isinstance(last.values[0], tuple):
            last = Message(last.kind, *change(last.round, last.basis, *last.values[0]))
        return b"".join(map(encode, [*first, last]))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (poisoned(lambda r, b, W, f: (r, b, ((W * np.nan, f),))), "W must be finite"),
        (poisoned(lambda r, b, W, f: (r, b, ((W[1:], f),))), r"shape \(8, 8\); found \(7, 8\)"),
        (poisoned(lambda r, b, W, f: (r, b, ((W + np.eye(8), f),))), "zero diagonal"),
        (poisoned(lambda r, b, W, f: (r, b, ((off_diagonal(1e308), f),))), "W is larger than"),
        (poisoned(lambda r, b, W, f: (r, b, ((off_diagonal(1e160), f),))), "W is larger than"),
        (poisoned(lambda r, b, W, f: (r, b, ((off_diagonal(1e5), f),))), "W is larger than"),
        (poisoned(lambda r, b, W, f: (r, b, ((100 * W, f),))), "W is larger than"),
        (poisoned(lambda r, b, W, f: (r, b, ((W, 1e308),))), "loss is larger than"),
        (poisoned(lambda r, b, W, f: (r, b, ((W, -1e9),))), "loss is larger than"),
        (poisoned(lambda r, b, W, f: (r, b, ((W, 10**400),))), "loss must be finite"),
        (poisoned(lambda r, b, W, f: (r, b, ((W, "low"),))), "loss must be a number"),
        (poisoned(lambda r, b, W, f: (r, b, ("all",))), "a str does not match the request"),
        (poisoned(lambda r, b, W, f: (r - 1, b, ((W, f),))), "an answer to round"),
        (lambda data: data + b"\x00", "not a valid message"),
        (lambda data: data.replace(b"[2,", b"[1,", 1),
         r"it has format 1, .*update NOTEARS-PFL where it came from\)"),
        (lambda data: b"", "the reply does not hold the expected answers"),
        (lambda data: encode(Message("lost", 0, 0)), "lost its state each time"),
    ],
)  # fmt: skip
def test_a_poisoned_answer_stops_the_fit_and_names_the_site(hospitals, spoil, reason):
    courier = hospitals.courier()
    hospitals.spoil = {"S1": spoil}

    with pytest.raises((MessageError, FederatedError), match=f"site S1.*{reason}"):
        fitted(courier)


def test_every_site_may_send_packed_arrays_up_to_the_limit(hospitals, monkeypatch):
    """At the centre, the answers of all sites are saved and read together."""
    expected = on_one_machine(hospitals)
    monkeypatch.setattr("notears_pfl.federated.courier.LARGEST_PACKED", 8 * 8)

    fit = fitted(hospitals.courier())

    assert fit.weights_.tobytes() == expected.weights_.tobytes()


@pytest.mark.parametrize("value", [np.nan, 1e160])
def test_a_fit_goes_on_after_a_poisoned_answer_was_refused(hospitals, value):
    courier = hospitals.courier()
    hospitals.spoil = {"S1": poisoned(lambda r, b, W, f: (r, b, ((off_diagonal(value), f),)))}
    with pytest.raises(MessageError, match="The state is saved"):
        fitted(courier)
    hospitals.spoil = {}

    fit = fitted(hospitals.courier())

    assert fit.weights_.tobytes() == on_one_machine(hospitals).weights_.tobytes()


def test_huge_variances_are_refused_and_the_site_is_named(hospitals):
    def spoil(data):
        (answer, _), *_ = decode(data)
        described = replace(answer.values[0], variances=np.full(8, 1e200))
        return encode(Message("answer", answer.round, answer.basis, (described,)))

    courier = hospitals.courier()
    hospitals.spoil = {"S1": spoil}

    with pytest.raises(MessageError, match=r"site S1.*variances must be at most 1e\+06"):
        fitted(courier)


def test_weights_that_grow_as_fast_as_allowed_are_eventually_refused(hospitals):
    """Without a fold, a site always sends the largest weights that are not refused at once."""
    courier, exchange, begun = hospitals.courier(), hospitals.exchange, {}

    def growing(bundles):
        answers = dict(exchange(bundles))
        begun.update({m.kind: m.values for m, _ in decode(bundles["S1"]) if m.kind == "begin"})
        request, answer = (decode(data["S1"])[-1][0] for data in (bundles, answers))
        if request.kind == "step" and begun["begin"][-1] is not None:
            W = off_diagonal(1.0) * 2.3 * np.abs(request.values[0]).max()
            last = Message("answer", answer.round, answer.basis, ((W, 1.0),))
            answers["S1"] = b"".join(
                map(encode, [*(m for m, _ in decode(answers["S1"])[:-1]), last])
            )
        return answers

    courier._exchange = growing

    with pytest.raises(MessageError, match=r"site S1: answer to 'step': W is larger"):
        fitted(courier)
