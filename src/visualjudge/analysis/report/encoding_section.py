"""The report section "Which encoding should I use?"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from visualjudge.analysis import columns
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.encoding_choice import NO_DIFFERENCE
from visualjudge.analysis.figure_text import listed, plain_name
from visualjudge.analysis.figures import JudgeResult
from visualjudge.analysis.plots.figure import Figure
from visualjudge.analysis.report.accuracy_plots import encodings
from visualjudge.analysis.report.section import Section, across, each, grid, titled
from visualjudge.core.text_tables import Styled, Table
from visualjudge.vision.encodings import encoding_title

MOST_TASKS = 20


def encoding_section(
    analysis: Analysis, judges: Sequence[JudgeResult], images: Mapping[str, str]
) -> Section:
    """Return the figures of tasks whose encodings differ, and a sentence naming the other tasks and
    those with one encoding.

    ``images`` are data URIs of small images, by ``task/stem``.
    """
    decided = {
        choice.task
        for judge in judges
        for choice in judge.encodings
        if choice.recommended or choice.cheapest or choice.reason == NO_DIFFERENCE
    }
    figures = encodings(analysis, images)
    certain = [f for f in figures if f.rows[0][f.columns.index("task")] in decided]
    rest = [figure for figure in figures if figure not in certain]
    table = across("Encoding", judges, lambda j: j.by_encoding, _encoding)
    return Section(
        "encodings",
        "Which encoding should I use?",
        "Encodings are compared on the same pairs. An encoding is recommended only if a difference "
        "is significant; its accuracy is measured on images that were not used to "
        "choose it."
        if figures
        else "",
        [titled("By encoding, on different pairs", table), *each(judges, _named_choices)]
        if figures
        else [],
        notes=[*_undecided(rest), *_blind(analysis), *_singles(judges)] if figures else [],
        missing="" if figures else " ".join(_singles(judges)),
        figures=certain,
        more=rest,
    )


def _undecided(figures: Sequence[Figure]) -> list[str]:
    names = [plain_name(str(f.rows[0][f.columns.index("task")])) for f in figures]
    if not names:
        return []
    return [
        f"Can’t tell yet which encoding is better or worse: {listed(names, MOST_TASKS)}. The "
        "figures on the page show how far they could differ."
    ]


def _blind(analysis: Analysis) -> list[str]:
    """Return the judges that answer each pair the same in every encoding."""
    names = []
    for k in analysis.results.shown:
        table = analysis.study.kind(k, "pairwise", ("pair", "order", "repeat", "encoding", "right"))
        asked = table.group_by("pair", "order", "repeat").agg(
            encodings=pl.col("encoding").n_unique(), answers=pl.col("right").n_unique()
        )
        several = asked.filter(pl.col("encodings") > 1)
        if several.height and several["answers"].max() == 1:
            names.append(analysis.results.judges[k].name)
    if not names:
        return []
    return [
        f"The answers of {listed(names)} do not depend on the encoding: they are the same in each."
    ]


def _singles(judges: Sequence[JudgeResult]) -> list[str]:
    """Return the tasks that were asked in one encoding only."""
    found: dict[str, list[str]] = {}
    for task, name in dict.fromkeys(
        (choice.task, choice.encodings[0].name)
        for judge in judges
        for choice in judge.encodings
        if len(choice.encodings) == 1
    ):
        found.setdefault(encoding_title(task, name), []).append(plain_name(task))
    said = [f"{listed(tasks, MOST_TASKS)} ({title})" for title, tasks in found.items()]
    if not said:
        return []
    return [
        f"Encodings cannot be compared, because each task was asked in only one: {'; '.join(said)}."
    ]


def _encoding(name: str) -> Styled:
    """Return ``task/stem`` as the encoding's human name and its stem."""
    task, _, stem = name.rpartition("/")
    return Styled(encoding_title(task, stem), below=f"{task}, {stem}")


def _named_choices(judge: JudgeResult) -> Table:
    """Return the choices with encodings by their human names."""

    def named(task: str, stem: str | None) -> str | None:
        return None if stem is None else f"{encoding_title(task, stem)} ({stem})"

    rows = [
        replace(
            choice,
            recommended=named(choice.task, choice.recommended),
            cheapest=named(choice.task, choice.cheapest),
        )
        for choice in judge.encodings
        if len(choice.encodings) > 1
    ]
    return grid(columns.CHOICE, rows)
