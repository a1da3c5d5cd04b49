"""Which encoding should I use? The section of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from visualjudge.analysis import columns
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.figure_text import listed
from visualjudge.analysis.figures import JudgeResult
from visualjudge.analysis.plots.figure import Figure
from visualjudge.analysis.report.accuracy_plots import encodings
from visualjudge.analysis.report.grids import across, grid, titled
from visualjudge.analysis.report.readings import plain_name
from visualjudge.analysis.report.section import Section, each
from visualjudge.core.text_tables import Styled, Table
from visualjudge.vision.encodings import encoding_title

MOST_TASKS = 20


def encoding_section(
    analysis: Analysis, judges: Sequence[JudgeResult], images: Mapping[str, str]
) -> Section:
    """The figures of tasks whose encodings differ, and in a sentence the tasks whose encodings do
    not, or of which there is one. ``images``: data URIs of small images, by ``task/stem``.
    """
    figures = encodings(analysis, images)
    level = [figure for figure in figures if _level(figure)]
    table = across("Encoding", judges, lambda j: j.by_encoding, _encoding)
    return Section(
        "encodings",
        "Which encoding should I use?",
        "Compared on the same pairs. One is recommended only where a difference is certain; its "
        "accuracy is from images that it was not chosen on. “Open” means that these data cannot "
        "tell it from the best."
        if figures
        else "",
        [titled("By encoding", table), *each(judges, _named_choices)] if figures else [],
        notes=[*_levels(level), *_singles(judges)] if figures else [],
        missing="" if figures else " ".join(_singles(judges)),
        figures=[figure for figure in figures if figure not in level],
        more=level,
    )


def _level(figure: Figure) -> bool:
    """Whether all differences are nil."""
    value = figure.columns.index("value")
    return all(not row[value] for row in figure.rows)


def _levels(figures: Sequence[Figure]) -> list[str]:
    task = [figure.columns.index("task") for figure in figures]
    names = [plain_name(str(f.rows[0][k])) for f, k in zip(figures, task, strict=True)]
    if not names:
        return []
    return [
        f"As accurate in every encoding, on the same pairs: {listed(names, MOST_TASKS)}. "
        "None is better so far; how far they could differ is in the figures."
    ]


def _singles(judges: Sequence[JudgeResult]) -> list[str]:
    """The tasks that were asked in one encoding."""
    found: dict[str, list[str]] = {}
    for task, name in dict.fromkeys(
        (choice.task, choice.encodings[0].name)
        for judge in judges
        for choice in judge.encodings
        if len(choice.encodings) == 1
    ):
        found.setdefault(encoding_title(task, name), []).append(plain_name(task))
    said = [f"{listed(tasks, MOST_TASKS)} ({title})" for title, tasks in found.items()]
    return [f"Asked in one encoding: {'; '.join(said)}."] if said else []


def _encoding(name: str) -> Styled:
    """``task/stem`` as the encoding's human name and its stem."""
    task, _, stem = name.rpartition("/")
    return Styled(encoding_title(task, stem), below=f"{task}, {stem}")


def _named_choices(judge: JudgeResult) -> Table:
    """Choices with encodings by their human names."""

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
