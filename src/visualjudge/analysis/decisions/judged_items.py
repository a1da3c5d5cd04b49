"""A judge's value of every source on every item: one row per item and source, averaged over
encodings and repeats.

A source counts once in each group of sources that may be ranked against each other
(:mod:`visualjudge.analysis.leaderboard`); scores of one task are comparable. A scoring question is
an item of one source (its score); a pairwise or ranking question is an item of each of its sources
(the share of the others that it beats: 1, ½, 0 …).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from visualjudge.analysis.answer import Comparisons
from visualjudge.analysis.answers import is_tie
from visualjudge.analysis.estimate import renumbered
from visualjudge.analysis.leaderboard import placed, places_of
from visualjudge.analysis.study_table import Study, has_truth, ordered
from visualjudge.core.errors import DataError
from visualjudge.core.records import LETTERS, FloatArray, IntArray

MEASURES = {"scoring": "mean score", "pairwise": "win rate", "ranking": "win rate in rankings"}
NOUNS = {"scoring": "annotation", "pairwise": "question", "ranking": "question"}
"""What people label, by kind of question."""
RANGES = {"scoring": (0.0, 10.0), "pairwise": (0.0, 1.0), "ranking": (0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class Items:
    """Items of one kind of question: ``said`` and ``truth`` (R,), with the option, source, image
    and item of every row.

    ``names`` and ``groups`` (S,): the sources in the order of their groups. Only those of one group
    are comparable. ``said`` is NaN without a usable reply.
    """

    kind: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    item: pl.Series
    annotation: pl.Series
    task: IntArray
    """Number of each row's task."""
    option: IntArray
    source: IntArray
    image: IntArray
    said: FloatArray
    truth: FloatArray
    level: FloatArray
    """True quality of the option: its score, or its score less the others' mean."""

    @property
    def images(self) -> int:
        """Number of distinct images."""
        return int(np.unique(self.image).size)

    @property
    def group(self) -> IntArray:
        """Number of each source's group."""
        return np.unique(self.groups, return_inverse=True)[1]

    @property
    def comparable(self) -> bool:
        """Whether any two sources are in the same group."""
        return len(set(self.groups)) < len(self.names)

    @property
    def measure(self) -> str:
        """Name of the mean of ``said``."""
        return MEASURES[self.kind]

    def answered(self) -> tuple[Items, tuple[str, ...]]:
        """Return the items without the sources that have no usable reply or are then alone in their
        group, and these sources.

        A source is named with its group.
        """
        kept = (
            np.bincount(
                self.source[np.isfinite(self.said) & np.isfinite(self.truth)],
                minlength=len(self.names),
            )
            > 0
        )
        beside = np.bincount(self.group, kept) > 1
        kept &= beside[self.group]
        if kept.all():
            return self, ()
        place, rows = np.cumsum(kept) - 1, kept[self.source]
        left = tuple(
            f"{g}: {n}" for g, n, k in zip(self.groups, self.names, kept, strict=True) if not k
        )
        columns = ("task", "option", "image", "said", "truth", "level")
        return replace(
            self,
            names=tuple(n for n, k in zip(self.names, kept, strict=True) if k),
            groups=tuple(g for g, k in zip(self.groups, kept, strict=True) if k),
            item=self.item.filter(pl.Series(rows)),
            annotation=self.annotation.filter(pl.Series(rows)),
            source=place[self.source[rows]],
            **{name: getattr(self, name)[rows] for name in columns},
        ), left

    def filled(self) -> FloatArray:
        """Return ``said`` with the source's mean where there is no usable reply: a prediction like
        any other.
        """
        known = np.isfinite(self.said)
        sums = np.bincount(self.source, np.where(known, self.said, 0.0), len(self.names))
        counts = np.bincount(self.source, known, len(self.names))
        overall = float(sums.sum() / max(counts.sum(), 1))
        means = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
        return np.asarray(np.where(known, self.said, means[self.source]))


def kinds(study: Study) -> list[str]:
    """Return the kinds of questions that the run answered and that compare named sources, most
    trusted first.
    """
    return [kind for kind in ("pairwise", "ranking", "scoring") if items(study, kind).comparable]


def items(study: Study, kind: str, run: int = 0) -> Items:
    """Return the items of one kind of question in one run."""
    merged = _long(study.kind(run, kind, _NEEDED), kind).sort("key", "option")
    met = "task" if kind == "scoring" else "key"
    known, places = placed(merged.select("task", a="source", b=pl.col("source").first().over(met)))

    numbers = merged.select(
        pl.col(name).cast(pl.Float64).fill_null(float("nan")) for name in ("said", "truth", "level")
    )
    said, truth, level = (np.asarray(column.to_numpy()) for column in numbers)
    return Items(
        kind,
        tuple(name for _, name in known),
        tuple(group for group, _ in known),
        merged["item"],
        merged["annotation"],
        ordered(merged["task"])[1],
        merged["option"].to_numpy(),
        places_of(merged, places).to_numpy(),
        renumbered(merged["cluster"].to_numpy())[1],
        said,
        truth,
        level,
    )


_NEEDED = (
    "question",
    "id",
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


def _long(verdicts: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return one row per item and source of one run; ``key`` sorts as the item does."""
    rows = (_scoring if kind == "scoring" else _compared)(verdicts).drop_nulls("source")
    return rows.group_by("key", "option").agg(
        pl.col("item", "annotation", "source", "task", "cluster").first(),
        said=pl.col("said").mean(),
        truth=pl.col("truth").mean(),
        level=pl.col("level").mean(),
    )


def _scoring(verdicts: pl.DataFrame) -> pl.DataFrame:
    annotation = pl.col("annotations").list.first()
    return verdicts.select(
        "cluster",
        "task",
        key=pl.col("task") + "/" + annotation,
        item=pl.col("task") + "/" + annotation,
        annotation=annotation,
        option=pl.lit(0, dtype=pl.Int64),
        source=pl.col("sources").list.first(),
        said=pl.when(pl.col("usable")).then(pl.col("number")),
        truth=pl.col("truth"),
        level=pl.col("truth"),
    )


def _compared(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return each option's share of the others beaten; only questions on different named sources
    inform about sources.
    """
    named = pl.col("sources").list.drop_nulls()
    verdicts, parts = verdicts.filter(named.list.n_unique() > 1), []
    for side in range(max(verdicts["options"].to_list(), default=1)):
        parts.append(
            verdicts.filter(pl.col("options") > side).select(
                "cluster",
                "task",
                key="question",
                item="id",
                annotation=pl.col("annotations").list.get(side),
                option=pl.lit(side, dtype=pl.Int64),
                source=pl.col("sources").list.get(side, null_on_oob=True),
                said=pl.when(pl.col("usable")).then(_beaten("text", LETTERS[side])),
                truth=pl.when(has_truth()).then(_beaten("answer", LETTERS[side])),
                level=_above_others(side),
            )
        )
    return pl.concat(parts)


def _beaten(column: str, letter: str) -> pl.Expr:
    """Return the share of the other options that an answer puts below ``letter``; ½ for a tie."""
    answer, others = pl.col(column).cast(pl.String), (pl.col("options") - 1).cast(pl.Float64)
    place = answer.str.find(letter, literal=True).cast(pl.Float64).fill_null(others)
    return pl.when(is_tie(column)).then(0.5).otherwise((others - place) / others)


def _above_others(side: int) -> pl.Expr:
    """Return the true score of an option less the mean of the others'."""
    scores = pl.col("scores")
    own = scores.list.get(side, null_on_oob=True)
    return own - (scores.list.sum() - own) / (scores.list.len() - 1)


def comparisons(found: Items) -> Comparisons:
    """Return each comparison of two comparable sources: by one question, or for scores on one image
    of a task.
    """
    table = pl.DataFrame(
        {
            "source": found.source,
            "image": found.image,
            "task": found.task,
            "said": found.said,
            "truth": found.truth,
            "level": found.level,
        }
    ).with_columns(item=found.item, group=pl.Series(found.group[found.source]))
    keys = ["item"]
    if found.kind == "scoring":
        keys = ["image", "task"]
        table = table.group_by("group", "source", *keys).agg(
            pl.col("said").drop_nans().mean(), pl.col("truth", "level").mean()
        )
    table = table.filter(pl.col("said").is_not_nan()).with_columns(
        pl.len().over(*keys, "group").alias("options")
    )
    if found.kind != "scoring":
        keys = ["item", "image"]
    both = table.join(table, on=[*keys, "group"], suffix="_b").filter(
        pl.col("source") < pl.col("source_b")
    )
    others = (pl.col("options") - 1) / pl.col("options") if found.kind != "scoring" else 1.0
    preferred = [_preferred(name) for name in ("said", "truth")]
    rows = both.select(
        "source",
        "source_b",
        "image",
        *preferred,
        difference=(pl.col("level") - pl.col("level_b")) * others,
    ).sort("source", "source_b", "image")
    judge, truth, difference = (
        np.asarray(rows[name].cast(pl.Float64).to_numpy())
        for name in ("said", "truth", "difference")
    )
    return Comparisons(
        found.names,
        found.groups,
        rows["source"].to_numpy(),
        rows["source_b"].to_numpy(),
        rows["image"].to_numpy(),
        judge,
        truth,
        difference,
    )


def _preferred(name: str) -> pl.Expr:
    """Return 1 where the first has the higher value, ½ for a tie, 0 otherwise; NaN if unknown."""
    first, second = pl.col(name), pl.col(f"{name}_b")
    sign = pl.when(first.is_nan() | second.is_nan()).then(float("nan"))
    return sign.otherwise(((first - second).sign() + 1) / 2).alias(name)


def require_sources(found: Items) -> Items:
    """Return ``found`` if at least two sources of one task are compared.

    Raises
    ------
    DataError
        If not.
    """
    if not found.comparable:
        raise DataError(
            f"the {found.kind} questions must compare at least 2 named sources of one task, got "
            f"{_named(found)}; "
            "import predictions with --source NAME and build again"
        )
    return found


def _named(found: Items) -> str:
    """Describe how many sources and groups there are."""
    groups = len(set(found.groups))
    return f"{len(found.names)}, none of them with another" if groups > 1 else str(len(found.names))
