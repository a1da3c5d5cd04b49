"""``visualjudge plan``: find the fewest images, pairs and repeats, and the least money,
that answer a question. The work is done in ``apps/planning``.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from visualjudge.cli.console import as_options, following, write
from visualjudge.cli.options import (
    MovedDataset,
    PriceOptions,
    SeedOption,
    output,
)
from visualjudge.core.output_files import OutputFile
from visualjudge.options import Selection


def plan(
    target: Annotated[
        Path,
        typer.Argument(
            help="Data folder, dataset, or run of a pilot.", metavar="FOLDER"
        ),
    ],
    part: Selection,
    price: PriceOptions,
    goal: Annotated[
        Literal["rank", "right"],
        typer.Option(help="Rank models, or measure accuracy."),
    ] = "rank",
    effect: Annotated[
        float | None,
        typer.Option(
            help="To detect: points of score, or a share.", metavar="X"
        ),
    ] = None,
    power: Annotated[
        float,
        typer.Option(help="Probability of reaching the goal.", metavar="P"),
    ] = 0.8,
    json: Annotated[
        OutputFile | None,
        output("The plan, for `build --plan`.", metavar="FILE.json"),
    ] = None,
    dataset: MovedDataset = None,
    seed: SeedOption = 42,
) -> None:
    """Plan a study before you pay: images, pairs, orders, repeats, cost and power.

    Example: visualjudge plan data --task keypoint --goal rank --json plan.json
    """
    from visualjudge.apps.planning.plan_without_models import ShapePlan
    from visualjudge.apps.planning.study_designs import (
        as_json,
        commands,
        plan as planned,
    )

    result = planned(
        target,
        goal=goal,
        effect=effect,
        power=power,
        options=part,
        prices=price.prices(),
        dataset=dataset,
        seed=seed,
    )
    print(as_options(str(result)))
    if isinstance(result, ShapePlan):
        write(json, result.as_json())
    elif json is None and result.chosen.power >= power:
        following(
            "plan",
            target,
            "--goal",
            goal,
            *part.words,
            *(() if effect is None else ("--effect", effect)),
            "--power",
            power,
            "--json",
            "plan.json",
        )
    elif json is not None:
        json.write(as_json(result))
        for line, title in zip(
            commands(result, str(json)), ("next", "then"), strict=True
        ):
            print(f"{title}: {line}")
