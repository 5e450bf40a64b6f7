"""The statement for the ethics board has the ledger's numbers and each run's own rules."""

from dataclasses import replace

import numpy as np
import pytest

from notears_pfl.federated.ledger import Ledger, read_ledger
from notears_pfl.federated.messages import Message
from notears_pfl.federated.privacy import Noise
from notears_pfl.federated.run_records import LEDGER, record_run
from notears_pfl.federated.statement import write_statement

WEIGHTS = Message("answer", 1, 1, ((np.zeros((2, 2)), 0.5),))
NOISE = Noise(2.5, 1e-6, 4.0)


@pytest.fixture
def run(tmp_path, rules):
    """Write the records of a run with some answers; return the statement after it."""

    def run(name, kinds=("step",), group="MDD", recorded=True, **changes):
        ledger = Ledger(tmp_path / LEDGER, name)
        if recorded:
            record_run(tmp_path, name, replace(rules, **changes))
        for kind in kinds:
            ledger.write("in", group, WEIGHTS, kind, 90)
            ledger.write("out", group, WEIGHTS, kind, 100)
        ledger.close()
        write_statement("COI", tmp_path)
        return (tmp_path / "statement.md").read_text()

    return run


def sections(text):
    """Paragraphs about what the centre can learn, by run."""
    return text.split("### ")[1:]


def test_the_statement_has_the_ledgers_numbers(run):
    text = run("run-1", ["step", "step"], minimum_subjects=3, centre="centre.org")

    assert "Sent: 2 messages, 200 bytes. Received: 2 messages, 180 bytes." in text
    assert "| step | 2 | 200 | 2x2 1 |" in text
    assert "The exact covariance matrix of the regions" in text
    assert "fewer than 3 subjects" in text
    assert "centre.org" in text


def test_the_statement_of_a_site_with_noise_names_epsilon_and_delta(run):
    text = run("run-1", noise=NOISE)

    assert "(ε, δ) = (2.5, 1e-06)" in text
    assert "exact" not in text


def test_earlier_runs_are_described_by_their_own_rules(run):
    run("january", minimum_subjects=5, centre="old.org")
    run("february", minimum_subjects=5, centre="old.org")
    text = run("march", group="HC", minimum_subjects=20, centre="new.org", noise=NOISE)

    earlier, today = sections(text)
    assert "2 run(s), centre old.org" in earlier
    assert (
        "exact covariance matrix of the regions, averaged over the group's subjects, for MDD"
        in earlier
    )
    assert "fewer than 5 subjects" in earlier
    assert "1 run(s), centre new.org" in today
    assert "with noise, for HC" in today
    assert "fewer than 20 subjects" in today


def test_a_run_whose_rules_were_not_recorded_is_treated_as_without_noise(run):
    text = run("old", ["split", "step"], recorded=False)

    (old,) = sections(text)
    assert "rules not recorded" in old
    assert "The exact covariance matrix" in old
    assert "fewer than" not in old


def test_parts_that_were_disclosed_are_named(run):
    text = run("run-1", ["split", "step"], minimum_fold_subjects=7)

    assert "the exact covariance of each part" in text
    assert "at least 7 subjects" in text


def test_parts_are_not_mentioned_if_there_were_none(run):
    assert "part" not in sections(run("run-1"))[0]


def test_a_run_without_weights_says_so(run):
    assert "No weights were sent" in run("run-1", ["plan", "describe"])


def test_a_site_restarted_with_other_rules_has_both_described(run):
    run("run-1", noise=NOISE)
    text = run("run-1")

    assert len(sections(text)) == 2
    assert "The exact covariance matrix" in text


def test_a_statement_without_messages_says_so(tmp_path, rules):
    Ledger(tmp_path / LEDGER, "run-1").close()

    write_statement("COI", tmp_path)

    assert read_ledger(tmp_path / LEDGER).empty
    assert "no message was exchanged" in (tmp_path / "statement.md").read_text()
