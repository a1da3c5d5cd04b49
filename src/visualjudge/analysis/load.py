"""Read runs and datasets from disk as tables. The tables themselves are in
``stored_tables.py`` and ``study_table.py``.

In a people's run, questions that check the raters are kept separate. Known questions
are the easiest ones, and a repeat is asked of the same rater again. Neither is an
additional answer: the studio's overview counts them, and no figure does. A rater sees
each ordinary question once, in one of the two orders, so the answers of two raters do
not show the effect of the order.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from visualjudge.analysis.answers import join
from visualjudge.analysis.stored_tables import find, merged, read_verdicts
from visualjudge.analysis.study_table import WORD, Run, Study
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.folder_kinds import what_it_is
from visualjudge.core.jsons import Fields
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.question_filter import chosen
from visualjudge.options import MeasureOptions, Selection, keywords
from visualjudge.runs.folder import (
    Manifest,
    RunFolder,
    check_questions,
    distinct_names,
    excluded_raters,
)


def of_ordinary_questions(home: Path, answered: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts on ordinary questions, without raters whom the study's own
    rules exclude. A line without a purpose, written by another program, is on an
    ordinary question. All verdicts have the same ``order`` (``said_first`` accounts for
    the order that was shown) and a ``repeat`` per rater.
    """
    left_out = excluded_raters(RunFolder(home).manifest())
    rater = pl.col("rater").cast(pl.String).fill_null("")
    ordinary = answered.filter(
        pl.col("purpose").fill_null("question") == "question",
        ~rater.is_in(left_out),
    ).with_columns(rater=rater)
    asked = pl.int_range(pl.len()).over("question", "rater")
    return ordinary.with_columns(
        order=pl.lit("AB").cast(WORD),
        repeat=pl.concat_str(asked, "rater").rank("dense").cast(pl.Int32) - 1,
    )


def without_order(answered: pl.DataFrame) -> pl.DataFrame:
    """Set ``order`` to "unknown" for the verdicts of a run whose order shown is not
    known.

    In such a run "BA" only means that the options in the table are exchanged: the
    verdicts on a question are repeats, in the order of the table.
    """
    unknown = pl.lit(None, pl.Boolean)
    return answered.with_columns(
        order=pl.lit("unknown").cast(WORD),
        repeat=pl.int_range(pl.len(), dtype=pl.Int32).over("question"),
        said_first=unknown,
        first_right=unknown,
    )


def read_reply(run: Run, offset: int | None) -> Fields:
    """Read the complete verdict at ``offset`` of a run, for the few that a report
    shows."""
    if run.folder is None or offset is None:
        return {}
    return RunFolder(run.folder).record_at(offset)


def _info(folder: Path) -> Manifest:
    run = RunFolder(folder)
    if folder.is_file():
        raise DataError(f"{folder}: must be the folder of a run, got a file")
    if not run.manifest_path.is_file():
        raise DataError(
            f"{folder} is not a run: {run.manifest_path.name} must be in it; "
            f"{what_it_is(folder)}"
        )
    return run.manifest()


def _checked(run: Run, digest: str | None, *, named: bool) -> Run:
    notes = list(run.warnings)
    problems = list(run.problems)
    if run.unfinished:
        notes.insert(0, f"{run.folder}: {run.unfinished}")
    if run.foreign and run.answered.is_empty():
        raise DataError(
            f"{run.folder}: none of its verdicts answers a question of the dataset; "
            "name the right one with `dataset`"
        )
    if run.foreign:
        problems.append(
            f"{run.folder}: {run.foreign} verdicts are on questions that the dataset "
            "does not hold, left out"
        )
    changed = (
        None
        if run.folder is None
        else check_questions(run.folder, run.info, digest, named=named)
    )
    problems += [changed] if changed else []
    return replace(run, warnings=tuple(notes), problems=tuple(problems))


@keywords(MeasureOptions)
def load_study(
    folders: Sequence[str | Path], *, options: MeasureOptions
) -> Study:
    """Load runs with the questions they were asked. ``dataset`` of the options
    overrides the path recorded in the runs; they may select a part of the questions
    (:func:`narrowed`).

    Raises
    ------
    UsageError
        If a run is given twice, or no question is selected.
    DataError
        If a run or its dataset cannot be read, none of a run's verdicts is on a
        question of the dataset, a run names another dataset than the one it was asked,
        or two datasets hold different questions under one id.
    """
    dataset = options.dataset
    known = {Path(folder): _info(Path(folder)) for folder in folders}
    if len({home.resolve() for home in known}) < len(folders):
        raise UsageError(
            f"{', '.join(map(str, folders))}: each run must be given once"
        )
    places = {home: RunFolder(home).dataset_path(dataset) for home in known}
    roots = list(dict.fromkeys(places.values()))
    try:
        table, meta = merged(roots)
    except UsageError as error:
        hint = (
            ""
            if dataset is not None
            else "; a dataset that was moved is named with `dataset`"
        )
        raise UsageError(f"{error}{hint}") from None
    runs = (
        _run(home, name, known[home], table)
        for home, name in distinct_names(known).items()
    )
    digests = [meta["digests"].get(place) for place in places.values()]
    checked = tuple(
        _checked(*each, named=dataset is not None)
        for each in zip(runs, digests, strict=True)
    )
    whole = Study(
        table,
        checked,
        meta,
        roots[0],
        options.seed,
        find=lambda ids: find(roots, ids),
    )
    return narrowed(whole, roots, options)


def narrowed(study: Study, roots: Sequence[Path], part: Selection) -> Study:
    """Return the study of the questions that ``part`` selects, as ``judge`` selects
    them.

    The number of missing verdicts is not known for a part of the questions.

    Raises
    ------
    UsageError
        If a name or field is unknown, or no question matches.
    """
    if not part.stated:
        return study
    sets = [
        load_dataset(root).questions for root in roots
    ]  # one is read in constant memory
    every = (
        sets[0]
        if len(sets) == 1
        else [question for some in sets for question in some]
    )
    selected = study.questions.filter(
        pl.col("id").is_in([question.id for question in chosen(every, part)])
    )
    asked = pl.col("question").is_in(selected["question"].implode())
    runs = tuple(
        replace(run, answered=run.answered.filter(asked), expected=None)
        for run in study.runs
    )
    return replace(study, questions=selected, runs=runs, part=part)


def _run(home: Path, name: str, info: Manifest, questions: pl.DataFrame) -> Run:
    """Join a run's verdicts to their questions, without keeping the table that was
    read."""
    verdicts, problems, warnings = read_verdicts(home)
    answered = join(questions, verdicts)
    expected = info.get("asked")
    foreign = verdicts.height - answered.height
    run = Run(
        name,
        home,
        info,
        answered,
        tuple(problems),
        tuple(warnings),
        expected,
        foreign,
    )
    counted = counted_of(run)
    checked = answered.height - counted.height
    return replace(run, answered=counted, checked=checked)


def counted_of(run: Run) -> pl.DataFrame:
    """Return the answers of a run that count, as figures count them."""
    if not run.order_shown:
        return without_order(run.answered)
    if not run.of_people or run.folder is None:
        return run.answered
    return of_ordinary_questions(run.folder, run.answered)
