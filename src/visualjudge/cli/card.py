"""``visualjudge card``: one page on whether a judge can rank models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.options import JsonFile, MovedDataset, TaskOption, WhereOption, conditions
from visualjudge.cli.output import end_with, following, unused
from visualjudge.core.atomic import write_json, write_text
from visualjudge.core.errors import UsageError, must_end_in

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.card import Card

app = typer.Typer(pretty_exceptions_enable=False)


@app.command(epilog="Example: visualjudge card runs/gpt --json card.json --out card.html")
def card(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    json: JsonFile = None,
    out: Annotated[Path | None, typer.Option(help="Page, .html.", metavar="FILE")] = None,
    badge: Annotated[
        Path | None, typer.Option(help="SVG badge, for one run.", metavar="FILE")
    ] = None,
    thresholds: Annotated[
        Path | None, typer.Option(help="Your own thresholds, YAML.", metavar="FILE")
    ] = None,
    dataset: MovedDataset = None,
    task: TaskOption = None,
    where: WhereOption = None,
) -> None:
    """Answer whether a judge may rank your models, with the checks behind the answer."""
    from visualjudge.apps.frontdoor.decisions import card as figures

    must_end_in("--out", out, (".html",))
    if badge is not None and len(runs) > 1:
        raise UsageError(f"--badge must be used with one run, got {len(runs)}")
    result = figures(
        runs,
        dataset=dataset,
        thresholds=thresholds,
        where=conditions(task, where),
    )
    _write(result, json, out, badge)
    typer.echo(str(result))
    following(*_next(result, runs, dataset))
    end_with(line for judge in result.judges for line in judge.remarks.problems)


def _next(card: Card, runs: list[Path], dataset: Path | None) -> tuple[object, ...]:
    """Suggest ``label`` for the first judge whose run compares named sources, else the full
    report.
    """
    moved = () if dataset is None else ("--dataset", dataset)
    for judge, run in zip(card.judges, runs, strict=True):
        if judge.system.main is not None:
            return "label", run, *moved, "--out", unused("next.csv")
    return "report", *runs, *moved, "--out", "report.html"


def _write(card: Card, json: Path | None, out: Path | None, badge: Path | None) -> None:
    from visualjudge.analysis.decisions import card_page
    from visualjudge.analysis.decisions.decision_json import card_json

    if json is not None:
        write_json(json, card_json(card))
    if out is not None:
        write_text(out, card_page.html(card))
    if badge is not None:
        write_text(badge, card_page.badge(card.judges[0]))
