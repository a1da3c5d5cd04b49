"""``visualjudge label``: choose what people should label next. The draw is in
``analysis/decisions/items_to_label.py``.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from visualjudge.cli.console import end_with, following, say, write
from visualjudge.cli.options import MovedDataset, SeedOption, output
from visualjudge.core.escaping import for_csv
from visualjudge.core.output_files import OutputFile
from visualjudge.core.plurals import pluralize

KindOption = Annotated[
    Literal["pairwise", "ranking", "scoring"] | None,
    typer.Option(
        "--kind", help="Questions that labels are of; default: scoring."
    ),
]

TaskOption = Annotated[
    list[str] | None,
    typer.Option("--task", help="Only this task; repeatable.", metavar="NAME"),
]


def label(
    run: Annotated[Path, typer.Argument(help="Run folder.", metavar="RUN")],
    out: Annotated[
        OutputFile, output("CSV to fill in, for `correct`.", metavar="FILE.csv")
    ],
    n: Annotated[
        int | None,
        typer.Option(
            "--n", min=1, help="Number to draw; default: 50.", metavar="N"
        ),
    ] = None,
    kind: KindOption = None,
    task: TaskOption = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Labels so far: not drawn again.", metavar="FILE"),
    ] = None,
    seed: SeedOption = 0,
    dataset: MovedDataset = None,
) -> None:
    """Draw the questions to label next at random, with equal probabilities. For
    scoring, annotations are drawn instead of questions.

    Example: visualjudge label runs/gpt --n 50 --out next.csv
    """
    from visualjudge.apps.frontdoor.decisions import label as draw

    queue = draw(
        run,
        n,
        kind=kind,
        tasks=task or (),
        labels=labels,
        dataset=dataset,
        seed=seed,
    )
    write(out, for_csv(queue.table()).write_csv())
    say(*queue.remarks.warnings)
    print(
        f"{out}: {queue.drawn} of "
        f"{pluralize(queue.pool, queue.by.removesuffix('_id'))}; fill in the column "
        f"{f'score ({queue.scale})' if queue.by == 'annotation_id' else 'answer'}"
    )
    following(
        "studio",
        "people",
        dataset or "DATASET",
        "--out",
        "PEOPLE",
        "--items",
        out,
        title="or ask people",
    )
    following(
        *("correct", run),
        *(word for name in task or () for word in ("--task", name)),
        *("--labels", out),
    )
    end_with([*queue.problems, *queue.remarks.problems])
