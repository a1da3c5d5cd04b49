"""The report as one HTML file: tables, comparisons, and wrong answers with their images. Needs no
network.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup
from PIL import Image

from visualjudge.analysis.estimate import LEAST_IMAGES
from visualjudge.analysis.plots.figure import Figure, page_style
from visualjudge.analysis.plots.forest import ForestRow, forest
from visualjudge.analysis.report.plots import ESTIMATE, MOST_SERIES, SHARES, figures_of
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.apps.mmbench.evaluate import Difference, Group
from visualjudge.apps.mmbench.scores import (
    Model,
    column_names,
    lines,
    measures,
    percent,
    without_reply,
)
from visualjudge.apps.mmbench.table import ScoredRow, Table
from visualjudge.apps.mmbench.table_images import image_part
from visualjudge.core.errors import DataError
from visualjudge.vision.raster.images import opened, rgb_of

TEMPLATES = Path(__file__).parent / "templates"
IMAGE_SIDE = 480
HEAD_SHOWN, TAIL_SHOWN = 1200, 800


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """A wrong answer with its image as a data URL, or the reason why it has no image."""

    scored: ScoredRow
    image: str | None
    no_image: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One model's part of the page."""

    name: str
    wrong: Sequence[ScoredRow]
    shown: Sequence[WrongAnswer]
    invalid: Sequence[Group]
    differences: Sequence[Difference]


def page(
    table: Table, models: Sequence[Model], compared: Sequence[dict[str, Any]], *, most: int = 100
) -> str:
    """Return the HTML; ``most`` limits the wrong answers per model.

    All text is escaped, because questions and replies come from others.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    env = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    env.filters |= {"percent": percent, "points": _points, "p": _p, "clipped": _clipped}
    figure = accuracy(models)
    return env.get_template("report.html").render(
        style=Markup(page_style((TEMPLATES / "report.css").read_text("utf-8"))),
        figure="" if figure is None else Markup(figure.element()),
        table_name=table.path.name,
        rules=models[0].evaluation.rules,
        columns=column_names(models),
        lines=list(lines(models)),
        measures=measures(models),
        without_reply=list(without_reply(models)),
        comparisons=compared,
        models=[_section(table, model, most) for model in models],
        most=most,
    )


def accuracy(models: Sequence[Model]) -> Figure | None:
    """Plot the accuracy of each model by ability on all splits, circular if available; None without
    scores.
    """
    measure = "circular_accuracy" if "circular_accuracy" in measures(models) else "accuracy"
    kept = {line.model: line for line in lines(models) if line.measure == measure}
    shown = list(kept)[:MOST_SERIES]
    found = {
        (name, model): Estimate(cell["value"], cell["ci95"], cell["n"], cell["n"])
        for model in shown
        for name, cell in kept[model].cells.items()
        if cell["value"] is not None
    }
    names = [
        name for name in column_names(models) if any((name, model) in found for model in shown)
    ]
    if not names:
        return None
    rows = [ForestRow(name, tuple(found.get((name, model)) for model in shown)) for name in names]
    overall = ((name, found[names[0], name].value) for name in shown if (names[0], name) in found)
    told = ["Right: " + ", ".join(f"{name} {percent(value)}" for name, value in overall)]
    told += filter(None, (_weakest(found, names[1:], model) for model in shown))
    return Figure(
        "accuracy",
        "; ".join(told),
        CAPTION,
        ("ability", "model", *ESTIMATE),
        tuple(
            (name, model, *figures_of(found.get((name, model))))
            for name in names
            for model in shown
        ),
        lambda width: forest(rows, shown, SHARES, width),
    )


CAPTION = (
    "Right answers; lines are 95 % intervals, hollow markers stand for fewer than 5 questions."
)


# Return the ability with the lowest accuracy among those with enough questions for an interval.
def _weakest(found: dict[tuple[str, str], Estimate], names: Sequence[str], model: str) -> str:
    own = {name: found[name, model] for name in names if (name, model) in found}
    known = [(e.value or 0.0, name) for name, e in own.items() if e.images >= LEAST_IMAGES]
    return (
        f"{model} is weakest in {min(known)[1]} ({percent(min(known)[0])})"
        if len(known) > 1
        else ""
    )


def _section(table: Table, model: Model, most: int) -> Section:
    wrong = [line for line in model.evaluation.rows if not line.hit]
    shown = list(islice(_wrong_answers(table, wrong), most))
    return Section(model.name, wrong, shown, model.evaluation.invalid, model.evaluation.differences)


def _wrong_answers(table: Table, wrong: Sequence[ScoredRow]) -> Iterator[WrongAnswer]:
    for line in wrong:
        try:
            yield WrongAnswer(line, _thumbnail(table, line))
        except DataError as error:
            yield WrongAnswer(line, None, f"no image: {error}")


def _thumbnail(table: Table, line: ScoredRow) -> str:
    if "image" not in table.columns:
        raise DataError("the table has no column image")
    part = image_part(table, line.row)
    with opened(io.BytesIO(part.data), "image") as image:
        small = Image.fromarray(rgb_of(image))
    small.thumbnail((IMAGE_SIDE, IMAGE_SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


# Shorten a long reply to its beginning and end, where the answer usually is.
def _clipped(text: str) -> str:
    if len(text) <= HEAD_SHOWN + TAIL_SHOWN:
        return text
    left_out = len(text) - HEAD_SHOWN - TAIL_SHOWN
    return f"{text[:HEAD_SHOWN]} … [{left_out} characters left out] … {text[-TAIL_SHOWN:]}"
