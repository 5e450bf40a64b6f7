"""Whose bundles a site takes for its centre's."""

import shutil

import pytest

from notears_pfl.federated.kits import provision
from notears_pfl.federated.seal import AUTHORITY, CERTIFICATE, KEY, Examiner, Seal
from notears_pfl.federated.simulation import simulated_federation

BUNDLES = {"S0": b"one", "S1": b"two"}


@pytest.fixture(scope="module")
def kits(tmp_path_factory):
    """Give the kits of two federations with the same names, of two authorities."""
    folder = tmp_path_factory.mktemp("kits")
    for name in ("ours", "theirs"):
        provision(simulated_federation(["S0", "S1"], ["G"], ["A"], "subject", {}), folder / name)
    return folder


@pytest.fixture
def examiner(kits):
    return Examiner(kits / "ours/sites/S0/startup" / AUTHORITY, "localhost", "S0", "run-1")


@pytest.fixture
def seal(kits):
    return Seal(kits / "ours/centre/server/startup", "run-1")


def test_a_bundle_of_the_centre_is_accepted(examiner, seal):
    assert examiner.accepts(seal(BUNDLES), b"one")
    assert examiner.accepts(seal(BUNDLES), b"one")


def test_a_bundle_is_not_accepted_twice(examiner, seal):
    first, second = seal(BUNDLES), seal(BUNDLES)
    assert examiner.accepts(second, b"one")

    assert not examiner.accepts(second, b"one")
    assert not examiner.accepts(first, b"one")


def test_what_was_not_signed_is_not_accepted(examiner, seal):
    certificate, signed, signature = seal(BUNDLES)
    other = signed.replace("run-1", "run-2")

    # Another's bundle, changed words, no signature, no seal at all.
    assert not examiner.accepts([certificate, signed, signature], b"two")
    assert not examiner.accepts([certificate, other, signature], b"one")
    assert not examiner.accepts([certificate, signed, b""], b"one")
    assert not examiner.accepts(["", signed, signature], b"one")
    assert not examiner.accepts(None, b"one")
    # None of these counts as the last that came.
    assert examiner.accepts([certificate, signed, signature], b"one")


def test_a_bundle_of_another_run_or_for_others_is_not_accepted(examiner, kits, seal):
    other_run = Seal(kits / "ours/centre/server/startup", "run-0")

    assert not examiner.accepts(other_run(BUNDLES), b"one")
    assert not examiner.accepts(seal({"S1": b"one"}), b"one")


def test_a_centre_of_another_authority_is_not_accepted(examiner, kits):
    theirs = Seal(kits / "theirs/centre/server/startup", "run-1")

    assert not examiner.accepts(theirs(BUNDLES), b"one")


def test_a_site_cannot_seal_as_the_centre(examiner, kits, tmp_path):
    """It has a certificate of the authority, in another name."""
    startup = kits / "ours/sites/S1/startup"
    shutil.copy(startup / "client.key", tmp_path / KEY)
    shutil.copy(startup / "client.crt", tmp_path / CERTIFICATE)

    assert not examiner.accepts(Seal(tmp_path, "run-1")(BUNDLES), b"one")
