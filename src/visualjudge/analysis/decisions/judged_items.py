"""A judge's value of every source on every item: one row per item and source, averaged
over encodings and repeats. Labels of people for the same items are in
``label_files.py``.

A source counts once in each group of sources that may be ranked against each other
(:mod:`visualjudge.analysis.figures.strengths`); scores of one task are comparable. A scoring
question is an item of one source (its score); a pairwise or ranking question is an item
of each of its sources (the share of the others that it beats: 1, ½, 0 …).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.answers import has_truth, is_tie
from visualjudge.analysis.estimate import DECIMALS, renumbered
from visualjudge.analysis.separation import Comparisons
from visualjudge.analysis.source_groups import placed, places_of
from visualjudge.analysis.study_table import Study, ordered
from visualjudge.core.errors import DataError
from visualjudge.core.records import LETTERS, IntArray

MEASURES = {
    "scoring": "mean score",
    "pairwise": "win rate",
    "ranking": "win rate in rankings",
}
NOUNS = {"scoring": "annotation", "pairwise": "question", "ranking": "question"}
"""What people label, by kind of question."""


@dataclass(frozen=True, eq=False)
class Items:
    """Items of one kind of question. ``rows`` has one row per item and source: ``item``
    and ``annotation``, the numbers of its ``task``, ``option``, ``source`` and
    ``image``, and of the ``pair`` of predictions, which is the same in every encoding,
    ``said`` and ``truth`` (NaN without a usable reply or a known truth), and ``level``,
    the true quality of the option: its score, or its score less the others' mean.

    ``names`` and ``groups`` (S,): the sources in the order of their groups. Only those
    of one group are comparable.
    """

    kind: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    rows: pl.DataFrame
    unnamed: bool = False
    """Whether no question names a source; the sources are then the tasks, or the
    options."""

    def __getitem__(self, column: str) -> Any:
        """Return a column of ``rows`` as an array."""
        return self.rows[column].to_numpy()

    @property
    def group(self) -> IntArray:
        """Number of each source's group."""
        return np.unique(self.groups, return_inverse=True)[1]

    @property
    def comparable(self) -> bool:
        """Whether any two sources are in the same group."""
        return len(set(self.groups)) < len(self.names)

    @property
    def countable(self) -> bool:
        """Whether any two sources can be compared, or none is named, so that items
        count alone."""
        return self.comparable or (self.unnamed and bool(self.names))

    def answered(self) -> tuple[Items, tuple[str, ...]]:
        """Return the items without the sources that have no usable reply or are then
        alone in their group, and these sources.

        A source is named with its group.
        """
        known = np.isfinite(self["said"]) & np.isfinite(self["truth"])
        selected = (
            np.bincount(self["source"][known], minlength=len(self.names)) > 0
        )
        selected &= (np.bincount(self.group, selected) > 1)[self.group]
        sources = list(zip(self.groups, self.names, selected, strict=True))
        place = pl.Series("source", (np.cumsum(selected) - 1)[self["source"]])
        rows = self.rows.with_columns(place).filter(
            pl.Series(selected[self["source"]])
        )
        names = tuple(name for _, name, heard in sources if heard)
        groups = tuple(group for group, _, heard in sources if heard)
        left = tuple(
            f"{group}: {name}" for group, name, heard in sources if not heard
        )
        return replace(self, names=names, groups=groups, rows=rows), left


def items(
    study: Study, kind: str, run: int = 0, *, or_unnamed: bool = False
) -> Items:
    """Return the items of one kind of question in one run. ``or_unnamed``: where no
    question names a source, the items of each task, or of each option, instead of none.
    """
    verdicts = study.kind(run, kind, _NEEDED)
    unnamed = (
        or_unnamed
        and verdicts["sources"].list.drop_nulls().list.len().sum() == 0
    )
    merged = options_of(verdicts, kind, unnamed=unnamed)
    met = "task" if kind == "scoring" else "key"
    known, places = placed(
        merged.select("task", a="source", b=pl.col("source").first().over(met))
    )
    rows = merged.select(
        "item",
        "annotation",
        "option",
        "pair",
        pl.col("said", "truth", "level")
        .cast(pl.Float64)
        .fill_null(float("nan")),
        task=pl.Series(ordered(merged["task"])[1]),
        source=places_of(merged, places),
        image=pl.Series(renumbered(merged["cluster"].to_numpy())[1]),
    )
    names = tuple(name for _, name in known)
    return Items(kind, names, tuple(group for group, _ in known), rows, unnamed)


def _stand_ins(kind: str) -> pl.Expr:
    """Return names in place of the sources of questions that name none."""
    if kind == "scoring":
        return pl.concat_list(pl.col("task").cast(pl.String))
    names = {place: f"option {letter}" for place, letter in enumerate(LETTERS)}
    name = pl.element().replace_strict(names, return_dtype=pl.String)
    return pl.int_ranges(pl.col("options")).list.eval(name)


_NEEDED = (
    "question",
    "id",
    "pair",
    "task",
    "cluster",
    "annotations",
    "sources",
    "scores",
    "options",
    "answer",
    "truth",
    "usable",
    "text",
    "number",
)


def options_of(
    verdicts: pl.DataFrame, kind: str, *, unnamed: bool = False
) -> pl.DataFrame:
    """Return one row per item and source of one run, sorted; ``key`` sorts as the item
    does."""
    if unnamed:
        verdicts = verdicts.with_columns(sources=_stand_ins(kind))
    rows = (_scoring if kind == "scoring" else _compared)(verdicts).drop_nulls(
        "source"
    )
    result = rows.group_by("key", "option").agg(
        pl.col(
            "item", "annotation", "source", "task", "cluster", "pair"
        ).first(),
        pl.col("said", "truth", "level").mean(),
    )
    return result.sort("key", "option")


def item_of(kind: str) -> pl.Expr:
    """Return the item of a question: the question, or TASK/annotation of a scoring
    question."""
    annotation = pl.col("annotations").list.first()
    return (
        pl.col("task") + "/" + annotation if kind == "scoring" else pl.col("id")
    )


def _scoring(verdicts: pl.DataFrame) -> pl.DataFrame:
    return verdicts.select(
        "cluster",
        "task",
        "pair",
        key=item_of("scoring"),
        item=item_of("scoring"),
        annotation=pl.col("annotations").list.first(),
        option=pl.lit(0, dtype=pl.Int64),
        source=pl.col("sources").list.first(),
        said=pl.when(pl.col("usable")).then(pl.col("number")),
        truth=pl.col("truth"),
        level=pl.col("truth"),
    )


def _compared(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return each option's share of the others beaten; only questions on different
    named sources inform about sources.
    """
    named = pl.col("sources").list.drop_nulls()
    verdicts = verdicts.filter(named.list.n_unique() > 1)
    return pl.concat(
        [
            verdicts.filter(pl.col("options") > side).select(
                "cluster",
                "task",
                "pair",
                key="question",
                item="id",
                annotation=pl.col("annotations").list.get(side),
                option=pl.lit(side, dtype=pl.Int64),
                source=pl.col("sources").list.get(side, null_on_oob=True),
                said=pl.when(pl.col("usable")).then(
                    _beaten("text", LETTERS[side])
                ),
                truth=pl.when(has_truth()).then(
                    _beaten("answer", LETTERS[side])
                ),
                level=_above_others(side),
            )
            for side in range(max(verdicts["options"].to_list(), default=1))
        ]
    )


def _beaten(column: str, letter: str) -> pl.Expr:
    """Return the share of the other options that an answer puts below ``letter``; ½ for
    a tie."""
    answer = pl.col(column).cast(pl.String)
    others = (pl.col("options") - 1).cast(pl.Float64)
    place = (
        answer.str.find(letter, literal=True).cast(pl.Float64).fill_null(others)
    )
    return (
        pl.when(is_tie(column)).then(0.5).otherwise((others - place) / others)
    )


def _above_others(side: int) -> pl.Expr:
    """Return the true score of an option less the mean of the others'."""
    scores = pl.col("scores")
    own = scores.list.get(side, null_on_oob=True)
    return own - (scores.list.sum() - own) / (scores.list.len() - 1)


def comparisons(judged: Items) -> Comparisons:
    """Return each comparison of two comparable sources: by one question, or for scores
    on one image of a task.
    """
    table = judged.rows.with_columns(
        group=pl.Series(judged.group[judged["source"]])
    )
    keys = ["item", "image"]
    if judged.kind == "scoring":
        keys = ["image", "task"]
        table = table.group_by("group", "source", *keys).agg(
            pl.col("said").drop_nans().mean(), pl.col("truth", "level").mean()
        )
    table = table.filter(pl.col("said").is_not_nan())
    others = pl.lit(1.0)
    if judged.kind != "scoring":
        options = pl.len().over("item", "group")
        table = table.with_columns(part=(options - 1) / options)
        others = pl.col("part")
    both = table.join(table, on=[*keys, "group"], suffix="_b").filter(
        pl.col("source") < pl.col("source_b")
    )
    rows = both.select(
        "source",
        "source_b",
        "image",
        *(_preferred(name, judged.kind) for name in ("said", "truth")),
        difference=(pl.col("level") - pl.col("level_b")) * others,
    ).sort("source", "source_b", "image")
    return Comparisons(
        judged.names,
        judged.groups,
        *(rows[name].to_numpy() for name in rows.columns),
    )


def _preferred(name: str, kind: str) -> pl.Expr:
    """Return how often the first is preferred, NaN if unknown: the mean over replies of
    1, ½ for a tie and 0 for a question on two; else 1 where the first has the higher
    mean, ½ where the means differ by rounding alone.
    """
    gap = pl.col(name) - pl.col(f"{name}_b")
    if kind != "pairwise":
        gap = gap.round(DECIMALS).sign()
    return ((gap + 1) / 2).alias(name)


def require_sources(judged: Items) -> Items:
    """Return ``judged`` if at least two sources of one task are compared, or none is
    named.

    Raises
    ------
    DataError
        If not.
    """
    if not judged.countable:
        raise DataError(
            f"the {judged.kind} questions must compare at least 2 named models of one "
            f"task, got {len(judged.names)}; import predictions with another `source` and "
            "build again"
        )
    return judged
