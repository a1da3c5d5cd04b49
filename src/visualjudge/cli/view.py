"""``visualjudge view``: browse a dataset and its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.errors import RunError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def view(
    dataset: Annotated[Path, typer.Argument(help="The dataset.", show_default=False)],
    runs: Annotated[list[Path] | None, typer.Argument(help="Runs on it.", show_default=False)] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8421,
) -> None:
    """Browse questions with their pictures, prompt, answer and verdicts. Only this machine can reach the pages.

    Example: visualjudge view dataset runs/gpt runs/qwen --port 8421
    """
    from visualjudge.viewer.pages import create_app
    from visualjudge.viewer.shelf import open_shelf

    pages = create_app(open_shelf(dataset, runs or ()))
    import uvicorn  # after create_app, whose error says how to install it

    _check_free(port)
    typer.echo(f"http://127.0.0.1:{port}  (Ctrl-C ends it)")
    uvicorn.run(pages, host="127.0.0.1", port=port, log_level="warning")


def _check_free(port: int) -> None:
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise RunError(f"port {port} cannot be used: {error.strerror}; name another with --port") from None
