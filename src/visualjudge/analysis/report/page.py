"""``report.html``: one file that asks no host for anything. The answer first, judges as columns, the rest folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import visualjudge
from visualjudge.analysis import columns, scopes, words
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.opening import opening
from visualjudge.analysis.figures import JudgeResult, Results, Sensitivity, SourceRow
from visualjudge.analysis.report import charts
from visualjudge.analysis.report.examples import USUAL, Example, Thumbnail, encoding_images, examples, probe_examples
from visualjudge.analysis.report.grids import Grid, GridRow, across, breakable, by_rows, grid, headline_grid
from visualjudge.analysis.report.methods import SOURCES, methods
from visualjudge.analysis.unanswered import unanswered
from visualjudge.vision.encodings import encoding_title


@dataclass(frozen=True)
class Group:
    """Judges that were asked the same questions, in one table."""

    judges: Sequence[JudgeResult]
    headline: Grid


@dataclass(frozen=True)
class Section:
    """A folded part of the page: its anchor, title, what it means, its tables with their captions, and notes."""

    anchor: str
    title: str
    why: str
    grids: Sequence[tuple[str, Grid]] = ()
    notes: Sequence[str] = ()
    figures: Sequence[Markup] = ()
    examples: Sequence[tuple[str, Sequence[Example]]] = ()
    open: bool = False


def environment() -> Environment:
    """Templates with everything escaped and no name left undefined."""
    env = Environment(
        loader=PackageLoader("visualjudge.analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(percent=words.percent, percents=words.percents, number=words.number)
    env.globals.update(
        sets=words.SETS,
        headline=words.headline,
        answer=words.answer,
        leanings=words.leanings,
        unfinished=words.unfinished,
        other_warnings=words.other_warnings,
    )
    return env


def _label(images: Mapping[str, Thumbnail]) -> Callable[[str], Markup]:
    """``task/stem`` as the encoding's human name, its image and its stem."""

    def label(name: str) -> Markup:
        task, _, stem = name.rpartition("/")
        thumb = images.get(name)
        image = Markup('<img class="thumb" src="{}" alt="">').format(thumb.src) if thumb and thumb.src else Markup("")
        return Markup('<span class="named">{}<span>{}<br><small>{}, {}</small></span></span>').format(
            image, encoding_title(task, stem), breakable(task), stem
        )

    return label


def _where(judges: Sequence[JudgeResult], images: Mapping[str, Thumbnail]) -> list[Section]:
    task = across("Task", judges, lambda j: j.by_task, breakable)
    encoding = across("Encoding", judges, lambda j: j.by_encoding, _label(images))
    error = across("Error type", judges, lambda j: j.by_error_type, breakable)
    margin = across("Margin between the scores", judges, lambda j: j.by_margin)
    why = "Share of right pairwise verdicts, its 95 % interval, and the verdicts and images behind it."
    return [
        Section("tasks", "By task", why, [("", task), ("Rankings and scores", _graded(judges))], open=True),
        Section("encodings", "By encoding", why, [("", encoding)]),
        Section("errors", "By error type and margin", why, [("", error), ("", margin)]),
    ]


def _graded(judges: Sequence[JudgeResult]) -> Grid:
    """What rankings and scores show by task."""
    found: dict[str, dict[str, str]] = {}
    for judge in judges:
        for cell in judge.by_task:
            for name, value in words.graded(cell).items():
                found.setdefault(f"{cell.name} · {name}", {})[judge.name] = value
    return by_rows(["Task · figure"], judges, found)


def _compared(results: Results, names: Sequence[str]) -> Section:
    rows = [row for row in results.comparisons if row.a in names and row.b in names]
    gap = f"{100 * rows[0].asked_gap:g}" if rows else ""
    return Section(
        "compared",
        "Judges compared",
        "On the questions that both were asked; no answer counts as wrong, also where the baseline declined. p is "
        "clustered by image, after Holm over all comparisons; intervals are unadjusted. The last figure is how many "
        f"images like these would show a gap of {gap} points (5 %, power 80 %), with its 95 % range. "
        "In marked rows p is below 5 %.",
        [
            ("", grid(columns.COMPARISON, rows, hit=lambda row: (row.p_holm or 1) < 0.05)),
            ("Krippendorff’s α among judges that were asked the same", grid(columns.AGREEMENT, results.agreement)),
        ],
    )


def _baseline(judges: Sequence[JudgeResult]) -> Section:
    said = [f"{judge.name}: {line}" for judge in judges if (line := words.above(judge))]

    def table(judge: JudgeResult) -> Grid:
        return grid(columns.ABOVE, scopes.above(judge.above_baseline), hit=lambda row: row.standing == "worse")

    return Section(
        "baseline",
        "Beyond the local baseline?",
        "The local baseline is a small model without language that looks at image and prediction. A judge that is not "
        "shown to be better has shown no more than low-level features tell. Questions that the baseline declined are "
        "left out here, and intervals are unadjusted. Marked rows are worse than the baseline: their intervals lie "
        "below 0, and p after Holm over tasks and error types below 5 %.",
        _each(judges, table),
        notes=said,
    )


def _raters(judges: Sequence[JudgeResult]) -> Section:
    return Section(
        "raters",
        "Were the raters attentive?",
        "Known items are those with the widest margins; repeats are questions that a rater saw before. They check the "
        "raters: no other figure counts them.",
        _each(judges, lambda j: grid(columns.CHECKED, j.rater_checks)),
    )


def _sensitivity(judges: Sequence[JudgeResult]) -> Section:
    found: dict[str, dict[str, str]] = {}
    for judge in judges:
        for row in scopes.sensitivity(judge.sensitivity):
            found.setdefault(f"{row.value} · {row.against}", {})[judge.name] = words.jnd_text(row)
    labels = {"margin": "difference between the options' scores", "severity": "difference in severity"}
    drawn = [charts.curves(_all(judges, against), label) for against, label in labels.items()]
    return Section(
        "sensitivity",
        "How small a difference does it see?",
        "The distance between two options at which the judge is 75 % right; lower is a sharper eye. It is given where "
        "right answers are shown to grow with distance and the curve fits.",
        [("", by_rows(["Questions · distance"], judges, found))],
        figures=[image for image in drawn if image],
    )


def _all(judges: Sequence[JudgeResult], against: str) -> list[tuple[int, str, Sensitivity]]:
    return [
        (k, judge.name, row)
        for k, judge in enumerate(judges)
        for row in judge.sensitivity
        if row.scope == "all" and row.against == against
    ]


def _each(judges: Sequence[JudgeResult], make: Callable[[JudgeResult], Grid]) -> list[tuple[str, Grid]]:
    found = [(judge.name, make(judge)) for judge in judges]
    return [(name, table) for name, table in found if table.rows]


def _named_choices(judge: JudgeResult) -> Grid:
    """Choices with encodings by their human names."""

    def named(task: str, stem: str | None) -> str | None:
        return None if stem is None else f"{encoding_title(task, stem)} ({stem})"

    rows = [
        replace(
            choice, recommended=named(choice.task, choice.recommended), cheapest=named(choice.task, choice.cheapest)
        )
        for choice in judge.encodings
    ]
    return grid(columns.CHOICE, rows)


def _sways(results: Results, judges: Sequence[JudgeResult]) -> list[Section]:
    flagged = [row for row in scopes.leaks(results.leaks) if row.scope == "all" or row.flagged]
    return [
        Section(
            "bias",
            "What else sways it?",
            "How much better the judge is where the option with more of something is the right one, halved, in points "
            "and at equal difficulty: 0 is a fair judge, 50 one that looks at nothing else. In "
            "marked rows p is below 5 %.",
            _each(judges, lambda j: grid(columns.PREFERENCE, j.bias, hit=lambda row: row.flagged)),
        ),
        Section(
            "leaks",
            "Can the questions be gamed?",
            "How far a judge gets that only takes the option with more of something. No judge is involved: this is the "
            "dataset. Marked rules are off 50 % beyond chance: p is below 5 % and the interval leaves out 50 %.",
            [("", grid(columns.LEAK, flagged, hit=lambda row: row.flagged))],
        ),
    ]


def _uses(judges: Sequence[JudgeResult]) -> list[Section]:
    return [
        Section(
            "choice",
            "Which encoding should I use?",
            "Compared on the same pairs. One is recommended only where a difference is shown; its share right is from "
            "images that it was not chosen on. “Open” means that these data cannot tell it from the best.",
            _each(judges, _named_choices),
        ),
        Section(
            "variance",
            "Where right and wrong come from",
            "Shares of the variance of single verdicts. Without repeated questions, chance lies in the order shown.",
            _each(judges, lambda j: grid(columns.VARIANCE, [row for row in j.variance if row.total])),
        ),
        Section(
            "sources",
            "The sources as it ranks them",
            words.SOURCES,
            [part for j in judges for name, rows in j.leaderboard.groups for part in _sources(j, name, rows)],
            notes=[note for j in judges for note in _board_notes(j)],
        ),
        _published(judges),
    ]


def _sources(judge: JudgeResult, group: str, rows: Sequence[SourceRow]) -> list[tuple[str, Grid]]:
    """The sources of one group, and the matrix of their differences."""
    own = [row for row in judge.leaderboard.contrasts if row.group == group]
    titles, cells = columns.contrasts(rows, own)
    matrix = Grid(titles, [False] * len(titles), [GridRow(line) for line in cells])
    title = f"{judge.name}: {group}"
    return [(title, grid(columns.SOURCE, rows)), (f"{title}: differences, p (95 %)", matrix)]


def _published(judges: Sequence[JudgeResult]) -> Section:
    return Section(
        "published",
        "As published benchmarks count it",
        "Scores computed as published benchmarks compute theirs.",
        [
            (title, by_rows([first], judges, _by_title(judges, cells)))
            for title, first, cells in (
                ("The benchmark’s own scores", "Score", columns.own_scores),
                ("Right pairwise verdicts by the rules of benchmarks", "Rule", columns.counted_as),
            )
        ],
        notes=[words.OWN_SCORES] if any(columns.own_scores(judge) for judge in judges) else [],
    )


def _by_title(
    judges: Sequence[JudgeResult], cells: Callable[[JudgeResult], Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for judge in judges:
        for title, value in cells(judge).items():
            found.setdefault(title, {})[judge.name] = value
    return found


def _board_notes(judge: JudgeResult) -> list[str]:
    board, out = judge.leaderboard, []
    if board.components > 1:
        out.append(
            f"{judge.name}: the sources fall into {board.components} groups that were never compared in the same "
            "tasks; ranks and axes are those of each group."
        )
    if board.spearman is not None:
        out.append(f"{judge.name}: rank correlation with the order by true scores ρ {words.number(board.spearman)}.")
    return out


def _unread(judges: Sequence[JudgeResult]) -> Section:
    found: dict[str, dict[str, str]] = {}
    for judge in judges:
        u, p = judge.unread, judge.pairwise.accuracy
        kinds = unanswered(u.causes)
        found.setdefault("Replies that could not be read", {})[judge.name] = words.failed_share(kinds.unread, u.n)
        others = ("Calls that failed", kinds.no_reply), ("Declined by the judge", kinds.declined)
        for title, count in (*others, ("“Cannot tell”", kinds.cannot_tell)):
            if count:
                found.setdefault(title, {})[judge.name] = words.failed_share(count, u.n)
        for title, tier in (("Read from marks", "marked"), ("Read from sentences", "prose")):
            if u.read_by:
                found.setdefault(title, {})[judge.name] = words.failed_share(u.read_by.get(tier, 0), u.n)
        found.setdefault("Pairwise: right of all", {})[judge.name] = words.with_ends(p.share)
        found.setdefault("Pairwise: right of what was read", {})[judge.name] = words.with_ends(p.parsed)
        if u.of_probes:
            found.setdefault("Failed besides, in probes", {})[judge.name] = words.number(u.of_probes)
        if u.extracted:
            found.setdefault("Read by a second reader", {})[judge.name] = words.failed_share(u.extracted, u.n)
            found.setdefault("Pairwise: right with the second reader", {})[judge.name] = words.percent(
                u.accuracy_with_extracted
            )
        for cause, n in u.causes.items():
            found.setdefault(f"Cause: {cause}", {})[judge.name] = words.failed_share(n, u.n)
    return Section(
        "unread",
        "What could not be read",
        "A reply that could not be read counts as wrong, and so does a question that a judge declined or a person "
        "could not tell. Below, the most common shapes: how replies end, numbers as 0.",
        [
            ("", by_rows(["All question types"], judges, found)),
            *_each(judges, lambda j: grid(columns.SHAPE, j.unread.shapes)),
        ],
    )


def _telling(analysis: Analysis, shown: Sequence[int], count: int) -> Section:
    each = max(1, count // max(1, len(shown))) if count else USUAL
    found = [(analysis.results.judges[i].name, examples(analysis.study, i, each)) for i in shown]
    return Section(
        "questions",
        "The most telling questions",
        "Wrong at a wide margin, flipped by the order, not read; each on another pair, ranking or annotation.",
        examples=[(name, rows) for name, rows in found if rows],
    )


def _probes(analysis: Analysis, shown: Sequence[int]) -> Section:
    judges = [judge for judge in (analysis.results.judges[i] for i in shown) if judge.probes]
    states: dict[str, dict[str, str]] = {}
    for judge in judges:
        for row in judge.probes:
            states.setdefault(row.name.replace("_", " "), {})[judge.name] = row.state.replace("_", " ")
    every = (analysis.results.judges[i] for i in shown)
    trusts = [(k, judge.name, judge.tool_trust) for k, judge in enumerate(every) if judge.tool_trust]
    first = next((i for i in shown if analysis.results.judges[i].probes), None)
    return Section(
        "probes",
        "What must not matter",
        "Each probe changes one thing that the answer does not depend on; 0 is a judge that it does not move. A probe "
        "passes where its 90 % interval is within the margin (two one-sided tests at 5 %), and fails where the 95 % "
        "interval leaves out 0 and the effect is at least the margin. A staircase of severity passes where its 95 % "
        "interval is below 0.",
        [
            ("", by_rows(["Probe"], judges, states)),
            *_each(judges, lambda j: grid(columns.PROBE, j.probes, hit=lambda row: row.state == "fail")),
            *_each(judges, lambda j: grid(columns.TRUST, j.tool_trust)),
        ],
        figures=[charts.trust(trusts, "the confidence that the tool claims")] if trusts else [],
        examples=[("An example of each probe", probe_examples(analysis.study, first))] if first is not None else [],
        open=True,
    )


def _photograph(judges: Sequence[JudgeResult]) -> Section:
    asked = [(judge, judge.photograph) for judge in judges if judge.photograph is not None]
    return Section(
        "photograph",
        "Does the judge need the photograph?",
        "The same pairs with the photograph, with another one in its place, and with uniform grey, also under what is "
        "drawn over it. The gain is the accuracy with the photograph minus that with grey, with a 95 % interval. What "
        "a judge gets right without the photograph comes from the predictions alone.",
        [(judge.name, grid(columns.PHOTOGRAPH, [need.all, *need.by_task])) for judge, need in asked],
        notes=[f"{judge.name}: {words.photograph(judge)}" for judge, _ in asked],
        open=True,
    )


def _kept(section: Section) -> bool:
    return bool(section.figures or section.examples or any(table.rows for _, table in section.grids))


def _groups(judges: Sequence[JudgeResult]) -> list[Group]:
    """Judges that were asked the same questions stand together; others stand apart."""
    out = []
    for like in dict.fromkeys(judge.asked_like for judge in judges):
        part = [judge for judge in judges if judge.asked_like == like]
        out.append(Group(part, headline_grid(part)))
    return out


def context(analysis: Analysis, questions: int = 0) -> dict[str, Any]:
    """What the template is given."""
    results = analysis.results
    shown, rest = results.shown, results.appendix
    judges = [results.judges[i] for i in shown]
    sections = [
        *_where(judges, encoding_images(analysis.study)),
        _baseline(judges),
        _compared(results, [judge.name for judge in judges]),
        _photograph(judges),
        _probes(analysis, shown),
        _raters(judges),
        _sensitivity(judges),
        *_sways(results, judges),
        *_uses(judges),
        _unread(judges),
        _telling(analysis, shown, questions),
    ]
    return {
        "opening": opening(analysis).html(),
        "results": results,
        "judges": judges,
        "groups": _groups(judges),
        "apart": words.APART,
        "sections": [section for section in sections if _kept(section)],
        "simulated": rest,
        "appendix": headline_grid(rest) if rest else None,
        "methods": methods(results),
        "sources": SOURCES,
        "version": visualjudge.__version__,
        "setups": [(j.name, orjson.dumps(j.info, option=orjson.OPT_INDENT_2).decode()) for j in results.judges],
    }


def html(analysis: Analysis, questions: int = 0) -> str:
    """The whole page; ``questions``: how many of the most telling ones it shows (0: a few of each judge)."""
    return environment().get_template("report.html.j2").render(context(analysis, questions))
