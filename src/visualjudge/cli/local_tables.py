"""Output of ``train-local`` and ``distill``: the model's accuracy on held-out images, by task."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import typer

from visualjudge.analysis.figure_text import percent, percents
from visualjudge.analysis.statistics.share_intervals import shares
from visualjudge.cli.output import end_with, following, say
from visualjudge.core.atomic import write_json
from visualjudge.core.text_tables import Table
from visualjudge.judges.local.fit import Fitted
from visualjudge.judges.local.training import Trained


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The share of held-out pairs ordered as by the teacher, with the 95 % interval if
    available.
    """

    task: str
    right: float
    ci95: tuple[float, float] | None
    pairs: int
    images: int


def held_out(task: str, fitted: Fitted) -> HeldOut:
    """Return the results of one task."""
    hits, cases = (
        np.array([getattr(row, name) for row in fitted.right]) for name in ("hits", "pairs")
    )
    found = shares(hits, cases, whole=False)
    return HeldOut(
        task, round(float(found.value[0]), 4), found.interval(0), fitted.pairs, len(fitted.right)
    )


def finish_training(done: Trained, out: Path, json: Path | None, figure: str = "right") -> None:
    """Write the model, print its results with a label for what they count, and name the tasks it
    declines.
    """
    rows = [held_out(task, fitted) for task, fitted in sorted(done.fits.items())]
    done.model.save(out)
    if json is not None:
        write_json(
            json,
            {
                "model": str(out),
                "tasks": [asdict(row) for row in rows],
                "declined": dict(done.declined),
            },
        )
    cells = tuple(
        (
            row.task,
            percent(row.right),
            "fewer than 5 images" if row.ci95 is None else percents(row.ci95),
            str(row.pairs),
            str(row.images),
        )
        for row in rows
    )
    typer.echo(
        Table(
            ("Task", f"{figure.capitalize()} on held-out images", "95 %", "Pairs", "Images"),
            cells,
        ).text()
    )
    for task, why in done.declined.items():
        say(f"{task}: not trained: {why}")
    following("judge", "DATASET", "--backend", "local", "--model", out, "--out", "RUN")
    end_with(done.problems)
