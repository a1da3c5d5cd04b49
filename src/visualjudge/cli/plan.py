"""``visualjudge plan``: find the fewest images, pairs and repeats, and the least money, that answer
a question.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from visualjudge.cli.options import MovedDataset, with_groups
from visualjudge.cli.output import end_with, following
from visualjudge.cli.overwriting import PAGES
from visualjudge.core.errors import UsageError, must_end_in

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

EPILOG = """Examples:

visualjudge plan data --task keypoint --goal rank --json plan.json --out plan.html

visualjudge plan --judges RUN1 RUN2 RUN3 --risk 0.1 --price gpt=2.5/10 --json judges.json
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
        list[Path] | None,
        typer.Argument(help="Data folder, dataset, or run of a pilot.", show_default=False),
    ] = None,
    goal: Annotated[
        str,
        typer.Option(
            help="rank (order of your models), right (accuracy of the judge), bias, compare or "
            "probe."
        ),
    ] = "rank",
    effect: Annotated[
        float | None,
        typer.Option(
            help="True effect to detect, from 0 to 1; right: accuracy above the card's threshold; "
            "bias: position bias; compare: difference of two judges; probe: effect of the cue. "
            "Default: that of the pilot run (without one, 0.1 for right); 0.05 for compare, 0 for "
            "probe."
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
    out: Annotated[
        Path | None, typer.Option(help="Write the page to this file, .html or .md.")
    ] = None,
    dataset: MovedDataset = None,
    thresholds: Annotated[
        Path | None, typer.Option(help="YAML file with your own thresholds.")
    ] = None,
    judges: Annotated[
        list[Path] | None,
        typer.Option(
            help="Runs of judges: find the cheapest judge, votes, panel or cascade within --risk."
        ),
    ] = None,
    risk: Annotated[
        float, typer.Option(help="With --judges: maximum share of wrong answers.")
    ] = 0.1,
    price: Annotated[
        list[str] | None,
        typer.Option(
            help="With --judges: JUDGE=IN/OUT per million tokens, JUDGE=PRICE of a call, or a YAML "
            "or JSON file of these; may be repeated."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulation and of `build --plan`.")] = 42,
) -> None:
    """Plan a study before you pay: images, pairs, orders, repeats, labels, cost and power."""
    from visualjudge.apps.planning.plan_page import commands
    from visualjudge.apps.planning.study_designs import plan as planned
    from visualjudge.apps.planning.study_goals import Terms
    from visualjudge.runs.budget import Prices

    must_end_in("--out", out, PAGES)
    must_end_in("--json", json, [".json"])
    if judges:
        _judges([*judges, *(target or [])], risk, price, dataset, seed, json, out)
        return
    if len(target or []) != 1:
        raise UsageError(
            "plan needs one data folder, dataset or run, or --judges RUN…, got "
            f"{len(target or [])} paths"
        )
    (place,) = target or []
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
        place,
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
            place,
            "--goal",
            goal,
            *(("--task", task) if task else ()),
            "--json",
            "plan.json",
        )
        return
    for line, title in zip(commands(found, str(json)), ("next", "then"), strict=True):
        typer.echo(f"{title}: {line}")


def _judges(
    runs: list[Path],
    risk: float,
    price: list[str] | None,
    dataset: Path | None,
    seed: int,
    json: Path | None,
    out: Path | None,
) -> None:
    from visualjudge.apps.planning.cheapest_judges import plan_judges, read_prices
    from visualjudge.apps.planning.cheapest_judges_page import commands

    prices = read_prices(price) if price else None
    found = plan_judges(runs, risk=risk, prices=prices, dataset=dataset, seed=seed)
    for path in (json, out):
        if path is not None:
            found.save(path)
    typer.echo(str(found))
    typer.echo("next: " + "\nthen: ".join(commands(found, str(json or "judges.json"))))
    end_with(found.remarks.problems)
