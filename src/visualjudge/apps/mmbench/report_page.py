"""The report as one HTML file: the table, and wrong answers with their images. Needs no
network. The report about judges is in ``analysis/report/page.py``.
"""

import io
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from visualjudge.analysis.plots.plot import page_style
from visualjudge.analysis.report.examples import jpeg_uri
from visualjudge.apps.mmbench.scores import (
    Model,
    ability_table,
    sentence,
    tables,
)
from visualjudge.apps.mmbench.table import ScoredRow, Table
from visualjudge.apps.mmbench.table_images import image_parts
from visualjudge.clients.base import ImagePart
from visualjudge.core.errors import DataError
from visualjudge.core.page_templates import environment
from visualjudge.core.text_tables import unbroken
from visualjudge.vision.raster.images import opened, rgb_of

TEMPLATES = Path(__file__).parent / "templates"
IMAGE_SIDE = 480


def page(table: Table, models: Sequence[Model], *, most: int = 100) -> str:
    """Return the HTML; ``most`` limits the wrong answers per model.

    All text is escaped, because questions and replies come from others.
    """
    return (
        environment(__package__)
        .get_template("report.html")
        .render(
            style=Markup(
                page_style((TEMPLATES / "report.css").read_text("utf-8"))
            ),
            table_name=table.path.name,
            opening=[unbroken(sentence(model)) for model in models],
            tables=tables(models),
            abilities=ability_table(models),
            models=[_section(table, model, most) for model in models],
            most=most,
        )
    )


def _section(
    table: Table, model: Model, most: int
) -> tuple[Model, Sequence[ScoredRow], Sequence[tuple[ScoredRow, list[str]]]]:
    """Return a model with its wrong answers, and the first of them with their images,
    or the reasons why there is none."""
    wrong = [line for line in model.evaluation.rows if not line.hit]
    return (
        model,
        wrong,
        [(line, _thumbnails(table, line)) for line in wrong[:most]],
    )


def _thumbnails(table: Table, line: ScoredRow) -> list[str]:
    try:
        return [_thumbnail(part) for part in image_parts(table, line.row)]
    except DataError as error:
        return [f"no image: {error}"]


def _thumbnail(part: ImagePart) -> str:
    with opened(io.BytesIO(part.data), "image") as image:
        return jpeg_uri(rgb_of(image), IMAGE_SIDE)
