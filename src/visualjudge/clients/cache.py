"""A cache of replies on disk, so that a repeated run makes no calls.

Each entry is one file, written atomically: it is complete or absent after ``kill -9``, and several
processes may share the cache on any file system. The key covers everything that determines a reply:
backend, base URL, model, parameters, exact payload and sample number. When a judge repeats a
request after a bad reply, attempt *n* reads entry *n*; with a single entry it would get the same
bad reply forever. Failures are never cached.

Others may be able to write to the cache folder. Each entry therefore carries an HMAC-SHA256 (RFC
2104) of its file name and content, keyed with a secret of the user. Entries without a valid HMAC
are ignored.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import weakref
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

from visualjudge.clients.base import (
    Alternative,
    Client,
    Identity,
    ImagePart,
    Part,
    Reply,
    Request,
    Token,
    ToolCall,
    Turn,
    Wrapping,
)
from visualjudge.clients.reply_bounds import LARGEST_BODY
from visualjudge.clients.secret_files import cache_secret, read_regular
from visualjudge.core.atomic import write_bytes
from visualjudge.core.errors import DataError, RunError
from visualjudge.core.jsons import check_kinds
from visualjudge.core.untrusted import confined_target

_FORMAT = 2
_KINDS = {
    "text": str,
    "finish_reason": str,
    "usage": {"*": int},
    "notes": [str],
    "cached": bool,
    "cause": (str, None),
    "calls": [{"id": str, "name": str, "arguments": str}],
    "echo": (str, None),
}
_log = logging.getLogger("visualjudge.clients")


def default_cache_dir() -> Path:
    """Return ``$XDG_CACHE_HOME/visualjudge/replies``, by default
    ``~/.cache/visualjudge/replies``.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home else Path.home() / ".cache"
    return base / "visualjudge" / "replies"


def cache_key(identity: Identity, request: Request) -> str:
    """Return the SHA-256 of everything that determines the reply, as hex."""
    asked = {
        "format": _FORMAT,
        "client": asdict(identity),
        "system": request.system,
        "parts": [_part(part) for part in request.parts],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "schema": request.schema,
        "top_logprobs": request.top_logprobs,
        "repeat": request.repeat,
    }
    if request.tools or request.turns:
        asked |= {
            "tools": [asdict(tool) for tool in request.tools],
            "turns": [_turn(turn) for turn in request.turns],
        }
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()


def _part(part: Part) -> list[str]:
    return ["image", part.mime, part.sha256] if isinstance(part, ImagePart) else ["text", part.text]


def _turn(turn: Turn) -> list[Any]:
    results = [
        [asdict(result.call), [_part(part) for part in result.parts], result.failed]
        for result in turn.results
    ]
    return [turn.text, turn.echo, results]


class Cached(Wrapping):
    """A client with a cache. Equal concurrent requests are sent once."""

    def __init__(self, inner: Client, directory: str | Path) -> None:
        super().__init__(inner)
        self.directory = Path(directory)
        self._full = False
        self._asking: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the pending requests."""
        return Cached, (self.inner, self.directory)

    def path(self, request: Request, attempt: int) -> Path:
        """Return the path of the reply to attempt ``attempt`` at ``request``."""
        key = cache_key(self.identity, request)
        return self.directory / key[:2] / f"{key}.{attempt}.json"

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Return the cached reply, marked ``cached``, or ask the inner client and cache its
        reply.
        """
        path = self.path(request, attempt)
        kept = self._kept(path)
        if kept is not None:
            return kept
        lock = self._asking.setdefault(path.name, asyncio.Lock())
        async with lock:
            kept = self._kept(path)
            if kept is not None:
                return kept
            reply = await self.inner.ask(request, attempt=attempt)
            self._keep(path, reply)
            return reply

    def _kept(self, path: Path) -> Reply | None:
        secret = self._secret()
        return None if secret is None else read_entry(path, secret)

    def _keep(self, path: Path, reply: Reply) -> None:
        """Write an entry, or continue without it if that fails (full disk, read-only folder)."""
        secret = self._secret()
        if secret is None:
            return
        try:
            write_entry(
                confined_target(self.directory, path.relative_to(self.directory).as_posix()),
                reply,
                secret,
            )
        except (RunError, OSError) as error:
            self._stop(error)

    def _secret(self) -> bytes | None:
        """Return the user's secret, or None with a single warning if replies cannot be cached."""
        if self._full:
            return None
        try:
            return cache_secret(default_cache_dir().parent)
        except OSError as error:
            self._stop(error)
            return None

    def _stop(self, error: Exception) -> None:
        self._full = True
        _log.warning("replies are no longer cached: %s", error)


def write_entry(path: Path, reply: Reply, secret: bytes) -> None:
    """Write an entry atomically."""
    entry = orjson.dumps(asdict(reply))
    write_bytes(
        path, orjson.dumps({"mac": _mac(path, entry, secret), "reply": orjson.Fragment(entry)})
    )


def read_entry(path: Path, secret: bytes) -> Reply | None:
    """Return the entry, or None if the file is missing, damaged or untrusted. Such a file is then
    replaced.
    """
    try:
        head, mark, rest = read_regular(path, LARGEST_BODY)[0].partition(b'","reply":')
        entry = rest[:-1]
        if not mark or not hmac.compare_digest(
            head, b'{"mac":"' + _mac(path, entry, secret).encode()
        ):
            return None
        return replace(_reply(orjson.loads(entry)), cached=True)
    except (OSError, DataError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _mac(path: Path, entry: bytes, secret: bytes) -> str:
    """Return the HMAC of an entry. It covers the name too, so that entries cannot be swapped."""
    return hmac.new(secret, path.name.encode() + b"\0" + entry, hashlib.sha256).hexdigest()


def _reply(entry: dict[str, Any]) -> Reply:
    check_kinds("reply", entry, _KINDS)
    tokens = entry.pop("tokens")
    calls = tuple(ToolCall(**call) for call in entry.pop("calls", ()))
    return Reply(
        **entry | {"notes": tuple(entry["notes"])},
        calls=calls,
        tokens=None if tokens is None else tuple(_token(token) for token in tokens),
    )


def _token(token: dict[str, Any]) -> Token:
    return Token(
        token["token"], token["logprob"], tuple(Alternative(**top) for top in token["top"])
    )
