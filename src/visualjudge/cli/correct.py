"""``visualjudge correct``: a leaderboard from many judge verdicts and few labels. The
method is in ``analysis/decisions/correct.py``.
"""

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.console import end_with, following, write
from visualjudge.cli.label import KindOption, TaskOption
from visualjudge.cli.options import JsonFile, MovedDataset
from visualjudge.core.plurals import pluralize


def correct(
    run: Annotated[Path, typer.Argument(help="Run folder.", metavar="RUN")],
    labels: Annotated[
        Path,
        typer.Option(
            help="CSV of `label`, filled in, or a run of people.",
            metavar="FILE",
        ),
    ],
    json: JsonFile = None,
    kind: KindOption = None,
    task: TaskOption = None,
    gap: Annotated[
        float | None,
        typer.Option(
            help="Print the labels needed to show this difference.",
            metavar="X",
        ),
    ] = None,
    dataset: MovedDataset = None,
) -> None:
    """Correct a judge's mean scores or win rates with a few labels of people, with
    intervals and rank sets.

    Example: visualjudge correct runs/gpt --labels labels.csv --json leaderboard.json
    """
    from visualjudge.analysis.decisions.correct import LEADERBOARD
    from visualjudge.apps.frontdoor.decisions import correct as figures

    board = figures(
        run, labels, kind=kind, tasks=task or (), dataset=dataset, gap=gap
    )
    write(json, LEADERBOARD.json(board))
    print(board)
    if board.unlabelled:
        following(
            "label",
            run,
            *(("--kind", kind) if kind else ()),
            *(word for name in task or () for word in ("--task", name)),
            "--labels",
            labels,
            "--out",
            labels.stem + "-more.csv",
        )
    else:
        following("report", run)
    end_with(
        [
            *board.problems,
            *(
                [f"{pluralize(len(board.problems), 'label')} left out"]
                if board.problems
                else ()
            ),
            *board.remarks.problems,
        ]
    )
