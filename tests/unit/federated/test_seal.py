"""A site accepts only bundles that its centre sealed."""

import shutil

import pytest

from notears_pfl.federated.kits import provision
from notears_pfl.federated.seal import AUTHORITY, CERTIFICATE, KEY, Seal, SealChecker
from notears_pfl.federated.simulated_federation import simulated_federation

BUNDLES = {"S0": b"one", "S1": b"two"}


@pytest.fixture(scope="module")
def kits(tmp_path_factory):
    """Give the kits of two federations with the same names but different authorities."""
    folder = tmp_path_factory.mktemp("kits")
    for name in ("ours", "theirs"):
        provision(simulated_federation(["S0", "S1"], ["G"], ["A"], "subject", {}), folder / name)
    return folder


@pytest.fixture
def checker(kits):
    return SealChecker(kits / "ours/sites/S0/startup" / AUTHORITY, "localhost", "S0", "run-1")


@pytest.fixture
def seal(kits):
    return Seal(kits / "ours/centre/server/startup", "run-1")


def test_a_bundle_of_the_centre_is_accepted(checker, seal):
    assert checker.accepts(seal(BUNDLES), b"one")
    assert checker.accepts(seal(BUNDLES), b"one")


def test_a_bundle_is_not_accepted_twice(checker, seal):
    first, second = seal(BUNDLES), seal(BUNDLES)
    assert checker.accepts(second, b"one")

    assert not checker.accepts(second, b"one")
    assert not checker.accepts(first, b"one")


def test_a_bundle_without_a_valid_signature_is_not_accepted(checker, seal):
    certificate, signed, signature = seal(BUNDLES)
    other = signed.replace("run-1", "run-2")

    # Another site's bundle, altered text, no signature, no certificate, no seal at all.
    assert not checker.accepts([certificate, signed, signature], b"two")
    assert not checker.accepts([certificate, other, signature], b"one")
    assert not checker.accepts([certificate, signed, b""], b"one")
    assert not checker.accepts(["", signed, signature], b"one")
    assert not checker.accepts(None, b"one")
    # None of these counts as the latest bundle.
    assert checker.accepts([certificate, signed, signature], b"one")


def test_a_bundle_of_another_run_or_for_others_is_not_accepted(checker, kits, seal):
    other_run = Seal(kits / "ours/centre/server/startup", "run-0")

    assert not checker.accepts(other_run(BUNDLES), b"one")
    assert not checker.accepts(seal({"S1": b"one"}), b"one")


def test_a_centre_of_another_authority_is_not_accepted(checker, kits):
    theirs = Seal(kits / "theirs/centre/server/startup", "run-1")

    assert not checker.accepts(theirs(BUNDLES), b"one")


def test_a_site_cannot_seal_as_the_centre(checker, kits, tmp_path):
    """The site has a certificate from the authority, but with another name."""
    startup = kits / "ours/sites/S1/startup"
    shutil.copy(startup / "client.key", tmp_path / KEY)
    shutil.copy(startup / "client.crt", tmp_path / CERTIFICATE)

    assert not checker.accepts(Seal(tmp_path, "run-1")(BUNDLES), b"one")
