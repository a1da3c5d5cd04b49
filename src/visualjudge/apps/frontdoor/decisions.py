"""Decisions in Python: rank models with a judge, correct by a few labels. The work is
done in ``visualjudge.analysis.decisions``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from visualjudge.apps.frontdoor.opened_run import (
    Run,
    Runs,
    folder_of,
    folders_of,
)
from visualjudge.core.records import QuestionType
from visualjudge.options import AnswerOptions, keywords

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.correct import Leaderboard
    from visualjudge.analysis.decisions.items_to_label import LabelQueue
    from visualjudge.analysis.report.card import Card


@keywords(AnswerOptions)
def card(runs: Runs, *, options: AnswerOptions) -> Card:
    """Decide whether a judge may rank your models, overall and by task, from its checks
    and the order of the sources.

    Parameters
    ----------
    runs
        Runs, or their folders.
    dataset
        Folder of the dataset, if it has moved since the runs.
    seed
        Seed of the bootstrap.
    tasks, encodings, types, where
        Use only these questions; each of ``where`` is ``FIELD=VALUE``, such as
        ``margin>2``.
    bar
        What must be reached, as ``NAME=VALUE``: ``spearman`` and ``error`` of scores,
        ``accuracy`` of choices between unnamed options.

    Raises
    ------
    DataError
        If a run cannot be read.
    UsageError
        If no question is selected.

    Examples
    --------
    With runs on disk::

        print(vj.card(["runs/gpt", "runs/qwen"]))
    """
    from visualjudge.analysis.analysing import analyse
    from visualjudge.analysis.report.card import card_of

    return card_of(analyse(folders_of(runs), options=options))


def correct(
    run: Run | str | Path,
    labels: str | Path,
    *,
    kind: QuestionType | None = None,
    tasks: list[str] | tuple[str, ...] = (),
    dataset: str | Path | None = None,
    gap: float | None = None,
) -> Leaderboard:
    """Correct a leaderboard of sources with a few human labels, with intervals and rank
    sets.

    Parameters
    ----------
    labels
        CSV with ``annotation_id,score`` or ``question_id,answer``, and ``probability``
        if :func:`label` drew the items; or the folder of a run of people.
    kind
        ``"scoring"``, ``"pairwise"`` or ``"ranking"``: which labels count, if they
        answer questions of several kinds.
    tasks
        Use only questions of these tasks; default: of all, together.
    gap
        Difference for which to compute the number of labels needed to detect it.

    Raises
    ------
    DataError
        If the run or the labels cannot be read, or no source has labels on at least 3
        images.

    Examples
    --------
    With runs on disk::

        print(vj.correct("runs/gpt", "labels.csv", gap=0.5))
    """
    from visualjudge.analysis.decisions.correct import correct_study
    from visualjudge.analysis.load import load_study

    return correct_study(
        load_study([folder_of(run)], dataset=dataset, tasks=tuple(tasks)),
        labels,
        kind=kind,
        gap=gap,
    )


def label(
    run: Run | str | Path,
    n: int | None = None,
    *,
    kind: QuestionType | None = None,
    tasks: list[str] | tuple[str, ...] = (),
    labels: str | Path | None = None,
    dataset: str | Path | None = None,
    seed: int = 0,
) -> LabelQueue:
    """Draw the ``n`` items to label next, each with its probability of being drawn;
    ``.table()`` is the CSV to fill in.

    Parameters
    ----------
    n
        Number of items; None = 50, or all that remain.
    kind
        ``"scoring"``, ``"pairwise"`` or ``"ranking"``; None = the first of scoring,
        pairwise and ranking that the run answered.
    tasks
        Draw only from these tasks.
    labels
        Existing labels, drawn with equal probabilities: their items are not drawn
        again, and appear in the queue.
    dataset
        Folder of the dataset, if it has moved since the run.
    seed
        Seed of the draw.

    Raises
    ------
    DataError
        If the run cannot be read, or has no unlabelled items, or fewer than ``n``.

    Examples
    --------
    With runs on disk::

        vj.label("runs/gpt", 50).table().write_csv("next.csv")
    """
    from visualjudge.analysis.decisions.items_to_label import label_study
    from visualjudge.analysis.load import load_study

    return label_study(
        load_study([folder_of(run)], dataset=dataset, tasks=tuple(tasks)),
        n,
        kind=kind,
        labels=labels,
        seed=seed,
    )
