"""``visualjudge studio``: look at questions, compare predictions and let people judge, in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from visualjudge.errors import RunError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def studio(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Datasets, runs, or folders that hold them. Default: this folder.", show_default=False),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8421,
) -> None:
    """Browse datasets and runs in the browser. Only this machine can reach the pages.

    Example: visualjudge studio dataset runs --port 8421
    """
    serve(folders or [Path()], port)


def serve(folders: list[Path], port: int) -> None:
    """Open everything in ``folders`` and serve it until Ctrl-C."""
    from visualjudge.studio.app import create_app
    from visualjudge.studio.places import find_places
    from visualjudge.studio.site import Site

    site = Site(find_places(folders))
    app = create_app(site)
    import uvicorn  # after create_app, whose error names the extra to install

    check_free(port)
    for place in site.places.datasets:
        site.shelf(place.slug, lambda place: typer.echo(f"opening {place.root}", err=True))
    typer.echo(f"http://127.0.0.1:{port}  (Ctrl-C stops it)")
    _run(uvicorn, app, port)


def _run(uvicorn: Any, app: Any, port: int) -> None:
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)


def check_free(port: int) -> None:
    """Raises RunError if the port cannot be used."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise RunError(f"port {port} cannot be used: {error.strerror}; name another with --port") from None
