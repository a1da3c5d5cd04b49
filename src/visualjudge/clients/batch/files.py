"""Batches as files in a folder: another program answers ``PART.jsonl`` by writing
``PART.output.jsonl`` beside it.

vLLM's ``run-batch -i PART.jsonl -o PART.output.jsonl --model M`` does so, without a server.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import BinaryIO

from visualjudge.clients.batch.openai import OpenAiBatches
from visualjudge.clients.batch.provider import Look, Ticket, is_part
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.core.atomic import atomic_path
from visualjudge.core.errors import DataError, TransportError
from visualjudge.core.untrusted import confined_target


class FileBatches(OpenAiBatches):
    """Requests in OpenAI's format. A part is finished when its output has one line per request."""

    most_bytes = 2**40
    discount = 1.0

    def __init__(self, client: RemoteClient, folder: Path) -> None:
        super().__init__(client)
        self.folder = folder

    async def upload(self, part: str, path: Path) -> str | None:
        """Do nothing: :meth:`create` places the file."""

    async def create(self, ticket: Ticket, path: Path) -> str:
        """Place the file in the folder."""
        with atomic_path(self._requests(ticket.part)) as scratch:
            shutil.copyfile(path, scratch)
        return ticket.part

    async def find(self, ticket: Ticket) -> str | None:
        """Return whether the file exists."""
        return ticket.part if self._requests(ticket.part).is_file() else None

    async def look(self, batch: str) -> Look:
        """Return the state. A part is finished when every request has its line."""
        output = self._output(batch)
        if not output.is_file() or _lines(output) < _lines(self._requests(batch)):
            return Look("waiting for its output")
        return Look("completed", ended=True, files=(batch,))

    async def download(self, file: str, into: BinaryIO) -> None:
        """Copy the output."""
        try:
            output = self._output(file).open("rb")
        except OSError as error:
            raise TransportError(
                f"{error.filename}: cannot be read: {error.strerror}", cause="file"
            ) from None
        with output:
            shutil.copyfileobj(output, into)

    async def cancel(self, batch: str) -> None:
        """Remove the file from the folder."""
        self._requests(batch).unlink(missing_ok=True)
        self._output(batch).touch()

    def _requests(self, part: str) -> Path:
        return self._place(part, "jsonl")

    def _output(self, part: str) -> Path:
        return self._place(part, "output.jsonl")

    def _place(self, part: str, suffix: str) -> Path:
        """Return the path of a part's file. It is checked, because the journal that names it may be
        untrusted.
        """
        if not is_part(part):
            raise TransportError(
                f"a batch of --batch-folder must be part of the run, got {part!r}",
                retryable=False,
            )
        try:
            return confined_target(self.folder, f"{part}.{suffix}", of="--batch-folder")
        except DataError as error:
            raise TransportError(str(error), cause="file", retryable=False) from None


def _lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise TransportError(f"{path}: cannot be read: {error.strerror}", cause="file") from None
