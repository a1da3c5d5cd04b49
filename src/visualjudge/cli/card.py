"""``visualjudge card``: whether a judge can rank models. It is decided in
``analysis/decisions/card.py`` and written in ``analysis/report/card.py``.
"""

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.console import (
    as_options,
    end_with,
    following,
    say,
    unused_bar,
    write,
)
from visualjudge.cli.options import JsonFile
from visualjudge.options import AnswerOptions


def card(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders.", metavar="RUN...")
    ],
    options: AnswerOptions,
    details: Annotated[
        bool,
        typer.Option(help="Also each check, task and model."),
    ] = False,
    json: JsonFile = None,
) -> None:
    """Answer whether a judge may rank your models, with the checks behind the answer.

    Example: visualjudge card runs/gpt --json card.json
    """
    from visualjudge.apps.frontdoor.decisions import card as figures

    result = figures(runs, options=options)
    write(json, result.metrics)
    print(as_options(str(result.details if details else result)))
    moved = () if options.dataset is None else ("--dataset", options.dataset)
    same = (*moved, *options.words)
    judge = result.judges[0]
    say(*unused_bar(options.bar, judge.models.shape))
    pairs = judge.models.pairs
    if judge.models.shape == "no_truth" or (
        pairs and all(pair.truth is None for pair in pairs)
    ):
        following("label", runs[0], *moved, "--out", "next.csv")
    elif judge.models.shape == "scores" and judge.models.state == "too_few":
        following("plan", runs[0], *same)
    elif any(pair.needs_images for pair in pairs) and all(
        reason.sign != "✗" for reason in judge.models.reasons
    ):
        following(
            "plan",
            runs[0],
            *same,
            title="next, how many images would decide",
        )
    else:
        following("report", *runs, *same, "--out", "report.html")
    end_with(line for judge in result.judges for line in judge.remarks.problems)
