"""``visualjudge label``: what people should label next."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Kind(StrEnum):
    """Which questions are labelled."""

    scoring = "scoring"
    pairwise = "pairwise"
    ranking = "ranking"


@app.command()
def label(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; several count as a panel.", show_default=False)],
    out: Annotated[Path, typer.Option(help="CSV to fill in, for `visualjudge correct --labels`.", show_default=False)],
    n: Annotated[int, typer.Option("--n", min=1, help="How many items.")] = 50,
    kind: Annotated[Kind | None, typer.Option(help="What is labelled (default: scores where there are some).")] = None,
    labels: Annotated[Path | None, typer.Option(help="Labels that are there: not drawn again, kept in --out.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    dataset: Annotated[Path | None, typer.Option(help="The dataset, where it has moved since the run.")] = None,
) -> None:
    """Draw the items to label next, more often where the judge is unsure, each with the probability of its draw.

    Example: visualjudge label runs/gpt --n 50 --out next.csv
    """
    from visualjudge.analysis.decisions.label import label as draw
    from visualjudge.atomic import write_text
    from visualjudge.errors import UsageError
    from visualjudge.spreadsheets import harmless

    if labels is not None and out.exists() and out.samefile(labels):
        raise UsageError(f"--out {out}: holds the labels that --labels names; choose another name")
    queue = draw(runs, n, kind=None if kind is None else kind.value, labels=labels, dataset=dataset, seed=seed)
    write_text(out, harmless(queue.table()).write_csv())
    column = "score (0 to 10)" if queue.by == "annotation_id" else "answer"
    typer.echo(
        f"{out}: {n} of {queue.pool} items; fill in the column {column}, then visualjudge correct --labels {out}"
    )
