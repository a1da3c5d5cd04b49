"""Which encoding should I use? Compares encodings on the same pairs, together with
their costs. The table of accuracies by encoding is in ``tasks_and_encodings.py``.

Two encodings of a task are compared over the pairs of annotations that the judge saw in
both, clustered by image; p is adjusted by Holm over all comparisons of that judge and
task. The best encoding is the most accurate one that no other beats significantly. It
is recommended only if another is significantly worse, because the best of six equally
good encodings is best by chance, and only if the judge is shown to be better than
chance with it. Its accuracy is biased upwards by the choice; measure it on other
images.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import polars as pl

from visualjudge.analysis.estimate import LEVEL, holm
from visualjudge.analysis.figures.figure_parts import (
    UNADJUSTED,
    Cells,
    Column,
    Estimate,
    Json,
    JudgeFigure,
    JudgeResult,
    Layout,
    LeftOut,
    Plot,
    Section,
    Shown,
    across,
    as_named,
    blocks,
    by_rows,
    by_task,
    counts,
    estimates_plot,
    figure,
    gaps,
    guessed,
    image_sums,
    plain_name,
    scaled,
)
from visualjudge.analysis.figures.tasks_and_encodings import BY_ENCODING
from visualjudge.vision.encodings import encoding_title


@dataclass(frozen=True)
class Encoding:
    """One encoding of a task; ``standing`` is best, worse, equivalent (at most 5 points
    behind), open or unknown.
    """

    name: str
    share: Estimate
    tokens: float | None
    standing: str


@dataclass(frozen=True)
class EncodingDuel:
    """Two encodings on the pairs that were asked in both; ``gap`` is first minus
    second."""

    first: str
    second: str
    gap: Estimate
    p: float | None
    p_holm: float | None = None

    @property
    def turned(self) -> EncodingDuel:
        """The comparison of the second with the first."""
        return replace(
            self, first=self.second, second=self.first, gap=scaled(self.gap, -1)
        )


@dataclass(frozen=True)
class EncodingChoice:
    """The encodings of one task, best first."""

    task: str
    recommended: str | None
    reason: str | None
    encodings: tuple[Encoding, ...]
    duels: tuple[EncodingDuel, ...]


MARGIN = 0.05
LEAST_VERDICTS = 20
LEAST_COMMON = 10
"""Minimum number of pairs that an encoding must share with the best one. With fewer,
the two were asked different questions.
"""
NO_DIFFERENCE = "no difference shown"
TOO_FEW = "too few verdicts, or too few on the same pairs"
RIGHT = {"n": pl.col("right").is_not_null(), "right": pl.col("right")}


def compare_encodings(table: pl.DataFrame) -> tuple[EncodingDuel, ...]:
    """Compare every two encodings of one task on their common pairs, with p by Holm. A
    pair counts by the mean of its orders and repeats.
    """
    right = table.select(
        "pair", "cluster", "encoding", pl.col("right").cast(pl.Float64)
    )
    wide = right.pivot(
        "encoding",
        index=["pair", "cluster"],
        values="right",
        aggregate_function="mean",
    )
    duels = []
    for first, second in combinations(
        sorted(table["encoding"].unique().to_list()), 2
    ):
        gap = pl.col(first) - pl.col(second)
        values = {"n": gap.is_not_null(), "gap": gap, "apart": gap.abs()}
        ((figure, p),) = gaps(
            image_sums(wide.drop_nulls([first, second]), [], values)
        )
        duels.append(EncodingDuel(first, second, figure, p))
    adjusted = holm([duel.p for duel in duels])
    return tuple(
        replace(duel, p_holm=p) for duel, p in zip(duels, adjusted, strict=True)
    )


def _worse(duel: EncodingDuel) -> str:
    """Return the encoding that is significantly less accurate; "" if neither is."""
    if duel.p_holm is None or duel.p_holm >= LEVEL or not duel.gap.value:
        return ""
    return duel.second if duel.gap.value > 0 else duel.first


def recommend(
    table: pl.DataFrame, task: str, chance: float = 0.5
) -> EncodingChoice:
    """Return the encodings of one judge and task, most accurate first, their
    comparisons, and the recommended one, or the reason why there is none.
    """
    duels = compare_encodings(table)
    sums = image_sums(table, ["encoding"], RIGHT)
    result = sums.shares("right", "n")
    tokens = dict(
        table.group_by("encoding").agg(pl.col("tokens_in").mean()).iter_rows()
    )
    names = sums.keys["encoding"].to_list()
    shares = {name: result[k] for k, name in enumerate(names)}
    names.sort(key=lambda name: (shares[name].value or 0.0, name), reverse=True)
    beaten = {_worse(duel) for duel in duels}
    best = next((name for name in names if name not in beaten), names[0])
    sides = [side for duel in duels for side in (duel, duel.turned)]
    apart = {duel.second: duel for duel in sides if duel.first == best}
    rows = tuple(
        Encoding(name, shares[name], tokens[name], _standing(name, best, apart))
        for name in names
    )
    reason = _why_none(rows, shares[best], apart, chance)
    return EncodingChoice(task, None if reason else best, reason, rows, duels)


def _standing(name: str, best: str, apart: Mapping[str, EncodingDuel]) -> str:
    """Return the standing of an encoding behind the best: worse (significantly),
    equivalent (at most 5 points behind, 97.5 % sure), open, or unknown.
    """
    if name == best:
        return "best"
    duel = apart[name]
    if duel.gap.interval is None or duel.p_holm is None:
        return "unknown"
    if _worse(duel) == name:
        return "worse"
    return "equivalent" if (duel.gap.interval[1] or 0.0) <= MARGIN else "open"


def _why_none(
    rows: Sequence[Encoding],
    best: Estimate,
    apart: Mapping[str, EncodingDuel],
    chance: float,
) -> str | None:
    if len(rows) == 1:
        return f"only {rows[0].name}"
    asked = all(
        row.share.n >= LEAST_VERDICTS and row.share.interval for row in rows
    )
    if not asked or min(duel.gap.n for duel in apart.values()) < LEAST_COMMON:
        return TOO_FEW
    if best.interval is None or (best.interval[0] or 0.0) <= chance:
        return "not significantly better than chance"
    return (
        None if any(row.standing == "worse" for row in rows) else NO_DIFFERENCE
    )


ENCODING = Layout[Encoding](
    Column("encoding", "name"),
    *counts("share"),
    *figure("accuracy", "share", ends="ci95"),
    *as_named("tokens", "standing"),
)

DUEL = Layout[EncodingDuel](
    *as_named("first", "second", "p", "p_holm"),
    Column("pairs", "gap.n"),
    Column("images", "gap.images"),
    *figure("difference", "gap", ends="ci95"),
)

CHOICE = Layout[EncodingChoice](
    *as_named("task", "recommended", "reason"),
    blocks("encodings", ENCODING),
    blocks("comparisons", DUEL, "duels"),
)


def _rows(judge: JudgeResult) -> tuple[EncodingChoice, ...]:
    needed = judge.pairs.select(
        "task", "pair", "encoding", "cluster", "right", "tokens_in"
    )
    return tuple(
        recommend(
            part, task, guessed(judge.asked.filter(pl.col("task") == task))
        )
        for task, part in by_task(needed)
    )


def _tables(stored: Sequence[Json]) -> dict[str, list[Json]]:
    return {
        "encoding_comparisons": [
            {"task": task["task"], **row}
            for task in stored
            for row in task["comparisons"]
        ]
    }


def _recommended(choice: EncodingChoice) -> str:
    if choice.recommended is None:
        return f"none: {choice.reason}"
    return f"{encoding_title(choice.task, choice.recommended)} ({choice.recommended})"


def _encoding(name: str) -> str:
    """Return ``task/stem`` as the task with the encoding's human name and its stem."""
    task, _, stem = name.rpartition("/")
    return f"{plain_name(task)}: {encoding_title(task, stem)} ({stem})"


def _section(view: Shown) -> Section:
    choices = {
        (plain_name(choice.task), judge.name): _recommended(choice)
        for judge in view.judges
        for choice in judge[ENCODINGS]
        if len(choice.encodings) > 1
    }
    title = "Encoding, on different pairs"
    tables = (
        [
            by_rows("Task", view.judges, choices),
            across(title, view.judges, BY_ENCODING, _encoding),
        ]
        if choices
        else []
    )
    return Section(
        "encodings",
        "Which encoding should I use?",
        "Encodings are compared on the same pairs. An encoding is recommended only if "
        "a difference is significant.",
        tables,
    )


def encodings(view: Shown) -> list[Plot]:
    """Return a plot for each task with several encodings: each one's difference from
    the best of the first judge, on the same pairs.
    """
    judged = view.drawn
    tasks = [
        row.task
        for judge in judged
        for row in judge[ENCODINGS]
        if len(row.encodings) > 1
    ]
    result = (_encodings_of(task, judged) for task in dict.fromkeys(tasks))
    return [plot for plot in result if isinstance(plot, Plot)]


def encoding_name(task: str) -> str:
    """Return the name of a task's plot and files: letters, digits, ``_`` and ``-``."""
    return "encoding-" + re.sub(r"[^\w-]+", "-", task)


def _encodings_of(task: str, judged: Sequence[JudgeResult]) -> Plot | LeftOut:
    own = [
        (k, judge.name, row)
        for k, judge in enumerate(judged)
        for row in judge[ENCODINGS]
        if row.task == task and len(row.encodings) > 1
    ]
    first = own[0][2].encodings
    best = next(
        (row.name for row in first if row.standing == "best"), first[0].name
    )
    return estimates_plot(
        encoding_name(task),
        f"{plain_name(task).capitalize()}: accuracy by encoding",
        "Accuracy with each encoding minus accuracy with "
        f"{encoding_title(task, best)}, on the same pairs.",
        [(k, name, _less(row, best)) for k, name, row in own],
        missing="the encodings were not asked about the same pairs",
        label=f"Points above {encoding_title(task, best)}",
        reading=UNADJUSTED,
    )


def _less(choice: EncodingChoice, best: str) -> Cells:
    turned = (
        duel.turned if duel.first == best else duel for duel in choice.duels
    )
    return {
        encoding_title(choice.task, duel.first): duel.gap
        for duel in turned
        if duel.second == best
    }


ENCODINGS = JudgeFigure(
    "encodings",
    _rows,
    CHOICE,
    needs={"truth"},
    place=30,
    tables=_tables,
    section=_section,
    more_plots=encodings,
)
