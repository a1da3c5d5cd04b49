"""The agreement of judges and people as a table, a plot and a page. What it shows is
computed in ``analysis/people_agreement.py``.
"""

from collections.abc import Mapping
from dataclasses import replace

from markupsafe import Markup

from visualjudge.analysis.figure_text import (
    many,
    number,
    number3,
    percent,
    percents,
    plain_name,
    span,
)
from visualjudge.analysis.people_agreement import (
    LEAST_UNITS,
    AlphaRow,
    AltRow,
    Kind,
    PeopleAgreement,
    RaterRow,
)
from visualjudge.analysis.plots.canvas import tick
from visualjudge.analysis.plots.forest import Scale
from visualjudge.analysis.plots.plot import LeftOut, Plot, page_style
from visualjudge.analysis.plots.series import estimates_plot
from visualjudge.analysis.report.page import asset, template
from visualjudge.analysis.results import MOST_DRAWN
from visualjudge.analysis.table_layout import Column, Layout, grid, named
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.text_tables import Table

INTERVALS = "Intervals (95 %) leave out each item in turn, with the others of its image."
OVER_MODELS = (
    "Items: what the models were given, such as prompts; Spearman and Kendall are means "
    "over models."
)
SAME_ORDER = "Same order: pairs of models of an item that are put in the order of the people."
CHOICES = "/pairwise"
"""End of the dimension of a run's choices; see
:mod:`visualjudge.analysis.rating_table`."""
SCALE = Scale(
    -1.0,
    1.0,
    tick,
    lambda e: (
        number(e.value) + (f" ({span(e.interval)})" if e.interval else "")
    ),
    "Spearman’s ρ",
    0.0,
)


RATER = Layout[RaterRow](
    Column(
        "dimension",
        lambda row: plain_name(row.dimension.removesuffix(CHOICES)),
        "Dimension",
    ),
    named("rater", "Rater"),
    Column(
        "items",
        "items",
        "Items",
        number,
        shown=lambda row: None if row.kind == "ceiling" else row.items,
    ),
    named("same", "Same answer", percent),
    named("spearman", "Spearman", number3),
    named("spearman_ci95", "95 %", span),
    named("kendall_tau", "Kendall", number3),
    named("pairwise_accuracy", "Same order", percent),
    named("pairwise_ci95", "95 %", percents),
)
ALPHA = Layout[AlphaRow](
    named("dimension", "Dimension", plain_name, text=True),
    named("alpha", "Krippendorff’s α", number3),
    named("ci95", "95 %", span),
    named("units", "Rated by two or more", number),
    named("level", "Level"),
    named("people", "People", number),
)
ALT_TEST = Layout[AltRow](
    named("dimension", "Dimension"),
    named("judge", "Judge"),
    named("epsilon", "ε", number),
    named("omega_by_image", "ω by image", number),
    named("omega", "ω as published", number),
    named("advantage", "ρ", number3),
    named("people", "People", number),
    named("images", "Images", number),
    named("why", "No result", lambda why: why or "", text=True),
)
OMEGA = (
    "ω: share of people whom the judge could replace, clustered by image, and as "
    "published."
)


def tables_of(result: PeopleAgreement) -> list[Table]:
    """Return the tables of the terminal and the page that have rows: scores and choices
    between two options with a row for each dimension and rater, α, and the alternative
    annotator test. Rows without a figure are only counted.
    """
    tables = []
    unnamed = {row.dimension for row in result.rows} in ({"ratings"}, {"votes"})
    hidden = ["dimension"] if unnamed else []
    for title, choices in (
        ("Scores", False),
        ("Choices between two options", True),
    ):
        own = [
            row
            for row in result.rows
            if (row.same is not None or row.dimension.endswith(CHOICES))
            == choices
        ]
        rows = [
            row
            for row in own
            if {row.spearman, row.kendall_tau, row.pairwise_accuracy} != {None}
        ]
        few = len(own) - len(rows)
        notes = {
            OVER_MODELS: any(len(row.by_source) > 1 for row in rows),
            SAME_ORDER: any(row.pairwise_accuracy is not None for row in rows),
            INTERVALS: True,
            f"{many(few, 'row')} with too few items, or equal scores, left out.": few
            > 0,
        }
        if own:
            tables.append(
                grid(
                    RATER,
                    rows,
                    title=title,
                    notes=[note for note, holds in notes.items() if holds],
                    keys=2 - unnamed,
                    hidden=hidden,
                )
            )
    if several := [row for row in result.alpha if row.people > 1]:
        tables.append(
            grid(ALPHA, several, title="Do people agree?", hidden=hidden)
        )
    tests = grid(
        ALT_TEST,
        result.alt_test,
        title="Could a judge replace people?",
        notes=[OMEGA],
        keys=2 - unnamed,
        hidden=hidden,
    )
    return [*tables, tests] if result.alt_test else tables


def sentence(result: PeopleAgreement) -> str:
    """Return how far people agree with each other, and each judge with them, over
    dimensions."""
    parts = []
    rows = [row for row in result.alpha if row.same is not None]
    if units := sum(row.units for row in rows):
        same = percent(sum((r.same or 0) * r.units for r in rows) / units, 0)
        words = f"Two people rate the same output equally in {same} of cases"
        if known := [row.alpha for row in rows if row.alpha is not None]:
            ends = map(number, sorted({min(known), max(known)}))
            words += f"; Krippendorff’s α {' to '.join(ends)}"
        parts.append(f"{words}.")
    if all(row.same is not None for row in result.rows):
        people = _mean_of(result, "same", "person")
        parts += [
            f"{name} gives the answer of a person in {percent(same, 0)} of cases"
            f"{_beside(same, people)}."
            for name, same in _mean_of(result, "same", "judge").items()
        ]
    else:
        people = _mean_of(result, "spearman", "person")
        parts += [
            f"One person agrees with the mean of the others with ρ {number(rho)}, as "
            "the mean over people."
            for rho in _mean_of(result, "spearman", "ceiling").values()
        ]
        parts += [
            f"{name} agrees with the mean of all people with ρ {number(rho)}"
            f"{_beside(rho, people)}."
            for name, rho in _mean_of(result, "spearman", "judge").items()
        ]
    parts += dict.fromkeys(
        f"{row.rater} orders items against the others; is its scale reversed?"
        for row in result.rows
        if row.items >= LEAST_UNITS
        and ((row.spearman_ci95 or (None, row.spearman))[1] or 0.0) < 0
    )
    return " ".join(parts)


def _beside(value: float, people: Mapping[str, float]) -> str:
    """Return how many people agree less with the other people."""
    signs = [(value > own) - (value < own) for own in people.values()]
    ends = {len(people): "more than each", -len(people): "less than each"}
    part = ends.get(sum(signs), f"more than {signs.count(1)}")
    return f", {part} of {len(people)} people with the others" if people else ""


def _mean_of(
    result: PeopleAgreement, name: str, kind: Kind
) -> dict[str, float]:
    """Return a figure of each rater of a kind, as the mean over dimensions."""
    known: dict[str, list[float]] = {}
    for row in result.rows:
        value = getattr(row, name)
        if row.kind == kind and value is not None:
            known.setdefault(row.rater, []).append(value)
    return {rater: sum(own) / len(own) for rater, own in known.items()}


def agreement_figure(result: PeopleAgreement) -> Plot | LeftOut:
    """Plot Spearman’s ρ with people: a row for each rater; of several dimensions, a row
    for each, and a marker for each judge and for the mean of people.
    """
    known = [row for row in result.rows if row.spearman is not None]
    several = len({row.dimension for row in known}) > 1
    collected: dict[str, dict[str, Estimate]] = {}
    for row in known:
        rho = Estimate(row.spearman, row.spearman_ci95, row.items, row.items)
        if not several:
            collected.setdefault("rater", {})[row.rater] = rho
        elif row.kind != "person":
            name = plain_name(row.dimension)
            collected.setdefault(row.rater, {})[name] = rho
    return estimates_plot(
        "agreement",
        "Rank correlation with people",
        "Rank correlation of each rater with the mean of the people (of several models, the "
        "mean over them); "
        "for a person, with the mean of the other people.",
        [
            (k, rater, cells)
            for k, (rater, cells) in enumerate(collected.items())
        ][:MOST_DRAWN],
        missing="No rank correlation with people is known: too few items.",
        reading="Lines are 95 % intervals (none for the mean of people); hollow "
        "markers stand for "
        "fewer than 5 items.",
        scale=SCALE
        if any(
            (low or 0) < 0 for row in known for low in row.spearman_ci95 or ()
        )
        else replace(SCALE, low=0.0),
    )


def html(result: PeopleAgreement) -> str:
    """Return a self-contained page: the figure, then the tables."""
    figure = agreement_figure(result)
    return template("agreement.html.j2").render(
        style=Markup(page_style(asset("agreement.css"))),
        judges=any(row.kind == "judge" for row in result.rows),
        figure=figure,
        paper=figure.paper_links if isinstance(figure, Plot) else {},
        sentence=sentence(result),
        tables=tables_of(result),
    )
