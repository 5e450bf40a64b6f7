"""Start-up kits: who can read them, what the authority keeps, and when they expire."""

import datetime
import json
import os

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from notears_pfl.errors import FederatedError
from notears_pfl.federated import kits as kits_module
from notears_pfl.federated.centre import run_centre
from notears_pfl.federated.engine import run_site
from notears_pfl.federated.kits import provision, refuse_expired
from notears_pfl.federated.simulated_federation import simulated_federation, write_site_files

FEDERATION = simulated_federation(["S0", "S1"], ["G"], ["A", "B"], "subject", {})


@pytest.fixture
def kits(tmp_path):
    mask = os.umask(0)
    try:
        provision(FEDERATION, tmp_path / "kits")
    finally:
        os.umask(mask)
    return tmp_path / "kits"


def expire(kits, kit, certificate, days):
    """Have the authority sign a kit's certificate again, to expire in ``days`` days."""
    path = kits / kit / "startup" / certificate
    old = x509.load_pem_x509_certificate(path.read_bytes())
    key = json.loads((kits / "authority/cert.json").read_text())["root_pri_key"]
    now = datetime.datetime.now(datetime.UTC)
    end = now + datetime.timedelta(days=days)
    new = (
        x509.CertificateBuilder(old.issuer, old.subject, old.public_key(), old.serial_number)
        .not_valid_before(now - datetime.timedelta(days=400))
        .not_valid_after(end)
        .sign(load_pem_private_key(key.encode(), None), hashes.SHA256())
    )
    path.write_bytes(new.public_bytes(serialization.Encoding.PEM))
    return f"{end:%Y-%m-%d}"


def test_only_their_owner_can_read_the_kits(kits):
    readable = [path for path in [kits, *kits.rglob("*")] if path.stat().st_mode & 0o077]

    assert readable == []
    assert (kits / "authority/cert.json").stat().st_mode & 0o777 == 0o600


def test_kits_have_no_script_that_starts_a_site_without_its_gate(kits):
    assert list(kits.rglob("*.sh")) == []


def test_the_folder_is_private_before_any_file_is_written(tmp_path, monkeypatch):
    copied = []

    def copytree(*arguments):
        copied.append((tmp_path / "kits").stat().st_mode & 0o777)
        return original(*arguments)

    original = kits_module.shutil.copytree
    monkeypatch.setattr(kits_module.shutil, "copytree", copytree)
    provision(FEDERATION, tmp_path / "kits")

    assert set(copied) == {0o700}


def test_the_authority_keeps_only_its_own_key(kits):
    text = "".join(path.read_text() for path in (kits / "authority").iterdir())

    assert text.count("PRIVATE KEY") == 2  # its beginning and its end
    for key in kits.rglob("*.key"):
        assert key.read_text().split("\n")[1] not in text


def test_a_fresh_kit_causes_no_refusal_and_no_warning(kits):
    assert refuse_expired(kits / "sites/S0", "client.crt") is None


def test_a_kit_causes_a_warning_from_thirty_days_before_it_expires(kits):
    expire(kits, "sites/S0", "client.crt", days=31.5)
    assert refuse_expired(kits / "sites/S0", "client.crt") is None

    day = expire(kits, "sites/S0", "client.crt", days=29.5)
    warning = refuse_expired(kits / "sites/S0", "client.crt")
    assert f"the kit of S0 expires on {day}, in 29 days. Provision new kits" in warning


def test_an_expired_kit_is_named_at_the_site(kits, tmp_path):
    day = expire(kits, "sites/S0", "client.crt", days=-1)
    site_file = write_site_files(FEDERATION, "cohort.tsv", "{participant_id}.tsv", 2, tmp_path)

    with pytest.raises(FederatedError, match=f"the kit of S0 expired on {day}"):
        run_site(kits / "sites/S0", tmp_path / site_file.replace("{site}", "S0"))


@pytest.mark.parametrize(
    ("kit", "certificate"), [("server", "server.crt"), ("operator", "client.crt")]
)
def test_an_expired_kit_is_named_at_the_centre(kits, tmp_path, kit, certificate):
    day = expire(kits, f"centre/{kit}", certificate, days=-1)

    with pytest.raises(FederatedError, match=f"the kit of .* expired on {day}"):
        run_centre(kits / "centre", FEDERATION, tmp_path / "out")


def test_a_kit_expires_with_its_authority(kits):
    startup = kits / "sites/S0/startup"
    expire(kits, "sites/S0", "rootCA.pem", days=-3)
    assert (startup / "client.crt").exists()

    with pytest.raises(FederatedError, match="the kit of S0 expired"):
        refuse_expired(kits / "sites/S0", "client.crt")


@pytest.mark.parametrize("content", [b"", b"no certificate"])
def test_a_damaged_certificate_is_named(kits, content):
    (kits / "sites/S0/startup/client.crt").write_bytes(content)

    with pytest.raises(FederatedError, match=r"client\.crt: cannot be read as a certificate"):
        refuse_expired(kits / "sites/S0", "client.crt")
