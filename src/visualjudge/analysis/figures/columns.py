"""Columns that several figures have. The classes of columns are in
``analysis/table_layout.py``.
"""

from visualjudge.analysis.accuracy_cells import Cell
from visualjudge.analysis.figure_text import p_value, plain_name
from visualjudge.analysis.pairwise_verdicts import (
    CANNOT_TELL,
    DECLINED,
    Accuracy,
    of_status,
)
from visualjudge.analysis.ranking_and_scoring import Ranking, Scoring
from visualjudge.analysis.statistics.score_ranges import ScoreRange
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    blocks,
    counts,
    figure,
    named,
)
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.jsons import Json

HOLM = named("p_holm", "p (Holm)", p_value)
TASK = named("task", "Task", plain_name, text=True)


def with_status(name: str, status: str) -> Column:
    """Return the column of the number of failed replies with a status."""
    return Column(name, lambda row: of_status(row.causes, status))


DECLINED_ONES = (
    with_status("declined", DECLINED),
    with_status("cannot_tell", CANNOT_TELL),
)
ESTIMATE = Layout[Estimate](
    *as_named("value"),
    Column("ci95", "interval"),
    *as_named("n", "images", "why"),
)
ACCURACY = Layout[Accuracy](
    *counts("share"),
    *figure("accuracy", "share", ends="ci95"),
    *as_named("failed"),
    *DECLINED_ONES,
    Column(
        "accuracy_bounds",
        lambda a: (
            None if a.upper_bound is None else (a.share.value, a.upper_bound)
        ),
    ),
    Column("accuracy_parsed", "parsed.value"),
    Column("accuracy_parsed_ci95", "parsed.interval"),
    *as_named("answered_a", "causes"),
)
RANKING = Layout[Ranking](
    *counts("exact"),
    *as_named("failed"),
    *figure("kendall_tau", "tau", ends="ci95"),
    *figure("exact", "exact"),
    *figure("top1", "top1"),
)
RANGE = Layout[ScoreRange](
    *as_named("score", "score_high", "low", "high", "n", "images")
)
SCORING = Layout[Scoring](
    *as_named("n", "failed"),
    Column("images", "mae.images"),
    Column("within_image_tau", "within.value"),
    Column("within_image_ci95", "within.interval"),
    Column("within_image_n", "within.n"),
    Column("within_image_images", "within.images"),
    *figure("spearman", "spearman", ends="ci95"),
    *figure("pearson", "pearson"),
    *figure("mae", "mae"),
    *figure("bias", "bias"),
    *figure("exact", "exact"),
    *figure("within_one", "within_one"),
    *figure("saturation", "saturation"),
    *figure("constant_mae", "constant_mae"),
    *figure("gain", "gain"),
    blocks("range", RANGE, "ranges.ranges"),
    Column("coverage", "ranges.coverage.value"),
    Column("coverage_ci95", "ranges.coverage.interval"),
    Column("range_width", "ranges.width"),
)


def cell_json(cell: Cell) -> Json:
    """Return the figures of a cell as stored in files."""
    keys = dict(cell.keys) if cell.accuracy.share.n else {}
    out: Json = {"pairwise": {**keys, **ACCURACY.json(cell.accuracy)}}
    if cell.ranking is not None:
        out["ranking"] = RANKING.json(cell.ranking)
    if cell.scoring is not None:
        out["scoring"] = SCORING.json(cell.scoring)
    return out
