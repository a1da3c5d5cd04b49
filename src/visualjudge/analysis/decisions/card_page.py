"""The card as text, Markdown, one HTML page, and a badge (SVG). All names are escaped, and nothing
is loaded.
"""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import TYPE_CHECKING

import visualjudge
from visualjudge.analysis.decisions.card_by_benchmark import benchmarks_table
from visualjudge.analysis.decisions.check_figures import UNITS, asked_for, shown_value
from visualjudge.analysis.decisions.checks import ICONS, LABELS, STATES
from visualjudge.analysis.decisions.decision_tables import GROUPS_NOTE, RANKS_NOTE, number, span
from visualjudge.analysis.decisions.model_answer import short_answer
from visualjudge.analysis.decisions.pairs_figure import (
    pairs_figure,
    pairs_table,
    resolution,
    separated,
)
from visualjudge.analysis.figure_text import (
    OWN_SCORES,
    many,
    own_score,
    percents,
    photograph_gain,
    plain_name,
    ranks,
)
from visualjudge.analysis.plots.canvas import LIGHT
from visualjudge.analysis.plots.figure import Figure, page_style
from visualjudge.core.text_tables import Styled, Table, folded

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.card import Card, JudgeCard, TaskCard
    from visualjudge.analysis.decisions.checks import Check
    from visualjudge.analysis.decisions.may_rank_models import KindOfSystem

MOST_OVERTURNED = 3
TASKS_NOTE = "The answer for a task uses only its own questions, the overall answer all questions."


def signed(value: float) -> str:
    """Format a number with its sign; a rounded zero has none."""
    return ("+" if round(value, 3) > 0 else "") + number(value)


def checks_table(found: JudgeCard) -> Table:
    """Return the checks of one judge."""
    rows = tuple(_check_row(line) for line in found.checks)
    return Table(("Check", "State", "Value", "95 %", "Required", "Images", "Why"), rows)


def _check_row(line: Check) -> tuple[str, ...]:
    measured = (
        shown_value(line),
        percents(line.interval) if line.name in UNITS else span(line.interval),
    )
    return (
        LABELS[line.name],
        Styled(line.said, state=line.state, icon=ICONS[line.state]),
        *measured,
        asked_for(line),
        str(line.images),
        line.why or "",
    )


def tasks_table(card: Card) -> Table | None:
    """Return the answer of each judge for each task; None if there is only one task."""
    if not any(len(found.tasks) > 1 for found in card.judges):
        return None
    rows = tuple(
        (found.judge, plain_name(task.task), *task_cells(task))
        for found in card.judges
        for task in found.tasks
    )
    return Table(("Judge", "Task", *TASK_COLUMNS), rows, (TASKS_NOTE,), keys=2, title="By task")


TASK_COLUMNS = ("May I rank models?", "Pairs separated", "Resolution", "Accuracy")


def task_cells(task: TaskCard) -> tuple[str, ...]:
    """Return the cells of :data:`TASK_COLUMNS`."""
    accuracy = next(line for line in task.checks if line.name == "macro_accuracy")
    return short_answer(task), separated(task), resolution(task), shown_value(accuracy)


def system_table(found: JudgeCard) -> Table:
    """Return the agreement of the sources' order with the truth, by kind of question."""
    rows = []
    for kind in found.system.kinds:
        tau, order, spa = kind.found.tau_b(), kind.found.pair_order, kind.found.spa
        gap = kind.found.smallest_gap
        cells = [
            kind.measure,
            number(tau.value),
            span(tau.interval),
            number(order.value),
            span(order.interval),
        ]
        cells += [
            number(spa.value),
            span(spa.interval),
            "–" if gap is None else f"{gap:.3g}",
            number(kind.worth, digits=1),
        ]
        rows.append((*cells, str(kind.found.images)))
    columns = (
        "By",
        "τ-b",
        "95 %",
        "Pairs in order",
        "95 %",
        "Soft pairwise accuracy",
        "95 %",
        "Smallest gap",
        "n_eff/n",
    )
    return Table((*columns, "Images"), tuple(rows))


def sources_table(kind: KindOfSystem) -> Table:
    """Return each source by judge and by truth, its possible ranks in its group, and which sources
    are favoured.
    """
    found, apart = kind.found, len(set(kind.groups)) > 1
    rows = []
    for s in sorted(
        range(len(kind.names)), key=lambda s: (kind.groups[s], -float(found.judged[s]))
    ):
        favour = found.favours[s]
        said = "" if not favour.sure else "favoured" if favour.value > 0 else "disfavoured"
        means = (
            number(float(found.judged[s])),
            number(float(found.true[s])),
            span(kind.true_ends[s]),
        )
        beyond = (signed(favour.value), span(favour.interval), said)
        group = (kind.groups[s],) if apart else ()
        rows.append((*group, kind.names[s], *means, ranks(found.ranks[s]), *beyond))
    columns = (
        "Source",
        f"Judge's {kind.measure}",
        "By truth",
        "95 %",
        "Ranks by judge",
        "Above an unbiased judge",
        "95 %",
    )
    return Table(
        (*(("Group",) if apart else ()), *columns, ""),
        tuple(rows),
        tuple(_source_notes(kind)),
        keys=1 + apart,
    )


def _source_notes(kind: KindOfSystem) -> list[str]:
    notes = [RANKS_NOTE]
    if len(set(kind.groups)) > 1:
        notes.append(
            f"{GROUPS_NOTE} The order of sources uses the {many(kind.found.pairs, 'pair')} "
            "within groups."
        )
    if kind.left_out:
        notes.append(
            f"Left out, because no usable reply compares them: {'; '.join(kind.left_out)}."
        )
    if kind.overturned:
        shown = [f"{above} above {below}" for above, below in kind.overturned[:MOST_OVERTURNED]]
        more = len(kind.overturned) - len(shown)
        listed = "; ".join([*shown, *([f"{more} more"] if more else [])])
        notes.append(
            "The column “By truth” covers only these questions. The mean true scores of all "
            f"annotations give another order: {listed}."
        )
    if kind.self_preference is not None:
        own = kind.self_preference
        notes.append(
            f"Self-preference: {signed(own.value)}, 95 % {span(own.interval)}, over all other "
            "sources."
        )
    return notes


def _said(found: JudgeCard) -> list[str]:
    """Return the answer, and whether the judge needs the photograph if it was also asked without
    it.
    """
    return [
        found.answer,
        *([] if found.photograph is None else [f"{photograph_gain(found.photograph.all)}."]),
    ]


def _extras(found: JudgeCard) -> list[str]:
    out = []
    if found.probabilities is not None:
        brier, ece = found.probabilities.brier, found.probabilities.ece_corrected
        out.append(
            f"Its probabilities: Brier score {brier.value:.3f} ({span(brier.interval)}), "
            "expected calibration error, corrected for few answers, "
            f"{ece.value:.3f} ({span(ece.interval)}), {found.probabilities.n} answers."
        )
    radius = found.score_radius
    if radius is not None:
        told = (
            f"the score is within {radius.value:.2f} of the truth"
            if radius.value < float("inf")
            else "no bound is known: too few images"
        )
        out.append(f"In 90 % of new images, {told} ({many(radius.images, 'image')}).")
    return out


def _tables(found: JudgeCard) -> list[Table]:
    main = found.system.main
    own = (
        [own_scores_table(found)]
        if any(score.value is not None for score in found.own_scores)
        else []
    )
    pairs = pairs_table(found)
    return [
        *([pairs] if pairs else []),
        checks_table(found),
        *own,
        *([system_table(found), sources_table(main)] if main else []),
    ]


def own_scores_table(found: JudgeCard) -> Table:
    """Return the benchmark's own scores for the judge."""
    rows = tuple(
        (score.name, own_score(score)) for score in found.own_scores if score.value is not None
    )
    return Table(("The benchmark's own score", "Value"), rows, (OWN_SCORES,))


def _over_all(card: Card) -> list[Table]:
    tasks = tasks_table(card)
    return [
        *([benchmarks_table(card.benchmarks)] if card.benchmarks else []),
        *([tasks] if tasks else []),
    ]


def diagram_table(found: JudgeCard) -> Table | None:
    """Return the reliability diagram as a table."""
    if found.probabilities is None:
        return None
    rows = tuple(
        (f"{b.stated:.2f}", f"{b.observed:.2f}", str(b.n)) for b in found.probabilities.bins
    )
    return Table(("Stated", "Came true", "Answers"), rows, title="Reliability")


def text(card: Card) -> str:
    """Return the card for a terminal."""
    parts = [table.text() + "\n" for table in _over_all(card)]
    for found in card.judges:
        parts += [*map(folded, (*_said(found), *found.remarks.lines)), ""]
        parts += [table.text() + "\n" for table in _tables(found)]
        parts += [*map(folded, _extras(found)), ""]
    return "\n".join(parts).rstrip()


def _simulated(found: JudgeCard) -> str:
    return " (simulated)" if found.simulated else ""


def body(card: Card, *, page: bool = False) -> str:
    """Return the answers, their checks and all tables, for a notebook or for the ``page`` with its
    stylesheet.
    """
    answers = "".join(
        f'<div class="answer {found.state}"><strong>'
        + (f"{escape(found.judge)}: " if len(card.judges) > 1 else "")
        + f'<span aria-hidden="true">{ICONS[found.state]}</span> '
        f"{escape(short_answer(found))}</strong>"
        + "".join(f"<p>{escape(line)}</p>" for line in _said(found))
        + "</div>"
        + "".join(f'<p class="remark">{escape(line)}</p>' for line in found.remarks.lines)
        for found in card.judges
    )
    drawn = "".join(
        figure.element("h2") if page else figure._repr_html_()
        for figure in [pairs_figure(card.judges)]
        if isinstance(figure, Figure)
    )
    parts = [
        f'<div class="slide"><div>{answers}</div>{drawn}</div>',
        *(table.html() for table in _over_all(card)),
    ]
    for found in card.judges:
        diagram = diagram_table(found)
        tables = [*_tables(found), *([diagram] if diagram else [])]
        parts.append(f"<h2>{escape(found.judge)}{_simulated(found)}</h2>")
        parts += [table.html() for table in tables]
        parts += [f"<p>{escape(line)}</p>" for line in _extras(found)]
    return "".join([*parts, f"<h2>Methods</h2><p>{escape(methods(card))}</p>"])


def methods(card: Card) -> str:
    """Return a paragraph for the Methods section of a paper, with the source of each statistic."""
    least = card.thresholds.least_images
    asked = "; ".join(
        f"{LABELS[line.name].lower()} {asked_for(line)}"
        for line in (card.judges[0].checks if card.judges else ())
    )
    return (
        f"Judges were checked with visualjudge {visualjudge.__version__} against fixed thresholds "
        f"({asked}). A check passes if its whole 95 % interval meets the threshold, and fails if "
        f"the whole interval misses it; otherwise, and on fewer than {least} images, it is "
        "undecided. Intervals treat the image as the unit: those of shares are Korn and Graubard’s "
        "(1998), those of means leave out each image in turn (Bell & McCaffrey 2002). The order of "
        "sources is described by Kendall’s τ-b (1945), bounded by the pairs that judge and truth "
        "separate; ranks are sets (Mogstad et al. 2024). The number of further images is that for "
        "a power of 80 % (Lachin 2011)."
    )


def style() -> str:
    """Return the stylesheet of the card's page, and of other pages of tables."""
    return page_style(
        resources.files("visualjudge.analysis.decisions").joinpath("card.css").read_text("utf-8")
    )


def html(card: Card) -> str:
    """Return one self-contained page whose first screen is a slide."""
    several = len(card.judges) > 1
    title = f"May I rank my models with {'these judges' if several else 'this judge'}?"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Judge card: {title}</title><style>{style()}</style>"
    )
    page = f"<main><h1>{title}</h1>{body(card, page=True)}</main>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{page}</body></html>\n'


def badge(found: JudgeCard) -> str:
    """Return an SVG badge: the judge's state in its colour."""
    left, state = "judge", STATES[found.state]
    right = f"{ICONS[found.state]} {state}"
    width = (52, 18 + 7 * len(right))
    total = sum(width)
    label = escape(f"{found.judge}: {state}", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" '
        f'aria-label="{label}">'
        f"<title>{label}</title>"
        f'<rect width="{total}" height="20" rx="3" fill="#444"/>'
        f'<rect x="{width[0]}" width="{width[1]}" height="20" rx="3" fill="{LIGHT[found.state]}"/>'
        f'<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{width[0] / 2}" y="14">{left}</text>'
        f'<text x="{width[0] + width[1] / 2}" y="14">{right}</text></g></svg>\n'
    )
