"""What a part of a run's verdicts is worth, by the one table of answers, as the
studio's file keeps it. The table is in ``analysis/answers.py``, the file in
``dataset_index.py``.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from visualjudge.analysis.answers import is_right, join
from visualjudge.analysis.load import counted_of
from visualjudge.analysis.score_scale import scale_in
from visualjudge.analysis.stated_reasons import is_reason_right, rubric_in
from visualjudge.analysis.study_table import Run, question_table, verdict_table
from visualjudge.core.records import STATUSES, Question, Verdict
from visualjudge.dataset.fault_truth import deciding, shown_sizes
from visualjudge.dataset.folder import read_meta
from visualjudge.runs.folder import RunFolder

LONGEST_CAUSE = 80
"""Maximum length in characters of a failure's cause."""


class Answered:
    """Verdicts of a run by their places in the journal, and the questions that they
    answer with their rows; ``root`` is the dataset."""

    def __init__(
        self,
        root: Path,
        asked: Iterable[tuple[int, Question]],
        folder: RunFolder,
        verdicts: Mapping[int, Verdict],
    ) -> None:
        self.verdicts = verdicts
        self.asked = {question.id: (row, question) for row, question in asked}
        starts = pl.Series("offset", list(verdicts), dtype=pl.Int64)
        table = verdict_table(verdicts.values()).with_columns(starts)
        questions = question_table(
            [question for _, question in self.asked.values()]
        )
        step = scale_in(read_meta(root)).step
        answered = join(questions, table).with_columns(accepted=is_right(step))
        info = folder.manifest()
        self.run = Run(folder.path.name, folder.path, info, answered)
        self.rubric = rubric_in(info)
        self._size_of = cache(shown_sizes)(root)

    @property
    def orders_compare(self) -> bool:
        """Whether answers in both orders show the effect of the order: not those of
        several people, nor where the order shown is not known.
        """
        return self.run.order_shown and not self.run.of_people

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the row of each verdict on a question of the dataset, without number
        and run."""
        counted = set(counted_of(self.run)["offset"])
        columns = (
            "offset",
            "usable",
            "accepted",
            pl.col("cause").cast(pl.String),
        )
        table = self.run.answered.select(columns)
        for start, usable, accepted, cause in table.iter_rows():
            verdict = self.verdicts[start]
            row, question = self.asked[verdict.id]
            right = accepted and question.has_answer
            value = verdict.value
            yield (
                row,
                verdict.order == "BA",
                verdict.repeat,
                start,
                start not in counted,
                STATUSES.index(verdict.status),
                cause and cause[:LONGEST_CAUSE],
                value if isinstance(value, str) else f"{value:g}",
                usable,
                right,
                self._reason(question, verdict),
            )

    def _reason(self, question: Question, verdict: Verdict) -> bool | None:
        """Return whether the reason for a choice between two options is right."""
        asked = self.rubric is not None and verdict.criteria is not None
        if not asked or question.question_type != "pairwise":
            return None
        fact = deciding(question, self._size_of(question))
        if fact is None or self.rubric is None:
            return None
        return is_reason_right(self.rubric, verdict.criteria or {}, fact)
