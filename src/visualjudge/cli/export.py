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
    "visualjudge export dataset --format vlmevalkit --embed --task depth_estimation --limit 100 "
    "--out LMUData\n\n"
    "visualjudge export dataset --format trl --out preferences.jsonl\n\n"
    "visualjudge export dataset --format trl-grpo --out grpo\n\n"
    "visualjudge export dataset --run runs/tools --out conversations\n\n"
    "visualjudge export dataset --format trl-dpo --margin-at run --out hard\n\n"
    "visualjudge export dataset --format verl --not-in genai --not-in vl-rewardbench --out clean"
)
NAMES = (
    "parquet, vlmevalkit, lmms-eval, sharegpt, trl, trl-grpo, trl-dpo, verl, easyr1, ms-swift, "
    "llama-factory, verifiers"
)
FORMATS = ", ".join([NAMES, *added("export format")])
LARGE = 500_000_000
"""Size in bytes above which an export's size is announced first."""


@app.command(epilog=EPILOG)
def export(
    dataset: Annotated[Path, typer.Argument(help="Dataset from visualjudge build.")],
    out: Annotated[
        Path, typer.Option("--out", help="File (sharegpt, trl) or folder (all others).")
    ],
    form: Annotated[
        str, typer.Option("--format", help=f"Such as {FORMATS}; an unknown name lists all.")
    ] = "parquet",
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Overwrite an existing file, or write into a folder that is not empty."
        ),
    ] = False,
    embed: Annotated[
        bool,
        typer.Option(
            "--embed", help="vlmevalkit: store images in the tables as base64, once per use."
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
    run: Annotated[
        Path | None,
        typer.Option(
            help="Write this run's conversations with tools as chat messages, instead of --format."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N questions.")] = None,
    margin_at: Annotated[
        Path | None,
        typer.Option(
            help="Only pairs that are hard for the judge of this run: margins of 1/2 to 2 times "
            "its 75 % point."
        ),
    ] = None,
) -> None:
    """Write a dataset in the format of another tool.

    parquet: Hugging Face datasets, images embedded. vlmevalkit: TSV tables. lmms-eval: a task.
    sharegpt, trl: JSONL to train judges.
    """
    from visualjudge.dataset.exports import embedded_bytes, export as export_dataset
    from visualjudge.dataset.folder import load_dataset, selected
    from visualjudge.dataset.question_filter import Choice, read_ids

    read = selected(load_dataset(dataset), task)
    if questions is not None:
        read = read.choose(Choice(ids=read_ids(questions)))
    if margin_at is not None:
        from visualjudge.apps.training.hard_pairs import at_threshold

        read = at_threshold(read, margin_at)
    read = _without(read, not_in) if not_in else read
    read = read if limit is None else read[:limit]
    if run is not None:
        _write_conversations(read, run, out, force=force)
        return
    size = embedded_bytes(read, form, embed=embed)
    if size > LARGE:
        say(f"{out}: about {size / 1e9:.1f} GB; --task and --limit write less")
    with stages() as progress:

        def tick(done: int, total: int) -> None:
            progress(f"writing {form}", done, total)

        files = export_dataset(read, form, out, tick, embed=embed, force=force)
    for file in files:
        print(file)
    following_judge(read, dataset, "--model", "MODEL", "--out", "RUN")


def _write_conversations(read: Dataset, run: Path, out: Path, *, force: bool) -> None:
    from visualjudge.apps.training.conversations import write_conversations
    from visualjudge.dataset.exports import check_out

    check_out(out, "--run", is_folder=True, force=force)
    with stages() as progress:
        files, left = write_conversations(
            read, run, out, lambda done, total: progress("writing", done, total)
        )
    for file in files:
        print(file)
    if left:
        say(
            f"left out {left} conversations whose tool results cannot be reproduced from "
            f"{read.root}"
        )


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
