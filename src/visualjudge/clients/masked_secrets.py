"""Keep API keys out of reprs, settings and addresses, and remove them from what servers
send. Characters that act on a terminal or page are escaped in ``core/escaping.py``.
"""

import base64
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

MASK = "***"
# shorter "keys" ("x", "none", "EMPTY") are placeholders; masking them would garble
# texts
SHORTEST_KEY = 6
# Keys from this length on are masked also where their end is cut off.
_LONG = 24
_SECRET_NAME = re.compile(
    r"(?:^|[-_.])(?:api[-_]?key|key|auth\w*|pass(?:word|wd|phrase)?|credentials?)$"
    r"|(?:api|access|secret|private)[-_]?key|authorization|password|secret|bearer|cookie"
    r"|credential|token(?!s)",
    re.IGNORECASE,
)
_KEY_SHAPE = re.compile(
    r"^(?:bearer\s|basic\s)|^(?:(?:sk|pk|rk|key|hf|gsk|xai|ghp|gho|glpat|nvapi)[-_]|AIza|AKIA|ya29)"
    r"[-_.A-Za-z0-9]{12,}$"
    r"|^eyJ[\w-]{8,}\.",
    re.IGNORECASE,
)


class Redactor:
    """Masks secrets in texts: as they are or without their end, with characters that
    are escaped as in JSON strings or URLs, and in base64 (standard and URL-safe, at any
    offset).
    """

    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        # What follows "Bearer" is a secret by itself.
        known = [
            key
            for secret in filter(None, secrets)
            for key in {secret, _KEY_SHAPE.sub("", secret)}
            if len(key) >= SHORTEST_KEY
        ]
        self._forms = sorted(
            {form for key in known for form in _forms(_bytes_of(key))},
            key=len,
            reverse=True,
        )
        # One by one: a pattern that begins with one of few characters is searched for
        # quickly.
        self._escaped = [
            _bytes_of("".join(map(_ways, key)))
            for key in sorted(known, key=len, reverse=True)
        ]

    def __call__(self, text: str) -> str:
        return self.body(_bytes_of(text)).decode("utf-8", "surrogatepass")

    def body(self, raw: bytes) -> bytes:
        """Mask secrets in the body of an answer, before it is parsed."""
        for form in self._forms:
            raw = raw.replace(form, MASK.encode())
        for pattern in self._escaped if re.search(rb"%|\\[u/]", raw) else ():
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
        return MASK if secrets_in(value, name) else self(value)


def environment_secrets() -> Redactor:
    """Return what masks the keys and passwords of the environment."""
    return Redactor(secrets_in(os.environ))


def secrets_in(value: Any, name: Any = "") -> list[str]:
    """Return the texts of a setting, at every depth, that the name of their field or
    their own shape makes secret."""
    if isinstance(value, Mapping):
        return [
            text
            for field, item in value.items()
            for text in secrets_in(item, field)
        ]
    if isinstance(value, list | tuple):
        return [text for item in value for text in secrets_in(item, name)]
    secret = isinstance(value, str) and (
        is_secret_name(str(name)) or looks_secret(value)
    )
    return [value] if secret else []


def is_secret_name(name: str) -> bool:
    """Return whether a header or field of this name usually contains a secret
    (``X-Api-Key``, but not ``max_tokens``).
    """
    return _SECRET_NAME.search(name) is not None


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
    octets = _bytes_of(letter).hex("%")
    units = letter.encode("utf-16-be", "surrogatepass").hex("u", 2)
    coded = re.sub(
        "[a-f]",
        lambda digit: f"[{digit[0]}{digit[0].upper()}]",
        f"%{octets}|u{units}",
    )
    in_url, in_json = coded.replace("%", "%(?:25)?").split("|")
    in_json = in_json.replace("u", r"\\{1,3}u")
    return rf"(?:{plain}|\\{{1,3}}{plain}|{in_url}|{in_json})"


def _forms(secret: bytes) -> Iterator[bytes]:
    yield secret
    yield secret[: 2 * len(secret) // 3] if len(secret) >= _LONG else secret
    # Base64 of a text that contains the secret: its middle depends only on the offset.
    for offset in range(3):
        coded = base64.b64encode(bytes(offset) + secret).rstrip(b"=")
        core = coded[-(-4 * offset // 3) : -1]
        yield core
        yield core.replace(b"+", b"-").replace(b"/", b"_")


def public_url(url: str) -> str:
    """Return ``url`` without user, password, query, fragment and what looks like a key
    in its path, for use in files and messages.
    """
    bare = re.sub(r"//[^/]*@", "//", url).partition("?")[0].partition("#")[0]
    return "/".join(
        MASK if looks_secret(part) else part
        for part in bare.rstrip("/").split("/")
    )


def url_secrets(url: str) -> list[str]:
    """Return the password in a URL, what looks like a key in its path, and the values
    of query parameters with secret names.
    """
    parts = urlsplit(url)
    named = [pair.partition("=")[::2] for pair in parts.query.split("&")]
    return secrets_in(
        [
            {"password": parts.password},
            *parts.path.split("/"),
            *({name: value} for name, value in named),
        ]
    )
