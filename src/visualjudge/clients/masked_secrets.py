"""Keep API keys out of reprs, and remove them from server texts."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import SecretStr

from visualjudge.core.errors import UsageError

MASK = "***"
# shorter "keys" ("x", "none", "EMPTY") are placeholders; masking them would garble texts
SHORTEST_KEY = 6
_SHORTEST_PIECE = 8
_SEPARATORS = r"[\s\u200b-\u200d\u2060\ufeff\"'`+,\\]{0,3}"
_SECRET_NAME = re.compile(
    r"(?:^|[-_.])(?:api[-_]?key|key|token|auth\w*|secret|cookie|pass(?:word|wd|phrase)?|credentials?|bearer)$"
    r"|(?:api|access|secret|private)[-_]?key|authorization|password|secret|bearer|cookie|credential|auth[-_]?token",
    re.IGNORECASE,
)
_KEY_SHAPE = re.compile(
    r"^(?:bearer\s|basic\s)|^(?:sk|pk|rk|key|hf|gsk|xai|ghp|gho|glpat|nvapi|AIza|AKIA|ya29)[-_.A-Za-z0-9]{12,}$"
    r"|^eyJ[\w-]{8,}\.",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{1,12}")
NAME_KEY = "or name its variable with --api-key-env (api_key in Python)"
_log = logging.getLogger("visualjudge.clients")


def key_secret(key: str) -> SecretStr:
    """Return an API key that is valid in a header. Surrounding white space is removed with a
    warning.

    Raises
    ------
    UsageError
        If the key contains a control character or is not ASCII. The message does not show the key.
    """
    stripped = str(key).strip()
    if stripped != key:
        _log.warning("api_key: removed the white space around it")
    if not (stripped.isascii() and stripped.isprintable()):
        raise UsageError(
            "api_key must be printable ASCII without line breaks, got other characters (value "
            "not shown)"
        )
    return SecretStr(stripped)


def key_from_environment(variable: str, option: str, environment: Mapping[str, str]) -> str:
    """Return the key in the environment variable that ``option`` names.

    Raises
    ------
    UsageError
        If the variable is not set. Its name is shown only if it looks like a name, because users
        may pass the key itself.
    """
    key = environment.get(variable)
    if key:
        return key
    shown = f" {variable}" if _VARIABLE.fullmatch(variable) else ""
    hint = "" if shown else " (not shown: give the name of a variable, not the key)"
    raise UsageError(f"{option}: the environment variable{shown} is not set{hint}")


class Redactor:
    """Remove secrets from texts, even if a server returns them encoded, split or truncated.

    A secret is found in plain, percent-encoded and base64 form (standard and URL-safe, at any
    offset); with white space, quotes or ``+`` between its characters; and truncated at the end of a
    text.
    """

    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        known = dict.fromkeys(one for one in secrets if one and len(one) >= SHORTEST_KEY)
        forms = {form for secret in known for form in _forms(secret) if len(form) >= SHORTEST_KEY}
        self._forms = tuple(sorted(forms, key=len, reverse=True))
        self._split = [re.compile(_SEPARATORS.join(map(re.escape, secret))) for secret in known]

    def __call__(self, text: str) -> str:
        for form in self._forms:
            text = _without_cut_end(text.replace(form, MASK), form)
        for pattern in self._split:
            text = pattern.sub(MASK, text)
        return text

    def mapping(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``values`` with secrets masked at every depth, by field name (``api_key``) and by
        value.
        """
        return {name: self._masked(name, value) for name, value in values.items()}

    def _masked(self, name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self.mapping(value)
        if isinstance(value, list | tuple):
            return [self._masked(name, item) for item in value]
        if not isinstance(value, str):
            return value
        return MASK if _SECRET_NAME.search(str(name)) or _KEY_SHAPE.search(value) else self(value)


def is_secret_name(name: str) -> bool:
    """Return whether a header or field of this name usually contains a secret (``X-Api-Key``, but
    not ``max_tokens``).
    """
    return bool(_SECRET_NAME.search(name)) or "token" in name.lower().replace("tokens", "")


def looks_secret(value: str) -> bool:
    """Return whether a text looks like a key (``sk-…``)."""
    return _KEY_SHAPE.search(value) is not None


def _forms(secret: str) -> Iterable[str]:
    raw = secret.encode()
    yield secret
    yield quote(secret, safe="")
    # Base64 of a text that contains the secret: its middle depends only on the offset.
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + raw)
        core = coded[-(-8 * offset // 6) : len(coded) - (4 if (offset + len(raw)) % 3 else 0)]
        yield core.decode()
        yield core.decode().replace("+", "-").replace("/", "_")


def _without_cut_end(text: str, form: str) -> str:
    at = text.find(form[:_SHORTEST_PIECE], max(0, len(text) - len(form)))
    if len(form) > _SHORTEST_PIECE and at >= 0 and form.startswith(text[at:]):
        return text[:at] + MASK
    return text


def check_url(url: str, where: str) -> None:
    """Check that a server's address is a URL. Messages name ``where``, not ``url``, which may
    contain a password.

    Raises
    ------
    UsageError
        If ``url`` is not ``http://host…`` or ``https://host…``, or its user or password holds an
        unescaped ``/``.
    """
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        raise UsageError(f"{where}: must begin with http:// or https://")
    try:
        parts = urlsplit(url)
        usable = (
            bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
            and not re.search(r"[\s\0]", url)
        )
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"{where}: must be a URL such as http://host:8000/v1")
    if "@" in url.partition("://")[2].removeprefix(parts.netloc):
        raise UsageError(
            f"{where}: must not contain an unescaped '@' after the host; write / ? # @ in a "
            "password as %XX"
        )


def public_url(url: str) -> str:
    """Return ``url`` without user, password, query and fragment, for use in files and messages."""
    parts = urlsplit(url)
    return urlunsplit(
        (parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", "")
    )


def url_secrets(url: str) -> list[str]:
    """Return the password in a URL and the values of query parameters with secret names."""
    parts = urlsplit(url)
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    named = [value for name, _, value in pairs if is_secret_name(name)]
    return [value for value in (parts.password, *named) if value]
