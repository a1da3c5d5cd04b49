"""A self-signed certificate for a study, which raters are asked to accept."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from visualjudge.core.errors import RunError, UsageError

if TYPE_CHECKING:
    from cryptography import x509

VALID_DAYS = 90
_RENEWED_BEFORE = timedelta(days=2)


def study_certificate(folder: Path, name: str) -> tuple[Path, str]:
    """Return the file with the key and self-signed certificate for ``name``, and its
    fingerprint.

    It is created on the first call, and renewed two days before it expires.

    Parameters
    ----------
    folder
        Folder in the user's cache.
    name
        Host name or IP address that raters open.

    Returns
    -------
    path, fingerprint
        The fingerprint is SHA-256 in pairs of hexadecimal digits, as browsers show it.

    Raises
    ------
    UsageError
        If the library ``cryptography`` is not installed.
    RunError
        If the file cannot be written.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
    except ImportError:
        raise UsageError(
            "--host needs the library cryptography, or --cert and --key: "
            "pip install 'visualjudge[studio]'"
        ) from None
    path = folder / f"{_file_name(name)}.pem"
    try:
        if not _is_valid(path):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_secret(path, _made(name))
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: the certificate cannot be made: {error}") from None
    return path, certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def check_certificate(certificate: Path, key: Path) -> None:
    """Raise UsageError if the two files are not a certificate and its key."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, _no_password)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or error.strerror or str(error)
        raise UsageError(
            f"--cert and --key must be a certificate and its key in PEM, without a password: "
            f"{certificate}, {key}: {reason}"
        ) from None


def _no_password() -> str:
    return ""


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in name)[:120]


def _is_valid(path: Path) -> bool:
    from cryptography import x509

    if not path.is_file():
        return False
    try:
        end = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
    except ValueError:
        return False
    return end - _RENEWED_BEFORE > datetime.now(UTC)


def _write_secret(path: Path, content: bytes) -> None:
    """Write atomically a file that only this user can read."""
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(scratch).replace(path)
    finally:
        Path(scratch).unlink(missing_ok=True)


def _made(name: str) -> bytes:
    """Return the key and certificate in PEM format."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "visualjudge study")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([_alternative(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ) + certificate.public_bytes(serialization.Encoding.PEM)


def _alternative(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
