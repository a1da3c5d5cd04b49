"""``visualjudge drift``: build a canary set of questions, and test whether its answers have
changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import JsonFile, MovedDataset, ReplaceDataset
from visualjudge.cli.output import following, say
from visualjudge.core.atomic import write_json
from visualjudge.core.plurals import pluralize

_ASKED = ("--swap", "--no-cache", "--out", "RUN")
EPILOG = (
    "Examples:\n\n"
    "visualjudge drift build dataset --n 60 --out canary\n\n"
    "visualjudge drift check runs/day0 runs/day1 runs/day2 --json drift.json"
)
app = typer.Typer(
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    epilog=EPILOG,
    help="Test whether a judge has changed since an earlier run.",
)


@app.command(epilog="Example:\n\nvisualjudge drift build dataset --n 60 --out canary")
def build(
    dataset: Annotated[Path, typer.Argument(help="Dataset to choose from.")],
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the canary dataset; must not exist.")
    ],
    n: Annotated[int, typer.Option("--n", help="Maximum number of questions.")] = 60,
    seed: Annotated[int, typer.Option("--seed", help="Seed for breaking ties.")] = 42,
    force: ReplaceDataset = False,
) -> None:
    """Write a dataset of the pairs that best reveal a change of a judge, to judge repeatedly."""
    from visualjudge.apps.probes.drift import build_canary, canary_power
    from visualjudge.core.object_stores import located

    made = build_canary(dataset, out, number=n, seed=seed, force=force)
    target = located(out)
    print(f"{pluralize(made, 'question')} in {target}")
    following("judge", target, *_ASKED)
    print(
        "In both orders, with two earlier runs of a judge that repeats its replies: "
        f"{canary_power(made)}"
    )


@app.command(
    epilog="Example:\n\nvisualjudge drift check runs/day0 runs/day1 runs/day2 --json drift.json"
)
def check(
    before: Annotated[
        Path, typer.Argument(metavar="RUN_BEFORE", help="Earliest run of the judge.")
    ],
    now: Annotated[
        list[Path], typer.Argument(metavar="RUN_NOW...", help="All later runs, oldest first.")
    ],
    dataset: MovedDataset = None,
    json: JsonFile = None,
) -> None:
    """Test whether a judge has changed; exit status 1 if it has.

    The test may be repeated after every run: name all runs since the first one, and the overall
    rate of false alarms stays at 5 %.
    """
    from visualjudge.analysis import figure_text
    from visualjudge.apps.probes.drift import LEVEL, check_drift

    found = check_drift(before, now, dataset=dataset)
    if json is not None:
        write_json(json, found.to_json())
    say(*found.warnings)
    said = "drift" if found.state == "drift" else "no drift shown"
    ends = figure_text.percents(found.change.interval)
    share = f"{figure_text.points(found.change.value)} points ({ends})"
    print(
        f"{said}: evidence {found.e_value:.3g}, alarm from {1 / LEVEL:.0f}; last run: {share} right"
    )
    following("judge", "DATASET" if found.state == "drift" else "CANARY", *_ASKED)
    if found.state == "drift":
        raise typer.Exit(1)
    print(f"With these questions and replies, {found.power}")
