"""Questions and verdicts as tables, and their join: one row per verdict, with the right
answer next to the answer given. Files are read in ``stored_tables.py`` and
``load.py``; what a verdict is worth is decided in ``answers.py``.

Nothing is repaired here. A verdict whose value does not fit its question counts as
failed, and a line that cannot be read is a problem that the report names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from visualjudge.analysis.answers import has_truth, join
from visualjudge.analysis.statistics.score_bar import Bar
from visualjudge.core.errors import DataError
from visualjudge.core.records import (
    UNCHANGED,
    IntArray,
    Question,
    Verdict,
)
from visualjudge.dataset.json_form import question_to_wire
from visualjudge.options import Selection
from visualjudge.runs.budget import token_counts
from visualjudge.runs.folder import PEOPLE, Manifest
from visualjudge.vision.metrics import metrics_of
from visualjudge.vision.tasks import TASKS

WORD = pl.Categorical()
"""Text stored as a number of 4 bytes per row. It compares, sorts and prints like
text."""


def ordered(column: pl.Series) -> tuple[pl.Series, IntArray]:
    """Return the distinct words of a column without nulls, sorted, and the index of
    each row's word among them, from 0.
    """
    words = column.unique().cast(pl.String).sort()
    return words, column.cast(pl.Enum(words)).to_physical().to_numpy().astype(
        np.int64
    )


PROBE = ("name", "design", "group", "cue", "level")
"""Fields of a probe's record that are kept, in columns ``probe_name`` and so on."""
FEATURES = ("text_chars", "png_bytes", "count", "area")
"""Features that an answer could depend on."""
NO_TYPE = "(none)"

ColumnTypes = dict[str, pl.DataType | type[pl.DataType]]
"""Column names and types."""

VERDICT_SCHEMA: ColumnTypes = {
    "id": pl.String,
    "order": WORD,
    "repeat": pl.Int32,
    "text": WORD,
    "number": pl.Float64,
    "status": WORD,
    "probability_a": pl.Float64,
    "latency_s": pl.Float64,
    "tokens_in": pl.Int64,
    "tokens_out": pl.Int64,
    "offset": pl.Int64,
    "said_cause": WORD,
    "served_model": WORD,
    "fingerprint": WORD,
    "published_value": WORD,
    "published_right": pl.Boolean,
    "rater": WORD,
    "purpose": WORD,
    "criteria": pl.String,
    "confidence": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Run:
    """One judge over one dataset: the content of ``run.json``, and the verdicts on the
    dataset's questions.
    """

    name: str
    folder: Path | None
    info: Manifest
    answered: pl.DataFrame
    """One row per verdict, as returned by :func:`join`."""
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    expected: int | None = None
    """Number of verdicts of the finished run; None if ``run.json`` does not state
    it."""
    foreign: int = 0
    """Number of verdicts on questions that are not in the dataset; they are left
    out."""
    checked: int = 0
    """Number of verdicts on control questions."""

    @property
    def missing(self) -> int | None:
        """Number of expected verdicts that are missing."""
        return (
            None
            if self.expected is None
            else max(
                0,
                self.expected
                - self.answered.height
                - self.foreign
                - self.checked,
            )
        )

    @property
    def unfinished(self) -> str | None:
        """The message about a run that stopped before its last verdict."""
        if not self.missing:
            return None
        return (
            f"{self.missing:,} of {self.expected:,} verdicts are missing; "
            "`resume` of judge goes on"
        )

    @property
    def of_people(self) -> bool:
        """Whether people answered; their verdicts name their ``rater``."""
        return self.info.get("backend") == PEOPLE["backend"]

    @property
    def order_shown(self) -> bool:
        """Whether the order in which the options were shown is known."""
        return self.info.get("order_shown") is not False

    @property
    def simulated(self) -> bool:
        """Whether the judge knows the answers or looks at nothing, so that its figures
        only test the statistics.
        """
        return bool(self.info.get("simulated", False))


def _extra(
    extra: Mapping[str, Any],
) -> tuple[str | None, bool | None, str | None, str | None]:
    """Return how the authors of published replies read a reply, and whether they
    counted it as right; and of an answer of people its rater and its purpose.
    """
    if not extra:
        return None, None, None, None
    value, right, rater, purpose = (extra.get(name) for name in _EXTRA)
    words = (
        word if isinstance(word, str) else None
        for word in (value, rater, purpose)
    )
    value, rater, purpose = words
    return value, right if isinstance(right, bool) else None, rater, purpose


_EXTRA = ("published_value", "published_right", "rater", "purpose")


def verdict_table(verdicts: Iterable[Verdict]) -> pl.DataFrame:
    """Return verdict records as a table, for analyses that start in Python."""
    rows = [
        (
            v.id,
            v.order,
            v.repeat,
            v.value if isinstance(v.value, str) else None,
            float(v.value) if not isinstance(v.value, str) else None,
            v.status,
            v.probability_a,
            v.latency_s,
            *token_counts(v.usage),
            None,
            v.cause,
            *(
                (v.served.model, v.served.fingerprint)
                if v.served
                else (None, None)
            ),
            *_extra(v.extra),
            None
            if v.criteria is None
            else orjson.dumps(dict(v.criteria)).decode(),
            v.extra.get("confidence"),
        )
        for v in verdicts
    ]
    return pl.DataFrame(rows, schema=VERDICT_SCHEMA, orient="row")


PIECE = 5_000
"""Number of questions in memory at a time."""
WIRE: ColumnTypes = {
    **dict.fromkeys(
        ("id", "task", "encoding", "question_type", "image_id", "error_type"),
        pl.String,
    ),
    **dict.fromkeys(
        ("class_of_interest", "annotation_ids", "sources", "ties", "subset"),
        pl.List(pl.String),
    ),
    "final_scores": pl.List(pl.Float64),
    "answer": pl.String,
    "features": pl.List(
        pl.Struct(dict.fromkeys((*FEATURES, "severity"), pl.Float64))
    ),
    "probe": pl.Struct(
        {name: pl.Float64 if name == "level" else pl.String for name in PROBE}
    ),
}
"""The fields of a stored question that analyses use. A numeric answer is stored as its
shortest text.
"""


def question_table(questions: Sequence[Question]) -> pl.DataFrame:
    """Return one numbered row per question: its cell, and the scores and sources of its
    options as lists in option order.
    """
    return numbered(question_rows(questions))


def question_rows(questions: Sequence[Question]) -> pl.DataFrame:
    """Return :func:`question_table` without numbers."""
    frames = []
    for start in range(0, max(1, len(questions)), PIECE):
        part = list(questions[start : start + PIECE])
        wires = list(map(question_to_wire, part))
        raw = pl.read_json(
            orjson.dumps(wires, option=orjson.OPT_SERIALIZE_NUMPY), schema=WIRE
        )
        texts = pl.Series(
            [isinstance(question.answer, str) for question in part],
            dtype=pl.Boolean,
        )
        frames.append(asked_table(raw, pl.lit(texts)))
    return pl.concat(frames)


def asked_table(raw: pl.DataFrame, text: pl.Expr) -> pl.DataFrame:
    """Return :func:`question_rows` of stored questions (WIRE). ``text`` states whether
    the answer is not a number.
    """
    scores = pl.col("final_scores")
    ids = pl.col("annotation_ids")
    words = {
        **{name: pl.col(name) for name in ("task", "encoding")},
        "kind": pl.col("question_type"),
        "image": pl.col("image_id"),
        "classes": pl.col("class_of_interest").list.join("+"),
        "error_type": pl.when(pl.col("error_type") == "")
        .then(None)
        .otherwise("error_type")
        .fill_null(NO_TYPE),
        "item": pl.concat_str(
            "task", ids.list.sort().list.join("|"), separator="|"
        ),
        "answer": pl.when(text).then("answer"),
        **{
            f"probe_{name}": pl.col("probe").struct.field(name)
            for name in PROBE[:-1]
        },
    }
    return raw.select(
        "id",
        **{name: word.cast(WORD) for name, word in words.items()},
        truth=pl.when(~text).then("answer").cast(pl.Float64),
        scores=scores,
        ties=pl.col("ties").fill_null([]).cast(pl.List(WORD)),
        sources=pl.col("sources").cast(pl.List(WORD)),
        annotations=ids.cast(pl.List(WORD)),
        subset=pl.col("subset").cast(pl.List(WORD)),
        **{more(name): _more_of(name) for name in FEATURES},
        **{lead(name): _lead_of(name) for name in FEATURES},
        severity_gap=_lead_of("severity").abs(),
        probe_level=pl.col("probe").struct.field("level"),
        margin=scores.list.max() - scores.list.min(),
        options=scores.list.len().cast(pl.Int32),
    )


def _lead_of(feature: str) -> pl.Expr:
    """Return the difference; null if one of the two values is unknown."""
    a, b = (
        pl.col("features")
        .list.get(side, null_on_oob=True)
        .struct.field(feature)
        for side in (0, 1)
    )
    return (a - b).cast(pl.Float64)


def lead(feature: str) -> str:
    """Return the name of the column with the difference in ``feature`` between the two
    options."""
    return f"lead_{feature}"


def more(feature: str) -> str:
    """Return the name of the column that states whether the option with more of
    ``feature`` is better.
    """
    return f"more_{feature}"


def _more_of(feature: str) -> pl.Expr:
    """Return whether the option with more of ``feature`` is better; null if neither has
    more or neither is better.
    """
    ahead = _lead_of(feature)
    known = (ahead != 0) & pl.col("answer").is_in(["A", "B"])
    return pl.when(known).then((pl.col("answer") == "A") == (ahead > 0))


def numbered(table: pl.DataFrame, place: str = "the dataset") -> pl.DataFrame:
    """Add numbers from 0, in sorted order: ``question`` (by id), ``cluster`` (by image)
    and ``pair`` (by ``item``, which is dropped). ``place`` is named in error messages.

    Raises
    ------
    DataError
        If two questions have one id.
    """
    numbers = {
        "cluster": ordered(table["image"])[1],
        "pair": ordered(table["item"])[1],
    }
    result = (
        table.drop("item")
        .rechunk()
        .with_columns(
            *(
                pl.Series(name, number, dtype=pl.Int32)
                for name, number in numbers.items()
            ),
            question=pl.col("id").rank("dense").cast(pl.Int32) - 1,
        )
    )
    if result["question"].n_unique() < result.height:
        twice = result.filter(pl.col("question").is_duplicated())["id"][0]
        raise DataError(
            f"{place}: question {twice}: id: must be unique; `visualjudge describe` "
            "lists all duplicates"
        )
    return result


def unchanged() -> pl.Expr:
    """Return whether a question is an ordinary one, or a probe's question without a
    change."""
    design = pl.col("probe_design")
    return design.is_null() | (design == UNCHANGED)


class Placed(NamedTuple):
    """A question, and the dataset that contains its images."""

    question: Question
    root: Path | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """The questions, and the runs on them."""

    questions: pl.DataFrame
    runs: tuple[Run, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)
    root: Path | None = None
    seed: int = 0
    part: Selection = field(default_factory=Selection)
    """The selection of questions."""
    find: Callable[[Sequence[str]], Mapping[str, Placed]] = field(
        default=lambda ids: {}
    )
    """Function that returns the questions with these ids, for the few whose prompt and
    images are shown.
    """

    bar: Bar = field(default_factory=Bar)
    """What scores and choices must reach to be used."""

    @property
    def answered(self) -> tuple[pl.DataFrame, ...]:
        """The table of each run, including the questions of probes."""
        return tuple(run.answered for run in self.runs)

    @cached_property
    def joined(self) -> tuple[pl.DataFrame, ...]:
        """As ``answered``, without the questions that a probe changed, since their
        answers do not measure accuracy.
        """
        return tuple(
            table
            if table["probe_design"].is_null().all()
            else table.filter(unchanged())
            for table in self.answered
        )

    @cached_property
    def asked(self) -> tuple[NDArray[np.int64], ...]:
        """The numbers of the questions that each run answered, sorted."""
        return tuple(
            np.asarray(table["question"].unique().sort().to_numpy())
            for table in self.answered
        )

    @cached_property
    def has_scores(self) -> bool:
        """Whether the true scores contain more than which option is better. Questions
        that state only a preference (verdicts of other tools, many benchmarks) have the
        scores 0 and 10, and 5 and 5 for a tie.
        """
        known = self.questions.filter(has_truth())
        if known.filter(pl.col("kind") != "pairwise").height:
            return True
        scores = known["scores"].list
        return bool((~(scores.max() - scores.min()).is_in([0.0, 10.0])).any())

    def has_exact_scores(self, run: int) -> bool:
        """Whether the true scores of all that a run answered are computed by a metric
        of its task; those of others' tables, and of tasks without a metric, may come
        from people.
        """
        if not self.has_scores or self.meta.get("benchmark"):
            return False
        tasks = self.joined[run]["task"].unique().cast(pl.String)
        return all(
            task in TASKS and metrics_of(TASKS[task].type) for task in tasks
        )

    def lacks_truth(self, run: int) -> bool:
        """Whether the true answer of no question that a run answered is known."""
        answered = self.answered[run]
        return (
            bool(answered.height)
            and not answered.select(has_truth().any()).item()
        )

    @property
    def clusters(self) -> int:
        """Number of distinct images."""
        return int(self.questions["cluster"].n_unique())

    def kind(
        self, run: int, kind: str, columns: Sequence[str] = ()
    ) -> pl.DataFrame:
        """Return the verdicts of one run on one type of question, with only ``columns``
        if given.
        """
        rows = self.joined[run]
        selected = rows["kind"] == kind
        return (rows[list(columns)] if columns else rows).filter(selected)


def study_of(
    questions: Sequence[Question],
    judged: Mapping[str, Sequence[Verdict]],
    *,
    seed: int = 0,
) -> Study:
    """Build a study from records alone. ``judged`` maps a judge's name to its
    verdicts."""
    table = question_table(questions)
    runs = tuple(
        Run(name, None, {}, join(table, verdict_table(verdicts)))
        for name, verdicts in judged.items()
    )
    known = {q.id: Placed(q) for q in questions}
    return Study(
        table,
        runs,
        seed=seed,
        find=lambda ids: {i: known[i] for i in ids if i in known},
    )


@dataclass(frozen=True)
class Remarks:
    """Messages about runs. With ``problems`` a command ends with status 1, with
    ``warnings`` alone it does not.
    """

    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All messages."""
        return (*self.warnings, *self.problems)


NO_REMARKS = Remarks()


def remarks_on(runs: Iterable[Run]) -> Remarks:
    """Collect the messages about ``runs``, in their order."""
    every = list(runs)
    return Remarks(
        tuple(line for run in every for line in run.warnings),
        tuple(line for run in every for line in run.problems),
    )
