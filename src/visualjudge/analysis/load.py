"""Runs and datasets from disk, as tables.

Of a people's run, what was asked to check the raters is kept apart. Known items are the easiest
there are, and a repeat is the same rater once more: neither is a further answer, and no figure but
the checks counts them. A rater sees each ordinary question once, in one of the two orders: answers
of two raters say nothing of what the order does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from visualjudge.analysis.figures import RaterChecks
from visualjudge.analysis.question_table import find, merged
from visualjudge.analysis.study_table import WORD, Run, Study, join
from visualjudge.analysis.verdict_table import read_verdicts
from visualjudge.core.errors import DataError, UsageError
from visualjudge.runs.folder import RunFolder, check_questions, excluded_raters

CLOSE = 1.0
"""A score this near the truth is right; two scores this near each other are the same answer."""
KEYS = ("id", "order", "repeat")


def ordinary_and_checks(
    home: Path, answered: pl.DataFrame
) -> tuple[pl.DataFrame, tuple[RaterChecks, ...]]:
    """The verdicts on ordinary questions with their ``rater``, and how each rater did where they
    were checked.

    Raters whom the study's own rules exclude are among the checks only. The verdicts have one
    ``order`` (``said_first`` knows the one shown) and a ``repeat`` for each rater.
    """
    named = answered.join(_purposes(home, answered), on=KEYS, how="inner", maintain_order="left")
    left_out = excluded_raters(RunFolder(home).manifest())
    ordinary = named.filter(pl.col("purpose") == "question", ~pl.col("rater").is_in(left_out))
    asked = pl.int_range(pl.len()).over("question", "rater")
    once = ordinary.with_columns(
        order=pl.lit("AB").cast(WORD),
        repeat=pl.concat_str(asked, "rater").rank("dense").cast(pl.Int32) - 1,
    )
    return once.drop("purpose"), _checks(named)


def without_order(answered: pl.DataFrame) -> pl.DataFrame:
    """Verdicts of a run whose order shown is not known: their ``order`` is "unknown".

    Its "BA" says that a table has the options exchanged; such verdicts become repeats.
    """
    exchanged = pl.when(pl.col("order") == "BA").then(pl.col("repeat").max() + 1).otherwise(0)
    unknown = pl.lit(None, pl.Boolean)
    return answered.with_columns(
        order=pl.lit("unknown").cast(WORD),
        repeat=(pl.col("repeat") + exchanged).cast(pl.Int32),
        said_first=unknown,
        first_right=unknown,
    )


def _purposes(home: Path, answered: pl.DataFrame) -> pl.DataFrame:
    """Rater and purpose of each verdict; a line of another program without a purpose is an ordinary
    question.
    """
    rows = [
        (
            v.id,
            v.order,
            v.repeat,
            str(v.extra.get("rater")),
            str(v.extra.get("purpose") or "question"),
        )
        for v in RunFolder(home).verdicts().values()
    ]
    table = pl.DataFrame(rows, schema=[*KEYS, "rater", "purpose"], orient="row")
    return table.with_columns(pl.col(name).cast(answered.schema[name]) for name in KEYS)


def _checks(named: pl.DataFrame) -> tuple[RaterChecks, ...]:
    near = (pl.col("number") - pl.col("truth")).abs() <= CLOSE
    right = pl.col("parsed") & (
        (pl.col("text") == pl.col("answer")).fill_null(False) | near.fill_null(False)
    )
    said = ["question", "rater", "order", "text", "number"]
    first = (
        named.filter(pl.col("purpose") == "question")
        .select(said)
        .unique(["question", "rater"], keep="first")
    )
    again = named.filter(pl.col("purpose") == "repeat").select(said)
    both = again.join(first, on=["question", "rater"], suffix="_first")
    close = (
        pl.col("number") - pl.col("number_first")
    ).abs() <= CLOSE  # null where either is no score
    same = pl.col("text").eq_missing(pl.col("text_first")) & close.fill_null(
        pl.col("number").is_null() & pl.col("number_first").is_null()
    )
    turned = pl.col("order") != pl.col("order_first")
    known = (
        named.filter(pl.col("purpose") == "known")
        .group_by("rater")
        .agg(known=pl.len(), known_right=right.sum())
    )
    repeats = both.group_by("rater").agg(
        repeats=pl.len(), same=same.sum(), turned=turned.sum(), same_turned=(same & turned).sum()
    )
    rows = known.join(repeats, on="rater", how="full", coalesce=True).fill_null(0).sort("rater")
    return tuple(RaterChecks(**row) for row in rows.iter_rows(named=True))


def read_reply(run: Run, offset: int | None) -> Mapping[str, Any]:
    """The whole verdict at ``offset`` of a run, for the few that the report shows."""
    if run.folder is None or offset is None:
        return {}
    return RunFolder(run.folder).record_at(offset)


def _info(folder: Path) -> dict[str, Any]:
    """What ``run.json`` says."""
    run = RunFolder(folder)
    if folder.is_file():
        raise DataError(f"{folder}: must be the folder of a run, got a file")
    if not run.manifest_path.is_file():
        raise DataError(
            f"{run.manifest_path}: no such file; name a folder that `visualjudge judge --out` wrote"
            f"{_runs_below(folder)}"
        )
    return run.manifest()


def _runs_below(folder: Path) -> str:
    """The runs in a folder that is none, such as one that ``adopt`` wrote; how a dataset becomes
    one.
    """
    if (folder / "dataset.json").is_file():
        return f"; it is a dataset: `visualjudge judge {folder} --out RUN` makes a run"
    found = sorted(str(place.parent) for place in folder.glob("*/run.json"))[:_MOST_NAMED]
    return f", such as {', '.join(found)}" if found else ""


_MOST_NAMED = 5


def _distinct_names(told: Mapping[Path, Mapping[str, Any]]) -> dict[Path, str]:
    """Simulated judges without a name of their own are called as their folders. Runs of one judge
    are told apart by the ends of their folders' paths, as long as it takes.
    """
    names = {
        home: home.name
        if info.get("simulated") and info.get("judge") == info.get("model")
        else str(info.get("judge") or info.get("model") or home.name)
        for home, info in told.items()
    }
    out: dict[Path, str] = {}
    for home, name in names.items():
        alike = [other for other, own in names.items() if own == name]
        unlike = name if len(alike) == 1 else f"{name} ({_ending(home, alike)})"
        while unlike in out.values():
            unlike += "′"
        out[home] = unlike
    return out


def _ending(folder: Path, others: Sequence[Path]) -> str:
    """The last parts of the path of ``folder``: so many that no two of ``others`` end alike."""
    paths = {home.resolve().parts for home in others}
    longest = max(map(len, paths))
    depth = next(
        (n for n in range(1, longest) if len({parts[-n:] for parts in paths}) == len(paths)),
        longest,
    )
    return "/".join(folder.resolve().parts[-depth:])


def _refuse_twice(folders: Sequence[str | Path]) -> None:
    seen = set[Path]()
    for folder in folders:
        home = Path(folder).resolve()
        if home in seen:
            raise UsageError(f"{folder}: is given twice; name each run once")
        seen.add(home)


def expected_verdicts(info: Mapping[str, Any], kinds: pl.Series | None) -> int | None:
    """How many verdicts a run is to have: as ``run.json`` states it, else counted from its options.

    ``kinds``: the question type of every question of the run's dataset, in order; None where that
    is not known.
    """
    asked, limit = info.get("asked"), info.get("limit")
    if isinstance(asked, int):
        return asked
    if kinds is None or not {"swap", "repeats", "limit"} <= info.keys():
        return None
    chosen = kinds.head(limit) if isinstance(limit, int) else kinds
    turned = int((chosen == "pairwise").sum()) if info["swap"] else 0
    return (chosen.len() + turned) * int(info["repeats"] or 1)


def _checked(run: Run, digest: str | None, *, named: bool) -> Run:
    """The run with what does not fit the dataset, or is not there, noted."""
    notes, problems = list(run.warnings), list(run.problems)
    if run.unfinished:
        notes.insert(0, f"{run.folder}: {run.unfinished}")
    if run.foreign and run.answered.is_empty():
        raise DataError(
            f"{run.folder}: none of its verdicts answers a question of the dataset; name the "
            "right one with --dataset"
        )
    if run.foreign:
        problems.append(
            f"{run.folder}: {run.foreign} verdicts are on questions that the dataset does not "
            "hold, left out"
        )
    changed = (
        None if run.folder is None else check_questions(run.folder, run.info, digest, named=named)
    )
    problems += [changed] if changed else []
    return replace(run, warnings=tuple(notes), problems=tuple(problems))


def load_study(
    folders: Sequence[str | Path],
    *,
    dataset: str | Path | None = None,
    seed: int = 0,
    where: Sequence[str] = (),
) -> Study:
    """Runs with the questions they were asked. ``dataset`` overrides the path that the runs
    remember.

    ``where``: only the questions that fit each ``FIELD=VALUE`` (:func:`narrowed`).

    Raises
    ------
    UsageError
        If a run is given twice, or no question fits ``where``.
    DataError
        If a run or its dataset cannot be read, none of a run's verdicts is on a question of the
        dataset, a run names another dataset than the one it was asked, or two datasets hold
        different questions under one id.
    """
    _refuse_twice(folders)
    told = {Path(folder): _info(Path(folder)) for folder in folders}
    places = {home: RunFolder(home).dataset_path(dataset) for home in told}
    roots = list(dict.fromkeys(places.values()))
    try:
        table, meta = merged(roots)
    except UsageError as error:
        hint = (
            ""
            if dataset is not None
            else "; a dataset that was moved is named with --dataset (dataset in Python)"
        )
        raise UsageError(f"{error}{hint}") from None
    kinds = table["kind"] if len(roots) == 1 else None
    runs = (
        _run(home, name, told[home], table, kinds) for home, name in _distinct_names(told).items()
    )
    digests = [meta["digests"].get(place) for place in places.values()]
    checked = tuple(
        _checked(*each, named=dataset is not None) for each in zip(runs, digests, strict=True)
    )
    return narrowed(
        Study(table, checked, meta, roots[0], seed, (), lambda ids: find(roots, ids)), where
    )


FIELDS = {
    "task": "task",
    "encoding": "encoding",
    "question_type": "kind",
    "image_id": "image",
    "class_of_interest": "classes",
    "error_type": "error_type",
    "source": "sources",
}
"""What ``where`` may name, and the column that holds it."""


def narrowed(study: Study, where: Sequence[str]) -> Study:
    """The study of the questions that fit every ``FIELD=VALUE`` of ``where``.

    A question fits a source where it shows one of its predictions. What a run lacks is not known of
    a part.

    Raises
    ------
    UsageError
        If a field is unknown, or no question fits.
    """
    if not where:
        return study
    kept = study.questions
    for condition in where:
        field, _, value = condition.partition("=")
        if field not in FIELDS or not value:
            raise UsageError(
                f"--where must be FIELD=VALUE with a field of {', '.join(FIELDS)}, got {condition}"
            )
        column = pl.col(FIELDS[field])
        fits = column.list.contains(value) if field == "source" else column.cast(pl.String) == value
        found = kept.filter(fits)
        if found.is_empty():
            every = (
                kept.select(column.explode() if field == "source" else column)
                .to_series()
                .cast(pl.String)
            )
            known = ", ".join(sorted(every.drop_nulls().unique().to_list())[:20])
            raise UsageError(
                f"--where {condition}: no question has this {field}; there are: {known or 'none'}"
            )
        kept = found
    renumber = [_renumbered(kept[name]) for name in ("question", "cluster", "pair")]
    runs = tuple(
        replace(
            run,
            answered=run.answered.filter(
                pl.col("question").is_in(kept["question"].implode())
            ).with_columns(renumber),
            expected=None,
        )
        for run in study.runs
    )
    return replace(study, questions=kept.with_columns(renumber), runs=runs, where=tuple(where))


def _renumbered(numbers: pl.Series) -> pl.Expr:
    """The place of each of ``numbers`` among those that are left, from 0."""
    left = numbers.unique().sort()
    places = pl.Series(range(left.len()), dtype=numbers.dtype)
    return pl.col(numbers.name).replace_strict(left, places, return_dtype=numbers.dtype)


def _run(
    home: Path, name: str, info: Mapping[str, Any], questions: pl.DataFrame, kinds: pl.Series | None
) -> Run:
    """A run's verdicts beside their questions; the table that is read is not kept."""
    verdicts, problems, warnings = read_verdicts(home)
    answered = join(questions, verdicts)
    expected, foreign = expected_verdicts(info, kinds), verdicts.height - answered.height
    run = Run(name, home, info, answered, tuple(problems), tuple(warnings), expected, foreign)
    if not run.order_shown:
        return replace(run, answered=without_order(answered))
    if not run.of_people:
        return run
    ordinary, checks = ordinary_and_checks(home, answered)
    return replace(run, answered=ordinary, checks=checks, checked=answered.height - ordinary.height)
