"""Split requests into files within a provider's limits of requests and bytes per batch."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from typing import BinaryIO

from visualjudge.clients.batch.provider import Provider
from visualjudge.core.atomic import writing
from visualjudge.core.errors import TransportError
from visualjudge.runs.batch.ledger import Ledger


class Planner:
    """Write requests to files one by one.

    Parameters
    ----------
    size
        Maximum number of requests per file; None = the provider's limit.

    Attributes
    ----------
    whole : list of (str, int)
        Complete files on disk: a part's name and its number of requests.
    """

    def __init__(self, ledger: Ledger, provider: Provider, size: int | None) -> None:
        self.whole: list[tuple[str, int]] = []
        self._ledger, self._provider = ledger, provider
        self._most = min(size or provider.most_requests, provider.most_requests)
        self._name: str | None = None
        self._requests = self._bytes = 0
        self._files = ExitStack()
        self._content: BinaryIO
        self._names: BinaryIO

    def add(self, name: str, body: Sequence[bytes]) -> str:
        """Add a request and return the name of its part.

        Raises
        ------
        TransportError
            If it is larger than the largest allowed file.
        """
        pieces, framing = self._provider.line(name, body), self._provider.framing
        size = sum(map(len, pieces)) + len(framing.between)
        ends = len(framing.head) + len(framing.tail)
        if size + ends > self._provider.most_bytes:
            said = f"a request of {size} bytes is larger than a batch may be; use --max-image-side"
            raise TransportError(said, cause="too large", retryable=False)
        if self._name is not None and (
            self._requests >= self._most or self._bytes + size + ends > self._provider.most_bytes
        ):
            self.finish()
        part = self._name or self._begin()
        with writing(self._ledger.requests_of(part)):
            self._content.writelines([framing.between if self._requests else framing.head, *pieces])
            self._names.write(name.encode() + b"\n")
        self._requests, self._bytes = self._requests + 1, self._bytes + size
        return part

    def _begin(self) -> str:
        self._name, self._requests, self._bytes = secrets.token_hex(8), 0, 0
        self._ledger.begin(self._name)
        requests, names = self._ledger.requests_of(self._name), self._ledger.names_of(self._name)
        with writing(requests):
            self._content = self._files.enter_context(requests.open("xb"))
            self._names = self._files.enter_context(names.open("xb"))
        return self._name

    def finish(self) -> None:
        """Close the current file."""
        if self._name is None:
            return
        with writing(self._ledger.requests_of(self._name)):
            self._content.write(self._provider.framing.tail)
            for file in (self._content, self._names):
                file.flush()
                os.fsync(file.fileno())
            self._files.close()
        self.whole.append((self._name, self._requests))
        self._name = None
