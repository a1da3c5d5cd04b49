"""The agreement of judges and people as a table, a figure and a page."""

from __future__ import annotations

from html import escape

from visualjudge.analysis.decisions.card_page import style
from visualjudge.analysis.figure_text import counted, number, percent, percents, plain_name, span
from visualjudge.analysis.people_agreement import PeopleAgreement, RaterRow
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.report.accuracy_plots import ESTIMATE, MOST_SERIES, figures_of
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.text_tables import Table

INTERVALS = (
    "95 % intervals are computed by leaving out each item (for runs, each image) in turn; a single "
    "influential item widens them."
)


def agreement_table(result: PeopleAgreement) -> Table:
    """Return a table with a row for each rater and dimension."""
    rows = []
    for row in result.rows:
        spearman = (number(row.spearman, 3), span(row.spearman_ci95))
        rest = (
            number(row.kendall_tau, 3),
            percent(row.pairwise_accuracy),
            percents(row.pairwise_ci95),
        )
        rows.append((row.dimension, _title(row), number(row.items), *spearman, *rest))
    columns = ("Dimension", "Rater", "Items", "Spearman", "95 %", "Kendall", "Same order", "95 %")
    return Table(columns, tuple(rows), (INTERVALS,), keys=2)


def agreement_figure(result: PeopleAgreement) -> Figure | LeftOut:
    """Plot Spearman's ρ with people: a row for each dimension, a marker for each judge and for the
    mean of people.
    """
    kept = [row for row in result.rows if row.kind != "person" and row.spearman is not None]
    titles = list(dict.fromkeys(_title(row) for row in kept))[:MOST_SERIES]
    if not titles:
        return LeftOut("agreement", "no rank correlation with people is known")
    found = {(row.dimension, _title(row)): _estimate(row) for row in kept}
    dimensions = list(dict.fromkeys(row.dimension for row in kept))
    rows = [
        ForestRow(plain_name(d), tuple(found.get((d, title)) for title in titles))
        for d in dimensions
    ]
    ends = [end for e in found.values() for end in (e.value, *(e.interval or ()))]
    scale = Scale(
        -1.0 if any(end is None or end < 0 for end in ends) else 0.0,
        1.0,
        lambda end: number(end, 1),
        lambda e: f"{number(e.value)} ({span(e.interval)})",
        "Spearman’s ρ",
        0.0,
    )
    judges = sorted({row.rater for row in kept if row.kind == "judge"})
    reached = [(name, *_reached(found, dimensions, name)) for name in judges]
    finding = counted(
        "Dimensions in which a judge agrees with people as well as people do with each other",
        reached,
    )
    if not any(row.kind == "ceiling" for row in kept):
        finding = (
            "Rank correlation of judges with people; agreement between people is not known, "
            "because there is only one person"
        )
    caption = (
        "Rank correlation of each rater with the mean of the people; for a person, with the mean "
        "of the other people."
    )
    reading = (
        "Lines are 95 % intervals (none for the mean of people); hollow markers stand for fewer "
        "than 5 items."
    )
    data = [(d, title, *figures_of(found.get((d, title)))) for d in dimensions for title in titles]
    return Figure(
        "agreement", finding, caption, ("dimension", "rater", *ESTIMATE), tuple(data),
        lambda width: forest(rows, titles, scale, width), reading,
    )  # fmt: skip


CEILING = "people, mean"


def _title(row: RaterRow) -> str:
    return row.rater if row.kind != "ceiling" else CEILING


def _estimate(row: RaterRow) -> Estimate:
    return Estimate(row.spearman, row.spearman_ci95, row.items, row.items)


def _reached(
    found: dict[tuple[str, str], Estimate], dimensions: list[str], name: str
) -> tuple[int, int]:
    """Return the number of dimensions in which a judge's ρ is at least that of people, and the
    number in which both are known.
    """
    both = [(found.get((d, name)), found.get((d, CEILING))) for d in dimensions]
    known = [(a.value or 0.0, b.value or 0.0) for a, b in both if a is not None and b is not None]
    return sum(a >= b for a, b in known), len(known)


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
