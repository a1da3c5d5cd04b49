"""What ``train-local`` and ``distill`` print: for each task, how well the model does on held-out
images.
"""

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
    """Share of held-out pairs that the model orders as its teacher does, with the 95 % interval
    where there is one.
    """

    task: str
    right: float
    ci95: tuple[float, float] | None
    pairs: int
    images: int


def held_out(task: str, fitted: Fitted) -> HeldOut:
    """The figures of one task."""
    hits, cases = (
        np.array([getattr(row, name) for row in fitted.right]) for name in ("hits", "pairs")
    )
    found = shares(hits, cases, whole=False)
    return HeldOut(
        task, round(float(found.value[0]), 4), found.interval(0), fitted.pairs, len(fitted.right)
    )


def finish_training(done: Trained, out: Path, json: Path | None, figure: str = "right") -> None:
    """Write the model, print its figures (what they count is named), and name the tasks that it
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
