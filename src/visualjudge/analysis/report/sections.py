"""The sections of the report: one question each, answered with plots, tables and examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from visualjudge.analysis import columns, figure_text as words
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.columns import (
    COMPARISON,
    LEAK,
    SOURCE,
)
from visualjudge.analysis.comparisons import not_compared
from visualjudge.analysis.decisions.card import Card, tasks_table
from visualjudge.analysis.decisions.checks import checks_table
from visualjudge.analysis.estimate import LEVEL
from visualjudge.analysis.figure_text import NONE, listed, number, percent, plain_name
from visualjudge.analysis.figures import ALL, JudgeResult
from visualjudge.analysis.identity import efforts
from visualjudge.analysis.leaks import as_right
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.report.examples import examples, probe_examples
from visualjudge.analysis.report.plots import encodings
from visualjudge.analysis.report.section import (
    Section,
    across,
    by_rows,
    each,
    headline_grid,
)
from visualjudge.analysis.table_layout import grid
from visualjudge.core.text_tables import Table
from visualjudge.vision.encodings import encoding_title

Drawn = Mapping[str, Figure | LeftOut]


def sections(analysis: Analysis, shown: Sequence[int], card: Card, drawn: Drawn) -> list[Section]:
    """Return the sections with content, in page order.

    ``shown``: the judges that it is about, by number; the headline has all.
    """
    judges = [analysis.results.judges[i] for i in shown]
    every = analysis.results.judges
    found = [
        _answers(judges, card),
        _compared(analysis, judges, drawn),
        _encodings(analysis, judges),
        _errors(judges, drawn),
        _sensitivity(judges, drawn),
        *_behaviour(analysis, judges, drawn),
        _probes(analysis, shown, drawn),
        Section(
            "questions",
            "Examples of errors",
            "Answers that were wrong by a wide margin, and replies that could not be read. The "
            "letters are those that the judge saw.",
            examples=[
                (analysis.results.judges[i].name, examples(analysis.study, i))
                for i in shown[:MOST_WITH_EXAMPLES]
            ],
        ),
        Section(
            "headline",
            "Headline figures",
            words.APART if words.asked_apart(every) else "",
            [headline_grid(every)],
            detail=True,
        ),
        Section("checks", "Checks", "", [checks_table(card.judges)], detail=True),
        *_details(judges),
    ]
    return [section for section in found if section.filled]


def summary_sections(analysis: Analysis, shown: Sequence[int]) -> list[Section]:
    """Return what a page to pass on has below the answer: five numbers and three examples."""
    judges = [analysis.results.judges[i] for i in shown]
    table = headline_grid(judges, FIVE)
    first = analysis.results.judges[shown[0]]
    rows = examples(analysis.study, shown[0], 3)
    return [
        Section("numbers", "Five numbers", asked=[table]),
        Section("questions", "Examples of errors", examples=[(first.name, rows)]),
    ]


FIVE = (
    "Verdicts on pairs",
    "Images",
    "Accuracy (95 %)",
    "Same when swapped",
    "Without an answer",
)
MOST_WITH_EXAMPLES = 2
"""Number of judges with examples, which are most of the page."""


def _answers(judges: Sequence[JudgeResult], card: Card) -> Section:
    names = {judge.name for judge in judges}
    by_task = tasks_table([own for own in card.judges if own.judge in names])
    tables = [replace(by_task, title="")]
    return Section("answers", "May I rank models of a single task?", asked=tables)


def _compared(analysis: Analysis, judges: Sequence[JudgeResult], drawn: Drawn) -> Section:
    names = {judge.name for judge in judges}
    rows = [row for row in analysis.results.comparisons if {row.a, row.b} <= names]
    notes = (
        "p is clustered by image and adjusted by Holm’s method over all comparisons; rows with p "
        "below 5 % are bold. Intervals are not adjusted.",
        *filter(None, [not_compared(len(analysis.results.judges))]),
    )
    table = grid(
        COMPARISON,
        rows,
        title="Pairs of judges",
        hit=lambda row: row.p_holm is not None and row.p_holm < LEVEL,
    )
    return Section(
        "compared",
        "Which judge is better?",
        "Judges are compared on the questions that both were asked; a missing answer counts as "
        "wrong, but questions that the local judge declined are left out.",
        [replace(table, keys=2, notes=notes), efforts(judges)],
        plots=[drawn["judges"]],
    )


def _encodings(analysis: Analysis, judges: Sequence[JudgeResult]) -> Section:
    found = encodings(analysis)
    if not found:
        return Section("encodings", "Which encoding should I use?")
    choices = {
        (plain_name(choice.task), judge.name): words.recommended(choice)
        for judge in judges
        for choice in judge.encodings
        if len(choice.encodings) > 1
    }
    return Section(
        "encodings",
        "Which encoding should I use?",
        "Encodings are compared on the same pairs. An encoding is recommended only if a difference "
        "is significant.",
        [
            by_rows(["Task"], judges, choices),
            across("Encoding, on different pairs", judges, lambda j: j.by_encoding, _encoding),
        ],
        plots=found,
    )


def _encoding(name: str) -> str:
    """Return ``task/stem`` as the task with the encoding's human name and its stem."""
    task, _, stem = name.rpartition("/")
    return f"{plain_name(task)}: {encoding_title(task, stem)} ({stem})"


def _errors(judges: Sequence[JudgeResult], drawn: Drawn) -> Section:
    return Section(
        "errors",
        "Which errors does the judge see?",
        "",
        [across("Error type", judges, lambda judge: judge.by_error_type, plain_name)],
        plots=[drawn["errors"]],
    )


def _sensitivity(judges: Sequence[JudgeResult], drawn: Drawn) -> Section:
    cells = {
        (f"{plain_name(row.value)} · {row.against}", judge.name): words.jnd_text(row)
        for judge in judges
        for row in judge.sensitivity
        if row.jnd.value is not None or row.scope == ALL
    }
    return Section(
        "sensitivity",
        "How small a difference does the judge see?",
        "The table gives the difference at which a judge is right in 75 % of pairs; lower is "
        "better. It is given where accuracy rises significantly with the difference and the curve "
        "fits.",
        [
            by_rows(["Questions · distance"], judges, cells, NONE),
        ],
        plots=[drawn["margin"], drawn["severity"]],
    )


def _behaviour(analysis: Analysis, judges: Sequence[JudgeResult], drawn: Drawn) -> list[Section]:
    leaks = [
        as_right(row)
        for row in analysis.results.leaks
        if row.flagged or (row.scope == "all" and row.share.n)
    ]
    needs = [judge for judge in judges if judge.photograph is not None]
    return [
        Section(
            "bias",
            "Does the judge prefer the first option?",
            "Rows with p below 5 % after Holm’s adjustment are bold.",
            each(
                judges,
                lambda judge: grid(
                    columns.PREFERENCE,
                    [row for row in judge.bias if row.estimate.n],
                    hit=lambda row: row.flagged,
                ),
            ),
            plots=[drawn["leanings"]],
        ),
        Section(
            "scores",
            "How do the judge’s scores relate to the truth?",
            plots=[drawn["scores"], drawn["reliability"]],
        ),
        Section(
            "leaks",
            "Can the questions be gamed?",
            "A rule chooses by one property of the options, such as the size of the file. Its "
            "accuracy is a property of the questions, not of the judges. Rules in bold differ "
            "significantly from 50 %.",
            [replace(grid(LEAK, leaks, hit=lambda row: row.flagged), keys=2)],
        ),
        Section(
            "photograph",
            "Does the judge need the photograph?",
            "The judge was asked the same pairs again with uniform grey, and with another "
            "photograph, in place of the photograph, also below overlays. Right answers then come "
            "from the predictions alone.",
            each(
                needs,
                lambda judge: (
                    grid(columns.PHOTOGRAPH, [judge.photograph.all, *judge.photograph.by_task])
                    if judge.photograph
                    else Table((), ())
                ),
            ),
            [f"{judge.name}: {words.photograph(judge)}" for judge in needs],
            [drawn["photograph"]],
        ),
    ]


def _probes(analysis: Analysis, shown: Sequence[int], drawn: Drawn) -> Section:
    asked = [i for i in shown if analysis.results.judges[i].probes]
    judges = [analysis.results.judges[i] for i in asked]
    tables = each(
        judges,
        lambda judge: grid(columns.PROBE, judge.probes, hit=lambda row: row.state == "fail"),
    )
    return Section(
        "probes",
        "Do irrelevant changes affect the answers?",
        "A judge that ignores the change has an effect of 0. A probe passes where its 90 % "
        "interval is within the margin (two one-sided tests at 5 %), fails where its 95 % interval "
        "excludes 0 and the effect is at least the margin, and is undecided otherwise. A staircase "
        "of severity passes where its 95 % interval is below 0.",
        tables,
        [f"{judge.name}: {words.probes(judge)}" for judge in judges],
        [drawn["probes"]],
        [("An example of each probe", probe_examples(analysis.study, i)) for i in asked[:1]],
    )


def _details(judges: Sequence[JudgeResult]) -> Iterator[Section]:
    yield Section(
        "tasks",
        "Tables by task",
        "Cells give the accuracy on pairs, its 95 % interval, and the number of verdicts and "
        "images.",
        [across("Task", judges, lambda judge: judge.by_task, plain_name), _graded(judges)],
        detail=True,
    )
    yield Section(
        "sources",
        "How the judge ranks the sources",
        "A source is a model whose predictions are judged, or a controlled error with its severity "
        "(duplicate 0.50). Its strength shows how often the judge prefers it.",
        [
            grid(SOURCE, rows, title=f"{judge.name}: {group_name(name)}")
            for judge in judges
            for name, rows in judge.leaderboard.groups
        ],
        [words.STRENGTHS] if any(judge.leaderboard.rows for judge in judges) else (),
        detail=True,
    )
    yield Section(
        "variance",
        "Components of variance",
        "The share of the variance of right and wrong answers that comes from the pair of options, "
        "its encoding, the order shown and chance.",
        each(
            judges,
            lambda judge: grid(columns.VARIANCE, [row for row in judge.variance if row.total]),
        ),
        detail=True,
    )
    own = {
        (score.name, judge.name): words.own_score(score)
        for judge in judges
        for score in judge.own_scores
        if score.value is not None
    }
    yield Section(
        "published",
        "Scores as in published benchmarks",
        words.OWN_SCORES,
        [by_rows(["The benchmark’s own score"], judges, own)],
        detail=True,
    )
    yield Section(
        "unread",
        "What could not be read",
        "A reply that could not be read counts as wrong, as does a question that a judge declined "
        "or that a person could not answer.",
        [_unread(judges)],
        detail=True,
    )


def group_name(group: str) -> str:
    """Name the tasks of a group of sources."""
    return listed([plain_name(task) for task in group.split(" + ")])


def _graded(judges: Sequence[JudgeResult]) -> Table:
    cells = {
        (f"{plain_name(cell.name)} · {name}", judge.name): value
        for judge in judges
        for cell in judge.by_task
        for name, value in words.graded(cell).items()
    }
    return by_rows(["Rankings and scores, by task"], judges, cells, NONE)


def _unread(judges: Sequence[JudgeResult]) -> Table:
    cells = {}
    for judge in judges:
        unread = judge.unread
        counts = {"Without an answer": unread.failed, "Read by a second reader": unread.extracted}
        counts |= {f"Cause: {cause}": n for cause, n in unread.causes.items()}
        for name, count in counts.items():
            cells[name, judge.name] = f"{number(count)} ({percent(count / max(1, unread.n))})"
        cells["Accuracy on pairs of the replies read", judge.name] = words.with_ends(
            judge.pairwise.accuracy.parsed
        )
    return by_rows(["All question types"], judges, cells, "0")
