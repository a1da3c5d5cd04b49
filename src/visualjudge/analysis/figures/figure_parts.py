"""What a file of this folder is written with, under one import: forms of figures,
columns, texts, sections and plots, the estimates of rows, and the sums over images that
they come from. It defines nothing itself.
"""

from visualjudge.analysis.accuracy_cells import (
    NO_ACCURACY,
    Cell,
    accuracy,
    accuracy_cells,
    by_task,
    guessed,
    guessed_among_used,
)
from visualjudge.analysis.figure_text import (
    NONE,
    group_name,
    listed,
    many,
    number,
    number3,
    percent,
    percents,
    plain_name,
    points,
    ranks,
    span3,
    with_ends,
)
from visualjudge.analysis.figures.columns import (
    ACCURACY,
    DECLINED_ONES,
    ESTIMATE,
    HOLM,
    RANGE,
    RANKING,
    SCORING,
    TASK,
    cell_json,
    with_status,
)
from visualjudge.analysis.figures.judge_tables import across, by_rows
from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.image_sums import (
    ImageSums,
    estimate_of,
    gaps,
    image_sums,
    known,
)
from visualjudge.analysis.plots.forest import (
    Cells,
    Scale,
)
from visualjudge.analysis.plots.plot import (
    LeftOut,
    Plot,
)
from visualjudge.analysis.plots.points import (
    Trace,
)
from visualjudge.analysis.plots.series import (
    INTERVALS,
    SHARES,
    UNADJUSTED,
    estimates_of_judges,
    estimates_plot,
    lines_of_judges,
)
from visualjudge.analysis.results import (
    Analysis,
    FigurePlot,
    JudgeFigure,
    JudgeResult,
    Shown,
    StudyFigure,
)
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    block,
    blocks,
    counts,
    figure,
    grid,
    inside,
    named,
    of_row,
)
from visualjudge.analysis.value_and_interval import (
    ALL,
    NOTHING,
    Ends,
    Estimate,
    scaled,
)
from visualjudge.core.jsons import (
    Json,
)
from visualjudge.core.text_tables import (
    Table,
)

__all__ = [
    "ACCURACY",
    "ALL",
    "DECLINED_ONES",
    "ESTIMATE",
    "HOLM",
    "INTERVALS",
    "NONE",
    "NOTHING",
    "NO_ACCURACY",
    "RANGE",
    "RANKING",
    "SCORING",
    "SHARES",
    "TASK",
    "UNADJUSTED",
    "Analysis",
    "Cell",
    "Cells",
    "Column",
    "Ends",
    "Estimate",
    "FigurePlot",
    "ImageSums",
    "Json",
    "JudgeFigure",
    "JudgeResult",
    "Layout",
    "LeftOut",
    "Plot",
    "Scale",
    "Section",
    "Shown",
    "StudyFigure",
    "Table",
    "Trace",
    "accuracy",
    "accuracy_cells",
    "across",
    "as_named",
    "block",
    "blocks",
    "by_rows",
    "by_task",
    "cell_json",
    "counts",
    "estimate_of",
    "estimates_of_judges",
    "estimates_plot",
    "figure",
    "gaps",
    "grid",
    "group_name",
    "guessed",
    "guessed_among_used",
    "image_sums",
    "inside",
    "known",
    "lines_of_judges",
    "listed",
    "many",
    "named",
    "number",
    "number3",
    "of_row",
    "percent",
    "percents",
    "plain_name",
    "points",
    "ranks",
    "scaled",
    "span3",
    "with_ends",
    "with_status",
]
