"""``visualjudge cascade``: decide when to accept a cheap judge's answer and when to ask the better
one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import JsonFile, MovedDataset
from visualjudge.cli.output import end_with, following
from visualjudge.core.atomic import write_json
from visualjudge.core.errors import UsageError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def cascade(
    cheap: Annotated[Path, typer.Argument(help="Run of the cheap judge.", show_default=False)],
    expensive: Annotated[
        Path,
        typer.Argument(help="Run of the expensive judge on the same dataset.", show_default=False),
    ],
    risk: Annotated[
        float, typer.Option(help="Maximum share of errors among the accepted answers.")
    ] = 0.1,
    delta: Annotated[
        float, typer.Option(help="Probability, over datasets, that the risk is exceeded.")
    ] = 0.1,
    json: JsonFile = None,
    dataset: MovedDataset = None,
) -> None:
    """Find the confidence above which a cheap judge's answers can be accepted; the expensive judge
    gets the rest.

    Example: visualjudge cascade runs/small runs/large --risk 0.1 --json cascade.json
    """
    from visualjudge.analysis.decisions.cascade import cascade as figures
    from visualjudge.analysis.decisions.decision_json import cascade_json

    for name, value in (("--risk", risk), ("--delta", delta)):
        if not 0 < value < 1:
            raise UsageError(f"{name} must be above 0 and below 1, got {value:g}")
    found = figures(cheap, expensive, risk=risk, delta=delta, dataset=dataset)
    typer.echo(str(found))
    if json is not None:
        write_json(json, cascade_json(found))
        asked = ("--cascade", json, "--cheap", "RUN", "--model", "MODEL", "--out", "RUN")
        following("judge", "DATASET", *asked)
    end_with(found.remarks.problems)
