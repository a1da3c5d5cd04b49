"""Manage the batches of a run without its questions: list them, fetch results, cancel them, drop
them.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from visualjudge.clients.batch.batched_client import Batched, Settings
from visualjudge.clients.batch.provider import Provider
from visualjudge.clients.batch.registry import provider_kind, provider_of
from visualjudge.clients.masked_secrets import check_url, public_url
from visualjudge.clients.registry import build_client
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.clients.server_errors import one_line
from visualjudge.core.errors import ClientError, DataError, UsageError
from visualjudge.runs.batch.ledger import CLOSED, DROPPED, Ledger, Part, parts_of
from visualjudge.runs.batch.submitting import Batches
from visualjudge.runs.folder import RunFolder


@dataclass
class Keeper:
    """The batches of one run; ``failed`` lists those that could not be reached."""

    run: Path
    provider: Provider
    failed: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        run: Path,
        *,
        base_url: str | None,
        api_key: str | None,
        folder: Path | None,
        trust: bool = False,
    ) -> Self:
        """Return the batches of a run folder.

        Parameters
        ----------
        base_url
            URL of the server; None = from the environment, or the backend's default.
        trust
            Whether to trust the server named in ``run.json``, whichever it is.

        Raises
        ------
        UsageError
            If the run has no batches, or ``run.json`` names a server that the user did not name.
        DataError
            If ``run.json`` names no backend and model.
        """
        if not parts_of(run):
            raise UsageError(f"{run}: has no batches; `visualjudge judge --batch` makes them")
        manifest = RunFolder(run).manifest()
        for name in ("backend", "model"):
            if not manifest.get(name):
                raise DataError(f"{RunFolder(run).manifest_path}: {name} must be text, got none")
        provider_kind(manifest["backend"], folder)
        client = _client(run, manifest, base_url, api_key, trust=trust)
        return cls(run, provider_of(Batched(client, Settings(folder=folder))))

    @property
    def server(self) -> str:
        """Return the server's address, without secrets."""
        return self.provider.client.base_url

    async def states(self) -> AsyncIterator[tuple[Part, str]]:
        """Return each part and its state."""
        for part in parts_of(self.run).values():
            if not part.open:
                status = (
                    f"{CLOSED}: {one_line(part.reason or '')}"
                    if part.status == CLOSED
                    else str(part.status)
                )
                yield part, f"{one_line(status)}, {part.replies} replies fetched"
            elif part.batch is None:
                yield part, "not confirmed" if part.submitting else "not submitted"
            else:
                yield part, await self._state(part.batch)

    async def _state(self, batch: str) -> str:
        try:
            look = await self.provider.patiently(lambda: self.provider.look(batch))
        except ClientError as error:
            self.failed.append(f"batch {batch}: {error}")
            return "cannot be retrieved"
        return f"{look.status}, {look.succeeded} replies"

    async def fetch(self) -> tuple[int, int]:
        """Fetch the results of ended batches. Return how many ended, and how many did not."""
        with Ledger(self.run) as ledger:
            batches = Batches(ledger, self.provider, closing=False, failed=self.failed)
            ended = [
                await batches.look(part) for part in ledger.open_parts() if part.batch is not None
            ]
            return sum(ended), len(ledger.open_parts())

    async def cancel(self) -> int:
        """Cancel batches that have not ended, and withdraw parts that were not submitted. Return
        the number of batches.
        """
        count = 0
        with Ledger(self.run) as ledger:
            batches = Batches(ledger, self.provider)
            for part in ledger.open_parts():
                try:
                    made = part.batch or await batches.confirmed(part)
                    if made is None:
                        await batches.unsent(part)
                    else:
                        await self.provider.cancel(made)
                        count += 1
                except ClientError as error:
                    self.failed.append(f"batch {part.batch or part.name}: {error}")
        return count

    async def aclose(self) -> None:
        """Close connections."""
        await self.provider.aclose()


def _client(
    run: Path,
    manifest: Mapping[str, Any],
    base_url: str | None,
    api_key: str | None,
    *,
    trust: bool,
) -> RemoteClient:
    """Return the client of a run's server. A key is sent only to servers named by the user, the
    environment or the backend, because a run folder may be untrusted.
    """
    named = {"model_name": manifest["model"], "base_url": base_url, "api_key": api_key}
    given = {name: value for name, value in named.items() if value is not None}
    client: RemoteClient = build_client(manifest["backend"], **given)
    if base_url is not None or not manifest.get("base_url"):
        return client
    where = f"{RunFolder(run).manifest_path}: base_url"
    check_url(manifest["base_url"], where)
    stated = public_url(manifest["base_url"])
    if stated == client.base_url:
        return client
    if stated != client.default_url and not trust:
        shown = one_line(stated)
        raise UsageError(
            f"{where} names {shown}, a server that you did not name; to send it your key and "
            "requests, add "
            f"--base-url {shlex.quote(shown)} or --trust"
        )
    told: RemoteClient = build_client(manifest["backend"], **{**given, "base_url": stated})
    return told


async def drop(run: Path, name: str) -> Part:
    """Drop a batch, given by its id or its part's name. It is not polled again, and its requests
    become failures.

    Raises
    ------
    UsageError
        If the run has no such batch, or its results have been fetched.
    """
    if not parts_of(run):
        raise UsageError(f"{run}: has no batches")
    with Ledger(run, indexed=False) as ledger:
        part = next(
            (part for part in ledger.parts.values() if name in (part.batch, part.name)), None
        )
        if part is None:
            raise UsageError(
                f"{run}: has no batch {one_line(name)}; `visualjudge batch status` lists them"
            )
        if not part.open and part.status != CLOSED:
            raise UsageError(f"{run}: batch {name} has ended: {one_line(str(part.status))}")
        if part.open:
            ledger.give_up(part)
        part = await ledger.say("ended", part, status=DROPPED, replies=part.replies)
        ledger.sweep()
        return part
