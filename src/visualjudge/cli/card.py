"""``visualjudge card``: one page on whether a judge can rank models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.options import JsonFile, MovedDataset, Task, Where, conditions
from visualjudge.cli.output import end_with, following, unused
from visualjudge.cli.overwriting import PAGES
from visualjudge.core.atomic import write_json, write_text
from visualjudge.core.errors import UsageError, must_end_in

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.card import Card

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def card(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders from `visualjudge judge`.", show_default=False)
    ],
    json: JsonFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the page to this file, .html or .md.")
    ] = None,
    badge: Annotated[
        Path | None, typer.Option(help="Write an SVG badge to this file (for one run).")
    ] = None,
    model_index: Annotated[
        Path | None,
        typer.Option(help="Write the figures as model-index of a Hugging Face model card, .json."),
    ] = None,
    thresholds: Annotated[
        Path | None, typer.Option(help="YAML file with your own thresholds and families.")
    ] = None,
    people: Annotated[
        list[Path] | None,
        typer.Option(
            help="People's ratings, 0 to 10 (item: image_id or image_id/CLASS, dimension: task); "
            "adds the check omega."
        ),
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option(min=0, max=1, help="Cost advantage of the judge over a person, for omega."),
    ] = 0.2,
    dataset: MovedDataset = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    task: Task = None,
    where: Where = None,
) -> None:
    """Check a judge against thresholds: each check passes, fails, is undecided, or was not
    measured.

    Example: visualjudge card runs/gpt --json card.json --out card.html --badge badge.svg
    """
    from visualjudge.apps.frontdoor.decisions import card as figures

    must_end_in("--out", out, PAGES)
    must_end_in("--model-index", model_index, [".json"])
    if badge is not None and len(runs) > 1:
        raise UsageError(f"--badge must be used with one run, got {len(runs)}")
    found = figures(
        runs,
        dataset=dataset,
        thresholds=thresholds,
        people=people or (),
        epsilon=epsilon,
        seed=seed,
        where=conditions(task, where),
    )
    _write(found, json, out, badge, model_index)
    typer.echo(str(found))
    following(*_next(found, runs, dataset))
    end_with(line for judge in found.judges for line in judge.remarks.problems)


def _next(card: Card, runs: list[Path], dataset: Path | None) -> tuple[object, ...]:
    """Suggest ``label`` for the first judge whose run compares named sources, else the full
    report.
    """
    moved = () if dataset is None else ("--dataset", dataset)
    for judge, run in zip(card.judges, runs, strict=True):
        if judge.system.main is not None:
            return "label", run, *moved, "--out", unused("next.csv")
    return "report", *runs, *moved, "--out", "report.html"


def _write(
    card: Card, json: Path | None, out: Path | None, badge: Path | None, index: Path | None
) -> None:
    from visualjudge.analysis.decisions import card_page
    from visualjudge.analysis.decisions.decision_json import card_json

    if json is not None:
        write_json(json, card_json(card))
    if out is not None:
        write_text(
            out, card_page.html(card) if out.suffix.lower() == ".html" else card_page.markdown(card)
        )
    if badge is not None:
        write_text(badge, card_page.badge(card.judges[0]))
    if index is not None:
        write_json(index, {"model-index": card_page.model_index(card)})
