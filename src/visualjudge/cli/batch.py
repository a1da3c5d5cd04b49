"""``visualjudge batch``: manage the batches of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from visualjudge.cli.options import key_of, with_groups
from visualjudge.cli.output import AsJson, end_with, following, print_json, say
from visualjudge.core.plurals import pluralize
from visualjudge.core.text_tables import Table

if TYPE_CHECKING:
    from visualjudge.runs.batch.fetch_and_cancel import Keeper

EXAMPLES = """Examples:

visualjudge batch status RUN --api-key-env OPENAI_API_KEY

visualjudge batch fetch RUN --api-key-env OPENAI_API_KEY

visualjudge batch cancel RUN --api-key-env OPENAI_API_KEY

visualjudge batch drop RUN batch_68a1
"""

app = typer.Typer(
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Show, fetch, cancel or drop the batches of a run.",
)
Run = Annotated[
    Path,
    typer.Argument(help="Run folder from `visualjudge judge --batch --out`.", show_default=False),
]


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The server of the batches."""

    heading: ClassVar[str] = "Model"

    base_url: Annotated[
        str | None,
        typer.Option(
            help="URL of the server; default: the URL in run.json, if the environment or "
            "the backend names it too."
        ),
    ] = None
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Send the API key to the server in run.json, whichever it is."
        ),
    ] = False
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the API key.")
    ] = None
    batch_folder: Annotated[
        Path | None, typer.Option(help="The --batch-folder that was passed to judge.")
    ] = None

    def do(self, run: Path, work: Callable[[Keeper], Awaitable[None]]) -> None:
        """Run ``work`` with the batches of a run."""
        from visualjudge.runs.batch.fetch_and_cancel import Keeper

        key = key_of(self.api_key_env)
        keeper = Keeper.of(
            run, base_url=self.base_url, api_key=key, folder=self.batch_folder, trust=self.trust
        )
        if self.trust:
            say(f"asking {keeper.server}")

        async def main() -> None:
            try:
                await work(keeper)
            finally:
                await keeper.aclose()

        asyncio.run(main())
        end_with(keeper.failed)


@app.command(epilog="Example:\n\nvisualjudge batch status RUN --api-key-env OPENAI_API_KEY")
@with_groups
def status(run: Run, server: ServerOptions, as_json: AsJson = False) -> None:
    """Print each batch with its part, id, number of requests, and state on the server."""

    async def work(keeper: Keeper) -> None:
        found = [
            (part.name, part.batch or "–", str(part.requests), state)
            async for part, state in keeper.states()
        ]
        if as_json:
            print_json(
                {"part": row[0], "batch": row[1], "requests": int(row[2]), "state": row[3]}
                for row in found
            )
        else:
            print(Table(("Part", "Batch", "Requests", "State"), tuple(found)).text())

    server.do(run, work)


@app.command(epilog="Example:\n\nvisualjudge batch fetch RUN --api-key-env OPENAI_API_KEY")
@with_groups
def fetch(run: Run, server: ServerOptions) -> None:
    """Fetch the results of finished batches. `judge --batch --resume` turns them into verdicts."""

    async def work(keeper: Keeper) -> None:
        fetched, waiting = await keeper.fetch()
        print(f"{run}: fetched {pluralize(fetched, 'batch', 'batches')}, {waiting} not ended")
        following("judge", "DATASET", "--batch", "--resume", "--out", run)

    server.do(run, work)


@app.command(epilog="Example:\n\nvisualjudge batch cancel RUN --api-key-env OPENAI_API_KEY")
@with_groups
def cancel(run: Run, server: ServerOptions) -> None:
    """Cancel unfinished batches. Replies completed so far are kept, and billed;
    `judge --retry-errors` asks for the others.
    """

    async def work(keeper: Keeper) -> None:
        print(
            f"{run}: asked the server to cancel "
            f"{pluralize(await keeper.cancel(), 'batch', 'batches')}"
        )
        following("batch", "fetch", run)

    server.do(run, work)


@app.command(epilog="Example:\n\nvisualjudge batch drop RUN batch_68a1")
def drop(
    run: Run,
    batch: Annotated[
        str, typer.Argument(help="Id of the batch, or name of its part.", show_default=False)
    ],
) -> None:
    """Give up on a batch that cannot be retrieved, without asking its server. Its questions become
    API errors.
    """
    from visualjudge.runs.batch.fetch_and_cancel import drop as drop_part

    part = asyncio.run(drop_part(run, batch))
    print(f"{run}: dropped {part.batch or part.name}, {pluralize(part.requests, 'request')}")
    following("judge", "DATASET", "--batch", "--retry-errors", "--out", run)
