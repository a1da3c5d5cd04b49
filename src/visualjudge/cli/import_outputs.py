"""``visualjudge import outputs``: tables of images with the scores that people or a metric gave."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from visualjudge.cli.import_options import ImportOptions, OutOption, SourceOption, TaskOption, with_options
from visualjudge.cli.import_run import run_import


@with_options(ImportOptions)
def outputs(
    task: TaskOption,
    table: Annotated[list[Path], typer.Option(help="Rows with output, score, and more: csv, tsv, jsonl, json.")],
    source: SourceOption,
    out: OutOption,
    root: Annotated[Path, typer.Option(help="Folder that the table's paths start from.")] = Path(),
    score_range: Annotated[tuple[float, float], typer.Option(help="Range of the table's scores.")] = (0, 10),
    score_column: Annotated[
        list[str] | None, typer.Option(help="Column of the score [score]; repeat it for several raters.")
    ] = None,
    mask_white: Annotated[str, typer.Option(help="White of a mask is what to fill, or to keep.")] = "fill",
    resize_mask: Annotated[bool, typer.Option("--resize-mask", help="Resize masks to their images.")] = False,
    column: Annotated[
        list[str] | None, typer.Option(help="OURS=THEIRS: a column under another name, as prompt=text.")
    ] = None,
    *,
    how: ImportOptions,
) -> None:
    """Generated or restored images with scores given by people or a metric.

    Columns: output, score; where there are such: image, image_id, prompt, source, mask, control.
    """
    from visualjudge.data.importers.outputs import outputs as read
    from visualjudge.errors import UsageError

    if mask_white not in ("fill", "keep"):
        raise UsageError(f"--mask-white must be fill or keep, got {mask_white!r}")
    pairs = [one.partition("=") for one in column or ()]
    for ours, equals, theirs in pairs:
        if not (ours and equals and theirs):
            raise UsageError(f"--column must be OURS=THEIRS, such as prompt=text, got {ours + equals + theirs!r}")
    columns = {ours: theirs for ours, _, theirs in pairs}

    run_import(
        task,
        out,
        source,
        [str(one) for one in table],
        None,
        how,
        "table",
        lambda p: read(
            task,
            Path(str(p)),
            root,
            score_range,
            score_column or "score",
            mask_white=cast(Any, mask_white),
            resize_mask=resize_mask,
            columns=columns,
        ),
    )
