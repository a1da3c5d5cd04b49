"""The lock file of a gate: the identity of a judge and of its questions, its answer and accuracy,
and canaries. It names no keys and no paths.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import polars as pl
import yaml

from visualjudge import __version__
from visualjudge.analysis.estimate import shares
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.outputs import OutputFile
from visualjudge.core.records import Question
from visualjudge.core.seeding import rng_for
from visualjudge.core.yamls import read_yaml
from visualjudge.dataset.folder import Dataset
from visualjudge.prompts.spans import spans_of
from visualjudge.runs.folder import RunFolder

FORMAT = "visualjudge gate 1"
CANARIES = 100
MOST_BYTES = 4 << 20
IDENTITY = ("backend", "model", "served", "parameters", "schema", "swap", "repeats")
"""What of a run.json identifies a judge; ``served`` is who answered, by the server's own words."""
MOST_ASKS = 9
"""Answers to one question, of orders and repeats, that a digit can count."""


@dataclass(frozen=True)
class Lock:
    """The content of a lock file.

    ``judge`` holds :data:`IDENTITY`, ``questions`` the digests of what was asked, ``right`` one
    digit a question (in the order of their ids): how many of ``asks`` answers were right.
    """

    tool: str
    judge: Fields
    questions: Fields
    answer: str
    accuracy: Fields
    tasks: Fields
    asks: int
    right: str
    canaries: Sequence[Fields]

    def write(self, out: OutputFile) -> None:
        """Write the file."""
        content = {"format": FORMAT, **asdict(self)}
        out.write(
            yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100),
        )


def read_lock(path: Path) -> Lock:
    """Read a lock file.

    Raises
    ------
    DataError
        If the file cannot be read, or is not a lock file.
    """
    content = read_yaml(path)
    try:
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise ValueError(f"format must be {FORMAT!r}")
        lock = Lock(**content)
        digits = lock.right.isdigit() and len(lock.right) == lock.questions["number"]
        if not digits or int(max(lock.right)) > lock.asks:
            raise ValueError(
                f"right must have one digit a question, of at most {lock.asks}"
            )
        return lock
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{path}: is not a file of `visualjudge gate write`: {' '.join(str(error).split())}"
        ) from None


def identity_of(folder: RunFolder) -> Json:
    """Return :data:`IDENTITY` of a run."""
    manifest = folder.manifest()
    served = [
        {name: row.get(name) for name in ("model", "fingerprint", "provider")}
        for row in manifest.get("identity") or ()
    ]
    manifest["served"] = sorted(served, key=str)
    plain = {name: manifest.get(name) for name in IDENTITY}
    return dict(orjson.loads(orjson.dumps(plain)))


def questions_of(dataset: Dataset, ids: Iterable[str]) -> Json:
    """Return what was asked: ``prompts`` is the wording around the options, ``content`` the images
    and options, ``labels`` the right answers, each as a digest over all questions.
    """
    wanted = set(ids)
    asked = sorted((one for one in dataset if one.id in wanted), key=lambda one: one.id)
    files = dataset.meta.get("files") or {}
    rows = {
        "prompts": [(one.id, _wording(one)) for one in asked],
        "content": [
            (
                one.id,
                [one.prompt[start:end] for start, end in _spans(one)],
                [files.get(name, name) for name in one.images],
            )
            for one in asked
        ],
        "labels": [(one.id, one.answer) for one in asked],
    }
    return {
        "number": len(asked),
        "encodings": sorted({f"{one.task}/{one.encoding}" for one in asked}),
        "prompt_versions": dict(dataset.meta.get("prompts") or {}),
        **{
            name: hashlib.sha256(orjson.dumps(row)).hexdigest()[:32]
            for name, row in rows.items()
        },
    }


def _wording(question: Question) -> str:
    text = question.prompt
    for start, end in sorted(_spans(question), reverse=True):
        text = text[:start] + text[end:]
    return text


def _spans(question: Question) -> Sequence[tuple[int, int]]:
    try:
        return spans_of(question).options
    except DataError:  # the prompt does not show the options: all of it is wording
        return ()


def counted(analysis: Analysis) -> pl.DataFrame:
    """Return the pairwise questions of a study's first run: ``id``, ``task``, ``image``, and how
    many of its ``asks`` answers were ``right``; sorted by id.

    Raises
    ------
    DataError
        If it has none.
    """
    table = analysis.study.joined[0].filter(pl.col("kind") == "pairwise")
    if table.is_empty():
        name = analysis.study.runs[0].name
        raise DataError(f"{name}: must have verdicts on pairwise questions, got none")
    ids = analysis.study.questions.select("question", "id")
    return (
        table.group_by("question")
        .agg(
            pl.col("task", "image").first().cast(pl.String),
            right=pl.col("right").sum(),
            asks=pl.len(),
        )
        .join(ids, on="question")
        .sort("id")
    )


def lock_of(
    analysis: Analysis, folder: Path, dataset: Dataset, *, seed: int = 0
) -> Lock:
    """Return the lock of a finished run.

    Raises
    ------
    DataError
        If the run is unfinished, has no verdicts on pairwise questions, or more than nine on one.
    """
    run, table = analysis.study.runs[0], counted(analysis)
    asks = int(table["asks"].max())  # type: ignore[arg-type]
    if run.unfinished or table["asks"].n_unique() > 1:
        raise DataError(
            f"{folder}: must be a finished run; visualjudge judge … --resume goes on"
        )
    if asks > MOST_ASKS:
        raise DataError(
            f"{folder}: must have at most {MOST_ASKS} answers a question, got {asks}"
        )
    judge = card_of(analysis).judges[0]
    answers = {task.task: task.verdict for task in judge.tasks}
    tasks = {
        task: {
            "answer": answers.get(task),
            **accuracy_of(table.filter(pl.col("task") == task)),
        }
        for task in table["task"].unique().sort()
    }
    return Lock(
        __version__,
        identity_of(RunFolder(folder)),
        questions_of(dataset, table["id"]),
        judge.verdict,
        accuracy_of(table),
        tasks,
        asks,
        "".join(map(str, table["right"])),
        _canaries(dataset, folder, table, seed),
    )


def accuracy_of(table: pl.DataFrame) -> Json:
    """Return the share of right answers with its 95 % interval by image."""
    sums = table.group_by("image").agg(pl.col("right", "asks").sum()).sort("image")
    share = shares(sums["right"].to_numpy(), sums["asks"].to_numpy())[0]
    ends = share.interval
    return {
        "value": round(share.value or 0.0, 4),
        "ci95": None if ends is None else [round(end or 0.0, 4) for end in ends],
        "questions": table.height,
        "images": sums.height,
    }


def _canaries(
    dataset: Dataset, folder: Path, table: pl.DataFrame, seed: int
) -> list[Fields]:
    """Return questions drawn by seed, in whole images: id, right answer, and the judge's."""
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
    chosen = [question for question in dataset if question.id in ids]
    return [
        {"id": one.id, "right": str(one.answer), "answers": answers[one.id]}
        for one in sorted(chosen, key=lambda one: one.id)
    ]
