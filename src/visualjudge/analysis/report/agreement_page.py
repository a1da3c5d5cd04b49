"""The agreement of judges and people as a table, a plot and a page."""

from __future__ import annotations

from markupsafe import Markup

from visualjudge.analysis.figure_text import (
    NONE,
    listed,
    many,
    number,
    percent,
    percents,
    plain_name,
    span,
)
from visualjudge.analysis.people_agreement import PeopleAgreement, RaterRow
from visualjudge.analysis.plots.figure import Figure, LeftOut, page_style
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.report.page import asset, environment
from visualjudge.analysis.report.plots import ESTIMATE, MOST_SERIES, figures_of
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.text_tables import Table

INTERVALS = (
    "95 % intervals are computed by leaving out each item (for runs, each image) in turn; a single "
    "influential item widens them."
)
CEILING = "people, mean"
CHOICES = "/pairwise"
"""End of the dimension of a run's choices; see :mod:`visualjudge.analysis.rating_table`."""
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


def agreement_tables(result: PeopleAgreement) -> list[Table]:
    """Return a table for scores and one for choices between two options, with a row for each
    dimension and rater; rows without a figure are only counted.
    """
    choices = [row for row in result.rows if row.dimension.endswith(CHOICES)]
    scores = [row for row in result.rows if row not in choices]
    columns = ("Dimension", "Rater", "Items", "Spearman", "95 %", "Kendall", "Same order", "95 %")
    of_choices = columns[:6]  # one option is chosen: there is no order of the others
    found = []
    for title, own, names in (
        ("Scores", scores, columns),
        ("Choices between two options", choices, of_choices),
    ):
        cells = (_cells(row)[: len(names)] for row in own)
        rows = tuple(some for some in cells if set(some[3:]) != {NONE})
        few = f"{many(len(own) - len(rows), 'row')} with too few items left out."
        notes = (INTERVALS, few) if len(rows) < len(own) else (INTERVALS,)
        if own:
            found.append(Table(names, rows, notes, title, keys=2))
    return found


def _cells(row: RaterRow) -> tuple[str, ...]:
    return (
        plain_name(row.dimension.removesuffix(CHOICES)),
        _title(row),
        number(row.items),
        number(row.spearman, 3),
        span(row.spearman_ci95),
        number(row.kendall_tau, 3),
        percent(row.pairwise_accuracy),
        percents(row.pairwise_ci95),
    )


def tables_of(result: PeopleAgreement) -> list[Table]:
    """Return the tables of the terminal and the page, those of α and of the test only with rows."""
    others = [alpha_table(result), alt_table(result)]
    return [*agreement_tables(result), *(table for table in others if table.rows)]


def alpha_table(result: PeopleAgreement) -> Table:
    """Return Krippendorff's α of each dimension: of all that people rated, and where it differs of
    what a judge rated too.
    """
    rows, without = [], list[str]()
    for unit in result.alpha:
        name, level = plain_name(unit.dimension), (unit.level, f"{unit.people} people")
        if unit.people > 1 and unit.alpha is None:
            without.append(name)
        elif unit.people > 1:
            counts = (number(unit.alpha, 3), span(unit.ci95), number(unit.units))
            rows.append((name, "what people rated", *counts, *level))
        if unit.judged_alpha is not None and unit.judged_units != unit.units:
            shown, ends = number(unit.judged_alpha, 3), span(unit.judged_ci95)
            counts = (shown, ends, number(unit.judged_units))
            rows.append((name, "what a judge rated too", *counts, *level))
    columns = ("Dimension", "Of", "Krippendorff’s α", "95 %", "Units", "Level", "Raters")
    note = f"No α (too few units, or all alike): {listed(without)}."
    return Table(columns, tuple(rows), (note,) if without else (), "Krippendorff’s α", keys=2)


def alt_table(result: PeopleAgreement) -> Table:
    """Return the alternative annotator tests; one without a result says why."""
    rows = tuple(
        (
            test.dimension,
            test.judge,
            f"{test.epsilon:g}",
            f"none: {test.why}" if test.omega is None else number(test.omega_by_image, 2),
            number(test.omega, 2),
            number(test.advantage, 3),
            number(test.people),
            number(test.images),
        )
        for test in result.alt_test
    )
    columns = ("Dimension", "Judge", "ε", "ω by image", "ω as published", "ρ", "People", "Images")
    note = "ω: share of people whom the judge could replace, clustered by image, and as published."
    return Table(columns, rows, (note,), "Could a judge replace people?", keys=2)


def agreement_figure(result: PeopleAgreement) -> Figure | LeftOut:
    """Plot Spearman’s ρ with people: a row for each dimension, a marker for each judge and for the
    mean of people.
    """
    kept = [row for row in result.rows if row.kind != "person" and row.spearman is not None]
    titles = list(dict.fromkeys(map(_title, kept)))[:MOST_SERIES]
    if not titles:
        return LeftOut("agreement", "No rank correlation with people is known: too few items.")
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
    """Return a self-contained page: the figure, then the tables."""
    figure = agreement_figure(result)
    drawn = Markup(figure.element("h2")) if isinstance(figure, Figure) else figure.reason
    return (
        environment()
        .get_template("agreement.html.j2")
        .render(
            style=Markup(page_style(asset("agreement.css"))),
            figure=drawn,
            tables=[Markup(table.html()) for table in tables_of(result)],
        )
    )
