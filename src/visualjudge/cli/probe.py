"""``visualjudge probe``: questions whose answer is known without ground truth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import BuildingOptions, with_groups
from visualjudge.cli.output import AsJson, following, print_json, tell
from visualjudge.core.plurals import pluralize
from visualjudge.core.text_tables import Table

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

EPILOG = (
    "Examples:\n\n"
    "visualjudge probe data --out probes\n\n"
    "visualjudge probe data --out probes --only tool --only mirrored --n 100\n\n"
    "visualjudge judge probes --model MODEL --base-url URL --out run; visualjudge report run "
    "--json metrics.json"
)


@app.command(epilog=EPILOG)
@with_groups
def probe(
    building: BuildingOptions,
    data: Annotated[Path, typer.Argument(help="Data folder, as for visualjudge build.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the new dataset; must not exist.")],
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Only this probe; may be repeated; default: all."),
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Maximum number of questions per probe.")] = 200,
    as_json: AsJson = False,
) -> None:
    """Build a dataset that tests whether irrelevant changes influence a judge.

    Judge it and report on it like any dataset; the report and metrics.json then have a section on
    probes. Records of the data folder that cannot be used are left out and listed on stderr.
    """
    from visualjudge.apps.probes.build import build_probes

    made = build_probes(
        data, out, building.options, only=only, number=n, **building.work, force=building.force
    )
    tell(made.problems)
    asked = {name: count for name, count in made.asked.items() if count}
    if not as_json:
        print(
            Table(
                ("Probe", "Questions"), tuple((name, str(count)) for name, count in asked.items())
            ).text()
        )
    for name in made.empty:
        if name != "control":
            print(f"{name}: no record of {data} fits; the probe is left out", file=sys.stderr)
    if as_json:
        print_json({"probe": name, "questions": count} for name, count in asked.items())
        return
    target = out
    print(f"{pluralize(made.questions, 'question')} in {target}")
    following("judge", target, "--out", "RUN")
