"""The batches of a run without its questions: look at them, fetch their results, cancel them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from visualjudge.clients.batch.asking import Batched, Settings
from visualjudge.clients.batch.provider import Provider
from visualjudge.clients.batch.registry import provider_of
from visualjudge.clients.registry import build_client
from visualjudge.core.errors import UsageError
from visualjudge.runs.batch.ledger import Ledger, Part, parts_of
from visualjudge.runs.batch.submitting import Batches
from visualjudge.runs.folder import RunFolder


@dataclass
class Keeper:
    """The batches of one run."""

    run: Path
    provider: Provider

    @classmethod
    def of(cls, run: Path, *, base_url: str | None, api_key: str | None, folder: Path | None) -> Self:
        """Those of a run folder, at the server that ``run.json`` names.

        Raises
        ------
        UsageError
            If the run has no batches.
        """
        if not parts_of(run):
            raise UsageError(f"{run}: has no batches; `visualjudge judge --batch` makes them")
        manifest = RunFolder(run).manifest()
        url = base_url or manifest.get("base_url")
        named = {"model_name": manifest["model"], "base_url": url, "api_key": api_key}
        given = {name: value for name, value in named.items() if value is not None}
        client = Batched(build_client(manifest["backend"], **given), Settings(folder=folder))
        return cls(run, provider_of(client))

    async def states(self) -> AsyncIterator[tuple[Part, str]]:
        """Each part and how it stands."""
        for part in parts_of(self.run).values():
            if not part.open:
                yield part, f"{part.status}, {part.replies} replies fetched"
            elif part.batch is None:
                yield part, "not confirmed" if part.submitting else "not submitted"
            else:
                look = await self.provider.look(part.batch)
                yield part, f"{look.status}, {look.succeeded} replies"

    async def fetch(self) -> tuple[int, int]:
        """Take the results of what has ended; how many batches that were, and how many have not ended."""
        with Ledger(self.run) as ledger:
            batches = Batches(ledger, self.provider)
            ended = [await batches.look(part) for part in ledger.open_parts() if part.batch is not None]
            return sum(ended), len(ledger.open_parts())

    async def cancel(self) -> int:
        """Cancel what has not ended; what was not submitted is dropped. The number of batches."""
        count = 0
        with Ledger(self.run) as ledger:
            batches = Batches(ledger, self.provider)
            for part in ledger.open_parts():
                made = part.batch or await batches.confirmed(part)
                if made is not None:
                    await self.provider.cancel(made)
                    count += 1
                else:
                    await batches.drop(part)
        return count

    async def aclose(self) -> None:
        """Close connections."""
        await self.provider.aclose()
