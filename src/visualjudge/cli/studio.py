"""``visualjudge studio``: browse questions, compare predictions and collect people's judgements in
the browser.
"""

from __future__ import annotations

import re
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from visualjudge.cli.options import SeedOption
from visualjudge.cli.output import remark
from visualjudge.core.errors import RunError, UsageError
from visualjudge.options import Selection

if TYPE_CHECKING:
    from visualjudge.studio.people.pages import PeoplePages
    from visualjudge.studio.people.plan import Settings

_HERE = "127.0.0.1"


def studio(
    part: Selection,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Datasets, runs, or folders with them.", metavar="FOLDER..."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="To listen on.", metavar="N")
    ] = 8421,
    people: Annotated[
        Path | None, typer.Option(help="Collect people's answers here.", metavar="RUN")
    ] = None,
    rater: Annotated[
        list[str] | None, typer.Option(help="A rater; repeatable.", metavar="NAME")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Of a reverse proxy, for raters.", metavar="https://…"),
    ] = None,
    overlap: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share that several get.",
            metavar="N",
            show_default=False,
        ),
    ] = 1.0,
    per_item: Annotated[
        int,
        typer.Option(
            min=1, help="Raters of those [2].", metavar="N", show_default=False
        ),
    ] = 2,
    repeats: Annotated[
        int,
        typer.Option(
            min=0, help="Asked twice, each rater.", metavar="N", show_default=False
        ),
    ] = 0,
    known: Annotated[
        int,
        typer.Option(
            min=0, help="Easy ones, as a check.", metavar="N", show_default=False
        ),
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
        Path | None,
        typer.Option(help="Markdown that raters read first.", metavar="FILE"),
    ] = None,
    practice: Annotated[
        int,
        typer.Option(
            min=0, help="Easy ones, not counted.", metavar="N", show_default=False
        ),
    ] = 0,
    least_seconds: Annotated[
        float,
        typer.Option(
            min=0,
            max=600,
            help="To look, at least [0.5].",
            metavar="N",
            show_default=False,
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
    given = {"--url": url, "--rater": rater, "--items": items, "--sample": sample}
    for name, value in (*given.items(), ("a selection of questions", part.stated)):
        if value and people is None:
            raise UsageError(f"{name} needs --people")
    if not find_spec("fastapi") or not find_spec("uvicorn"):
        raise UsageError(
            "studio needs FastAPI and uvicorn: pip install 'visualjudge[studio]'"
        )
    from visualjudge.studio.app import create_app
    from visualjudge.studio.guard import LOOPBACK
    from visualjudge.studio.people.pages import going_on, people_app, people_pages
    from visualjudge.studio.people.plan import Settings, StudyFiles
    from visualjudge.studio.places import find_places
    from visualjudge.studio.serving import serve
    from visualjudge.studio.site import Site

    address = url or f"http://{_HERE}:{port}"
    names = LOOPBACK
    if url is not None:
        proxy = re.fullmatch(r"https://([\w.-]+)(:\d+)?/?", url)
        if proxy is None:
            raise UsageError(
                f"--url must be https://NAME or https://NAME:PORT, got {url}"
            )
        address = url.rstrip("/")
        names = LOOPBACK | {proxy[1].lower()}
    site = Site(find_places(folders or [Path()]))
    with socket.socket() as probe:
        if probe.connect_ex((_HERE, port)) == 0:
            raise RunError(f"port {port} is in use; name another with --port")
    if people is None:
        app = create_app(site)
        end = site.stop
        site.open_all()
        print(f"{address}  (Ctrl-C stops it)", flush=True)
    else:
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
        settings = going_on(people, settings, named=bool(items or questions))
        files = StudyFiles(items, questions, instructions)
        pages = people_pages(site, people, settings, rater or [], files)
        app = people_app(pages, names)
        end = pages.run.close
        _introduce(pages, settings, address)
    try:
        serve(app, _HERE, port)
    finally:
        end()


def _introduce(pages: PeoplePages, settings: Settings, address: str) -> None:
    from visualjudge.studio.people.access import ADMIN

    plan = pages.run.plan
    raters = pages.run.raters
    several = settings.raters_per_question
    remark(
        {
            plan.said: True,
            f"{plan.left_out} questions show predictions as text and are left out; --show all asks "
            "them too": plan.left_out,
            f"{plan.textual} of these questions show predictions as text, such as coordinates, "
            "which people can hardly judge": plan.textual,
            f"each question is for {several} raters (--per-item), named so far: {len(raters)}; add "
            "others with --rater, also later": len(raters) < several
            and settings.overlap > 0,
        }
    )
    for name in (ADMIN, *raters):
        print(f"{'progress' if name == ADMIN else name}: {address}{pages.link(name)}")
    print("(Ctrl-C stops it)", flush=True)
