"""The facts of the questions of a study."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from visualjudge.analysis.study_table import Study, unchanged
from visualjudge.analysis.table_layout import Column, Layout, as_named


@dataclass(frozen=True)
class DatasetFacts:
    """The questions. ``asked`` counts the distinct ones that any judge was asked,
    ``probed`` those of them that a probe changed, which count only in figures of
    probes; ``where`` has the filters on the questions that all figures use, as
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
    where: tuple[str, ...] = ()

    @property
    def extent(self) -> str:
        """How much of the dataset was asked: 300 of 1,514 questions, on 13 of 40
        images."""
        asked = (
            f"{_of(self.asked - self.probed, self.questions - self.probed)} questions "
            f"on {_of(self.images_asked, self.images)} images"
        )
        asked += f", and {self.probed:,} more for probes" if self.probed else ""
        return asked + (
            f"; only those with {' and '.join(self.where)}"
            if self.where
            else ""
        )


def _of(part: int, whole: int) -> str:
    return f"{whole:,}" if part == whole else f"{part:,} of {whole:,}"


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
    meta = study.meta
    numbers = pl.Series(np.concatenate([[], *study.asked])).cast(pl.Int32)
    asked = questions.filter(pl.col("question").is_in(numbers.implode()))
    return DatasetFacts(
        path=str(study.root) if study.root is not None else None,
        questions_sha256=meta.get("questions_sha256"),
        version=meta.get("version"),
        seed=meta.get("seed"),
        questions=questions.height,
        images=study.clusters,
        by_question_type={
            str(k): n
            for k, n in sorted(questions.group_by("kind").len().iter_rows())
        },
        asked=asked.height,
        probed=asked.filter(~unchanged()).height,
        images_asked=asked["cluster"].n_unique(),
        where=study.where,
    )
