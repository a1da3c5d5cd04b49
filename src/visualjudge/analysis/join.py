"""Questions and verdicts as tables, and the two joined: one row a verdict, with what was right beside what was said.

Nothing is repaired here. A verdict whose value does not fit its question counts as failed, and a line that cannot be
read is a problem that the report names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from visualjudge.dataset.stored import columns
from visualjudge.records import FAILED, LETTERS, TIES, Question, Verdict
from visualjudge.runs.tokens import token_counts

PROBE = ("name", "design", "group", "cue", "level")
"""What is kept of a probe's record, in columns ``probe_name`` and so on."""
FEATURES = ("text_chars", "png_bytes", "count", "area", "severity")
NO_TYPE = "(none)"
UNFIT = "the value does not fit the question"

ColumnTypes = dict[str, pl.DataType | type[pl.DataType]]
"""Names of columns and what they hold."""

VERDICT_SCHEMA: ColumnTypes = {
    "id": pl.String,
    "order": pl.String,
    "repeat": pl.Int32,
    "text": pl.String,
    "number": pl.Float64,
    "status": pl.String,
    "probability_a": pl.Float64,
    "latency_s": pl.Float64,
    "tokens_in": pl.Int64,
    "tokens_out": pl.Int64,
    "offset": pl.Int64,
    "said_cause": pl.String,
    "published_value": pl.String,
    "published_right": pl.Boolean,
}


def missing_verdicts(missing: int | None, expected: int | None) -> str | None:
    """What is said wherever a run is not finished; None where it is."""
    if not missing:
        return None
    return f"{missing:,} of {expected:,} verdicts are missing; visualjudge judge … --resume goes on"


@dataclass(frozen=True, eq=False)
class Run:
    """One judge over one dataset: what ``run.json`` says, and its verdicts as a table (VERDICT_SCHEMA)."""

    name: str
    folder: Path | None
    info: Mapping[str, Any]
    verdicts: pl.DataFrame
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    expected: int | None = None
    """Verdicts that a finished run has; None where ``run.json`` does not tell."""

    @property
    def missing(self) -> int | None:
        """How many of those are not there yet."""
        return None if self.expected is None else max(0, self.expected - self.verdicts.height)

    @property
    def unfinished(self) -> str | None:
        """The sentence on a run that stopped before its last verdict."""
        return missing_verdicts(self.missing, self.expected)

    @property
    def simulated(self) -> bool:
        """The judge knows the answers, or looks at nothing: its figures test the statistics only."""
        return bool(self.info.get("simulated", False))


def published_of(extra: Mapping[str, Any]) -> tuple[str | None, bool | None]:
    """How the authors of published replies read one, and whether they counted it as right."""
    value, right = extra.get("published_value"), extra.get("published_right")
    return value if isinstance(value, str) else None, right if isinstance(right, bool) else None


def verdict_table(verdicts: Iterable[Verdict]) -> pl.DataFrame:
    """Verdict records as a table, for analyses that start in Python."""
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
            *published_of(v.extra),
        )
        for v in verdicts
    ]
    return pl.DataFrame(rows, schema=VERDICT_SCHEMA, orient="row")


WIRE: ColumnTypes = {
    **dict.fromkeys(("id", "task", "encoding", "question_type", "image_id", "error_type"), pl.String),
    **dict.fromkeys(("class_of_interest", "annotation_ids", "sources", "ties"), pl.List(pl.String)),
    "final_scores": pl.List(pl.Float64),
    "answer": pl.String,
    "features": pl.List(pl.Struct(dict.fromkeys(FEATURES, pl.Float64))),
    "probe": pl.Struct({name: pl.Float64 if name == "level" else pl.String for name in PROBE}),
}
"""The fields of a stored question that analyses use; a number as the answer is its shortest text."""


def question_table(questions: Sequence[Question]) -> pl.DataFrame:
    """One row a question: its cell, its options' scores, sources and features as lists in option order."""
    taken = {name: [value for (value,) in columns(questions, name)] for name in WIRE}
    texts = [isinstance(answer, str) for answer in taken["answer"]]
    taken["answer"] = [str(answer) for answer in taken["answer"]]
    taken["features"] = [
        None if row is None else [_fields(option, FEATURES) for option in row] for row in taken["features"]
    ]
    taken["probe"] = [None if probe is None else _fields(probe, PROBE) for probe in taken["probe"]]
    raw = pl.DataFrame([pl.Series(name, taken[name], dtype=kind) for name, kind in WIRE.items()])
    return numbered(asked_table(raw, pl.lit(pl.Series(texts, dtype=pl.Boolean))))


def _fields(record: object, names: Sequence[str]) -> dict[str, float | str | None]:
    return {name: getattr(record, name) for name in names}


def asked_table(raw: pl.DataFrame, text: pl.Expr) -> pl.DataFrame:
    """:func:`question_table` without numbers, of stored questions (WIRE); ``text``: whether the answer is no number."""
    width = pl.col("final_scores").list.max() - pl.col("final_scores").list.min()
    features = pl.col("features").fill_null([])
    return raw.select(
        "id",
        "task",
        "encoding",
        kind="question_type",
        image="image_id",
        classes=pl.col("class_of_interest").list.join("+"),
        error_type=pl.when(pl.col("error_type") == "").then(None).otherwise("error_type").fill_null(NO_TYPE),
        item=pl.concat_str("task", pl.col("annotation_ids").list.sort().list.join("|"), separator="|"),
        scores="final_scores",
        ties=pl.col("ties").fill_null([]),
        sources="sources",
        annotations="annotation_ids",
        answer=pl.when(text).then("answer"),
        truth=pl.when(~text).then("answer").cast(pl.Float64),
        **{name: features.list.eval(pl.element().struct.field(name)) for name in FEATURES},
        **{f"probe_{name}": pl.col("probe").struct.field(name) for name in PROBE},
        margin=width,
        options=pl.col("final_scores").list.len().cast(pl.Int64),
    )


def more_of(feature: str) -> pl.Expr:
    """``more_FEATURE``: whether the option with more of it is the better one; null where none has more, or none is."""
    a, b = (pl.col(feature).list.get(side, null_on_oob=True) for side in (0, 1))
    known = (a != b) & pl.col("answer").is_in(["A", "B"])
    return pl.when(known).then((pl.col("answer") == "A") == (a > b)).alias(f"more_{feature}")


def _severity_gap() -> pl.Expr:
    """The difference between two options' severities; null where one is not known."""
    severity = pl.col("severity")
    gap = severity.list.max() - severity.list.min()
    return pl.when(severity.list.drop_nulls().list.len() == 2).then(gap).alias("severity_gap")


def numbered(table: pl.DataFrame) -> pl.DataFrame:
    """The questions with numbers, by the order of names: ``cluster`` of the image, ``pair`` of what is compared."""
    numbers = {"cluster": "image", "pair": "item", "question": "id"}
    return table.with_columns((pl.col(of).rank("dense").cast(pl.Int64) - 1).alias(to) for to, of in numbers.items())


EXTRACTED = "ok_extracted"


def _usable() -> pl.Expr:
    """Whether the value fits the question: a letter or a tie it allows, a permutation of its letters, 0..10."""
    letters = pl.col("text").str.split("").list.sort().list.join("")
    wanted = pl.lit(LETTERS).str.slice(0, pl.col("options"))
    fits = (
        pl.when(pl.col("kind") == "pairwise")
        .then(pl.col("text").is_in(["A", "B"]) | pl.col("ties").list.contains(pl.col("text")))
        .when(pl.col("kind") == "ranking")
        .then((letters == wanted) & (pl.col("text").str.len_chars() == pl.col("options")))
        .otherwise(pl.col("number").is_between(0, 10))
    )
    return (fits & (pl.col("status") == "ok")).fill_null(False)


def _cause() -> pl.Expr:
    """Why a reply failed: its status, and the cause inside it where the journal names one."""
    named = pl.format("{}: {}", "status", "said_cause")
    stated = pl.when(pl.col("said_cause").is_null()).then(pl.col("status")).otherwise(named)
    tie = (pl.col("status") == "ok") & (pl.col("kind") == "pairwise") & pl.col("text").is_in(TIES)
    unfit = pl.when(tie).then(pl.col("text")).otherwise(pl.lit(UNFIT))
    reason = pl.when(pl.col("status") == "ok").then(unfit).otherwise(stated)
    return pl.when(~pl.col("parsed")).then(reason)


def join(questions: pl.DataFrame, run: Run) -> pl.DataFrame:
    """One row a verdict of ``run`` on a question that the dataset holds.

    ``parsed``: the reply could be used; ``cause``: why not, null where it could; ``right``: pairwise only, a failed
    reply is wrong; ``right_extracted``: what a second reader read is right, and in no other column; ``said_first``:
    the option shown first was chosen (null where failed or a tie); ``first_right``: the option shown first is the
    better one (null where neither is).
    """
    told = [more_of(name) for name in FEATURES if name != "severity"]
    known = questions.with_columns(*told, _severity_gap()).drop("item", *FEATURES)
    table = run.verdicts.join(known, on="id", how="inner", maintain_order="left").with_columns(parsed=_usable())
    extracted = pl.col("status") == EXTRACTED
    table = table.with_columns(
        right_extracted=pl.when(extracted & (pl.col("kind") == "pairwise")).then(pl.col("text") == pl.col("answer")),
        text=pl.when(extracted).then(pl.lit(FAILED)).otherwise("text"),
        number=pl.when(~extracted).then("number"),
    )
    turned = pl.col("order") == "BA"
    pairwise = pl.col("kind") == "pairwise"
    chose_a, a_right = pl.col("text") == "A", pl.col("answer") == "A"
    return table.with_columns(
        right=pl.when(pairwise).then(pl.col("parsed") & (pl.col("text") == pl.col("answer"))),
        said_first=pl.when(pairwise & pl.col("parsed") & pl.col("text").is_in(["A", "B"])).then(chose_a ^ turned),
        first_right=pl.when(pairwise & pl.col("answer").is_in(["A", "B"])).then(a_right ^ turned),
        cause=_cause(),
    ).drop("said_cause", "ties")


def unchanged() -> pl.Expr:
    """Whether a question is one of a dataset, or of a probe but as the dataset has it."""
    return pl.col("probe_design").is_null() | (pl.col("probe_design") == "control")


@dataclass(frozen=True, eq=False)
class Study:
    """The questions, the runs on them, and each run's joined table."""

    questions: pl.DataFrame
    runs: tuple[Run, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)
    root: Path | None = None
    seed: int = 0
    find: Callable[[Sequence[str]], Mapping[str, Question]] = field(default=lambda ids: {})
    """The questions of these ids, for the few whose prompt and images are shown."""

    @cached_property
    def answered(self) -> tuple[pl.DataFrame, ...]:
        """One table a run, as :func:`join` makes it, with the questions of probes."""
        return tuple(join(self.questions, run) for run in self.runs)

    @cached_property
    def joined(self) -> tuple[pl.DataFrame, ...]:
        """As ``answered``, without the questions that a probe has changed: their answers say nothing of accuracy."""
        return tuple(
            table if table["probe_design"].is_null().all() else table.filter(unchanged()) for table in self.answered
        )

    @cached_property
    def asked(self) -> tuple[NDArray[np.int64], ...]:
        """The numbers of the questions that each run answered, sorted."""
        return tuple(np.asarray(table["question"].unique().sort().to_numpy()) for table in self.answered)

    @property
    def clusters(self) -> int:
        """Number of different images."""
        return int(self.questions["cluster"].n_unique())

    def kind(self, run: int, kind: str, columns: Sequence[str] = ()) -> pl.DataFrame:
        """The verdicts of one run on one kind of question; only ``columns``, where they are named."""
        rows = self.joined[run].lazy().filter(pl.col("kind") == kind)
        return (rows.select(columns) if columns else rows).collect()


def study_of(questions: Sequence[Question], judged: Mapping[str, Sequence[Verdict]], *, seed: int = 0) -> Study:
    """A study from records alone: ``judged`` maps a judge's name to its verdicts."""
    runs = tuple(Run(name, None, {}, verdict_table(verdicts)) for name, verdicts in judged.items())
    known = {q.id: q for q in questions}
    return Study(question_table(questions), runs, seed=seed, find=lambda ids: {i: known[i] for i in ids if i in known})


def clusters_of(table: pl.DataFrame) -> NDArray[np.int64]:
    """The image's number of every row."""
    return np.asarray(table["cluster"].to_numpy(), dtype=np.int64)
