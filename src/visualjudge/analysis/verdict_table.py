"""A run's verdicts as a table, in the one form of ``study_table``."""

from itertools import islice
from pathlib import Path

import polars as pl

from visualjudge.analysis.study_table import VERDICT_SCHEMA, verdict_table
from visualjudge.core.records import Verdict
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.journal import Line
from visualjudge.runs.verdicts import verdict_in

MOST_NAMED = 100
"""Maximum number of unreadable lines that are named; the others are counted."""
_ROWS = 50_000


def read_verdicts(folder: Path) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Return the verdicts of a run folder, its problems and its warnings.

    A truncated last line (a killed run) is a warning; any other unreadable line is a
    problem. If there are several verdicts for one question, order and repeat, the last
    one counts (a resumed run asks failed questions again).

    Raises
    ------
    DataError
        If there is no file of verdicts.
    """
    run = RunFolder(folder)
    path = run.existing_verdicts_path()
    frames = []
    unread = list[Line]()
    rest = run.lines()
    while lines := list(islice(rest, _ROWS)):
        read = list[Verdict]()
        places = list[int]()
        for line in lines:
            verdict = verdict_in(line)
            if verdict is None:
                unread.append(line)
            else:
                read.append(verdict)
                places.append(line.start)
        starts = pl.Series(places, dtype=pl.Int64)
        frames.append(verdict_table(read).with_columns(offset=starts))
    table = pl.concat(frames) if frames else pl.DataFrame(schema=VERDICT_SCHEMA)
    last = table.unique(
        ["id", "order", "repeat"], keep="last", maintain_order=True
    )
    problems = [
        f"{path}: line {line.number}: must be a verdict, left out"
        for line in unread
        if not line.cut
    ]
    if more := problems[MOST_NAMED:]:
        problems[MOST_NAMED:] = [
            f"{path}: {len(more)} more lines are no verdicts, left out"
        ]
    warnings = [
        f"{path}: line {line.number}: cut short, left out; finish the run with `resume`"
        for line in unread
        if line.cut
    ]
    if again := table.height - last.height:
        warnings.append(
            f"{path}: {again} verdicts were asked again; the last one of each counts"
        )
    return last, problems, warnings
