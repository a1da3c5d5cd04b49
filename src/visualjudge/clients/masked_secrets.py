"""Keep API keys out of reprs, and remove them from what servers send."""

import base64
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from visualjudge.core.errors import UsageError

MASK = "***"
# shorter "keys" ("x", "none", "EMPTY") are placeholders; masking them would garble
# texts
SHORTEST_KEY = 6
# Keys from this length on are masked also where their end is cut off.
_LONG = 24
_SECRET_NAME = re.compile(
    r"(?:^|[-_.])(?:api[-_]?key|key|token|auth\w*|secret|cookie|pass(?:word|wd|phrase)?|credentials?|bearer)$"
    r"|(?:api|access|secret|private)[-_]?key|authorization|password|secret|bearer|cookie|credential|auth[-_]?token",
    re.IGNORECASE,
)
_KEY_SHAPE = re.compile(
    r"^(?:bearer\s|basic\s)|^(?:(?:sk|pk|rk|key|hf|gsk|xai|ghp|gho|glpat|nvapi)[-_]|AIza|AKIA|ya29)"
    r"[-_.A-Za-z0-9]{12,}$"
    r"|^eyJ[\w-]{8,}\.",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{1,12}")
NAME_KEY = "or give `api_key`"


def key_from_environment(
    variable: str, option: str, environment: Mapping[str, str]
) -> str:
    """Return the key in the environment variable that ``option`` names.

    Raises
    ------
    UsageError
        If the variable is not set. Its name is shown only if it looks like a name,
        because users may pass the key itself.
    """
    key = environment.get(variable)
    if key:
        return key
    named = f" {variable}" if _VARIABLE.fullmatch(variable) else ""
    hint = (
        ""
        if named
        else " (not shown: give the name of a variable, not the key)"
    )
    raise UsageError(
        f"{option}: the environment variable{named} is not set{hint}"
    )


class Redactor:
    """Masks secrets in texts: as they are or without their end, with characters that
    are escaped as in JSON strings or URLs, and in base64 (standard and URL-safe, at any
    offset).
    """

    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        known = {
            secret
            for secret in secrets
            if secret and len(secret) >= SHORTEST_KEY
        }
        self._forms = sorted(
            {
                _bytes_of(form)
                for secret in known
                for form in _forms(secret)
                if len(form) >= SHORTEST_KEY
            },
            key=len,
            reverse=True,
        )
        # One by one: a pattern that begins with one of few characters is searched for
        # quickly.
        self._escaped = [
            _bytes_of("".join(map(_ways, secret)))
            for secret in sorted(known, key=len, reverse=True)
        ]

    def __call__(self, text: str) -> str:
        return self.body(_bytes_of(text)).decode("utf-8", "surrogatepass")

    def body(self, raw: bytes) -> bytes:
        """Mask secrets in the body of an answer, before it is parsed."""
        for form in self._forms:
            raw = raw.replace(form, MASK.encode())
        for pattern in self._escaped if re.search(rb"%|u00|\\/", raw) else ():
            raw = re.sub(pattern, MASK.encode(), raw)
        return raw

    def setting(self, name: str, value: Any) -> Any:
        """Return the value of a setting, masked at every depth, by field name
        (``api_key``) and by content.
        """
        if isinstance(value, Mapping):
            return {
                inner: self.setting(inner, item)
                for inner, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.setting(name, item) for item in value]
        if not isinstance(value, str):
            return value
        return (
            MASK
            if _SECRET_NAME.search(str(name)) or looks_secret(value)
            else self(value)
        )


def environment_secrets() -> Redactor:
    """Return what masks the keys and passwords of the environment."""
    values = os.environ.items()
    return Redactor(
        value
        for name, value in values
        if is_secret_name(name) or looks_secret(value)
    )


def is_secret_name(name: str) -> bool:
    """Return whether a header or field of this name usually contains a secret
    (``X-Api-Key``, but not ``max_tokens``).
    """
    return bool(_SECRET_NAME.search(name)) or "token" in name.lower().replace(
        "tokens", ""
    )


def looks_secret(value: str) -> bool:
    """Return whether a text looks like a key (``sk-…``)."""
    return _KEY_SHAPE.search(value) is not None


def _bytes_of(text: str) -> bytes:
    """Variables of the environment need not be UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def _ways(letter: str) -> str:
    """Return a pattern of a character: as it is, as in JSON, which may be inside JSON,
    or as in URLs. Each way begins with a character that has one case, and digits have
    both."""
    plain = re.escape(letter)
    code = "".join(
        f"[{digit}{digit.upper()}]" for digit in f"{ord(letter):04x}"
    )
    low = code[-len("[00][00]") :]
    return rf"(?:{plain}|%(?:25)?{low}|\\\\{{0,2}}(?:{plain}|u{code}))"


def _forms(secret: str) -> Iterable[str]:
    raw = _bytes_of(secret)
    yield secret
    yield secret[: 2 * len(secret) // 3] if len(secret) >= _LONG else secret
    # Base64 of a text that contains the secret: its middle depends only on the offset.
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + raw)
        core = coded[
            -(-8 * offset // 6) : len(coded)
            - (4 if (offset + len(raw)) % 3 else 0)
        ]
        yield core.decode()
        yield core.decode().replace("+", "-").replace("/", "_")


def check_url(url: str, where: str) -> None:
    """Check that a server's address is a URL. Messages name ``where``, not ``url``,
    which may contain a password.

    Raises
    ------
    UsageError
        If ``url`` is not ``http://host…`` or ``https://host…``, or its user or password
        holds an unescaped ``/``.
    """
    if not isinstance(url, str) or not url.lower().startswith(
        ("http://", "https://")
    ):
        raise UsageError(f"{where}: must begin with http:// or https://")
    try:
        parts = urlsplit(url)
        usable = (
            bool(parts.hostname)
            and parts.port != 0
            and not re.search(r"[\s\0]", url)
        )
        # An "@" after the host is the end of a password that urlsplit took for a path.
        usable &= "@" not in url.partition("://")[2].removeprefix(parts.netloc)
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"{where}: must be a URL such as http://host:8000/v1, with / ? # @ in a "
            "password written as %XX"
        )


def public_url(url: str) -> str:
    """Return ``url`` without user, password, query, fragment and what looks like a key
    in its path, for use in files and messages.
    """
    bare = re.sub(r"//[^/]*@", "//", url).partition("?")[0].partition("#")[0]
    parts = bare.rstrip("/").split("/")
    return "/".join(MASK if looks_secret(part) else part for part in parts)


def url_secrets(url: str) -> list[str]:
    """Return the password in a URL, what looks like a key in its path, and the values
    of query parameters with secret names.
    """
    parts = urlsplit(url)
    keys = filter(looks_secret, parts.path.split("/"))
    pairs = [f"password={parts.password or ''}", *parts.query.split("&")]
    named = (pair.partition("=") for pair in pairs)
    values = [
        value for name, _, value in named if value and is_secret_name(name)
    ]
    return [*values, *keys]
