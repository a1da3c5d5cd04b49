"""The sections of the report: one question each, answered with figures, tables and examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from visualjudge.analysis import columns, figure_text as words, repeated_rows as scopes
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.comparison_columns import (
    ABOVE,
    AGREEMENT,
    CHECKED,
    COMPARISON,
    SOURCE,
    contrasts,
)
from visualjudge.analysis.comparisons import not_compared
from visualjudge.analysis.decisions.card import Card, JudgeCard
from visualjudge.analysis.decisions.card_page import TASKS_NOTE, checks_table
from visualjudge.analysis.decisions.checks import ICONS
from visualjudge.analysis.decisions.model_answer import short_answer
from visualjudge.analysis.decisions.pairs_figure import resolution, separated
from visualjudge.analysis.figure_text import plain_name
from visualjudge.analysis.figures import JudgeResult, Results
from visualjudge.analysis.identity import efforts
from visualjudge.analysis.pairwise_figures import unanswered
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.report import comparison_plots
from visualjudge.analysis.report.accuracy_plots import MOST_SERIES
from visualjudge.analysis.report.behaviour_sections import photograph, probes, sways
from visualjudge.analysis.report.encoding_section import encoding_section
from visualjudge.analysis.report.examples import (
    USUAL,
    changed,
    encoding_images,
    examples,
)
from visualjudge.analysis.report.paired import differences, opening_notes, titles, tool_tables
from visualjudge.analysis.report.section import (
    EMPTY,
    Section,
    across,
    by_rows,
    each,
    grid,
    headline_grid,
    range_text,
    those_drawn,
    titled,
    why_none,
)
from visualjudge.analysis.source_figures import SourceRow
from visualjudge.core.text_tables import Styled, Table

MOST_EXAMPLES = 18
COUNTED = (
    "Cells give the accuracy on pairs, its 95 % interval, and the number of verdicts and images."
)


CHECKS = (
    "A check passes if its whole 95 % interval meets the threshold, fails if the whole interval "
    "misses it, and is undecided otherwise. Favouritism is the number of ranks that a source gains "
    "or loses because the judge favours or disfavours it."
)


def _headline(judges: Sequence[JudgeResult]) -> Section:
    """Return a table of the judges that were asked the same questions; other judges get their own
    table.
    """
    groups = {j.asked_like: [o for o in judges if o.asked_like == j.asked_like] for j in judges}
    apart = len(groups) > 1
    tables = [
        titled(
            f"Set {like + 1}: {', '.join(j.name for j in group)}" if apart else "",
            headline_grid(group),
        )
        for like, group in groups.items()
    ]
    why = words.APART if apart else ""
    return Section("headline", "Headline figures", why, tables, open=True, detail=True)


def _answered(
    judges: Sequence[JudgeResult],
    cards: Sequence[JudgeCard],
    drawn: Mapping[str, Figure | LeftOut],
) -> Section:
    """Say for each task whether models may be ranked, why not, and how many more images
    are needed.
    """
    found: dict[str, dict[str, str]] = {}
    for card in cards:
        for task in card.tasks if len(card.tasks) > 1 else ():
            below = f"{separated(task)} pairs; resolution {resolution(task)}"
            word, icon = short_answer(task), ICONS[task.state]
            cell = Styled(word, below=below, state=task.state, icon=icon)
            found.setdefault(plain_name(task.task), {})[card.judge] = cell
    table = by_rows(["Task"], judges, found)
    return Section(
        "answers",
        "May I rank models of a single task?",
        TASKS_NOTE,
        [table],
        figures=those_drawn(drawn["sources"]),
        open=len(judges) <= MOST_SERIES,
    )


def _where(judges: Sequence[JudgeResult]) -> Section:
    task = across("Task", judges, lambda j: j.by_task, plain_name)
    tables = [task, titled("Rankings and scores", _graded(judges))]
    return Section("tasks", "Tables by task", COUNTED, tables, detail=True)


def _errors(judges: Sequence[JudgeResult], drawn: Mapping[str, Figure | LeftOut]) -> Section:
    error = across("Error type", judges, lambda j: j.by_error_type, plain_name)
    return Section(
        "errors",
        "Which errors does the judge see?",
        "",
        [replace(error, notes=(*error.notes, COUNTED))],
        figures=those_drawn(drawn["errors"]),
        missing=why_none(drawn["errors"]),
    )


def _graded(judges: Sequence[JudgeResult]) -> Table:
    """Return the results of rankings and scores by task."""
    found: dict[str, dict[str, str]] = {}
    for judge in judges:
        for cell in judge.by_task:
            for name, value in words.graded(cell).items():
                found.setdefault(f"{plain_name(cell.name)} · {name}", {})[judge.name] = value
    return by_rows(["Task · figure"], judges, found, words.NONE)


def _compared(
    results: Results, names: Sequence[str], drawn: Mapping[str, Figure | LeftOut]
) -> Section:
    rows = [row for row in results.comparisons if row.a in names and row.b in names]
    gap = f"{100 * rows[0].asked_gap:g}" if rows else ""
    needed = "Images needed: the number of images like these that detects a difference"
    pairs = replace(
        titled("Pairs of judges", grid(COMPARISON, rows, hit=lambda row: (row.p_holm or 1) < 0.05)),
        keys=2,
        notes=(
            f"p is clustered by image and adjusted by Holm’s method over all "
            "comparisons; rows with p below 5 % are bold. Intervals are not adjusted. "
            f"{needed} of {gap} points (level 5 %, power 80 %), with its 95 % range.",
            *([left_out] if (left_out := not_compared(len(results.judges))) else []),
        ),
    )
    alpha = grid(AGREEMENT, [row for row in results.agreement if row.alpha.n])
    return Section(
        "compared",
        "Which judge is better?",
        "Judges are compared on the questions that both were asked; a missing answer counts as "
        "wrong.",
        [
            pairs,
            titled("Krippendorff’s α among judges that were asked the same questions", alpha),
            efforts([judge for judge in results.judges if judge.name in names]),
        ],
        figures=those_drawn(drawn["judges"], drawn["judges_by_task"], drawn["cost"]),
    )


def _baseline(judges: Sequence[JudgeResult], drawn: Mapping[str, Figure | LeftOut]) -> Section:
    said = [f"{judge.name}: {line}" for judge in judges if (line := words.above(judge))]
    said = said if len(said) <= MOST_SERIES else []

    def table(judge: JudgeResult) -> Table:
        rows = scopes.above(judge.above_baseline)
        found = grid(ABOVE, rows, hit=lambda row: row.standing == "worse")
        note = (
            "Intervals are not adjusted. In bold rows, the judge is worse than the baseline: the "
            "interval lies below 0, and p, adjusted by Holm’s method over tasks and error types, "
            "is below 5 %."
        )
        return replace(found, notes=(note,))

    return Section(
        "baseline",
        "Is the judge better than the local baseline?",
        "The local baseline is a small model without language that sees the image and the "
        "prediction. Where a judge is not better, low-level features carry as much information as "
        "its answers. Questions that the baseline declined are left out.",
        each(judges, table),
        notes=said,
        figures=those_drawn(drawn["baseline"]),
    )


def _raters(judges: Sequence[JudgeResult]) -> Section:
    return Section(
        "raters",
        "Were the raters attentive?",
        "Known questions are those with the widest margins; repeats are questions that a rater saw "
        "before. These questions only check the raters; no other figure includes them.",
        each(judges, lambda j: grid(CHECKED, j.rater_checks)),
    )


def _sensitivity(judges: Sequence[JudgeResult], drawn: Mapping[str, Figure | LeftOut]) -> Section:
    found: dict[str, dict[str, str]] = {}
    missing = 0
    for judge in judges:
        for row in scopes.sensitivity(judge.sensitivity):
            if row.jnd.value is None and row.scope != scopes.ALL:
                missing += 1
                continue
            found.setdefault(f"{plain_name(row.value)} · {row.against}", {})[judge.name] = (
                words.jnd_text(row)
            )
    rest = (
        f" Not listed: {words.many(missing, 'curve')} of single tasks and error types, for "
        "which it is not known yet."
        if missing
        else ""
    )
    return Section(
        "sensitivity", "How small a difference does the judge see?",
        "The table gives the difference at which a judge is right in 75 % of pairs; lower is "
        "better. It is given only if accuracy rises significantly with the difference "
        f"(images as the unit) and the curve fits.{rest}",
        [
            by_rows(["Questions · distance"], judges, found, words.NONE),
            across("Margin between the scores", judges, lambda j: j.by_margin, range_text),
        ],
        figures=those_drawn(drawn["margin"], drawn["severity"]),
        missing=why_none(drawn["margin"], drawn["severity"]),
    )  # fmt: skip


def _uses(analysis: Analysis, judges: Sequence[JudgeResult]) -> list[Section]:
    boards = [
        part
        for judge in judges
        for name, rows in judge.leaderboard.groups
        for part in _sources(judge, name, rows)
    ]
    notes = words.sources_notes(row for judge in judges for row in judge.leaderboard.rows)
    return [
        Section(
            "variance",
            "Components of variance",
            "The tables give the share of the variance of right and wrong answers that comes from "
            "the pair of options, its encoding, the order shown and chance. The last column gives "
            "the increase in images, in per cent, that would improve precision as "
            "much as twice as many pairs, encodings or orders.",
            [
                *each(
                    judges,
                    lambda j: grid(columns.VARIANCE, [row for row in j.variance if row.total]),
                ),
            ],
            detail=True,
        ),
        Section(
            "sources",
            "How the judge ranks the sources",
            SOURCES,
            [
                *boards[:-1],
                *(replace(board, notes=notes) for board in boards[-1:]),
                _controls(judges),
            ],
            notes=_board_notes(judges),
            more=those_drawn(
                *(
                    comparison_plots.sources(analysis, group)
                    for group in comparison_plots.groups_of(analysis)[1:]
                )
            ),
            detail=True,
        ),
        _published(judges),
    ]


def _sources(judge: JudgeResult, group: str, rows: Sequence[SourceRow]) -> list[Table]:
    """Return the sources of one group, and the matrix of their differences."""
    own = [row for row in judge.leaderboard.contrasts if row.group == group]
    titles, cells = contrasts(rows, own)
    title = f"{judge.name}: {comparison_plots.group_name(group)}"
    board = titled(title, grid(SOURCE, rows))
    if all(set(cell) <= EMPTY for row in cells for cell in row[1:]):
        return [board]
    matrix = Table(
        tuple(titles),
        tuple(map(tuple, cells)),
        title=f"{title}: differences, p (95 %)",
        numeric=(False,) * len(titles),
    )
    return [board, matrix]


def _controls(judges: Sequence[JudgeResult]) -> Table:
    """Return the effect of each group's covariates on the strengths."""
    rows = tuple(
        (
            judge.name,
            comparison_plots.group_name(row.group),
            row.name,
            f"{words.number(row.effect.value)} ({words.span(row.effect.interval)})",
        )
        for judge in judges
        for row in judge.leaderboard.controls
    )
    title = (
        "Properties associated with a judge’s choices besides the source, in log odds for a "
        "typical difference (95 %); not a bias if the truth has the same association"
    )
    return Table(("Judge", "Sources of", "Covariate", "Effect"), rows, title=title)


SOURCES = (
    "A source is a model whose predictions are judged, or a controlled error with its severity "
    "(duplicate 0.50). Its strength shows how often the judge prefers it."
)


def _published(judges: Sequence[JudgeResult]) -> Section:
    return Section(
        "published",
        "Scores as in published benchmarks",
        "These scores follow the rules of the benchmarks’ authors, for comparison with published "
        "scores.",
        [
            titled(title, by_rows([first], judges, _by_title(judges, cells)))
            for title, first, cells in (
                ("The benchmark’s own scores", "Score", columns.own_scores),
                ("Accuracy on pairs by the rules of benchmarks", "Rule", columns.counted_as),
            )
        ],
        notes=[words.OWN_SCORES] if any(columns.own_scores(judge) for judge in judges) else [],
        detail=True,
    )


def _by_title(
    judges: Sequence[JudgeResult], cells: Callable[[JudgeResult], Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for judge in judges:
        for title, value in cells(judge).items():
            found.setdefault(title, {})[judge.name] = value
    return found


def _board_notes(judges: Sequence[JudgeResult]) -> list[str]:
    """Return the notes on sources, with notes shared by several judges only once."""
    boards = [(judge.name, judge.leaderboard) for judge in judges]
    apart = [
        (
            f"the sources fall into {board.components} groups that were never compared in the "
            "same tasks; each group has its own ranks and axis",
            name,
        )
        for name, board in boards
        if board.components > 1
    ]
    order = [
        (f"Spearman’s ρ with the order by the ground truth {words.number(board.spearman)}", name)
        for name, board in boards
        if board.spearman is not None
    ]
    return [f"{words.grouped(said)}." for said in (apart, order) if said]


def _unread(judges: Sequence[JudgeResult]) -> Section:
    found: dict[str, dict[str, str]] = {}
    for judge in judges:
        u, p = judge.unread, judge.pairwise.accuracy
        kinds = unanswered(u.causes)
        found.setdefault("Replies that could not be read", {})[judge.name] = words.failed_share(
            kinds.unread, u.n
        )
        others = ("Calls that failed", kinds.no_reply), ("Declined by the judge", kinds.declined)
        for title, count in (*others, ("“Cannot tell”", kinds.cannot_tell)):
            if count:
                found.setdefault(title, {})[judge.name] = words.failed_share(count, u.n)
        for title, tier in (("Read from marks", "marked"), ("Read from sentences", "prose")):
            if u.read_by:
                found.setdefault(title, {})[judge.name] = words.failed_share(
                    u.read_by.get(tier, 0), u.n
                )
        found.setdefault("Accuracy on pairs", {})[judge.name] = words.with_ends(p.share)
        found.setdefault("Accuracy on pairs of the replies read", {})[judge.name] = words.with_ends(
            p.parsed
        )
        if u.of_probes:
            found.setdefault("Failed in probes", {})[judge.name] = words.number(u.of_probes)
        if u.extracted:
            found.setdefault("Read by a second reader", {})[judge.name] = words.failed_share(
                u.extracted, u.n
            )
            found.setdefault("Accuracy on pairs with the second reader", {})[judge.name] = (
                words.percent(u.accuracy_with_extracted)
            )
        for cause, n in u.causes.items():
            found.setdefault(f"Cause: {cause}", {})[judge.name] = words.failed_share(n, u.n)
    return Section(
        "unread",
        "What could not be read",
        "A reply that could not be read counts as wrong, as does a question that a judge declined "
        "or that a person could not answer."
        + (
            " The second table shows how unread replies end, with 0 for each digit."
            if any(judge.unread.shapes for judge in judges)
            else ""
        ),
        [
            by_rows(["All question types"], judges, found, words.failed_share(0, 0)),
            *each(judges, lambda j: grid(columns.SHAPE, j.unread.shapes)),
        ],
        detail=True,
    )


def _telling(analysis: Analysis, shown: Sequence[int], count: int) -> Section:
    """Return examples of each judge; without a given number, few enough to keep the page small."""
    each = (
        max(1, count // max(1, len(shown)))
        if count
        else min(USUAL, max(2, MOST_EXAMPLES // max(1, len(shown))))
    )
    kept = shown if count else shown[: MOST_EXAMPLES // each]
    found = [(analysis.results.judges[i].name, examples(analysis.study, i, each)) for i in kept]
    return Section(
        "questions",
        "Examples of errors",
        "Answers that were wrong by a wide margin or right in only one order, and replies that "
        "could not be read, each from a different image where possible. The letters "
        "are those that the judge saw; highlighted words decided how its reply was read.",
        examples=[(name, rows) for name, rows in found if rows],
        notes=[f"Only the first {len(kept)} judges; --questions sets the number of examples."]
        if len(kept) < len(shown)
        else (),
    )


def pair(analysis: Analysis, compare: tuple[int, int]) -> Section:
    """Compare two judges at the top of the report."""
    first, second = titles(analysis, *compare)
    found, figures = changed(analysis.study, *compare), those_drawn(differences(analysis, *compare))
    return Section(
        "pair", f"{first} and {second}",
        "Differences are paired: they use the questions asked of both judges. Below are questions "
        "that one judge answered correctly and the other did not, with the second judge’s answer, "
        "widest margins first."
        if figures else "",
        notes=opening_notes(analysis, *compare), figures=figures,
        asked=tool_tables(analysis, compare),
        examples=[("What changed", found)] if found else [],
    )  # fmt: skip


def sections(
    analysis: Analysis,
    shown: Sequence[int],
    card: Card,
    drawn: Mapping[str, Figure | LeftOut],
    questions: int,
) -> list[Section]:
    """Return the sections with content, in page order.

    ``shown``: the judges that it is about, by number; the headline has all. ``questions``: how many
    of the most telling questions are shown, 0 for a few of each judge.
    """
    results = analysis.results
    judges = [results.judges[i] for i in shown]
    small = {
        name: image.src for name, image in encoding_images(analysis.study).items() if image.src
    }
    cards = [card.judges[i] for i in shown]
    found = [
        _answered(judges, cards, drawn),
        Section(
            "checks",
            "Which checks does it pass?",
            CHECKS,
            [checks_table(cards, words.names_of(judges))],
            open=True,
        ),
        _compared(results, [judge.name for judge in judges], drawn),
        _baseline(judges, drawn),
        encoding_section(analysis, judges, small),
        _errors(judges, drawn),
        _sensitivity(judges, drawn),
        *sways(results, judges, drawn, card.thresholds.checks["lean"]),
        photograph(judges, drawn),
        probes(analysis, shown, drawn),
        _telling(analysis, shown, questions),
        _raters(judges),
        _headline([results.judges[i] for i in results.shown]),
        _where(judges),
        *_uses(analysis, judges),
        _unread(judges),
    ]
    return [one for one in found if one.told]
