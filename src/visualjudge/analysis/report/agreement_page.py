"""The agreement of judges and people as a table, a plot and a page."""

from __future__ import annotations

from html import escape

from visualjudge.analysis.decisions.card_page import style
from visualjudge.analysis.figure_text import number, percent, percents, plain_name, span
from visualjudge.analysis.people_agreement import PeopleAgreement, RaterRow
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.report.plots import ESTIMATE, MOST_SERIES, figures_of
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.text_tables import Table

INTERVALS = (
    "95 % intervals are computed by leaving out each item (for runs, each image) in turn; a single "
    "influential item widens them."
)
CEILING = "people, mean"
SCALE = Scale(
    -1.0,
    1.0,
    lambda end: number(end, 1),
    lambda e: f"{number(e.value)} ({span(e.interval)})",
    "Spearman’s ρ",
    0.0,
)


def _title(row: RaterRow) -> str:
    return row.rater if row.kind != "ceiling" else CEILING


def agreement_table(result: PeopleAgreement) -> Table:
    """Return a table with a row for each rater and dimension."""
    rows = tuple(
        (
            row.dimension,
            _title(row),
            number(row.items),
            number(row.spearman, 3),
            span(row.spearman_ci95),
            number(row.kendall_tau, 3),
            percent(row.pairwise_accuracy),
            percents(row.pairwise_ci95),
        )
        for row in result.rows
    )
    columns = ("Dimension", "Rater", "Items", "Spearman", "95 %", "Kendall", "Same order", "95 %")
    return Table(columns, rows, (INTERVALS,), keys=2)


def agreement_figure(result: PeopleAgreement) -> Figure | LeftOut:
    """Plot Spearman’s ρ with people: a row for each dimension, a marker for each judge and for the
    mean of people.
    """
    kept = [row for row in result.rows if row.kind != "person" and row.spearman is not None]
    titles = list(dict.fromkeys(map(_title, kept)))[:MOST_SERIES]
    if not titles:
        return LeftOut("agreement", "no rank correlation with people is known")
    found = {
        (row.dimension, _title(row)): Estimate(
            row.spearman, row.spearman_ci95, row.items, row.items
        )
        for row in kept
    }
    dimensions = list(dict.fromkeys(row.dimension for row in kept))
    rows = [
        ForestRow(plain_name(name), tuple(found.get((name, title)) for title in titles))
        for name in dimensions
    ]
    data = [
        (name, title, *figures_of(found.get((name, title))))
        for name in dimensions
        for title in titles
    ]
    return Figure(
        "agreement",
        "Rank correlation with people",
        "Rank correlation of each rater with the mean of the people; for a person, with the mean "
        "of the other people.",
        ("dimension", "rater", *ESTIMATE),
        tuple(data),
        lambda width: forest(rows, titles, SCALE, width),
        "Lines are 95 % intervals (none for the mean of people); hollow markers stand for fewer "
        "than 5 items.",
    )


def html(result: PeopleAgreement) -> str:
    """Return a self-contained page: the figure, then the table."""
    figure = agreement_figure(result)
    drawn = (
        f"<p>{escape(figure.reason)}</p>" if isinstance(figure, LeftOut) else figure.element("h2")
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Agreement with people</title><style>{style()}</style>"
    )
    body = (
        "<main><h1>How far do judges agree with "
        f"people?</h1>{drawn}{agreement_table(result).html()}</main>"
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'
