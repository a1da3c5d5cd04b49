"""The accuracy that a judge could reach from length, count or size alone. It shows
whether a benchmark can be gamed. What a *judge* prefers by these features is in
``bias.py``.

Each rule of the form "choose the option with more of it" is scored on the dataset
itself, without a judge.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from visualjudge.analysis.decisions.checks import THRESHOLDS
from visualjudge.analysis.estimate import LEVEL, holm, test
from visualjudge.analysis.figure_text import lower_first
from visualjudge.analysis.figures.figure_parts import (
    ALL,
    HOLM,
    Analysis,
    Estimate,
    Layout,
    Section,
    Shown,
    StudyFigure,
    as_named,
    counts,
    figure,
    grid,
    image_sums,
    known,
    named,
    plain_name,
    with_ends,
)
from visualjudge.analysis.pairwise_verdicts import OF_TWO
from visualjudge.analysis.study_table import more, unchanged


@dataclass(frozen=True)
class Leak:
    """The accuracy of one shallow rule on the dataset itself."""

    scope: str
    rule: str
    share: Estimate
    p: float | None
    p_holm: float | None = None
    flagged: bool = False


RULES = {
    "text_chars": "the longer text",
    "count": "more boxes, masks or points",
    "area": "the larger marked area",
    "png_bytes": "the larger image file",
}
"""The rules by the feature of which they choose more."""
NEEDED = ("kind", "answer", "task", "cluster", *map(more, RULES))
"""Columns of the questions that the audit uses."""
OPPOSITES = {"longer": "shorter", "more": "fewer", "larger": "smaller"}


def _of_rules(pairs: pl.DataFrame, by: Sequence[str]) -> Iterator[Leak]:
    """Yield each rule's accuracy, in each cell of ``by``, on the questions to which it
    applies."""
    for rule in RULES:
        applies = pairs.select("cluster", "task", hit=more(rule)).drop_nulls(
            "hit"
        )
        sums = image_sums(
            applies,
            by,
            {"n": pl.col("hit").is_not_null(), "hit": pl.col("hit")},
        )
        value, dispersion = sums.ratio("hit", "n")
        shares = sums.shares("hit", "n")
        p = test(value - OF_TWO, dispersion)
        for k in range(sums.cells if applies.height or not by else 0):
            scope = str(sums.keys["task"][k]) if by else ALL
            yield Leak(scope, rule, shares[k], known(p[k]))


def leak_audit(questions: pl.DataFrame) -> tuple[Leak, ...]:
    """Return one row per rule and scope ("all", or a task that is not all). A row is
    ``flagged`` if p by Holm over all rows is below 5 % and the interval also excludes
    ½: the test uses the share's own scale, and the interval allows for few and unequal
    images.
    """
    pairs = questions.filter(
        (pl.col("kind") == "pairwise") & pl.col("answer").is_in(["A", "B"])
    )
    if pairs.is_empty():
        return ()
    rows = list(_of_rules(pairs, ()))
    whole = {row.rule: row.share.n for row in rows}
    rows += [
        row
        for row in _of_rules(pairs, ("task",))
        if row.share.n < whole[row.rule]
    ]
    adjusted = holm([row.p for row in rows])
    return tuple(
        replace(
            row,
            p_holm=p,
            flagged=p is not None and p < LEVEL and _apart(row.share),
        )
        for row, p in zip(rows, adjusted, strict=True)
    )


def _apart(share: Estimate) -> bool:
    low, high = share.interval or (None, None)
    return low is not None and high is not None and not low <= OF_TWO <= high


def as_right(row: Leak) -> Leak:
    """Return the rule under its name in words; for a rule that is wrong more often than
    right, its opposite, with the accuracy of that.
    """
    name = RULES[row.rule]
    share = row.share
    if share.value is None or share.value >= OF_TWO:
        return replace(row, rule=name)
    low, high = share.interval or (None, None)
    ends = None if low is None or high is None else (1 - high, 1 - low)
    turned = Estimate(1 - share.value, ends, share.n, share.images, share.why)
    words = (OPPOSITES.get(word, word) for word in name.split(" "))
    return replace(row, rule=" ".join(words), share=turned)


def best_rule(result: Iterable[Leak]) -> Leak | None:
    """Return the rule that is right most often, as :func:`as_right` returns it; None if
    there are no rules.
    """
    known = [as_right(row) for row in result if row.share.value is not None]
    return max(known, key=lambda row: row.share.value or 0.0, default=None)


COLUMNS = Layout[Leak](
    named("scope", "Questions", plain_name, text=True),
    named("rule", "Rule"),
    *counts("share", "Applies to"),
    *figure("accuracy", "share", "Accuracy", ends="ci95"),
    *as_named("p", "flagged"),
    HOLM,
)


def _rows(analysis: Analysis) -> tuple[Leak, ...]:
    asked = analysis.study.questions.lazy().filter(unchanged())
    return leak_audit(asked.select(NEEDED).collect())


def _section(view: Shown) -> Section:
    rows = [
        as_right(row)
        for row in view.analysis[LEAKS]
        if row.flagged or (row.scope == ALL and row.share.n)
    ]
    return Section(
        "leaks",
        "Can the questions be gamed?",
        "A rule chooses by one property of the options, such as the size of the file. "
        "Its accuracy is a property of the questions, not of the judges.",
        [grid(COLUMNS, rows, keys=2)],
        [
            *(f"{_right(row)}." for row in rows if row.scope == ALL),
            "A judge that is right about as often as such a rule may not look at the "
            "image at all.",
        ],
    )


def _right(row: Leak) -> str:
    return (
        f"Choosing {row.rule}, without looking, is right in {with_ends(row.share)} of "
        f"the {row.share.n:,} questions where it differs"
    )


def gamed(rows: Sequence[Leak]) -> list[str]:
    """Return that a rule which never looks at the image reaches the accuracy that a
    judge must show; nothing where none does.
    """
    best = best_rule(row for row in rows if row.scope == ALL and row.flagged)
    if (
        best is None
        or (best.share.value or 0.0) < THRESHOLDS["macro_accuracy"].value
    ):
        return []
    return [f"These questions can be gamed: {lower_first(_right(best))}."]


LEAKS = StudyFigure(
    "leak_audit", _rows, COLUMNS, place=80, sentences=gamed, section=_section
)
