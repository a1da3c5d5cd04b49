"""The agreement of judges and people as a table, a plot and a page. What it shows is
computed in ``analysis/people_agreement.py``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from markupsafe import Markup

from visualjudge.analysis.figure_text import (
    listed,
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
from visualjudge.analysis.plots.series import SHARES, estimates_plot
from visualjudge.analysis.report.page import asset, template
from visualjudge.analysis.results import MOST_DRAWN
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    grid,
    named,
)
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.text_tables import Table

INSIDE = "ρ: Spearman’s, inside each model, then the mean over models."
SAME_ORDER = (
    "Same order: of two models’ outputs for one item, how often the rater rates the one "
    "higher that the people do."
)
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


def _name(row: RaterRow) -> str:
    """Return the name of a rater, and whether it is a judge."""
    return f"{row.rater} (judge)" if row.kind == "judge" else row.rater


RATER = Layout[RaterRow](
    Column(
        "dimension",
        lambda row: plain_name(row.dimension.removesuffix(CHOICES)),
        "Dimension",
    ),
    Column(None, _name, "Rater"),
    named("same", "Same answer as a person", percent),
    named("same_ci95", "95 %", percents),
    Column(
        None,
        lambda row: row.spearman if row.same is None else None,
        "ρ with people",
        number3,
    ),
    Column(
        None,
        lambda row: row.spearman_ci95 if row.same is None else None,
        "95 %",
        span,
    ),
    named("as_person", "As a person", number3),
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
    named("advantage", "Advantage", number3),
    named("people", "People", number),
    named("images", "Images", number),
    named("why", "No result", lambda why: why or "", text=True),
)
OMEGA = (
    "ω: share of people whom the judge could replace, if a person’s answer costs ε "
    "more; it could where ω is 0.5 or more (clustered by image, and as published). "
    "Advantage: how often its answer is as near to the other people’s as theirs."
)
NAMED = 10
"""Number of people whom a sentence names."""


def _figure(row: RaterRow, choices: bool) -> Estimate:
    """Return what raters are compared by: ρ, or of choices, which have no order, equal
    answers."""
    name = "same" if choices else "spearman"
    ends = getattr(row, f"{name}_ci95")
    return Estimate(getattr(row, name), ends, row.items, row.items)


def tables_of(result: PeopleAgreement) -> list[Table]:
    """Return the tables of the terminal and the page: a row for each dimension and rater,
    α of several dimensions, and the alternative annotator test.
    """
    unnamed = {row.dimension for row in result.rows} in ({"ratings"}, {"votes"})
    hidden = ["dimension"] if unnamed else []
    notes = {
        INSIDE: any(len(row.by_source) > 1 for row in result.rows),
        SAME_ORDER: any(row.pairs for row in result.rows),
    }
    collected = [
        grid(
            RATER,
            result.rows,
            notes=[note for note, holds in notes.items() if holds],
            keys=2 - unnamed,
            hidden=hidden,
        )
    ]
    several = [row for row in result.alpha if row.people > 1]
    if len(several) > 1:
        collected.append(grid(ALPHA, several, title="Do people agree?"))
    if result.alt_test:
        collected.append(
            grid(
                ALT_TEST,
                result.alt_test,
                title="Could a judge replace people?",
                notes=[OMEGA],
                keys=2 - unnamed,
                hidden=hidden,
            )
        )
    return collected


def sentences(result: PeopleAgreement) -> list[str]:
    """Return how far each judge agrees with people, beside how far people agree with
    each other, over dimensions."""
    people = sorted(_means(result, "person").values())
    judges = _means(result, "judge").items()
    return [
        *(_of_judge(result, *judge, people) for judge in judges),
        *_among_people(result),
        *_doubts(result),
    ]


def _of_judge(
    result: PeopleAgreement, judge: str, value: float, people: Sequence[float]
) -> str:
    """Return how far a judge agrees with people, and how many people agree less."""
    name, show = (
        ("the same answer in", percent)
        if _of_choices(result)
        else ("ρ", number)
    )
    whole = f"{judge} agrees with people ({name} {show(value)})"
    own = [
        row.as_person
        for row in result.rows
        if row.rater == judge and row.as_person is not None
    ]
    if not people or not own:
        return f"{whole}."
    beside = fmean(own)
    measured = f"; measured as one of them ({show(beside)})"
    every = len(people)
    less = sum(other < beside for other in people)
    ends = {
        0: f"no more than any of {every}"
        if beside == people[0]
        else f"less than all {every}",
        every: f"more than all {every}",
    }
    of_others = " to ".join(dict.fromkeys([show(people[0]), show(people[-1])]))
    return (
        f"{whole}{measured * (show(beside) != show(value))} "
        f"{ends.get(less, f'more than {less} of {every}')} people do, each with "
        f"the others ({of_others}); the difference is not tested."
    )


def _of_choices(result: PeopleAgreement) -> bool:
    return all(row.same is not None for row in result.rows)


def _among_people(result: PeopleAgreement) -> Iterator[str]:
    """Say who the people are, and how far they agree."""
    names = {row.rater: row for row in result.rows if row.kind == "person"}
    rows = [row for row in result.alpha if row.same is not None]
    if not rows:
        return
    units = sum(row.units for row in rows)
    same = sum((row.same or 0.0) * row.units for row in rows) / units
    alpha = [
        f"; Krippendorff’s α ({row.level}) {number(row.alpha)}, 95 %: {span(row.ci95)}"
        for row in rows
    ]
    yield (
        f"People: {listed(list(names), NAMED)}; two of them answer alike in "
        f"{percent(same, 0)} of cases{alpha[0] if len(rows) == 1 else ''}."
    )


def _doubts(result: PeopleAgreement) -> Iterator[str]:
    """Name the raters who may not agree with people at all."""
    doubtful = {
        row.rater: f"{row.rater} (ρ {number(row.spearman)}, {span(row.spearman_ci95)})"
        for row in result.rows
        if row.items >= LEAST_UNITS
        and ((row.spearman_ci95 or (row.spearman,))[0] or 1.0) <= 0
    }
    if doubtful:
        yield (
            f"No agreement is shown for {listed(list(doubtful.values()))}. Did they guess, "
            "or is a scale reversed? If so, leave them out: they lower the figures of all."
        )


def _means(result: PeopleAgreement, kind: Kind) -> dict[str, float]:
    """Return the figure of each rater of a kind, as the mean over dimensions."""
    known = [
        (row.rater, own.value)
        for row in result.rows
        if row.kind == kind
        and (own := _figure(row, _of_choices(result))).value is not None
    ]
    return {
        name: fmean(value for rater, value in known if rater == name)
        for name, _ in known
    }


def agreement_figure(result: PeopleAgreement) -> Plot | LeftOut:
    """Plot Spearman’s ρ with people, of choices the share of equal answers: a row for
    each rater; of several dimensions, a row for each, and a marker for each judge and
    for the mean of people.
    """
    choices = _of_choices(result)
    several = len({row.dimension for row in result.rows}) > 1
    collected: dict[str, dict[str, Estimate]] = {}
    for row in result.rows:
        own = _figure(row, choices)
        if own.value is None or row.kind == (
            "person" if several else "ceiling"
        ):
            continue
        series = row.rater if several else "rater"
        label = plain_name(row.dimension) if several else _name(row)
        collected.setdefault(series, {})[label] = own
    lows = [
        (own.interval or (own.value,))[0] or 0.0
        for cells in collected.values()
        for own in cells.values()
    ]
    rho = replace(SCALE, low=-1.0 if min(lows, default=0.0) < 0 else 0.0)
    return estimates_plot(
        "agreement",
        "Same answer as a person"
        if choices
        else "Rank correlation with people",
        "How often a rater gives the answer of another person."
        if choices
        else "Spearman’s ρ with the mean of the people; for a person, of the others, which "
        "are fewer: a judge’s, measured so, is in the table (“As a person”).",
        [
            (k, rater, cells)
            for k, (rater, cells) in enumerate(collected.items())
        ][:MOST_DRAWN],
        missing="No agreement with people is known: too few items.",
        reading="Lines are 95 % intervals; hollow markers stand for fewer than 5 items.",
        scale=SHARES if choices else rho,
    )


def html(result: PeopleAgreement) -> str:
    """Return a self-contained page: the answer, the figure, then the tables."""
    figure = agreement_figure(result)
    return template("agreement.html.j2").render(
        style=Markup(page_style(asset("agreement.css"))),
        judges=any(row.kind == "judge" for row in result.rows),
        figure=figure,
        paper=figure.paper_links if isinstance(figure, Plot) else {},
        sentences=sentences(result),
        tables=tables_of(result),
    )
