"""``visualjudge plan``: find the fewest images, pairs and repeats, and the least money, that answer
a question.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from visualjudge.cli.options import (
    EncodingOption,
    MovedDataset,
    PriceOption,
    SeedOption,
    price_of,
)
from visualjudge.cli.output import following


def plan(
    target: Annotated[
        Path, typer.Argument(help="Data folder, dataset, or run of a pilot.", metavar="FOLDER")
    ],
    goal: Annotated[
        Literal["rank", "right"],
        typer.Option(help="Rank your models, or accuracy.", metavar="rank|right"),
    ] = "rank",
    effect: Annotated[
        float | None,
        typer.Option(help="rank: points of score; right: 0 to 1.", metavar="X"),
    ] = None,
    power: Annotated[
        float, typer.Option(help="Probability of reaching the goal.", metavar="P")
    ] = 0.8,
    task: Annotated[
        str | None, typer.Option(help="Task, if there are several.", metavar="TASK")
    ] = None,
    encoding: EncodingOption = None,
    json: Annotated[
        Path | None, typer.Option(help="The plan, for `build --plan`.", metavar="FILE.json")
    ] = None,
    price: PriceOption = None,
    dataset: MovedDataset = None,
    seed: SeedOption = 42,
) -> None:
    """Plan a study before you pay: images, pairs, orders, repeats, cost and power.

    Example: visualjudge plan data --task keypoint --goal rank --json plan.json
    """
    from visualjudge.apps.planning.study_designs import commands, plan as planned
    from visualjudge.runs.budget import Prices

    result = planned(
        target,
        goal=goal,
        effect=effect,
        power=power,
        task=task,
        encodings=encoding or (),
        prices=Prices(*price_of(price)),
        dataset=dataset,
        seed=seed,
    )
    typer.echo(str(result))
    if json is None:
        named = ("--task", task) if task else ()
        following("plan", target, "--goal", goal, *named, "--json", "plan.json")
        return
    result.save(json)
    for line, title in zip(commands(result, str(json)), ("next", "then"), strict=True):
        typer.echo(f"{title}: {line}")
