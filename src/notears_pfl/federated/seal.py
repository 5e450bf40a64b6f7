"""The centre's signature on its bundles: a certificate, not a message header, proves who asks.

One signature, which takes about a millisecond, covers the bundles of all sites in an exchange. It
includes the run and the time, so that a signed bundle is never answered twice.
"""

import datetime
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

KEY, CERTIFICATE, AUTHORITY = "server.key", "server.crt", "rootCA.pem"
# Errors that checking an invalid seal may raise.
INVALID = (InvalidSignature, ValueError, TypeError, LookupError, AttributeError)


class Seal:
    """Signs the bundles of a run with the key in the centre's kit."""

    def __init__(self, startup: Path, run: str) -> None:
        key = load_pem_private_key((startup / KEY).read_bytes(), None)
        assert isinstance(key, RSAPrivateKey)
        self._key, self._certificate = key, (startup / CERTIFICATE).read_text()
        self._run, self._last = run, 0

    def __call__(self, bundles: Mapping[str, bytes]) -> list[Any]:
        """Seal for all bundles of an exchange; every site receives the same one."""
        self._last = max(time.time_ns(), self._last + 1)
        signed = json.dumps([self._run, self._last, {s: _digest(b) for s, b in bundles.items()}])
        signature = self._key.sign(signed.encode(), PKCS1v15(), hashes.SHA256())
        return [self._certificate, signed, signature]


class SealChecker:
    """Checks, at a site, that its centre sealed a bundle for this run and that it is no replay."""

    def __init__(self, authority: Path, centre: str, site: str, run: str) -> None:
        self._authority = x509.load_pem_x509_certificate(authority.read_bytes())
        self._centre, self._site, self._run, self._last = centre, site, run, 0

    def accepts(self, seal: Any, bundle: bytes) -> bool:
        """Whether the bundle comes from the centre and is later than all bundles before it."""
        try:
            certificate, signed, signature = seal
            key = self._centres_key(x509.load_pem_x509_certificate(certificate.encode()))
            key.verify(signature, signed.encode(), PKCS1v15(), hashes.SHA256())
            run, number, digests = json.loads(signed)
            is_due = run == self._run and digests[self._site] == _digest(bundle)
            if not is_due or number <= self._last:
                return False
        except INVALID:
            return False
        self._last = number
        return True

    def _centres_key(self, certificate: x509.Certificate) -> RSAPublicKey:
        certificate.verify_directly_issued_by(self._authority)
        (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        key, now = certificate.public_key(), datetime.datetime.now(datetime.UTC)
        is_centre = name.value == self._centre and first <= now <= last
        if not is_centre or not isinstance(key, RSAPublicKey):
            msg = f"the certificate of {name.value!r} is not a valid certificate of the centre"
            raise ValueError(msg)
        return key


def _digest(bundle: bytes) -> str:
    return hashlib.sha256(bundle).hexdigest()
