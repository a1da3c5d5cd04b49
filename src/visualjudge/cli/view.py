"""``visualjudge view``: the former name of ``visualjudge studio``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def view(
    dataset: Annotated[Path, typer.Argument(help="The dataset.", show_default=False)],
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Runs on it.", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8421,
) -> None:
    """Alias of `visualjudge studio`; will be removed in 1.2.

    Example: visualjudge view dataset runs/gpt runs/qwen --port 8421
    """
    from visualjudge.cli.studio import serve

    typer.echo("visualjudge view is now visualjudge studio", err=True)
    serve([dataset, *(runs or ())], port)
