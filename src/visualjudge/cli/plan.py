"""``visualjudge plan``: find the fewest images, pairs and repeats, and the least money, that answer
a question.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import (
    EncodingOption,
    MovedDataset,
    PriceOption,
    price_of,
    with_groups,
)
from visualjudge.cli.output import following
from visualjudge.core.errors import must_end_in

app = typer.Typer(pretty_exceptions_enable=False)


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """The cost of calls and labels."""

    budget: Annotated[
        float | None, typer.Option(min=0, help="Maximum cost; needs --price.", metavar="COST")
    ] = None
    price: PriceOption = None
    raters: Annotated[
        int, typer.Option(min=0, help="People per pair; 0: the truth is known.", metavar="N")
    ] = 0
    rater_right: Annotated[
        float, typer.Option(help="Accuracy of each; above 0.5.", metavar="P")
    ] = 1.0
    label_price: Annotated[
        float, typer.Option(min=0, help="Price of one label.", metavar="COST")
    ] = 0.0


@app.command(epilog="Example: visualjudge plan data --task keypoint --goal rank --json plan.json")
@with_groups
def plan(
    target: Annotated[
        Path, typer.Argument(help="Data folder, dataset, or run of a pilot.", metavar="FOLDER")
    ],
    costs: CostOptions,
    goal: Annotated[
        str, typer.Option(help="rank (your models) or right (accuracy).", metavar="GOAL")
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
        Path | None, typer.Option(help="The plan, for `build --plan`.", metavar="FILE")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Page, .html.", metavar="FILE")] = None,
    dataset: MovedDataset = None,
    thresholds: Annotated[
        Path | None, typer.Option(help="Your own thresholds, YAML.", metavar="FILE")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.", metavar="N")] = 42,
) -> None:
    """Plan a study before you pay: images, pairs, orders, repeats, labels, cost and power."""
    from visualjudge.apps.planning.plan_page import commands
    from visualjudge.apps.planning.study_designs import Terms, plan as planned
    from visualjudge.runs.budget import Prices

    must_end_in("--out", out, (".html",))
    must_end_in("--json", json, [".json"])
    terms = Terms(
        Prices(*price_of(costs.price)),
        budget=costs.budget,
        raters=costs.raters,
        rater_right=costs.rater_right,
        label_price=costs.label_price,
    )
    result = planned(
        target,
        goal=goal,  # type: ignore[arg-type]
        effect=effect,
        power=power,
        task=task,
        encodings=encoding or (),
        terms=terms,
        dataset=dataset,
        thresholds=thresholds,
        seed=seed,
    )
    for path in (json, out):
        if path is not None:
            result.save(path)
    typer.echo(str(result))
    if json is None:
        named = ("--task", task) if task else ()
        following("plan", target, "--goal", goal, *named, "--json", "plan.json")
        return
    for line, title in zip(commands(result, str(json)), ("next", "then"), strict=True):
        typer.echo(f"{title}: {line}")
