"""``visualjudge encode``: show one prediction in one encoding."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.core.errors import DataError, UsageError

if TYPE_CHECKING:
    from visualjudge.core.records import Annotation
    from visualjudge.vision.encode import Encoded

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(
    epilog="Example:\n\nvisualjudge encode data --task object_detection --stem pixel_s1_m0 --out "
    "shown.png"
)
def encode(
    folder: Annotated[Path, typer.Argument(help="A data folder.")],
    task: Annotated[str, typer.Option(help="Task name.")],
    stem: Annotated[str, typer.Option(help="Encoding, as listed by visualjudge encodings.")],
    annotation: Annotated[
        str | None, typer.Option(help="annotation_id; default: the first of the task.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="PNG file to write; required if the encoding has an image.")
    ] = None,
    cost: Annotated[bool, typer.Option(help="Also print the cost in tokens to stderr.")] = False,
) -> None:
    """Show one prediction in one encoding: write its image to --out and print its text and
    legend.
    """
    from visualjudge.vision.encodings import encoding_named
    from visualjudge.vision.raster.images import write_png

    row = encoding_named(task, stem)
    if row.kind != "text" and out is None:
        raise UsageError(f"--out must name a PNG to write for {task} {stem}, which is an image")
    shown = _encoded(folder, task, stem, annotation)
    if shown.image is not None and out is not None:
        write_png(out, shown.image)
        print(f"wrote {out}", file=sys.stderr)
    for line in filter(None, (shown.legend, shown.text)):
        print(line)
    if cost:
        found = shown.cost()
        tokens = ", ".join(f"{name} {count}" for name, count in found.tokens.items())
        print(
            f"{found.png_bytes} bytes of PNG, {found.text_chars} characters of text",
            file=sys.stderr,
        )
        print(f"tokens, estimated: {tokens}", file=sys.stderr)


def _encoded(folder: Path, task: str, stem: str, wanted: str | None) -> Encoded:
    from visualjudge.data.folder import DataFolder
    from visualjudge.vision.encode import encode as show
    from visualjudge.vision.predictions import read_prediction
    from visualjudge.vision.raster.images import read_rgb

    with DataFolder(folder) as data:
        note = _found(data.annotations(task), wanted, f"{folder}: {task}")
        record = data.images(task).get(note.image_id)
        original = (
            None if record is None or record.file is None else read_rgb(data.root / record.file)
        )
        size = None if original is None else (original.shape[0], original.shape[1])
        prediction = read_prediction(
            task, note.prediction, size=size, root=data.root, expression=note.prompt
        )
    if original is None:
        original = prediction.image  # text to image: there is no other image to draw on
    if original is None:
        raise DataError(f"{folder}: {task} {note.annotation_id}: image {note.image_id} has no file")
    return show(
        task, stem, prediction, original, classes=note.class_of_interest, expression=note.prompt
    )


def _found(notes: Iterable[Annotation], wanted: str | None, where: str) -> Annotation:
    for note in notes:
        if wanted is None or note.annotation_id == wanted:
            return note
    raise DataError(f"{where}: no annotation {wanted or 'at all'}")
