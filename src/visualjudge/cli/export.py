"""``visualjudge export``: export a dataset for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.output import following_judge, say, stages
from visualjudge.core.registry import added

if TYPE_CHECKING:
    from visualjudge.dataset.folder import Dataset

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

EPILOG = (
    "Examples:\n\n"
    "visualjudge export dataset --format parquet --out hub-folder\n\n"
    "visualjudge export dataset --format vlmevalkit --out LMUData\n\n"
    "visualjudge export dataset --format trl --out preferences.jsonl\n\n"
    "visualjudge export dataset --format trl --not-in genai --not-in judgebench --out clean.jsonl"
)
FORMATS = ", ".join(
    ["parquet, dataset-json, dataset-parquet, vlmevalkit, lmms-eval, trl", *added("export format")]
)


@app.command(epilog=EPILOG)
def export(
    dataset: Annotated[Path, typer.Argument(help="Dataset from visualjudge build.")],
    out: Annotated[Path, typer.Option("--out", help="File (trl) or folder (all others).")],
    form: Annotated[
        str, typer.Option("--format", help=f"Such as {FORMATS}; an unknown name lists all.")
    ] = "parquet",
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Overwrite an existing file, or write into a folder that is not empty."
        ),
    ] = False,
    task: Annotated[
        list[str] | None, typer.Option(help="Only questions of this task; may be repeated.")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            help="Only the questions whose ids are in this file, one per line, as the studio "
            "saves a selection."
        ),
    ] = None,
    not_in: Annotated[
        list[Path] | None,
        typer.Option(
            help="Leave out images that this dataset, such as an imported benchmark, contains "
            "too; may be repeated."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N questions.")] = None,
) -> None:
    """Write a dataset in the format of another tool.

    parquet: Hugging Face datasets, images embedded. vlmevalkit: TSV tables. lmms-eval: a task.
    trl: preferences as JSONL, to train judges. dataset-json, dataset-parquet: the other form.
    """
    from visualjudge.dataset.exports import export as export_dataset
    from visualjudge.dataset.folder import load_dataset, selected
    from visualjudge.dataset.question_filter import Choice, read_ids

    read = selected(load_dataset(dataset), task)
    if questions is not None:
        read = read.choose(Choice(ids=read_ids(questions)))
    read = _without(read, not_in) if not_in else read
    read = read if limit is None else read[:limit]
    with stages() as progress:

        def tick(done: int, total: int) -> None:
            progress(f"writing {form}", done, total)

        files = export_dataset(read, form, out, tick, force=force)
    for file in files:
        print(file)
    following_judge(read, dataset, "--model", "MODEL", "--out", "RUN")


def _without(read: Dataset, others: list[Path]) -> Dataset:
    """Return the questions about images that are not in ``others``; print how many are left out."""
    from visualjudge.apps.audit.shared_images import overlap
    from visualjudge.dataset.folder import load_dataset

    with stages() as progress:
        shared = overlap(
            read,
            [load_dataset(other) for other in others],
            tick=lambda done, total: progress("comparing images", done, total),
        )
    kept = shared.left_out(read)
    named = ", ".join(str(other) for other in others)
    left = f"{len(shared.images)} images ({len(read) - len(kept)} of {len(read)} questions)"
    say(f"left out {left} that are in {named}")
    return kept
