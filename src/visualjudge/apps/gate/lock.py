"""The lock file of a gate: the identity of a judge and of its questions, its answer and
accuracy, and canaries. It names no keys and no paths. That of a judge that gives scores
is in ``score_lock.py``; checking is in ``check.py``.
"""

import hashlib
import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import compress
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import orjson
import polars as pl
import yaml
from pydantic import Field

from visualjudge import __version__
from visualjudge.analysis.answers import has_truth
from visualjudge.analysis.decisions.checks import closed
from visualjudge.analysis.estimate import shares
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.output_files import OutputFile
from visualjudge.core.records import Question, QuestionType
from visualjudge.core.seeding import rng_for
from visualjudge.core.typed_records import Record, record_of
from visualjudge.dataset.folder import Dataset
from visualjudge.prompts.spans import spans_of
from visualjudge.runs.folder import RunFolder

FORMAT = "visualjudge gate 1"
CANARIES = 100
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
MOST_ASKS = 9
"""Answers to one question, of orders and repeats, that a digit can count."""

IDENTITY = (
    *("backend", "model", "served", "parameters"),
    *("schema", "swap", "repeats"),
)
"""What of a run.json identifies a judge; ``served`` is who answered, by the server's own
words."""


@dataclass(frozen=True)
class Asked:
    """What was asked: ``prompts`` is the wording around the options, ``content`` the
    images and options, ``labels`` the right answers, each as a digest over all
    questions; ``asked`` is one bit for each question that :func:`questions_like` has,
    in hexadecimal, without which all were asked.
    """

    number: Count
    encodings: list[str]
    prompts: str
    content: str
    labels: str
    asked: Annotated[str, Field(pattern="^([0-9a-f]{2})+$")] | None = None


@dataclass(frozen=True)
class Accuracy:
    """A share of right answers, its 95 % interval by image, what it is based on, and, of
    a task, the card's answer.
    """

    value: Share
    ci95: tuple[Share, Share] | None
    questions: Count
    images: Count
    answer: str | None = None


@dataclass(frozen=True)
class Canary:
    """A question, its right answer, and those of the judge."""

    id: str
    right: str
    answers: list[str]


@dataclass(frozen=True)
class Locked:
    """What every lock file says of the judge, and of what it was asked, so many times a
    question: ``judge`` holds what :data:`IDENTITY` names.
    """

    form: ClassVar[str]
    tool: str
    judge: Json
    questions: Asked
    answer: str
    asks: Annotated[int, Field(ge=1, le=MOST_ASKS)]

    def __post_init__(self) -> None:
        orders = 2 if self.judge.get("swap") else 1
        if self.judge.get("repeats") not in (None, self.asks / orders):
            raise ValueError(f"asks: must be {orders} × the judge's repeats")

    def write(self, out: OutputFile) -> None:
        """Write the file, with a digest of its content."""
        content = asdict(self)
        out.write(
            yaml.safe_dump(
                {
                    "format": self.form,
                    **content,
                    "digest": digest_of(content),
                },
                sort_keys=False,
                allow_unicode=True,
                width=100,
            ),
        )


@dataclass(frozen=True)
class Lock(Locked):
    """The content of a lock of pairs: ``right`` has one digit a question (in the order
    of their ids): how many of ``asks`` answers were right.
    """

    form = FORMAT
    accuracy: Accuracy
    tasks: dict[str, Accuracy]
    right: Annotated[str, Field(pattern="^[0-9]+$")]
    canaries: Annotated[list[Canary], Field(min_length=1, max_length=CANARIES)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.right) != self.questions.number:
            raise ValueError("right: must have one digit a question")


def digest_of(content: Fields) -> str:
    """Return the digest by which a lock file that was edited or merged is known."""
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


NOT_A_LOCK = "is not a file of `visualjudge gate write`"


def validated(kind: type[Record], content: Fields, path: Path) -> Record:
    """Return the record of a lock file's content.

    Raises
    ------
    DataError
        If a field is not what it must be, or the content is not as it was written.
    """
    plain = {name: value for name, value in content.items() if name != "digest"}
    lock = record_of(kind, json.dumps(plain).encode(), f"{path}: {NOT_A_LOCK}")
    # those of other versions, some of which wrote no digest, are stale anyway
    if plain["tool"] == __version__ and content.get("digest") != digest_of(
        plain
    ):
        raise DataError(
            f"{path}: must be as `visualjudge gate write` wrote it, but was edited or "
            "merged since: write it again"
        )
    return lock


def identity_of(folder: RunFolder) -> Json:
    """Return who the judge of a run is."""
    manifest = folder.manifest()
    served = [
        {name: row.get(name) for name in ("model", "fingerprint", "provider")}
        for row in manifest.get("identity", ())
    ]
    known = {**manifest, "served": sorted(served, key=str)}
    plain = {name: known.get(name) for name in IDENTITY}
    return dict(orjson.loads(orjson.dumps(plain)))


def questions_of(dataset: Dataset, ids: Iterable[str]) -> Asked:
    """Return what was asked."""
    wanted = set(ids)
    asked = sorted(
        (item for item in dataset if item.id in wanted),
        key=lambda item: item.id,
    )
    files = dataset.meta.get("files") or {}
    rows = {
        "prompts": [(item.id, _wording(item)) for item in asked],
        "content": [
            (
                item.id,
                [item.prompt[start:end] for start, end in _spans(item)],
                [files.get(name, name) for name in item.images],
            )
            for item in asked
        ],
        "labels": [(item.id, item.answer) for item in asked],
    }
    every = questions_like(dataset, {item.question_type for item in asked})
    bits = np.packbits(np.isin(every, list(wanted))).tobytes().hex()
    return Asked(
        len(asked),
        sorted({f"{item.task}/{item.encoding}" for item in asked}),
        **{
            name: hashlib.sha256(orjson.dumps(row)).hexdigest()[:32]
            for name, row in rows.items()
        },
        asked=bits if len(every) > len(asked) else None,
    )


def questions_like(
    dataset: Dataset, kinds: Container[QuestionType]
) -> list[str]:
    """Return the sorted ids of the questions of these kinds, without copies made by
    probes."""
    return sorted(
        item.id
        for item in dataset
        if item.question_type in kinds and not item.changed
    )


def locked_questions(
    questions: Asked, dataset: Dataset, kind: QuestionType
) -> tuple[str, ...]:
    """Return the ids of the questions of a lock: all of its kind where it does not say
    which. In a dataset with other ones, these are others, as their digests show."""
    every = questions_like(dataset, {kind})
    if questions.asked is None:
        return tuple(every)
    return tuple(
        compress(
            every,
            np.unpackbits(
                np.frombuffer(bytes.fromhex(questions.asked), np.uint8)
            ),
        )
    )


def _wording(question: Question) -> str:
    text = question.prompt
    for start, end in sorted(_spans(question), reverse=True):
        text = text[:start] + text[end:]
    return text


def _spans(question: Question) -> Sequence[tuple[int, int]]:
    try:
        return spans_of(question).options
    except (
        DataError
    ):  # the prompt does not show the options: all of it is wording
        return ()


def counted(analysis: Analysis) -> pl.DataFrame:
    """Return the pairwise questions of a study's first run: ``id``, ``task``,
    ``image``, and how many of its ``asks`` answers were ``right``; sorted by id.

    Raises
    ------
    DataError
        If it has none.
    """
    table = analysis.study.joined[0].filter(
        pl.col("kind") == "pairwise", has_truth()
    )
    if table.is_empty():
        raise DataError(
            f"{analysis.study.runs[0].name}: must have verdicts on pairs or scores whose truth is known, got "
            "none; a column of truth (`columns` truth=NAME of adopt) states it"
        )
    return (
        table.group_by("question")
        .agg(
            pl.col("task", "image").first().cast(pl.String),
            right=pl.col("right").sum(),
            asks=pl.len(),
        )
        .join(analysis.study.questions.select("question", "id"), on="question")
        .sort("id")
    )


def lock_of(
    analysis: Analysis, folder: Path, dataset: Dataset, *, seed: int = 0
) -> Lock:
    """Return the lock of a finished run.

    Raises
    ------
    DataError
        If the run is unfinished, has no verdicts on pairwise questions, or more than
        nine on one.
    """
    table = counted(analysis)
    asks = int(table["asks"].max())  # type: ignore[arg-type]
    if analysis.study.runs[0].unfinished or table["asks"].n_unique() > 1:
        raise DataError(
            f"{folder}: must be a finished run; `resume` of judge goes on"
        )
    if asks > MOST_ASKS:
        raise DataError(
            f"{folder}: must have at most {MOST_ASKS} answers a question, got {asks}"
        )
    judge = card_of(analysis).judges[0]
    answers = {task.task: task.models.word for task in judge.tasks}
    tasks = {
        task: accuracy_of(
            table.filter(pl.col("task") == task), answers.get(task)
        )
        for task in table["task"].unique().sort()
    }
    return Lock(
        __version__,
        identity_of(RunFolder(folder)),
        questions_of(dataset, table["id"]),
        judge.models.word,
        asks,
        accuracy_of(table),
        tasks,
        "".join(map(str, table["right"])),
        _canaries(dataset, folder, table, seed),
    )


def accuracy_of(table: pl.DataFrame, answer: str | None = None) -> Accuracy:
    """Return the share of right answers with its 95 % interval by image."""
    sums = (
        table.group_by("image").agg(pl.col("right", "asks").sum()).sort("image")
    )
    share = shares(sums["right"].to_numpy(), sums["asks"].to_numpy())[0]
    ends = closed(share.interval)
    return Accuracy(
        round(share.value or 0.0, 4),
        ends and (round(ends[0], 4), round(ends[1], 4)),
        table.height,
        sums.height,
        answer,
    )


def _canaries(
    dataset: Dataset, folder: Path, table: pl.DataFrame, seed: int
) -> list[Canary]:
    """Return questions drawn by seed, in whole images: id, right answer, and the
    judge's."""
    order = rng_for(seed, "canaries").permutation(
        table["image"].unique().sort().to_numpy()
    )
    rank = {image: k for k, image in enumerate(order.tolist())}
    rows = sorted(
        table.rows(named=True), key=lambda row: (rank[row["image"]], row["id"])
    )
    ids = {row["id"] for row in rows[:CANARIES]}
    answers: dict[str, list[str]] = {}
    for (name, _, _), verdict in sorted(RunFolder(folder).verdicts().items()):
        answers.setdefault(name, []).append(str(verdict.value))
    return [
        Canary(item.id, str(item.answer), answers[item.id])
        for item in sorted(dataset, key=lambda item: item.id)
        if item.id in ids
    ]
