"""``visualjudge studio``: browse questions, compare predictions and collect people's judgements in
the browser.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import typer

from visualjudge.cli.options import SeedOption
from visualjudge.core.errors import RunError, UsageError
from visualjudge.options import Selection

if TYPE_CHECKING:
    from visualjudge.studio.people.plan import Settings, StudyFiles

_HERE = "127.0.0.1"


def studio(
    part: Selection,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Datasets, runs, or folders with them.", metavar="FOLDER..."),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="To listen on.", metavar="N")] = 8421,
    people: Annotated[
        Path | None, typer.Option(help="Collect people's answers here.", metavar="RUN")
    ] = None,
    rater: Annotated[
        list[str] | None, typer.Option(help="A rater; repeatable.", metavar="NAME")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Of a reverse proxy, for raters.", metavar="https://…")
    ] = None,
    overlap: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share that several get.", metavar="N", show_default=False),
    ] = 1.0,
    per_item: Annotated[
        int, typer.Option(min=1, help="Raters of those [2].", metavar="N", show_default=False)
    ] = 2,
    repeats: Annotated[
        int, typer.Option(min=0, help="Asked twice, each rater.", metavar="N", show_default=False)
    ] = 0,
    known: Annotated[
        int, typer.Option(min=0, help="Easy ones, as a check.", metavar="N", show_default=False)
    ] = 0,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Questions to draw.", metavar="N")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(help="Ask those that `label` drew.", metavar="FILE")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Ask those with these ids.", metavar="FILE")
    ] = None,
    instructions: Annotated[
        Path | None, typer.Option(help="Markdown that raters read first.", metavar="FILE")
    ] = None,
    practice: Annotated[
        int, typer.Option(min=0, help="Easy ones, not counted.", metavar="N", show_default=False)
    ] = 0,
    least_seconds: Annotated[
        float,
        typer.Option(
            min=0, max=600, help="To look, at least [0.5].", metavar="N", show_default=False
        ),
    ] = 0.5,
    show: Annotated[
        Literal["drawn", "text", "all"] | None,
        typer.Option(help="How predictions are shown.", metavar="KIND"),
    ] = None,
    seed: SeedOption = 42,
) -> None:
    """Browse datasets and runs, and collect people's answers (--people), on this machine.

    All options but --port need --people.

    Example: visualjudge studio dataset --people runs/people --rater anna --rater ben
    """
    if people is None:
        given = {"--url": url, "--rater": rater, "--items": items, "--sample": sample}
        for name, value in {**given, "a selection of questions": part.stated}.items():
            if value:
                raise UsageError(f"{name} needs --people")
        serve(folders or [Path()], port)
        return
    from visualjudge.studio.people.plan import Settings, StudyFiles

    settings = Settings(
        seed,
        overlap,
        per_item,
        repeats,
        known,
        sample,
        part.text,
        practice=practice,
        least_seconds=least_seconds,
        encoding=show or "",
    )
    asked = StudyFiles(items, questions, instructions)
    serve_people(folders or [Path()], people, rater or [], settings, asked, port, url)


def serve(folders: list[Path], port: int) -> None:
    """Open everything in ``folders`` and serve it until Ctrl-C."""
    check_installed()
    from visualjudge.studio.app import create_app
    from visualjudge.studio.places import find_places
    from visualjudge.studio.serving import serve as serve_until_stopped
    from visualjudge.studio.site import Site

    site = Site(find_places(folders))
    app = create_app(site)
    check_free(port)
    site.open_all()
    typer.echo(f"http://{_HERE}:{port}  (Ctrl-C stops it)")
    try:
        serve_until_stopped(app, _HERE, port)
    finally:
        site.stop()


def serve_people(
    folders: list[Path],
    people: Path,
    raters: list[str],
    settings: Settings,
    files: StudyFiles,
    port: int,
    url: str | None = None,
) -> None:
    """Serve the questions of one dataset to named raters until Ctrl-C."""
    check_installed()
    from visualjudge.studio.guard import LOOPBACK
    from visualjudge.studio.people.access import ADMIN
    from visualjudge.studio.people.pages import going_on, people_app, people_pages
    from visualjudge.studio.places import find_places
    from visualjudge.studio.serving import serve as serve_until_stopped
    from visualjudge.studio.site import Site

    names = LOOPBACK if url is None else LOOPBACK | {_proxy_name(url)}
    site = Site(find_places(folders))
    check_free(port)
    named = files.items is not None or files.questions is not None
    settings = going_on(people, settings, named=named)
    pages = people_pages(site, people, settings, raters, files)
    plan = pages.run.plan
    typer.echo(plan.said, err=True)
    several, many = settings.raters_per_question, len(pages.run.raters)
    notes = {
        f"{plan.left_out} questions show predictions as text and are left out; --show all asks "
        "them too": plan.left_out,
        f"{plan.textual} of these questions show predictions as text, such as coordinates, which "
        "people can hardly judge": plan.textual,
        f"each question is for {several} raters (--per-item), named so far: {many}; add others "
        "with --rater, also later": many < several and settings.overlap > 0,
    }
    for note in (note for note, holds in notes.items() if holds):
        typer.echo(note, err=True)
    address = url.rstrip("/") if url else f"http://{_HERE}:{port}"
    for name in (ADMIN, *pages.run.raters):
        typer.echo(f"{'progress' if name == ADMIN else name}: {address}{pages.link(name)}")
    typer.echo("(Ctrl-C stops it)")
    try:
        serve_until_stopped(people_app(pages, names), _HERE, port)
    finally:
        pages.run.close()


def _proxy_name(url: str) -> str:
    """Return the host name of a proxy's URL; the study needs a name of its own, not a path."""
    try:
        parts = urlsplit(url)
        name, path = parts.hostname, parts.path.strip("/")
    except ValueError:
        name, path = None, ""
    if not name or parts.scheme != "https" or path or parts.query or "@" in parts.netloc:
        raise UsageError(f"--url must be https://NAME or https://NAME:PORT, got {url}")
    return name


def check_installed() -> None:
    """Raise UsageError if a library of the extra is missing."""
    from importlib.util import find_spec

    if not find_spec("fastapi") or not find_spec("uvicorn"):
        raise UsageError("studio needs FastAPI and uvicorn: pip install 'visualjudge[studio]'")


def check_free(port: int) -> None:
    """Raise RunError if the port cannot be used."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HERE, port))
        except OSError as error:
            raise RunError(
                f"port {port} cannot be used: {error.strerror}; name another with --port"
            ) from None
