"""``visualjudge label``: choose what people should label next."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.options import MovedDataset
from visualjudge.cli.output import AsJson, end_with, following, print_json, say
from visualjudge.core.atomic import write_text
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.core.text_tables import harmless

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.items_to_label import LabelQueue

app = typer.Typer(pretty_exceptions_enable=False)


class Kind(StrEnum):
    """Which questions are labelled."""

    scoring = "scoring"
    pairwise = "pairwise"
    ranking = "ranking"


@app.command(epilog="Example: visualjudge label runs/gpt --n 50 --out next.csv")
def label(
    runs: Annotated[list[Path], typer.Argument(help="Runs; several: a panel.", metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="CSV to fill in, for `correct`.", metavar="FILE")],
    n: Annotated[
        int | None, typer.Option("--n", min=1, help="Number to draw; default: 50.", metavar="N")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="Questions; default: scoring.")] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Labels so far: not drawn again.", metavar="FILE")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.", metavar="N")] = 0,
    dataset: MovedDataset = None,
    as_json: AsJson = False,
) -> None:
    """Draw the questions to label next at random, with known probabilities. For scoring,
    annotations are drawn instead of questions.
    """
    from visualjudge.analysis.decisions.items_to_label import label as draw
    from visualjudge.analysis.decisions.label_files import is_unlabelled

    if out.exists() and not is_unlabelled(out):
        raise UsageError(
            f"--out {out}: must be a new file or a queue without labels; --labels copies labels "
            "to it"
        )
    queue = draw(
        runs,
        n,
        kind=None if kind is None else kind.value,
        labels=labels,
        dataset=dataset,
        seed=seed,
    )
    write_text(out, harmless(queue.table()).write_csv())
    say(*queue.remarks.warnings)
    if as_json:
        print_json(queue.table().iter_rows(named=True))
    else:
        _tell(queue, runs, out, dataset)
    end_with(queue.remarks.problems)


def _tell(queue: LabelQueue, runs: list[Path], out: Path, dataset: Path | None) -> None:
    """Print the number of questions or annotations drawn, and what to do with them."""
    drawn = sum(item.said is None for item in queue.items)
    column = "score (0 to 10)" if queue.by == "annotation_id" else "answer"
    nouns = pluralize(queue.pool, queue.by.removesuffix("_id"))
    typer.echo(f"{out}: {drawn} of {nouns}; fill in the column {column}")
    following(
        "studio", dataset or "DATASET", "--people", "PEOPLE", "--items", out, title="or ask people"
    )
    following("correct", *runs, "--labels", out)
