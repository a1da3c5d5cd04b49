"""``visualjudge batch``: the batches of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.option_groups import with_groups
from visualjudge.cli.options import MODEL, key_of

if TYPE_CHECKING:
    from visualjudge.runs.batch.keeping import Keeper

EXAMPLES = """Examples:

visualjudge batch status RUN --api-key-env OPENAI_API_KEY

visualjudge batch fetch RUN --api-key-env OPENAI_API_KEY

visualjudge batch cancel RUN --api-key-env OPENAI_API_KEY
"""

app = typer.Typer(
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The batches of a run: how they stand, fetch, cancel.",
)
Run = Annotated[Path, typer.Argument(help="A folder that `visualjudge judge --batch --out` wrote.", show_default=False)]


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The server of the batches."""

    base_url: Annotated[str | None, typer.Option(help="Default: as run.json says.", rich_help_panel=MODEL)] = None
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the API key.", rich_help_panel=MODEL)
    ] = None
    batch_folder: Annotated[Path | None, typer.Option(help="The one that judge was given.", rich_help_panel=MODEL)] = (
        None
    )

    def do(self, run: Path, work: Callable[[Keeper], Awaitable[None]]) -> None:
        """``work`` with the batches of a run."""
        from visualjudge.runs.batch.keeping import Keeper

        keeper = Keeper.of(run, base_url=self.base_url, api_key=key_of(self.api_key_env), folder=self.batch_folder)

        async def main() -> None:
            try:
                await work(keeper)
            finally:
                await keeper.aclose()

        asyncio.run(main())


@app.command(epilog="Example:\n\nvisualjudge batch status RUN --api-key-env OPENAI_API_KEY")
@with_groups
def status(run: Run, server: ServerOptions) -> None:
    """Print each batch: its part, id, requests, and how it stands at the server."""

    async def work(keeper: Keeper) -> None:
        async for part, state in keeper.states():
            print(f"{part.name}  {part.batch or '-'}  {part.requests} requests  {state}")

    server.do(run, work)


@app.command(epilog="Example:\n\nvisualjudge batch fetch RUN --api-key-env OPENAI_API_KEY")
@with_groups
def fetch(run: Run, server: ServerOptions) -> None:
    """Fetch the results of batches that have ended. `judge --batch --resume` makes verdicts of them."""

    async def work(keeper: Keeper) -> None:
        fetched, waiting = await keeper.fetch()
        print(f"{run}: fetched {fetched} batches, {waiting} have not ended; next: judge --batch --resume")

    server.do(run, work)


@app.command(epilog="Example:\n\nvisualjudge batch cancel RUN --api-key-env OPENAI_API_KEY")
@with_groups
def cancel(run: Run, server: ServerOptions) -> None:
    """Cancel the batches that have not ended. Replies given until then are kept, and paid for."""

    async def work(keeper: Keeper) -> None:
        print(f"{run}: asked the server to cancel {await keeper.cancel()} batches; next: visualjudge batch fetch")

    server.do(run, work)
