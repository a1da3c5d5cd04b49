"""Convert a table of verdicts to a dataset of labels and one run per judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import polars as pl

from visualjudge.apps.adopting.answers import GRADES, LETTER_OF, is_answer, is_missing, is_number
from visualjudge.apps.adopting.columns import ROLES, find_columns, no_header
from visualjudge.apps.adopting.fitting import Lettered, fits, other_letters_fit
from visualjudge.apps.adopting.log_to_table import UNIT, Log, Scale, find_format
from visualjudge.apps.adopting.rereading import ReplyKey, read_replies, reply_key, reread
from visualjudge.apps.adopting.rows import (
    Table,
    asked_of,
    count_of,
    is_lettered,
    models_of,
    shown_order,
    verdict_of,
    with_texts,
)
from visualjudge.apps.adopting.tables import frame_of
from visualjudge.apps.published.importing import SCORES, check_targets, folder_name
from visualjudge.apps.published.prompts import PROMPT, wording
from visualjudge.apps.published.reading import TEN
from visualjudge.apps.published.runs import write_run
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.garbage_collection import paused_collector
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import (
    FAILED,
    TIES,
    TURNED,
    UNKNOWN,
    Answer,
    OptionFeatures,
    Order,
    Question,
    Verdict,
)
from visualjudge.dataset.folder import MEDIA, Dataset
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.dataset.staging import staged
from visualjudge.dataset.write_dataset import write_dataset
from visualjudge.formats.outputs import warn_of_range
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.replies import Reading

Use = Literal["replies", "verdicts"]
Letters = Literal["columns", "shown"]
ORDER_NAMES = next(role.names for role in ROLES if role.name == "order")
ENCODING = "adopted"
JUDGED = ("verdict", "truth")
WHOLE = ("item", "judge", "model", "model_a", "model_b")
"""Roles whose column has a value in each row."""
JUDGE = "judge"
NO_TRUTH = (
    "truth: no column; accuracy is not measured (--column truth=NAME; without answers, "
    "visualjudge label draws questions for people)"
)
MEANINGS = {"columns": "of the columns (A is model_a)", "shown": "of the order shown (A is first)"}
Files = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Adopted:
    """Result of :func:`adopt`.

    Attributes
    ----------
    dataset, runs
        Their folders.
    columns
        The column of each role.
    questions, verdicts
        Their numbers.
    reread
        Number of verdicts whose reply was read again.
    invented
        Number of these with a value in the table but none that we can read in the reply.
    differing
        Number of these whose reply states a different value.
    left_out
        Number of rows without a truth, which the dataset omits.
    unused
        Columns without a role.
    notes
        Sentences about facts missing from the table: the order shown, and the meaning of letters.
    """

    dataset: Path
    runs: tuple[Path, ...]
    columns: Mapping[str, str]
    questions: int
    verdicts: int
    reread: int
    invented: int
    differing: int
    left_out: int
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def adopt(
    table: Any,
    out: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
    score_range: tuple[float, float] | None = None,
    judge: str | None = None,
    use: Use = "replies",
    letters: Letters = "columns",
    format: str | None = None,
    workers: int = 1,
    force: bool = False,
    **stated: str,
) -> Adopted:
    """Write a table of verdicts as a dataset, ``out/dataset``, and one run a judge,
    ``out/<judge>``.

    Parameters
    ----------
    table
        A file (CSV, TSV, JSON, JSONL, Parquet, Excel, or a log of an evaluation tool), a list of
        files, a polars or pandas data frame, or a list of dictionaries: one row a verdict. A table
        with sources of both options, or with letters as verdicts, holds pairs; letters refer to
        the columns of the row (A is ``model_a``), whichever was shown first. Other tables hold
        scores.
    columns, **stated
        The column of a role (``item="prompt_id"``); others are guessed by their names.
    answers
        What other spellings mean: ``{"0": "A", "1": "B", "2": "tie"}``, or ``{"safe": "1"}`` of
        scores.
    score_range
        Least and greatest score of the table; 0 to 10 where not stated.
    judge
        Name of the judge where the table has no column of it.
    use
        ``replies``: replies, where there are any, are read again, and the table's values stand
        beside what was read; ``verdicts``: the table's values count.
    letters
        What A means as a verdict: ``columns``: ``model_a``; ``shown``: the option shown first,
        which needs an ``order``.
    format
        Name of the log format (``inspect``, ``lmms-eval``, …), or ``table``; None: recognised.
    workers
        Processes that read replies.
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
    files, frame, scale = _loaded(table, format)
    flat = [one.name for one in frame if not one.dtype.is_nested()]
    found = find_columns(flat, {**(columns or {}), **stated}, lambda *guess: fits(frame, *guess))
    _check(files[0][1], frame, found, answers or {}, score_range)
    if letters == "shown" and "order" not in found:
        raise UsageError(
            "--letters shown needs a column of the order shown; give --column order=NAME"
        )
    taken = frame.select(pl.col(column).alias(role) for role, column in found.items())
    given = _labelled(taken)
    if not given:
        raise DataError(
            f"{files[0][1]}: {found['truth']}: no row has a truth; remove the column to adopt the "
            "verdicts without one, or fill it in for some rows drawn at random: those without are "
            "left out"
        )
    graded = bool(_said(taken, "verdict") & set(GRADES))
    read = Table(
        files,
        with_texts(taken[given]).to_dicts(),
        given,
        found,
        answers or {},
        score_range or scale or (UNIT if graded else TEN),
        _is_pairs(taken, answers or {}),
        graded,
        letters == "shown",
    )
    replies = {}
    if use == "replies" and "reply" in found:
        with paused_collector():
            replies = read_replies(read, workers)
    if not _said(taken, "verdict") and not replies:
        raise DataError(f"{read.name}: {found['verdict']}: no row has a verdict")
    if not read.pairs and score_range is None and scale is None and not graded:
        for role in set(JUDGED) & set(taken.columns):
            numbers = [float(value) for value in taken[role].to_list() if is_number(value)]
            warn_of_range(f"{read.name}: {found[role]}", numbers, read.scale)
    left_out = frame.height - len(given)
    with paused_collector():
        done = _written(read, Path(out), judge or JUDGE, replies, left_out, force)
    unused = tuple(name for name in frame.columns if name not in found.values())
    return replace(done, unused=unused)


def _check(
    name: str,
    frame: pl.DataFrame,
    found: Mapping[str, str],
    answers: Mapping[str, str],
    score_range: tuple[float, float] | None,
) -> None:
    """Raise an error if the table or the options cannot be used."""
    lists = [one.name for one in frame if one.dtype.is_nested()]
    nested = f"; columns of lists or objects are not read: {', '.join(lists)}" if lists else ""
    sheet = "; of a workbook, the first sheet is read" if name.endswith((".xlsx", ".xls")) else ""
    if "verdict" not in found:
        raise UsageError(
            f"{name}: no column has the name of a verdict; give --column verdict=NAME (its "
            f"first row has {', '.join(frame.columns)}{nested}; found: "
            f"{', '.join(f'{role}={column}' for role, column in found.items()) or 'none'})"
            f"{no_header(frame.columns)}{sheet}"
        )
    if score_range is not None and not score_range[0] < score_range[1]:
        raise UsageError(
            f"--score-range must be a lower and a higher number, got "
            f"{score_range[0]:g} {score_range[1]:g}"
        )
    for spelling, meaning in answers.items():
        if meaning not in ("A", "B", *TIES, FAILED) and not is_number(meaning):
            raise UsageError(
                f"--answer {spelling} must be A, B, tie, both_bad, Failed or a number, got "
                f"{meaning!r}"
            )
    if not frame.height:
        raise DataError(f"{name}: has no rows")
    for role in WHOLE:
        gaps = frame[found[role]].is_null().to_list() if role in found else []
        if any(gaps) and not all(gaps):
            raise DataError(
                f"{name}: row {gaps.index(True) + 2}: {found[role]} must be given in all rows or "
                "in none; merged cells of a spreadsheet must be filled in each row"
            )
    if {"verdict", "truth"} <= set(found) and found["verdict"] == found["truth"]:
        raise UsageError(f"--column: verdict and truth must be two columns, got {found['truth']}")


def _labelled(taken: pl.DataFrame) -> list[int]:
    """Return the rows that have a truth."""
    if "truth" not in taken.columns:
        return list(range(taken.height))
    values = enumerate(taken["truth"].to_list())
    graded = bool(_said(taken, "truth") & set(GRADES))
    return [k for k, value in values if not is_missing(value) or (graded and value == "failed")]


def _loaded(tables: Any, form: str | None) -> tuple[Files, pl.DataFrame, Scale | None]:
    """Return names, rows and scale of a table, of a log, or of several files combined."""
    paths = [tables] if isinstance(tables, str | Path) else tables
    if not (isinstance(paths, list | tuple) and paths and isinstance(paths[0], str | Path)):
        return [(0, "table")], frame_of(tables), None
    read = [_file(Path(path), form) for path in paths]
    if len({scale for _, scale in read}) > 1:
        raise UsageError("the files must have one format and scale; adopt them separately")
    firsts = accumulate((frame.height for frame, _ in read), initial=0)
    files = [(first, Path(path).name) for first, path in zip(firsts, paths, strict=False)]
    return files, pl.concat([frame for frame, _ in read], how="diagonal_relaxed"), read[0][1]


def _file(path: Path, form: str | None) -> tuple[pl.DataFrame, Scale | None]:
    if not path.is_file():
        reason = "must be a file, got a folder" if path.is_dir() else "does not exist"
        raise UsageError(f"{path}: {reason}")
    log = Log(path)
    found = find_format(log, form)
    if found is None:
        return log.table, None
    try:
        read = found.read(log)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # An unforeseen error in reading a foreign file is reported as an error of that file.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError(f"{path}: is not {found.help}: {reason}") from error
    if not read.rows:
        raise DataError(f"{path}: holds no verdict, although it is {found.help}")
    table = pl.DataFrame(read.rows, infer_schema_length=None, strict=False)
    if not set(ORDER_NAMES) & set(table.columns):
        # Letters in a log are those of the prompt, in which option A comes first.
        table = table.with_columns(order=pl.lit("AB"))
    return table, read.scale


def _is_pairs(taken: pl.DataFrame, answers: Mapping[str, str]) -> bool:
    """Return whether the verdicts choose between two options: both sources are named, or no verdict
    (without verdicts, no truth) is a number or a grade.
    """
    if "model_b" in taken.columns or "text_b" in taken.columns:
        return True
    if answers:
        return not any(is_number(meaning) for meaning in answers.values())
    said = {role: _said(taken, role) for role in JUDGED if role in taken.columns}
    if any(map(is_answer, said["verdict"])):
        return True
    numbers = (value.replace(",", ".") for value in said["verdict"] - {"0"})
    if any(is_number(value) and value not in LETTER_OF for value in numbers):
        return False  # 7 is a score, whatever the truth is
    told = said.get("truth") or said["verdict"]
    return not all(is_number(value) or value in GRADES for value in told)


def _said(taken: pl.DataFrame, role: str) -> set[str]:
    """Return the distinct values of a column in lower case, without those that mean a missing
    value.
    """
    found = taken[role].unique().to_list()
    return {str(value).strip().lower() for value in found if not is_missing(value)}


def _written(
    table: Table,
    home: Path,
    judge: str,
    replies: Mapping[ReplyKey, Reading],
    left_out: int,
    force: bool,
) -> Adopted:
    by_judge: dict[str, list[Verdict]] = {}
    keys: set[tuple[Any, ...]] = set()
    counts = {"reread": 0, "invented": 0, "differing": 0, "left_out": left_out}
    told = _Told()
    for place, row in enumerate(table.rows):
        asked, turned = asked_of(table, place, row)
        shown = shown_order(table, place, row)
        order: Order = "BA" if (shown == "BA") != turned else "AB"
        who = str(row.get("judge") or judge)
        repeat = count_of(table, place, row, "repeat")
        key = (who, asked.item.key, order, repeat)
        if key in keys:
            again = "" if shown is None else f" in the order {order}"
            lacking = "the order shown (--column order=NAME), " if table.pairs and not again else ""
            raise DataError(
                f"{table.where(place, 'item')}: {who} has answered {row.get('item')!r} before"
                f"{again}; remove rows that are there twice, or name a column that tells them "
                f"apart: {lacking}the repeat (--column repeat=NAME) or the item "
                "(--column item=NAME)"
            )
        keys.add(key)
        verdict = verdict_of(table, place, row, asked, order, repeat, turned, shown)
        found = replies.get(reply_key(row)) if replies else None
        if found is not None:
            verdict = reread(table, verdict, found)
            theirs, ours = verdict.extra["published_value"], str(verdict.value)
            counts["reread"] += 1
            counts["invented"] += ours == FAILED != theirs
            counts["differing"] += FAILED not in (ours, theirs) and ours != theirs
            if shown == "BA" and is_lettered(table, row):
                theirs = TURNED.get(theirs, theirs)
            told.differing_otherwise += FAILED not in (ours, theirs) and ours != theirs
        told.failed += found is None and verdict.value == FAILED
        if table.pairs and verdict.value != FAILED:
            told.of_order[who, shown] += 1
            if is_lettered(table, row):
                told.lettered += 1
                if {verdict.value, asked.item.answer} <= {"A", "B"}:
                    told.letters.append(
                        Lettered(
                            asked.item.cluster,
                            shown == "BA",
                            verdict.value == "A",
                            asked.item.answer == "A",
                        )
                    )
        by_judge.setdefault(who, []).append(verdict)
    known = {judge: not told.of_order[judge, None] for judge in by_judge}
    done = _save(table, home, by_judge, known, counts, force)
    return replace(done, notes=tuple(_notes(table, told, counts)))


@dataclass(slots=True)
class _Told:
    """Evidence about positions in rows of pairs: answered rows by judge and order, those whose
    verdict is a letter, and the number that differ from their replies if letters have the other
    meaning.
    """

    of_order: Counter[tuple[str, Order | None]] = field(default_factory=Counter)
    failed: int = 0
    lettered: int = 0
    letters: list[Lettered] = field(default_factory=list)
    differing_otherwise: int = 0


def _notes(table: Table, told: _Told, counts: Mapping[str, int]) -> Iterator[str]:
    answered = told.of_order.items()
    rows = told.of_order.total()
    turned, unknown = (
        sum(n for (_, shown), n in answered if shown == order) for order in ("BA", None)
    )
    if unknown:
        lacking = "no column" if unknown == rows else f"{pluralize(unknown, 'row')} without it"
        yield (
            f"order: {lacking}; position bias and swaps are not measured (--column order=NAME; "
            "order=model_a where model_a was always shown first)"
        )
    if table.without_truth:
        yield NO_TRUTH
    if told.failed:
        yield (
            f"{table.columns['verdict']}: {pluralize(told.failed, 'row')} without a verdict, which "
            "count as failed replies"
        )
    if unknown and counts["reread"]:
        yield "replies: read as if model_a was shown first where no order is known"
    grouped = [row["group"] is not None for row in table.rows if "group" in row]
    if any(grouped) and not all(grouped):
        yield (
            f"{table.columns['group']}: {pluralize(grouped.count(False), 'row')} without it, whose "
            "questions count as independent cases"
        )
    alike = sum(a is not None and a == b for a, b in map(models_of, table.rows))
    if table.pairs and alike:
        yield (
            f"{table.columns['model_a']}, {table.columns['model_b']}: the same source in "
            f"{pluralize(alike, 'row')}, which rank no sources"
        )
    yield from _notes_on_letters(table, told, counts, turned or unknown)


def _notes_on_letters(
    table: Table, told: _Told, counts: Mapping[str, int], open_rows: int
) -> Iterator[str]:
    """Say what letters were taken for; ``open_rows``: in which they could mean something else."""
    now, other = ("shown", "columns") if table.letters_shown else ("columns", "shown")
    if counts["reread"]:
        if told.differing_otherwise < counts["differing"]:
            yield (
                f"with the letters those {MEANINGS[other]}, another value for "
                f"{told.differing_otherwise}, not {counts['differing']}: --letters {other}"
            )
    elif other_letters_fit(told.letters):
        right = [row.said_a == row.truth_a for row in told.letters]
        otherwise = [said != row.turned for said, row in zip(right, told.letters, strict=True)]
        yield (
            f"warning: letters in {table.columns['verdict']} seem to be those {MEANINGS[other]}: "
            f"so read they equal the truth in {_share(otherwise)}, as now read in "
            f"{_share(right)}; --letters {other}"
        )
    elif told.lettered and open_rows:
        yield (
            f"letters in {table.columns['verdict']}: taken as those {MEANINGS[now]}; "
            f"--letters {other} takes them as those {MEANINGS[other]}"
        )


def _share(hits: Sequence[bool]) -> str:
    return f"{100 * sum(hits) / len(hits):.1f} %"


# ---------------------------------------------------------------- files


def _save(
    table: Table,
    home: Path,
    by_judge: Mapping[str, Sequence[Verdict]],
    order_shown: Mapping[str, bool],
    counts: Mapping[str, int],
    force: bool,
) -> Adopted:
    target = home / "dataset"
    runs = {judge: home.resolve() / folder_name(judge) for judge in by_judge}
    if len(set(runs.values())) < len(runs):
        raise UsageError(
            f"{table.name}: judges must have different folder names, got {', '.join(by_judge)}"
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
            "left_out": counts["left_out"],
            "scores": [],
        }
        meta = {
            "seed": None,
            "options": {"columns": dict(table.columns)},
            "prompts": {PROMPT: "v1"},
            "benchmark": about,
        }
        write_dataset(stage, questions, meta)
    dataset = Dataset(target, questions, meta, file_sha256(target / QUESTIONS))
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
            **({} if order_shown[judge] else {"order_shown": False}),
        }
        write_run(runs[judge], dataset, verdicts, head)
    return Adopted(
        target,
        tuple(home / path.name for path in runs.values()),
        table.columns,
        len(table.questions),
        sum(map(len, by_judge.values())),
        **counts,
        unused=(),
        notes=(),
    )


def _questions(table: Table, ties: tuple[str, ...]) -> Iterator[Question]:
    store = PromptAssetStore()
    for asked in table.questions.values():
        item = replace(asked.item, ties=ties) if ties else asked.item
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
            final_scores=item.scores or _scores(answer, len(item.options)),
            sources=tuple(option.source for option in item.options),
            prompt=said.prompt,
            images=(),
            answer=answer,
            features=texts if all(option.text for option in item.options) else None,
            spans=said.spans,
            ties=ties or None,
        )


def _scores(answer: Answer, options: int) -> tuple[float, ...]:
    """Return true scores that fit the answer; in the middle if it is unknown."""
    if answer == UNKNOWN:
        return (5.0,) * options
    return SCORES[answer] if isinstance(answer, str) else (answer,)
