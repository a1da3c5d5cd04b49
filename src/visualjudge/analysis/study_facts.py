"""The facts of a study: what its dataset holds and how much of it was asked, and which
runs were asked the same questions. Which kind of study it is, is in ``study_shape.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from visualjudge.analysis.answers import has_truth
from visualjudge.analysis.figure_text import many
from visualjudge.analysis.study_table import Study, unchanged
from visualjudge.analysis.table_layout import Column, Layout, as_named
from visualjudge.core.records import IntArray


@dataclass(frozen=True)
class DatasetFacts:
    """The questions. ``asked`` counts the distinct ones that any judge was asked,
    ``probed`` those of them that a probe changed, which count only in figures of
    probes; ``untold`` counts those without a known answer;
    ``where`` has the filters on the questions that all figures use, as
    ``FIELD=VALUE``.
    """

    path: str | None
    questions_sha256: str | None
    version: str | None
    seed: int | None
    questions: int
    images: int
    by_question_type: Mapping[str, int]
    asked: int = 0
    images_asked: int = 0
    probed: int = 0
    untold: int = 0
    where: tuple[str, ...] = ()

    @property
    def extent(self) -> str:
        """How much of the dataset was asked: 300 of 1,514 questions, on 13 of 40
        images."""
        more = self.probed if self.probed < self.asked else 0
        questions = _of(self.asked - more, self.questions - more, "question")
        split = f" ({self.untold:,} without a known answer)" * (
            0 < self.untold < self.asked - more
        )
        probes = (
            f", and {more:,} copies of them with a part changed (probes)"
            if more
            else ", for probes" * bool(self.probed)
        )
        where = " and ".join(self.where)
        return (
            f"{questions}{split} on {_of(self.images_asked, self.images, 'image')}"
            f"{probes}{f'; only those with {where}' * bool(where)}"
        )


def _of(part: int, whole: int, noun: str) -> str:
    every = many(whole, noun)
    return every if part == whole else f"{part:,} of {every}"


DATASET = Layout[DatasetFacts](
    *as_named(
        "path", "questions_sha256", "version", "seed", "questions", "images"
    ),
    *as_named("by_question_type", "asked", "images_asked", "probed"),
    Column("where", lambda d: list(d.where)),
)


def dataset_facts(study: Study) -> DatasetFacts:
    """Return the facts of the questions."""
    questions = study.questions
    numbers = pl.Series(np.concatenate([[], *study.asked])).cast(pl.Int32)
    asked = questions.filter(pl.col("question").is_in(numbers.implode()))
    counted = asked.filter(unchanged())
    return DatasetFacts(
        path=str(study.root) if study.root is not None else None,
        questions_sha256=study.meta.get("questions_sha256"),
        version=study.meta.get("version"),
        seed=study.meta.get("seed"),
        questions=questions.height,
        images=study.clusters,
        by_question_type={
            str(k): n
            for k, n in sorted(questions.group_by("kind").len().iter_rows())
        },
        asked=asked.height,
        probed=asked.height - counted.height,
        images_asked=(counted if counted.height else asked)[
            "cluster"
        ].n_unique(),
        untold=counted.filter(~has_truth()).height,
        where=study.part.stated,
    )


ALIKE = 0.95
"""Judges count as asked the same questions if they share at least this part of all
questions that either was asked.
"""


def asked_like(study: Study) -> tuple[int, ...]:
    """Return a number for each run. Runs with the same number were asked the same
    questions."""
    asked = study.asked
    out: list[int] = []
    for i, ids in enumerate(asked):
        same = (out[j] for j in range(i) if overlap(ids, asked[j]) >= ALIKE)
        out.append(next(same, max(out, default=-1) + 1))
    return tuple(out)


def overlap(a: IntArray, b: IntArray) -> float:
    """Return the questions in common as a share of those in either array."""
    common = np.intersect1d(a, b, assume_unique=True).size
    return common / max(1, a.size + b.size - common)


def most_accurate(study: Study, most: int) -> list[int]:
    """Return the numbers of the runs; of more than ``most``, of the most accurate
    ones."""
    numbers = list(range(len(study.runs)))
    if len(numbers) <= most:
        return numbers
    right = [
        table.filter(pl.col("kind") == "pairwise")
        .select(pl.col("right").mean())
        .item()
        or 0.0
        for table in study.joined
    ]
    return sorted(numbers, key=lambda k: -right[k])[:most]


def nothing_in_common(study: Study) -> tuple[str, ...]:
    """Return a one-line warning about runs that share no question with any other
    run."""
    asked = dict(enumerate(study.asked))
    alone = [
        study.runs[k].name
        for k, ids in asked.items()
        if ids.size
        and not any(overlap(ids, other) for j, other in asked.items() if j != k)
    ]
    if len(asked) < 2 or not alone:
        return ()
    return (
        "these runs share no question with any other, and cannot be compared: "
        f"{', '.join(alone)}",
    )
