"""``visualjudge studio``: browse questions, compare predictions and collect people's judgements in
the browser.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visualjudge.core.errors import RunError, UsageError

if TYPE_CHECKING:
    from visualjudge.studio.people.address import Address
    from visualjudge.studio.people.plan import Settings

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def studio(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Datasets, runs, or folders that contain them; default: the current folder.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8421,
    host: Annotated[
        str,
        typer.Option(
            help="With --people: address to listen on; with any but 127.0.0.1, raters on other "
            "machines answer over TLS, by single-use links.",
            metavar="ADDRESS",
        ),
    ] = "127.0.0.1",
    url: Annotated[
        str | None,
        typer.Option(
            help="With --people: address that raters open, such as that of a reverse proxy.",
            metavar="https://NAME",
        ),
    ] = None,
    cert: Annotated[
        Path | None,
        typer.Option(help="With --people: certificate in PEM; default: one made for the study."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="With --cert: private key of the certificate, in PEM.")
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(help="Collect human judgements in this run folder.", show_default=False),
    ] = None,
    rater: Annotated[
        list[str] | None,
        typer.Option(help="With --people: name of a rater, who gets a link; may be repeated."),
    ] = None,
    overlap: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="With --people: share of the questions assigned to several raters."
        ),
    ] = 1.0,
    raters_per_question: Annotated[
        int,
        typer.Option(
            "--per-item",
            "--raters-per-question",
            min=1,
            help="With --people: number of raters per shared question.",
        ),
    ] = 2,
    repeats: Annotated[
        int,
        typer.Option(
            min=0, help="With --people: number of questions that each rater is asked twice."
        ),
    ] = 0,
    known: Annotated[
        int,
        typer.Option(
            min=0,
            help="With --people: number of easy questions for every rater, to detect "
            "careless raters.",
        ),
    ] = 0,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="With --people: number of questions to draw; default: all."),
    ] = None,
    filter_: Annotated[
        str,
        typer.Option(
            "--filter", help="With --people: query string of a grid URL, to select questions."
        ),
    ] = "",
    items: Annotated[
        Path | None,
        typer.Option(
            help="With --people: ask the questions in this file from `visualjudge label`."
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            help="With --people: ask the questions whose ids are in this file, one per line."
        ),
    ] = None,
    known_questions: Annotated[
        Path | None,
        typer.Option(
            help="With --people: file with the ids of the known questions, instead of the easiest "
            "ones."
        ),
    ] = None,
    instructions: Annotated[
        Path | None, typer.Option(help="With --people: Markdown file that raters read first.")
    ] = None,
    practice: Annotated[
        int,
        typer.Option(
            min=0,
            help="With --people: number of easy questions that each rater practises on first.",
        ),
    ] = 0,
    least_seconds: Annotated[
        float,
        typer.Option(min=0, help="With --people: shortest time that a question must be in view."),
    ] = 0.5,
    break_every: Annotated[
        int,
        typer.Option(
            min=0, help="With --people: suggest a break after this many answers; 0: never."
        ),
    ] = 0,
    encoding: Annotated[
        str,
        typer.Option(
            help="With --people: ask about drawn predictions, predictions shown as text, or all; "
            "default: drawn, unless --questions, --items or --filter selects encodings.",
            metavar="drawn|text|all",
            show_default=False,
        ),
    ] = "",
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="With --people: leave out raters to whom this rule applies, such as "
            "'known<0.8'; measures: known, repeats, cannot_tell (shares), seconds (median); may be "
            "repeated.",
            metavar="RULE",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="With --people: random seed.")] = 42,
) -> None:
    """Browse datasets and runs, compare predictions, collect human judgements. Datasets are shown
    on this machine only.

    Example: visualjudge studio dataset runs

    Example: visualjudge studio dataset --people runs/people --rater anna --rater ben --sample 200
    """
    if people is None:
        if (host, url, cert, key) != ("127.0.0.1", None, None, None):
            raise UsageError(
                "--host, --url, --cert and --key need --people: datasets are shown on this "
                "machine only"
            )
        serve(folders or [Path()], port)
        return
    if (cert is None) != (key is None):
        raise UsageError("--cert and --key must be given together")
    from visualjudge.studio.people.address import address_of
    from visualjudge.studio.people.plan import Settings

    settings = Settings(
        seed,
        overlap,
        raters_per_question,
        repeats,
        known,
        sample,
        filter_,
        practice=practice,
        least_seconds=least_seconds,
        exclude=tuple(exclude or ()),
        break_every=break_every,
        encoding=encoding,
    )
    asked = StudyFiles(items, questions, known_questions, instructions)
    address = address_of(host, port, url, certified=cert is not None)
    serve_people(folders or [Path()], people, rater or [], settings, address, asked, cert, key)


def serve(folders: list[Path], port: int) -> None:
    """Open everything in ``folders`` and serve it until Ctrl-C."""
    check_installed()
    from visualjudge.studio.app import create_app
    from visualjudge.studio.places import find_places
    from visualjudge.studio.site import Site, keep_small

    keep_small()
    site = Site(find_places(folders))
    app = create_app(site)
    check_free(port)
    site.open_all(lambda place: typer.echo(f"opening {place.root}", err=True))
    typer.echo(f"http://127.0.0.1:{port}  (Ctrl-C stops it)")
    try:
        _run(app, port)
    finally:
        site.stop()


@dataclass(frozen=True, slots=True)
class StudyFiles:
    """Input files of a study; each may be None."""

    items: Path | None = None
    questions: Path | None = None
    known_questions: Path | None = None
    instructions: Path | None = None


def serve_people(
    folders: list[Path],
    people: Path,
    raters: list[str],
    settings: Settings,
    address: Address,
    files: StudyFiles,
    cert: Path | None = None,
    key: Path | None = None,
) -> None:
    """Serve the questions of one dataset to named raters until Ctrl-C."""
    check_installed()
    from visualjudge.studio.people.access import ADMIN
    from visualjudge.studio.people.pages import going_on, people_app, people_pages
    from visualjudge.studio.places import find_places
    from visualjudge.studio.site import Site

    site = Site(find_places(folders))
    check_free(address.port, address.host)
    named = files.items is not None or files.questions is not None
    settings = going_on(people, settings, named=named)
    more = _tls(site.home, address, cert, key) if address.elsewhere else {}
    pages = people_pages(
        site,
        people,
        settings,
        raters,
        files.items,
        questions=files.questions,
        known_questions=files.known_questions,
        instructions=files.instructions,
        elsewhere=address.elsewhere,
    )
    if not pages.run.raters:
        raise UsageError("--people needs at least one --rater")
    plan = pages.run.plan
    typer.echo(plan.said, err=True)
    if plan.left_out:
        typer.echo(
            f"{plan.left_out} questions show predictions as text and are left out; --encoding all "
            "asks them too",
            err=True,
        )
    if plan.textual:
        typer.echo(
            f"{plan.textual} of these questions show predictions as text, such as coordinates, "
            "which people can hardly judge",
            err=True,
        )
    several, many = settings.raters_per_question, len(pages.run.raters)
    if many < several and settings.overlap > 0:
        typer.echo(
            f"each question is for {several} raters (--per-item), named so far: {many}; add others "
            "with --rater, also later",
            err=True,
        )
    for name in (ADMIN, *pages.run.raters):
        used = pages.once is not None and pages.once.is_used(name)
        link = "used; the overview makes a new one" if used else f"{address.url}{pages.link(name)}"
        if used and name == ADMIN:
            link = f"{address.url}/"
        typer.echo(f"{'progress' if name == ADMIN else name}: {link}")
    typer.echo("(Ctrl-C stops it)")
    try:
        _run(people_app(pages, address.names, limited=address.elsewhere), address.port, **more)
    finally:
        pages.run.close()


def _tls(home: Path, address: Address, cert: Path | None, key: Path | None) -> dict[str, Any]:
    """Return uvicorn's TLS options; print which certificate raters will see."""
    from visualjudge.studio.people.certificate import check_certificate, study_certificate
    from visualjudge.studio.people.limits import PatientProtocol

    more: dict[str, Any] = {"host": address.host, "http": PatientProtocol, "limit_concurrency": 500}
    if cert is not None and key is not None:
        check_certificate(cert, key)
        return {**more, "ssl_certfile": cert, "ssl_keyfile": key, "proxy_headers": False}
    if not address.own_tls:
        return more
    path, fingerprint = study_certificate(home / "tls", address.name)
    typer.echo(
        f"certificate of {address.name}, made for this study (browsers warn of it once); SHA-256 "
        f"fingerprint:\n{fingerprint}"
    )
    return {**more, "ssl_certfile": path, "ssl_keyfile": path, "proxy_headers": False}


def _run(app: Any, port: int, host: str = "127.0.0.1", **more: Any) -> None:
    import uvicorn

    uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=1, **more)


def check_installed() -> None:
    """Raise UsageError if a library of the extra is missing."""
    from importlib.util import find_spec

    if not find_spec("fastapi") or not find_spec("uvicorn"):
        raise UsageError("studio needs FastAPI and uvicorn: pip install 'visualjudge[studio]'")


def check_free(port: int, host: str = "127.0.0.1") -> None:
    """Raise RunError if the port cannot be used."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except socket.gaierror as error:
            raise UsageError(
                f"--host must be an address of this machine, got {host}: {error.strerror}"
            ) from None
        except OSError as error:
            where = "" if host == "127.0.0.1" else f" of {host}"
            raise RunError(
                f"port {port}{where} cannot be used: {error.strerror}; name another with --port"
            ) from None
