"""Options of a run by a provider's batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from visualjudge.core.errors import UsageError

if TYPE_CHECKING:
    from visualjudge.clients.batch.asking import Settings
    from visualjudge.runs.budget import Prices


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """Whether and how a run asks by batches."""

    heading: ClassVar[str] = "Batches"

    batch: Annotated[bool, typer.Option("--batch", help="Use the provider's batch interface, at half the price.")] = (
        False
    )
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Maximum requests per batch; default: the provider's limit.")
    ] = None
    batch_folder: Annotated[
        Path | None, typer.Option(help="Exchange OpenAI batch files in this folder, for vLLM's run-batch.")
    ] = None
    poll: Annotated[float, typer.Option(min=0.1, help="Polling interval, in seconds.")] = 120.0
    no_wait: Annotated[
        bool,
        typer.Option("--no-wait", help="Exit when everything is submitted; fetch the results later with --resume."),
    ] = False

    @property
    def settings(self) -> Settings | None:
        """How; None without ``--batch``.

        Raises
        ------
        UsageError
            If there are options of batches without ``--batch``.
        """
        from visualjudge.clients.batch.asking import Settings

        if self.batch:
            return Settings(self.batch_size, self.poll, not self.no_wait, self.batch_folder)
        if self.batch_size or self.batch_folder or self.no_wait:
            raise UsageError("--batch-size, --batch-folder and --no-wait need --batch")
        return None

    def charged(self, prices: Prices, backend: str) -> Prices:
        """List prices, or the share of them that the provider charges in batches."""
        from visualjudge.clients.batch.registry import provider_kind

        if self.settings is None:
            return prices
        return replace(prices, share=provider_kind(backend, self.batch_folder).discount)
