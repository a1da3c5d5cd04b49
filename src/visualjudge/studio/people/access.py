"""The tokens in the links of a study: without one, nothing is shown or written."""

import hashlib
import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from starlette.exceptions import HTTPException

from visualjudge.core.errors import RunError

# Stands for the person who runs the study; not allowed as a rater's name.
ADMIN = "\0admin"
_BYTES = 32


class Tokens:
    """Tokens of one people's run, derived from a private secret in the user's cache.

    Raises
    ------
    RunError
        If the secret cannot be created or read.
    """

    def __init__(self, home: Path, folder: Path) -> None:
        path = home / "secret"
        try:
            secret = _secret(path)
        except OSError as error:
            raise RunError(f"{path}: cannot be used: {error}") from None
        if len(secret) != _BYTES or (
            os.name == "posix" and path.stat().st_mode & 0o077
        ):
            raise RunError(
                f"{path}: must have {_BYTES} bytes that you alone can read (mode "
                "0600); remove it"
            )
        self._key = hmac.digest(
            secret, str(folder.resolve()).encode("utf-8", "replace"), "sha256"
        )

    def token(self, name: str) -> str:
        """Return the token of a rater."""
        return self._tag("token", name, 22)

    def slot(self, rater: str, identity: str, turn: int) -> str:
        """Return a name for a question that reveals nothing about it."""
        return self._tag("slot", f"{rater}\0{identity}\0{turn}", 32)

    def _tag(self, kind: str, name: str, length: int) -> str:
        text = f"{kind}\0{name}".encode("utf-8", "replace")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:length]


def _secret(path: Path) -> bytes:
    """Read the secret; the first call makes it, complete when it appears."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # mode 0600
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            with suppress(
                FileExistsError
            ):  # another studio was first: its secret counts
                os.link(file.name, path)
    return path.read_bytes()


def refused() -> HTTPException:
    """Return the response to a wrong token, without details."""
    return HTTPException(403, "this link is not valid: ask for a new one")
