"""API keys: held so that no repr shows them, taken out of whatever a server says."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

from visualjudge.errors import UsageError

MASK = "***"
_SHORTEST = 6  # shorter "keys" ("x", "none", "EMPTY") are placeholders; masking them would garble every text


class Secret:
    """A text that no repr, str, pickle or format shows."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text itself, for the header it belongs in."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return Secret, (MASK,)


class Redactor:
    """Takes secrets out of texts; also the user and password of a URL."""

    def __init__(self, secrets: Iterable[Secret | None] = ()) -> None:
        self._secrets = tuple(s for s in secrets if s is not None and len(s.reveal()) >= _SHORTEST)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret.reveal(), MASK)
        return text

    def bytes(self, raw: bytes) -> bytes:
        """``raw`` with the secrets masked; the same object where there are none in it."""
        for secret in self._secrets:
            raw = raw.replace(secret.reveal().encode(), MASK.encode())
        return raw


def check_scheme(url: str, where: str) -> None:
    """Refuse a server's address that is no URL; it may hold a password, so the message names ``where``, not ``url``.

    Raises
    ------
    UsageError
        If ``url`` does not begin with ``http://`` or ``https://``.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise UsageError(f"{where}: must begin with http:// or https://")


def public_url(url: str) -> str:
    """``url`` without user, password, query and fragment: what may be written down."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
