"""``visualjudge plan``: find the fewest images, pairs and repeats, and the least money, that answer
a question.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from visualjudge.cli.options import MovedDataset, with_groups
from visualjudge.cli.output import following
from visualjudge.core.errors import must_end_in

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

EPILOG = """Examples:

visualjudge plan data --task keypoint --goal rank --json plan.json --out plan.html
"""


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """The cost of calls and labels, and their speed."""

    heading: ClassVar[str] = "Cost"

    budget: Annotated[float | None, typer.Option(min=0, help="Maximum cost; needs prices.")] = None
    price_in: Annotated[float, typer.Option(min=0, help="Price per million prompt tokens.")] = 0.0
    price_out: Annotated[float, typer.Option(min=0, help="Price per million reply tokens.")] = 0.0
    concurrency: Annotated[int, typer.Option(min=1, help="Maximum concurrent calls.")] = 16
    calls_per_minute: Annotated[float | None, typer.Option(help="Rate limit of calls.")] = None
    tokens_per_minute: Annotated[float | None, typer.Option(help="Rate limit of tokens.")] = None
    raters: Annotated[
        int, typer.Option(min=0, help="People who label each pair; 0: the dataset has the truth.")
    ] = 0
    rater_right: Annotated[float, typer.Option(help="Accuracy of each rater; above 0.5.")] = 1.0
    label_price: Annotated[float, typer.Option(min=0, help="Price of one label.")] = 0.0


@app.command(epilog=EPILOG)
@with_groups
def plan(
    costs: CostOptions,
    target: Annotated[
        Path, typer.Argument(help="Data folder, dataset, or run of a pilot.", show_default=False)
    ],
    goal: Annotated[
        str,
        typer.Option(help="rank (order of your models) or right (accuracy of the judge)."),
    ] = "rank",
    effect: Annotated[
        float | None,
        typer.Option(
            help="right: accuracy above the card's threshold to detect, from 0 to 1. Default: that "
            "of the pilot run (without one, 0.1)."
        ),
    ] = None,
    power: Annotated[float, typer.Option(help="Probability of reaching the goal.")] = 0.8,
    task: Annotated[
        str | None, typer.Option(help="Task to plan for, if there are several.")
    ] = None,
    encoding: Annotated[
        list[str] | None,
        typer.Option(help="Encoding to use; may be repeated, in order of preference."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", help="Write the plan, for `build --plan`.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the page to this .html file.")] = None,
    dataset: MovedDataset = None,
    thresholds: Annotated[
        Path | None, typer.Option(help="YAML file with your own thresholds.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulation and of `build --plan`.")] = 42,
) -> None:
    """Plan a study before you pay: images, pairs, orders, repeats, labels, cost and power."""
    from visualjudge.apps.planning.plan_page import commands
    from visualjudge.apps.planning.study_designs import plan as planned
    from visualjudge.apps.planning.study_goals import Terms
    from visualjudge.runs.budget import Prices

    must_end_in("--out", out, [".html"])
    must_end_in("--json", json, [".json"])
    terms = Terms(
        Prices(costs.price_in, costs.price_out),
        costs.budget,
        costs.concurrency,
        costs.calls_per_minute,
        costs.tokens_per_minute,
        costs.raters,
        costs.rater_right,
        costs.label_price,
    )
    found = planned(
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
            found.save(path)
    typer.echo(str(found))
    if json is None:
        following(
            "plan",
            target,
            "--goal",
            goal,
            *(("--task", task) if task else ()),
            "--json",
            "plan.json",
        )
        return
    for line, title in zip(commands(found, str(json)), ("next", "then"), strict=True):
        typer.echo(f"{title}: {line}")
