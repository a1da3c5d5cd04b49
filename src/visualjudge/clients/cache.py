"""A cache of replies in one SQLite file of the user, so that a repeated run makes no
calls. Verdicts of a run are kept in ``runs/journal.py``.

The key covers everything that determines a reply: backend, base URL, model, parameters,
exact payload and sample number. When a judge repeats a request after a bad reply,
attempt *n* reads entry *n*; with a single entry it would get the same bad reply
forever. Failures are never cached. The file may be copied to another machine, and
several processes may share it.
"""

import hashlib
import logging
import sqlite3
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from visualjudge.clients.base import (
    Client,
    Identity,
    ImagePart,
    Part,
    Reply,
    Request,
    Turn,
    Wrapping,
)

FILE = "replies.sqlite"
_FORMAT = 2
_WAIT_S = 30.0
_REPLY = TypeAdapter(Reply)
_log = logging.getLogger("visualjudge.clients")


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
    if request.top_p is not None:
        asked["top_p"] = request.top_p
    if request.tools or request.turns:
        asked |= {
            "tools": [asdict(tool) for tool in request.tools],
            "turns": [_turn(turn) for turn in request.turns],
        }
    return hashlib.sha256(
        orjson.dumps(asked, option=orjson.OPT_SORT_KEYS, default=str)
    ).hexdigest()


def _part(part: Part) -> list[str]:
    return (
        ["image", part.mime, part.sha256]
        if isinstance(part, ImagePart)
        else ["text", part.text]
    )


def _turn(turn: Turn) -> list[Any]:
    results = [
        [
            asdict(result.call),
            [_part(part) for part in result.parts],
            result.failed,
        ]
        for result in turn.results
    ]
    return [turn.text, turn.echo, results]


class Cached(Wrapping):
    """A client with a cache."""

    def __init__(self, inner: Client, directory: str | Path) -> None:
        super().__init__(inner)
        self.path = Path(directory) / FILE
        self._broken = False

    @cached_property
    def _replies(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = sqlite3.connect(
            self.path,
            timeout=_WAIT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("PRAGMA synchronous=NORMAL")
        file.execute(
            "CREATE TABLE IF NOT EXISTS replies (key TEXT, attempt INTEGER, reply "
            "BLOB, PRIMARY KEY (key, attempt)) WITHOUT ROWID"
        )
        return file

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        key = cache_key(self.identity, request)
        rows = self._execute(
            "SELECT reply FROM replies WHERE key = ? AND attempt = ?",
            key,
            attempt,
        )
        with suppress(ValidationError, IndexError):
            return replace(_REPLY.validate_json(rows[0][0]), cached=True)
        reply = await self.inner.ask(request, attempt=attempt)
        self._execute(
            "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)",
            key,
            attempt,
            _REPLY.dump_json(reply),
        )
        return reply

    async def aclose(self) -> None:
        if file := self.__dict__.pop("_replies", None):
            file.close()
        await super().aclose()

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        # Use the file, or continue without it if that fails (full disk, damaged file).
        if self._broken:
            return []
        try:
            return self._replies.execute(statement, values).fetchall()
        except (sqlite3.Error, OSError) as error:
            self._broken = True
            _log.warning("%s: replies are not cached: %s", self.path, error)
            return []
