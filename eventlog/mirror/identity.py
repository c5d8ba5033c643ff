"""A server's certificate, made on first use, and its fingerprint, which is what the other side trusts.

The certificate is self-signed and never expires: nobody vouches for it but the fingerprint that a person has
compared, as with SSH. Key and certificate are one file of mode 0600 in the user's configuration folder.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import ssl
from pathlib import Path

from eventlog.mirror.errors import MirrorError
from eventlog.mirror.secret_files import read_private, write_private

NAME = "server.pem"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\s*", re.DOTALL)
_FINGERPRINT = re.compile(r"(?:sha256(?: fingerprint=|:))?([0-9a-f]{64})")


class BadIdentity(MirrorError):
    """A key or certificate that cannot be used, or a text that is no fingerprint."""


def fingerprint_of(certificate: bytes) -> str:
    """`sha256:<64 hex>` over a certificate in DER, as `openssl x509 -fingerprint -sha256` shows it."""
    return f"sha256:{hashlib.sha256(certificate).hexdigest()}"


def parse_fingerprint(text: str) -> str:
    """A fingerprint as a person writes it (openssl's form too). Raises BadIdentity."""
    head, mark, digits = text.strip().lower().rpartition("=")
    if re.fullmatch(r"(?:[0-9a-f]{2}:){31}[0-9a-f]{2}", digits):
        digits = digits.replace(":", "")
    match = _FINGERPRINT.fullmatch(f"{head}{mark}{digits}")
    if match is None:
        raise BadIdentity(
            f"{text!r} is no fingerprint: `hemra log serve` prints it (sha256: and 64 hex digits)"
        )
    return f"sha256:{match.group(1)}"


class Identity:
    """The key and certificate that a server shows."""

    def __init__(self, directory: Path) -> None:
        """Load them from `directory`, made now if they are not there. Raises BadIdentity, Exposed."""
        path = directory / NAME
        if not path.exists():
            write_private(path, _made())
        try:
            text = read_private(path).decode("ascii")
            shown = _CERTIFICATE.search(text)
            if shown is None:
                raise ValueError("no certificate in it")
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.minimum_version = ssl.TLSVersion.TLSv1_3
            self.context.num_tickets = 0  # every connection proves everything anew
            self.context.load_cert_chain(path)
            self.fingerprint = fingerprint_of(ssl.PEM_cert_to_DER_cert(shown.group()))
        except (OSError, ValueError) as error:
            raise BadIdentity(
                f"{path} cannot be used ({error}): remove it, and a new one is made (whoever pulls from here must "
                "then be told the new fingerprint)"
            ) from error


def _made() -> bytes:
    """A new P-256 key and a certificate over it, as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hemra log serve")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
        # "No well-defined expiration" of RFC 5280: a pinned certificate ends when its owner replaces it.
        .not_valid_after(datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return secret + certificate.public_bytes(encoding)
