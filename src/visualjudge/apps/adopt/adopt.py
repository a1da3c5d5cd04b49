"""The front door: a table of verdicts, or logs, as a dataset of labels and one run per
judge. Its steps are ``read.py``, ``roles.py``, ``meaning.py`` and ``write.py``;
published benchmarks are in ``benchmarks/``.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from visualjudge.analysis.statistics.doubtful_scores import (
    SUMMARY,
    stands_for_none,
)
from visualjudge.apps.adopt.adopted_question import Scale
from visualjudge.apps.adopt.cell_spellings import is_letter
from visualjudge.apps.adopt.confidence import ROLE as CONFIDENCE, form_of
from visualjudge.apps.adopt.files import Records
from visualjudge.apps.adopt.meaning import (
    Answered,
    Table,
    distinct,
    meaning_of,
)
from visualjudge.apps.adopt.read import read
from visualjudge.apps.adopt.roles import roles_of
from visualjudge.apps.adopt.row_shifts import misfit
from visualjudge.apps.adopt.write import DATASET, write_study
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import (
    FAILED,
    TURNED,
    UNKNOWN,
    Answer,
    Verdict,
)

# Columns of graders that say that a judgement failed, and their cells where it did not.
FAILURES = re.compile("fail|error|invalid", re.IGNORECASE)
# From how many rows on columns are not equal by chance, nor one value all there is.
MANY = 20
COPIES = (
    ("verdict", "truth"),
    ("judge", "model_a"),
    ("judge", "model"),
    ("score_a", "score_b"),
)
"""Roles whose columns are never equal in all rows."""
ZEROS = re.compile(r"(?<![\d.])0+(?=\d)")
UNFAILED = {"", "0", "0.0", "false", "no", "none", "null", "nan", "ok"}


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
        Number of these with a value in the table but none that we can read in the
        reply.
    differing
        Number of these whose reply states a different value.
    left_out
        Number of rows without a truth, which the dataset omits.
    unused
        Columns without a role.
    notes
        Sentences about facts missing from the table, such as the order shown.
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
    use: Literal["replies", "verdicts"] = "replies",
    format: str | None = None,
    drop_duplicates: bool = False,
    force: bool = False,
    **stated: str,
) -> Adopted:
    """Write a table of verdicts as a dataset, ``out/dataset``, and one run a judge,
    ``out/<judge>``.

    Parameters
    ----------
    table
        A file (CSV, TSV, JSON, JSONL, Parquet, Excel, or a log of an evaluation tool),
        a list of files, a polars or pandas data frame, or a list of dictionaries: one
        row a verdict. A table with sources of both options, or with letters as
        verdicts, holds pairs; letters refer to the columns of the row (A is
        ``model_a``), whichever was shown first. Other tables hold scores.
    columns, **stated
        The column of a role (``item="prompt_id"``); others are guessed by their names.
        Columns ``criterion.NAME`` hold a judge's values of a criterion, ``truth.NAME``
        the right ones, and ``rater.NAME`` a person's votes, whose mean or majority is
        the truth without a column of it.
    answers
        What other spellings mean: ``{"0": "A", "1": "B", "2": "tie"}``, or ``{"safe":
        "1"}`` of scores; in verdicts and in replies.
    score_range
        Least and greatest score of the table; 0 to 10 where not stated.
    judge
        Name of the judge; all rows are its own, unless ``columns`` names another column.
    use
        ``replies``: replies, where there are any, are read again, and the table's
        values stand beside what was read; ``verdicts``: the table's values count.
    format
        Name of the log format (``inspect``, ``lmms-eval``, …), or ``table``; None:
        recognised.
    drop_duplicates
        Leave out rows that repeat a verdict.
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
    records = read(table, format)
    roles = roles_of(records, {**(columns or {}), **stated})
    if judge and "judge" not in (columns or {}):
        roles.pop("judge", None)  # all rows are of the one named
    failed = [*failures(records, roles.values())]  # reading empties the records
    meant = meaning_of(
        records,
        roles,
        answers=answers or {},
        score_range=score_range,
        judge=judge or "judge",
        replies=use == "replies",
    )
    judged = distinct(meant, drop_duplicates)
    verdicts: dict[str, list[Verdict]] = {}
    for answered in judged:
        verdicts.setdefault(answered.judge, []).append(answered.verdict)
    runs = write_study(
        meant.items(judged),
        verdicts,
        Path(out),
        replace(
            meant.origin, order_unknown=frozenset(unknown_orders(meant, judged))
        ),
        force=force,
    )
    return Adopted(
        Path(out) / DATASET,
        runs,
        roles,
        len(meant.questions),
        len(judged),
        sum(entry.reply.text is not None for entry in judged),
        *other_values(judged),
        meant.left_out,
        tuple(name for name in records.header if name not in roles.values()),
        (*notes(meant, judged), *failed),
    )


def failures(records: Records, used: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each column without a role that says that judgements have
    failed, since graders write 0 then."""
    for name in records.header.keys() - {*used}:
        cells = [str(row.get(name)).strip() for _, row in records.rows]
        failed = [cell for cell in cells if cell.lower() not in UNFAILED]
        if FAILURES.search(name) and 0 < len(failed) < len(cells):
            yield (
                f"{name}: not used, and has a value in {pluralize(len(failed), 'row')} "
                f"({failed[0][:40]}), whose verdicts are read as they stand; "
                "empty those of judgements that failed"
            )


def other_values(judged: Sequence[Answered]) -> tuple[int, int]:
    """Return the number of replies with a value in the table that cannot be read, and
    that of replies that state another value.
    """
    both = [
        (str(entry.verdict.value), entry.verdict.extra.get("published_value"))
        for entry in judged
        if entry.reply.text is not None
    ]
    stated = [pair for pair in both if pair[1] not in (None, FAILED)]
    invented = sum(ours == FAILED for ours, _ in stated)
    return invented, sum(ours != theirs for ours, theirs in stated) - invented


def unknown_orders(table: Table, judged: Sequence[Answered]) -> Counter[str]:
    """Return the number of answered rows of each judge whose order is unknown."""
    return Counter(
        entry.judge
        for entry in judged
        if table.pairs and entry.verdict.value != FAILED and entry.shown is None
    )


def notes(table: Table, judged: Sequence[Answered]) -> Iterator[str]:
    """Yield a sentence for each fact that the table lacks, or that looks like a
    mistake."""
    columns = table.columns
    verdict = columns.get("verdict") or columns["reply"]
    unknown = unknown_orders(table, judged).total()
    without = (
        f"{pluralize(unknown, 'row')} without it"
        if any(entry.shown for entry in judged)
        else "no column"
    )
    split = sum(
        entry.item.answer == UNKNOWN and len(entry.item.votes) > 1
        for entry in judged
    )
    summed = [
        str(row.get("item"))
        for row in table.rows
        if SUMMARY.fullmatch(str(row.get("item")))
    ]
    alone = sum(
        len({option.source for option in entry.item.options} - {None}) == 1
        for entry in judged
    )
    failed = sum(entry.verdict.value == FAILED for entry in judged)
    lettered = [
        entry
        for entry in judged
        if table.pairs
        and entry.reply.text is None
        and is_letter(entry.row.get("verdict"))
    ]
    facts = {
        f"order: {without}; position bias and swaps are not measured, and replies are "
        "read as if model_a was shown first (`columns` order=NAME; order=model_a where "
        "it always was)": unknown,
        f"{columns.get('model_a')}, {columns.get('model_b')}: {pluralize(alone, 'row')} "
        "compare a model with itself": table.pairs and alone,
        "truth: no column; accuracy is not measured (`columns` truth=NAME; without "
        "answers, visualjudge label draws questions for people)": table.without_truth,
        f"truth: {pluralize(split, 'row')} on which people are split, which has no truth: "
        "accuracy leaves it out": split,
        f"{verdict}: {pluralize(failed, 'row')} without a verdict that can be read, "
        "which count as failed replies": failed,
        f"{columns.get('item')}: {pluralize(len(table.in_several), 'name')} in several "
        f"values of {columns.get('group')}, kept apart as different questions, such as "
        f"{min(table.in_several, default='')}": table.in_several,
        f"{columns.get('item')}: {pluralize(len(summed), 'row')} of "
        f"{min(summed, default='')!r}; remove rows of means or totals, each of which "
        "counts as an item": 0 < len(summed) < len(judged) / 4,
        f"letters in {verdict}: taken as those of the columns, A is "
        f"model_a{_shares(lettered)}; if A is the option shown first: `columns` "
        f"reply={verdict}": not all(entry.shown == "AB" for entry in lettered),
    }
    yield from filter(facts.get, facts)
    if CONFIDENCE in columns:
        yield f"{columns[CONFIDENCE]}: read as {form_of(table.rows)}"
    yield from doubts(table, judged)


def doubts(table: Table, judged: Sequence[Answered]) -> Iterator[str]:
    """Yield a sentence for each fact that tells a mistake of the table."""
    columns = table.columns
    for first, second in COPIES:
        cells = [
            (entry.row.get(first), entry.row.get(second)) for entry in judged
        ]
        if len(cells) >= MANY and all(a == b is not None for a, b in cells):
            yield (
                f"{columns[first]}, {columns[second]}: equal in all {len(cells)} rows; "
                "are they copies of one column?"
            )
    models = [
        option.source for entry in judged for option in entry.item.options
    ]
    items = [row.get("item") for row in table.rows]
    for what, names, least in (
        ("models", models, 1),
        ("items", items, len({*items}) // 4),
    ):
        alike = _alike(filter(None, names))
        if alike and len(alike) >= least:
            yield (
                f"{', '.join(alike[0])}: {what} whose names differ in case or leading "
                f"zeros alone{f', and {len(alike) - 1} more' * (len(alike) > 1)}"
            )
    yield from answers_told(table, judged)


def answers_told(table: Table, judged: Sequence[Answered]) -> Iterator[str]:
    """Yield a sentence for each judge, and for the truth, with one answer in all rows,
    and for each judge whose answers fit other truths than those of their rows."""
    truth = table.columns.get("truth", "truth")
    verdict = table.columns.get("verdict", "reply")
    by_judge: dict[str, list[Answered]] = {}
    for entry in judged:
        if entry.verdict.value != FAILED:
            by_judge.setdefault(entry.judge, []).append(entry)
    for judge, answered in by_judge.items():
        whose = f"{verdict} of {judge}" if len(by_judge) > 1 else verdict
        if not table.without_truth and (how := misfit(answered)):
            yield f"{whose}, {truth}: {how}"
        yield from _odd_answers(
            whose, [entry.verdict.value for entry in answered], table.scale
        )
    if not table.without_truth:
        yield from _odd_answers(
            truth, [entry.item.answer for entry in judged], table.scale
        )


def _odd_answers(
    whose: str, answers: Sequence[Answer], scale: Scale
) -> Iterator[str]:
    """Yield the one answer in all rows, and a score that may stand for none."""
    if len({*answers}) == 1 and len(answers) >= MANY:
        yield (
            f"{whose}: {answers[0] if isinstance(answers[0], str) else 'one score'} in "
            f"all {len(answers)} rows"
        )
    scores = [
        scale[0] + answer * (scale[1] - scale[0]) / 10
        for answer in answers
        if not isinstance(answer, str)
    ]
    yield from (f"{whose}: {what}" for what in stands_for_none(scores))


def _alike(names: Iterable[str]) -> list[list[str]]:
    """Return the names that differ in case and in leading zeros alone, together."""
    spelt: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spelt.setdefault(ZEROS.sub("", name.casefold()), []).append(name)
    return [alike for alike in spelt.values() if len(alike) > 1]


def _shares(lettered: Sequence[Answered]) -> str:
    """Say how often letters equal the truth, by the columns and by the order shown."""
    known = [
        (entry.verdict.value == entry.item.answer, entry.shown == "BA")
        for entry in lettered
        if entry.shown and {entry.item.answer, entry.verdict.value} <= {*TURNED}
    ]
    if not known:
        return ""
    columns = 100 * sum(hit for hit, _ in known) / len(known)
    shown = 100 * sum(hit != turned for hit, turned in known) / len(known)
    return f" (equal to the truth in {columns:.1f} %, by the order shown in {shown:.1f} %)"
