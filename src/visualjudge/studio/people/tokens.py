"""Links for raters: a token for each, the same after a restart, and in no file of the run."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

import filelock

LENGTH = 32
"""Bytes of the secret."""
ADMIN = "\0admin"
"""Stands for the one who runs the study; no rater can bear this name."""


class Tokens:
    """Tokens of one people's run, made from a secret in the user's cache that nobody else can read."""

    def __init__(self, home: Path, folder: Path) -> None:
        self._key = hmac.digest(_secret(home / "secret"), str(folder.resolve()).encode("utf-8", "replace"), "sha256")

    def of(self, name: str) -> str:
        """The token of a rater."""
        return self._tag("token", name, 22)

    def image(self, rater: str, name: str) -> str:
        """A name for an image that tells nothing of the question; for one rater, while the secret lives."""
        return self._tag("image", f"{rater}\0{name}", 32)

    def slot(self, rater: str, identity: str, turn: int) -> str:
        """A name for a question that tells nothing of it."""
        return self._tag("slot", f"{rater}\0{identity}\0{turn}", 32)

    def _tag(self, kind: str, name: str, length: int) -> str:
        return hmac.new(self._key, f"{kind}\0{name}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:length]


def _secret(path: Path) -> bytes:
    """The secret at ``path``, created if missing, or if whoever created it was stopped before it was written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(path.with_suffix(".lock")):
        if not path.exists() or path.stat().st_size < LENGTH:
            with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(LENGTH))
        return path.read_bytes()
