"""A table of verdicts becomes a dataset of labels and one run a judge, which all commands read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import polars as pl

from visualjudge.apps.adopting.answers import is_missing, letter_of, order_of
from visualjudge.apps.adopting.columns import find_columns
from visualjudge.apps.published.importing import SCORES, check_targets, folder_name
from visualjudge.apps.published.prompts import PROMPT, wording
from visualjudge.apps.published.reading import Item, Option
from visualjudge.apps.published.runs import write_run
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import (
    FAILED,
    TIES,
    TURNED,
    Answer,
    OptionFeatures,
    Order,
    Question,
    QuestionType,
    Verdict,
)
from visualjudge.dataset.dataset_files import write_dataset
from visualjudge.dataset.folder import MEDIA, load_dataset
from visualjudge.dataset.staging import staged
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.replies import Reading, read_reply

Use = Literal["replies", "verdicts"]
ENCODING = "adopted"
NEEDED = ("verdict", "truth")
TASK = "verdicts"
JUDGE = "judge"
SHORT = 200
"""Characters of a reply that may well stand in many rows, such as "[[A]]": it is read once."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was written.

    Attributes
    ----------
    dataset, runs
        Their folders.
    columns
        The column of each role.
    questions, verdicts
        How many.
    reread
        Verdicts whose reply was read again beside the table's own value.
    invented
        Of these, how many have a value in the table although the reply states none that we can
        read.
    differing
        Of these, how many state another value.
    """

    dataset: Path
    runs: tuple[Path, ...]
    columns: Mapping[str, str]
    questions: int
    verdicts: int
    reread: int
    invented: int
    differing: int


@dataclass(slots=True)
class _Asked:
    """One question of the table: its sources as stored, and the row that stated it first."""

    id: str
    item: Item
    models: tuple[str | None, ...]
    row: int


@dataclass(slots=True)
class _Table:
    """The rows with their cells by role, and what the user says of them."""

    name: str
    rows: Sequence[Mapping[str, Any]]
    columns: Mapping[str, str]
    answers: Mapping[str, str]
    scale: tuple[float, float]
    pairs: bool
    questions: dict[tuple[Any, ...], _Asked] = field(default_factory=dict)

    def where(self, place: int, role: str) -> str:
        """Row and column as a message names them; the header is row 1."""
        return f"{self.name}: row {place + 2}: {self.columns.get(role, role)}"

    def score(self, value: Any, place: int, role: str) -> float | None:
        """A cell on the table's scale as a score from 0 to 10; None where it holds none."""
        if is_missing(value):
            return None
        low, high = self.scale
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise DataError(f"{self.where(place, role)} must be a number, got {value!r}") from None
        if not low <= number <= high:
            raise DataError(
                f"{self.where(place, role)} must be from {low:g} to {high:g}, got {value!r}; see "
                "--score-range"
            )
        return round((number - low) / (high - low) * 10, 9)


def adopt(
    table: Any,
    out: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
    score_range: tuple[float, float] | None = None,
    judge: str | None = None,
    use: Use = "replies",
    force: bool = False,
    **stated: str,
) -> Adopted:
    """Write a table of verdicts as a dataset, ``out/dataset``, and one run a judge,
    ``out/<judge>``.

    Parameters
    ----------
    table
        A file (CSV, TSV, JSON, JSONL, Parquet, Excel), a polars or pandas data frame, or a list of
        dictionaries: one row a verdict. A table with sources of both options, or with letters as
        verdicts, holds pairs; letters refer to the columns of the row (A is ``model_a``), whichever
        was shown first. Other tables hold scores.
    columns, **stated
        The column of a role (``item="prompt_id"``); others are guessed by their names.
    answers
        What other spellings mean: ``{"0": "A", "1": "B", "2": "tie"}``.
    score_range
        Least and greatest score of the table; 0 to 10 where not stated.
    judge
        Name of the judge where the table has no column of it.
    use
        ``replies``: replies, where there are any, are read again, and the table's values stand
        beside what was read; ``verdicts``: the table's values count.
    force
        Replace what an earlier call wrote.

    Raises
    ------
    UsageError
        If a role, a column or an option does not fit the table, or ``out`` exists.
    DataError
        If a cell cannot be read, or two rows contradict each other.

    Examples
    --------
    ::

        done = vj.adopt("verdicts.csv", "study", item="prompt_id", truth="human")
        print(vj.card([vj.open_run(run) for run in done.runs]))
    """
    name, frame = _frame(table)
    found = find_columns(frame.columns, {**(columns or {}), **stated})
    for role in NEEDED:
        if role not in found and not (role == "truth" and {"score_a", "score_b"} <= set(found)):
            raise UsageError(
                f"{name}: no column is named like the {role}; --column {role}=NAME (it has "
                f"{', '.join(frame.columns)})"
            )
    for spelling, meaning in (answers or {}).items():
        if meaning not in ("A", "B", *TIES, FAILED):
            raise UsageError(
                f"--answer {spelling} must be A, B, tie, both_bad or Failed, got {meaning!r}"
            )
    if not frame.height:
        raise DataError(f"{name}: has no rows")
    taken = frame.select(pl.col(column).alias(role) for role, column in found.items())
    read = _Table(
        name,
        taken.to_dicts(),
        found,
        answers or {},
        score_range or (0.0, 10.0),
        _is_pairs(taken, answers or {}),
    )
    return _written(read, Path(out), judge or JUDGE, use, force)


def _frame(table: Any) -> tuple[str, pl.DataFrame]:
    """The table and its name."""
    if isinstance(table, str | Path):
        return Path(table).name, _file(Path(table))
    if isinstance(table, pl.DataFrame):
        return "table", table
    if hasattr(table, "to_dict") and hasattr(table, "columns"):  # pandas, without importing it
        return "table", pl.DataFrame(
            {str(column): table[column].tolist() for column in table.columns}, strict=False
        )
    return "table", pl.DataFrame(list(table), infer_schema_length=None, strict=False)


def _file(path: Path) -> pl.DataFrame:
    if not path.is_file():
        raise UsageError(f"{path}: does not exist")
    kind = path.suffix.lower()
    try:
        if kind in (".csv", ".tsv"):
            return pl.read_csv(path, separator="\t" if kind == ".tsv" else ",", infer_schema=False)
        if kind in (".jsonl", ".ndjson"):
            return pl.read_ndjson(path, infer_schema_length=None)
        if kind == ".json":
            return pl.read_json(path, infer_schema_length=None)
        if kind == ".parquet":
            return pl.read_parquet(path)
        if kind in (".xlsx", ".xls"):
            return pl.read_excel(path)
    except ModuleNotFoundError:
        raise UsageError(
            f"{path}: Excel files need fastexcel; run: pip install fastexcel"
        ) from None
    except (pl.exceptions.PolarsError, ValueError, OSError) as error:
        raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())[:300]}") from None
    raise UsageError(f"{path}: must end in .csv, .tsv, .json, .jsonl, .parquet or .xlsx")


def _is_pairs(taken: pl.DataFrame, answers: Mapping[str, str]) -> bool:
    """Whether the verdicts choose between two options: sources of both are named, or no verdict is
    a number.
    """
    if "model_b" in taken.columns or "text_b" in taken.columns or answers:
        return True
    said = [value for value in taken["verdict"].unique().to_list() if not is_missing(value)]
    return not all(_is_number(value) for value in said)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


# ---------------------------------------------------------------- rows into questions and verdicts


def _written(table: _Table, home: Path, judge: str, use: Use, force: bool) -> Adopted:
    by_judge: dict[str, list[Verdict]] = {}
    keys: set[tuple[Any, ...]] = set()
    counts = {"reread": 0, "invented": 0, "differing": 0}
    for place, row in enumerate(table.rows):
        asked, turned = _asked(table, place, row)
        order = _order(table, place, row, turned)
        who = str(row.get("judge") or judge)
        repeat = _count(table, place, row, "repeat")
        key = (who, asked.item.key, order, repeat)
        if key in keys:
            raise DataError(
                f"{table.where(place, 'item')}: {who} has answered {row.get('item')!r} before in "
                "the "
                f"order {order}; a column of repeats (--column repeat=NAME) or of items tells "
                "them apart"
            )
        keys.add(key)
        verdict = _verdict(table, place, row, asked, order, repeat, turned)
        if use == "replies" and not is_missing(row.get("reply")):
            verdict = _reread(
                asked, verdict, str(row["reply"]), str(row.get("finish_reason") or "stop")
            )
            theirs, ours = verdict.extra.get("published_value", FAILED), str(verdict.value)
            counts["reread"] += 1
            counts["invented"] += ours == FAILED != theirs
            counts["differing"] += FAILED not in (ours, theirs) and ours != theirs
        by_judge.setdefault(who, []).append(verdict)
    return _save(table, home, by_judge, counts, force)


def _count(table: _Table, place: int, row: Mapping[str, Any], role: str) -> int:
    """A cell that counts something; 0 where it holds nothing."""
    value = row.get(role)
    if is_missing(value):
        return 0
    number = float(str(value)) if _is_number(value) else -1.0
    if number < 0 or number != int(number):
        raise DataError(f"{table.where(place, role)} must be a whole number from 0, got {value!r}")
    return int(number)


def _asked(table: _Table, place: int, row: Mapping[str, Any]) -> tuple[_Asked, bool]:
    """The question of a row, and whether the row has its options in the other order."""
    models = (row.get("model_a"), row.get("model_b")) if table.pairs else (row.get("model"),)
    names = tuple(None if is_missing(model) else str(model) for model in models)
    task = str(row.get("task") or TASK)
    item = str(row["item"]) if not is_missing(row.get("item")) else f"row {place + 2}"
    key = (task, item, tuple(sorted(map(str, names))))
    known = table.questions.get(key)
    turned = known is not None and table.pairs and names != known.models
    truth = _truth(table, place, row, names)
    if known is None:
        made = _item(table, place, row, task, item, key, truth)
        known = _Asked(_identity(made.key), made, names, place)
        table.questions[key] = known
    elif (TURNED.get(str(truth), truth) if turned else truth) != known.item.answer:
        raise DataError(
            f"{table.where(place, 'truth')} must be the same in all rows of a question; item "
            f"{item!r} has "
            f"{known.item.answer!r} in row {known.row + 2} and {truth!r} here"
        )
    return known, turned


def _truth(
    table: _Table, place: int, row: Mapping[str, Any], names: tuple[str | None, ...]
) -> Answer:
    if not table.pairs:
        score = table.score(row.get("truth"), place, "truth")
        if score is None:
            raise DataError(f"{table.where(place, 'truth')} must be a number, got nothing")
        return score
    if "truth" in row:
        letter = letter_of(
            row["truth"], (names[0], names[1]), table.answers, table.where(place, "truth")
        )
        if letter == FAILED:
            raise DataError(
                f"{table.where(place, 'truth')} must be A, B, tie or both_bad, got nothing"
            )
        return letter
    a, b = (table.score(row.get(role), place, role) for role in ("score_a", "score_b"))
    if a is None or b is None:
        raise DataError(
            f"{table.where(place, 'score_a' if a is None else 'score_b')} must be a number, got "
            "nothing"
        )
    return "tie" if a == b else "A" if a > b else "B"


def _item(
    table: _Table,
    place: int,
    row: Mapping[str, Any],
    task: str,
    item: str,
    key: tuple[Any, ...],
    truth: Answer,
) -> Item:
    names = key[2]
    models = (row.get("model_a"), row.get("model_b")) if table.pairs else (row.get("model"),)
    texts = (row.get("text_a"), row.get("text_b")) if table.pairs else (row.get("text_a"),)
    scores = (
        tuple(table.score(row.get(role), place, role) for role in ("score_a", "score_b"))
        if table.pairs
        else ()
    )
    return Item(
        key="\0".join((task, item, *names)),
        task=task,
        cluster=str(row["group"]) if not is_missing(row.get("group")) else item,
        request=str(row.get("request") or item),
        options=tuple(
            Option(str(text or ""), source=None if is_missing(model) else str(model))
            for model, text in zip(models, texts, strict=True)
        ),
        answer=truth,
        scores=tuple(score for score in scores if score is not None)
        if scores and None not in scores
        else None,
        kind="pairwise" if table.pairs else "scoring",
    )


def _order(table: _Table, place: int, row: Mapping[str, Any], turned: bool) -> Order:
    """The order shown, of the options as stored."""
    if not table.pairs:
        return "AB"
    shown = (
        order_of(row["order"], table.where(place, "order"))
        if not is_missing(row.get("order"))
        else "AB"
    )
    return "BA" if (shown == "BA") != turned else "AB"


def _verdict(
    table: _Table,
    place: int,
    row: Mapping[str, Any],
    asked: _Asked,
    order: Order,
    repeat: int,
    turned: bool,
) -> Verdict:
    """The table's own value, in the letters of the question as stored."""
    value: Answer | None
    if table.pairs:
        models = (
            (asked.models[1], asked.models[0]) if turned else (asked.models[0], asked.models[1])
        )
        said = letter_of(row["verdict"], models, table.answers, table.where(place, "verdict"))
        value = TURNED.get(said, said) if turned else said
    else:
        value = table.score(row["verdict"], place, "verdict")
    tokens = {
        name: _count(table, place, row, role)
        for name, role in (
            ("prompt_tokens", "input_tokens"),
            ("completion_tokens", "output_tokens"),
        )
        if not is_missing(row.get(role))
    }
    failed = value is None or value == FAILED
    reply = None if is_missing(row.get("reply")) else str(row["reply"])
    return Verdict(
        asked.id,
        order,
        FAILED if value is None else value,
        "unparseable" if failed else "ok",
        reply,
        tokens or None,
        repeat=repeat,
        cause="not read by its authors" if failed else None,
    )


def _reread(asked: _Asked, theirs: Verdict, reply: str, finish_reason: str) -> Verdict:
    """What the reply says by our reader, with the table's value beside it."""
    found = (_read_short if len(reply) <= SHORT else _read)(reply, asked.item.kind, finish_reason)
    value = TURNED.get(str(found.value), found.value) if theirs.order == "BA" else found.value
    extra: dict[str, Any] = {"published_value": str(theirs.value)}
    if found.rule:
        extra |= {"rule": found.rule, "read_by": found.read_by}
    return Verdict(
        theirs.id,
        theirs.order,
        value,
        found.status,
        reply,
        theirs.usage,
        repeat=theirs.repeat,
        cause=found.cause,
        extra=extra,
    )


def _read(reply: str, kind: QuestionType, finish_reason: str) -> Reading:
    return read_reply(reply, kind, finish_reason=finish_reason, ties=TIES)


_read_short = lru_cache(50_000)(_read)


def _identity(key: str) -> str:
    """The id of the question with this key."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


# ---------------------------------------------------------------- files


def _save(
    table: _Table,
    home: Path,
    by_judge: Mapping[str, Sequence[Verdict]],
    counts: Mapping[str, int],
    force: bool,
) -> Adopted:
    target = home / "dataset"
    runs = {judge: home.resolve() / folder_name(judge) for judge in by_judge}
    if len(set(runs.values())) < len(runs):
        raise UsageError(
            f"{table.name}: judges must have names that differ as folders, got "
            f"{', '.join(by_judge)}"
        )
    check_targets(target, runs.values(), force, ENCODING)
    said = {str(verdict.value) for verdicts in by_judge.values() for verdict in verdicts}
    said |= {str(asked.item.answer) for asked in table.questions.values()}
    ties = tuple(tie for tie in TIES if tie in said) if table.pairs else ()
    ties = TIES if "both_bad" in ties else ties
    askable = {"text_a", "text_b"} <= set(table.columns) or (
        not table.pairs and "text_a" in table.columns
    )
    with staged(target) as stage:
        (stage / MEDIA).mkdir()
        questions = list(_questions(table, ties))
        about = {
            "name": ENCODING,
            "title": table.name,
            "licence": "",
            "use": "any",
            "source": table.name,
            "labels_only": not askable,
            "left_out": 0,
            "scores": [],
        }
        meta = {
            "seed": None,
            "options": {"columns": dict(table.columns)},
            "prompts": {PROMPT: "v1"},
            "benchmark": about,
        }
        write_dataset(stage, questions, meta)
    dataset = load_dataset(target)
    for judge, verdicts in by_judge.items():
        head = {
            "judge": judge,
            "backend": ENCODING,
            "model": judge,
            "base_url": None,
            "parameters": {"table": table.name},
            "limit": None,
            "swap": any(verdict.order == "BA" for verdict in verdicts),
            "repeats": 1 + max(verdict.repeat for verdict in verdicts),
        }
        write_run(runs[judge], dataset, verdicts, head)
    return Adopted(
        target,
        tuple(home / path.name for path in runs.values()),
        table.columns,
        len(table.questions),
        sum(map(len, by_judge.values())),
        **counts,
    )


def _questions(table: _Table, ties: tuple[str, ...]) -> Iterator[Question]:
    store = PromptAssetStore()
    for asked in table.questions.values():
        item = replace(asked.item, ties=ties)
        said = wording(item, store=store)
        texts = tuple(OptionFeatures(text_chars=len(option.text)) for option in item.options)
        answer = item.answer
        yield Question(
            id=asked.id,
            task=item.task,
            encoding=ENCODING,
            question_type=item.kind,
            subset=(ENCODING,),
            image_id=item.cluster,
            class_of_interest=None,
            error_type=None,
            annotation_ids=tuple(f"{asked.id}/{letter}" for letter in "AB"[: len(item.options)]),
            final_scores=item.scores or (SCORES[answer] if isinstance(answer, str) else (answer,)),
            sources=tuple(option.source for option in item.options),
            prompt=said.prompt,
            images=(),
            answer=answer,
            features=texts if all(option.text for option in item.options) else None,
            spans=said.spans,
            ties=ties or None,
        )
