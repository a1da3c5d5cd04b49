"""``visualjudge accept``: from which score predictions may be accepted, and which they
are. The method is in ``analysis/decisions/accept.py``.
"""

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.console import following, say, write
from visualjudge.cli.options import JsonFile, output
from visualjudge.core.errors import UsageError
from visualjudge.core.escaping import for_csv
from visualjudge.core.output_files import OutputFile
from visualjudge.options import MeasureOptions


def accept(
    run: Annotated[
        Path, typer.Argument(help="Run with known scores.", metavar="RUN")
    ],
    options: MeasureOptions,
    bad_below: Annotated[
        float,
        typer.Option(
            min=0,
            max=10,
            help="True score below which one is bad.",
            metavar="SCORE",
        ),
    ] = 5.0,
    risk: Annotated[
        float,
        typer.Option(
            help="Largest share of bad ones among the accepted.",
            metavar="SHARE",
        ),
    ] = 0.05,
    base_rate: Annotated[
        float | None,
        typer.Option(
            help="Share of bad ones in your own predictions.", metavar="SHARE"
        ),
    ] = None,
    pooled: Annotated[
        bool, typer.Option("--pooled", help="One threshold for all tasks.")
    ] = False,
    apply: Annotated[
        Path | None,
        typer.Option(help="Run whose predictions to mark.", metavar="RUN"),
    ] = None,
    out: Annotated[
        OutputFile | None,
        output("Table of the marked predictions.", metavar="FILE.csv"),
    ] = None,
    json: JsonFile = None,
) -> None:
    """Find the threshold: the judge’s score from which predictions of each task may be accepted
    (exit status 1 if there is none), and mark those of another run.

    Example: visualjudge accept runs/known --apply runs/new --out accepted.csv
    """
    from visualjudge.analysis.decisions.accept import (
        accept as find,
        coco_of,
        marked,
    )
    from visualjudge.analysis.load import load_study

    if (apply is None) != (out is None):
        raise UsageError("--apply and --out belong together")
    known = load_study([run], options=options)
    say(*known.runs[0].warnings, *known.runs[0].problems)
    result = find(
        known,
        bad_below=bad_below,
        risk=risk,
        base_rate=base_rate,
        pooled=pooled,
    )
    write(json, result.json())
    print(result)
    if not result.thresholds:
        raise typer.Exit(1)
    if apply is None or out is None:
        following(
            *("accept", run, "--bad-below", f"{bad_below:g}"),
            *("--risk", f"{risk:g}"),
            *(() if base_rate is None else ("--base-rate", base_rate)),
            *(["--pooled"] if pooled else []),
            *("--apply", "RUN", "--out", "accepted.csv"),
        )
        return
    new = load_study([apply])
    say(*new.runs[0].warnings, *new.runs[0].problems)
    table = marked(result, new)
    coco = None if new.root is None else coco_of(new.root, table)
    boxes = out.beside(".coco.json")
    if coco is None and boxes.path.exists():
        raise UsageError(
            f"--out: {boxes} is of other predictions: these have no boxes, masks or "
            "poses; remove it or name another file"
        )
    write(out, for_csv(table.drop("id")).write_csv())
    say(
        f"{out}: {table['accepted'].sum():,} of {table.height:,} predictions are "
        "accepted"
    )
    if coco is not None:
        write(boxes, coco)
        say(f"{boxes}: their boxes, masks or poses")
