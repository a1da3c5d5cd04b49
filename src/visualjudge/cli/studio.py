"""``visualjudge studio``: browse questions and compare predictions in the browser;
``visualjudge studio people``: collect people's judgements. The pages are in
``visualjudge.studio``.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from visualjudge.cli.console import remark, say
from visualjudge.cli.main import Group, command_of
from visualjudge.cli.options import SeedOption
from visualjudge.core.addresses import PORT, question_address
from visualjudge.core.errors import RunError, UsageError
from visualjudge.options import Options, Selection, option

if TYPE_CHECKING:
    from visualjudge.studio.people.pages import PeoplePages
    from visualjudge.studio.people.plan import Settings
    from visualjudge.studio.studio_data import Site

_HERE = "127.0.0.1"

Folders = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Datasets, runs, or folders with them.", metavar="FOLDER..."
    ),
]
Port = Annotated[
    int, typer.Option(min=1, max=65535, help="Port to listen on.", metavar="N")
]


@dataclass(frozen=True, kw_only=True)
class Asked(Options):
    """What people are asked, and how often."""

    overlap: float = option(
        1.0,
        "Share of questions that several raters get.",
        "N",
        least=0,
        quiet=True,
    )
    per_item: int = option(
        2, "Raters of each of those [2].", "N", least=1, quiet=True
    )
    repeats: int = option(
        0, "Questions asked twice, per rater.", "N", least=0, quiet=True
    )
    known: int = option(
        0, "Easy questions, as a check.", "N", least=0, quiet=True
    )
    sample: int | None = option(
        None, "Questions to draw, easy ones included.", "N", least=1
    )
    items: Path | None = option(None, "Ask those that `label` drew.", "FILE")
    questions: Path | None = option(None, "Ask those with these ids.", "FILE")
    instructions: Path | None = option(
        None, "Markdown that raters read first.", "FILE"
    )
    practice: int = option(
        0, "Easy questions, not counted.", "N", least=0, quiet=True
    )
    least_seconds: float = option(
        0.5, "Seconds to look, at least [0.5].", "N", least=0, quiet=True
    )
    show: Literal["drawn", "text", "all"] | None = option(
        None, "Show predictions drawn, text, all.", "KIND"
    )
    rubric: str | None = option(
        None, "Criteria to answer with each.", "NAME|FILE"
    )

    def settings(self, part: Selection, seed: int) -> Settings:
        """Return the settings of a study.

        Raises
        ------
        UsageError
            If the overlap is more than 1, or raters would wait for more than ten
            minutes.
        """
        from visualjudge.prompts.rubric import rubric_of
        from visualjudge.studio.people.plan import Settings

        rubric = None if self.rubric is None else rubric_of(self.rubric)
        for name, value, most in (
            ("--overlap", self.overlap, 1),
            ("--least-seconds", self.least_seconds, 600),
        ):
            if not value <= most:
                raise UsageError(
                    f"{name} must be at most {most}, got {value:g}"
                )
        return Settings(
            seed=seed,
            overlap=self.overlap,
            raters_per_question=self.per_item,
            repeats=self.repeats,
            known=self.known,
            sample=self.sample,
            filter=part.text,
            practice=self.practice,
            least_seconds=self.least_seconds,
            encoding=self.show or "",
            rubric=None if rubric is None else rubric.json(),
        )


def browse(
    folders: Folders = None,
    port: Port = PORT,
    question: Annotated[
        str, typer.Option(help="Print the link to this question.", metavar="ID")
    ] = "",
) -> None:
    """Browse datasets and runs on this machine; `studio FOLDER` is short for this.

    Example: visualjudge studio dataset runs/gpt
    """
    site = _site(folders, port)
    from visualjudge.studio.app import create_app

    app = create_app(site)
    site.open_all()
    address = f"http://{_HERE}:{port}"
    for place in site.places.datasets if question else ():
        print(
            f"{place.name}:",
            question_address(place.checksum or "", question, address),
        )
    print(f"{address}  (Ctrl-C stops it)", flush=True)
    _serve(app, port, site.stop)


def people(
    part: Selection,
    asked: Asked,
    out: Annotated[
        Path, typer.Option(help="Folder of the answers.", metavar="RUN")
    ],
    folders: Folders = None,
    rater: Annotated[
        list[str] | None,
        typer.Option(help="A rater; repeatable.", metavar="NAME"),
    ] = None,
    port: Port = PORT,
    url: Annotated[
        str | None,
        typer.Option(
            help="Address for raters, of a proxy.", metavar="https://…"
        ),
    ] = None,
    seed: SeedOption = 42,
) -> None:
    """Collect people's answers to the questions of a dataset.

    Example: visualjudge studio people dataset --out runs/people --rater anna --rater
    ben
    """
    address, name = _public(url) if url else (f"http://{_HERE}:{port}", None)
    site = _site(folders, port)
    from visualjudge.studio.people.pages import (
        going_on,
        people_app,
        people_pages,
    )
    from visualjudge.studio.people.plan import StudyFiles
    from visualjudge.studio.serving import LOOPBACK

    settings = going_on(
        out,
        asked.settings(part, seed),
        named=asked.items is not None or asked.questions is not None,
    )
    pages = people_pages(
        site,
        out,
        settings,
        rater or [],
        StudyFiles(asked.items, asked.questions, asked.instructions),
    )
    _introduce(pages, settings, address)
    _serve(
        people_app(pages, LOOPBACK if name is None else LOOPBACK | {name}),
        port,
        pages.run.close,
    )


def _site(folders: list[Path] | None, port: int) -> Site:
    """Return the places of the folders.

    Raises
    ------
    UsageError
        If the server is not installed, or a folder has nothing to show.
    RunError
        If the port is in use.
    """
    if not find_spec("fastapi") or not find_spec("uvicorn"):
        raise UsageError(
            "studio needs FastAPI and uvicorn: pip install 'visualjudge[studio]'"
        )
    from visualjudge.studio.places import find_places
    from visualjudge.studio.studio_data import Site

    site = Site(find_places(folders or [Path()]))
    with socket.socket() as probe:
        if probe.connect_ex((_HERE, port)) == 0:
            raise RunError(f"port {port} is in use; name another with --port")
    return site


def _serve(app: Any, port: int, end: Callable[[], None]) -> None:
    from visualjudge.studio.serving import serve

    try:
        serve(app, _HERE, port)
    finally:
        end()


def _public(url: str) -> tuple[str, str]:
    """Return the address of a proxy without its last slash, and its host name."""
    proxy = re.fullmatch(r"https://([\w.-]+)(:\d+)?/?", url)
    if proxy is None:
        raise UsageError(
            f"--url must be https://NAME or https://NAME:PORT, got {url}"
        )
    return url.rstrip("/"), proxy[1].lower()


def _introduce(pages: PeoplePages, settings: Settings, address: str) -> None:
    from visualjudge.studio.people.pages import ADMIN

    plan = pages.run.plan
    raters = pages.run.raters
    several = settings.raters_per_question
    remark(
        {
            plan.text: True,
            f"{plan.copies} copies made by probes are not asked; --questions asks "
            "those that it names": plan.copies,
            f"{plan.left_out} questions show predictions as text and are left out; "
            "--show all asks them too": plan.left_out,
            f"{plan.textual} of these questions show predictions as text, such as "
            "coordinates, which people can hardly judge": plan.textual,
            f"each question is for {several} raters (--per-item), named so far: "
            f"{len(raters)}; add others with --rater, also later": len(raters)
            < several
            and settings.overlap > 0,
        }
    )
    for name in (ADMIN, *raters):
        print(
            f"{'progress' if name == ADMIN else name}: {address}{pages.link(name)}"
        )
    print("(Ctrl-C stops it)", flush=True)


class _Studio(Group):
    """The commands; a folder alone means ``browse``, and ``--people RUN`` of 1.1
    ``people``."""

    usual = "browse"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        flags = [word.partition("=")[0] for word in args]
        if args[:1] not in (["--help"], ["browse"], ["people"]):
            if "--people" in flags:
                say(
                    "studio FOLDER --people RUN is deprecated; use: studio people "
                    "FOLDER --out RUN"
                )
                args = [
                    re.sub("^--people(?==|$)", "--out", word) for word in args
                ]
            args = ["people" if "--people" in flags else self.usual, *args]
        return super().parse_args(ctx, args)


app = command_of(
    {"browse": browse, "people": people},
    cls=_Studio,
    help="Browse datasets and runs, and collect people's answers, on this machine.",
)
