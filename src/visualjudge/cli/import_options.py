"""Options that every ``visualjudge import`` command has, and those that a kind of format adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

TaskOption = Annotated[str, typer.Option(help="Task name.", show_default=False)]
OutOption = Annotated[Path, typer.Option(help="Data folder to make or to add to.", show_default=False)]
SourceOption = Annotated[
    list[str], typer.Option(help="Name of the model; repeat it with --pred for several.", show_default=False)
]
PredOption = Annotated[
    list[str] | None, typer.Option(help="Predictions; without any, the truth itself is imported.", show_default=False)
]
ClassesOption = Annotated[
    list[str] | None,
    typer.Option("--class-of-interest", help="each (class of an image's truth, the default), all, or labels."),
]
FileOption = Annotated[Path, typer.Option(help="Ground truth file.", show_default=False)]
FolderOption = Annotated[Path, typer.Option(help="Folder of ground truth files.", show_default=False)]
DataSetOption = Annotated[
    str, typer.Option(help="Folder of save_to_disk, or of Parquet files; a file, or a pattern.", show_default=False)
]
ColumnOption = Annotated[
    list[str] | None, typer.Option(help="OURS=THEIRS: a column under another name, as prompt=text; may be repeated.")
]
ImagesOption = Annotated[Path, typer.Option(help="Folder of the images.", show_default=False)]
FilesOption = Annotated[str, typer.Option(help="Folder, file, or pattern with one *.", show_default=False)]
FILES_HELP = "Folder, file, or pattern with one * (what it stands for pairs the files)."


@dataclass(frozen=True)
class ImportOptions:
    """What a user says about any import."""

    id_prefix: Annotated[str, typer.Option(help="Put before each image_id.")] = ""
    id_from: Annotated[
        str, typer.Option(help="image_id is the file name without suffix (name), or folder_name (folder).")
    ] = "name"
    exif: Annotated[
        str, typer.Option(help="apply the EXIF orientation of images, or ignore it: annotations of the stored frame.")
    ] = "apply"
    allow_outside: Annotated[
        bool,
        typer.Option("--allow-outside", help="Paths in the input may lead anywhere: for input of your own."),
    ] = False
    replace: Annotated[bool, typer.Option("--replace", help="Replace the source's older records.")] = False
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Report bad records, leave them out, and exit with 0.")
    ] = False


@dataclass(frozen=True)
class ResizeOptions(ImportOptions):
    """Formats whose predictions have a size of their own."""

    resize_pred: Annotated[
        bool, typer.Option("--resize-pred", help="Resize predictions of another size to the image's.")
    ] = False


@dataclass(frozen=True)
class DetectorOptions(ImportOptions):
    """Formats whose predictions have confidences. Default: the threshold of best F1 on the imported images."""

    min_score: Annotated[
        float | None, typer.Option(help="Leave out predictions of less confidence; 0 keeps all.", show_default=False)
    ] = None
    top_k: Annotated[
        int | None, typer.Option(help="Keep the K most confident predictions of an image.", show_default=False)
    ] = None
    score_at: Annotated[
        str | None,
        typer.Option(
            help="best-f1: threshold of largest F1 (IoU 0.5) on these images; the default where all predictions have a "
            "confidence and neither --min-score nor --top-k is given.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class MaskOptions(DetectorOptions, ResizeOptions):
    """Formats whose predictions have confidences and masks."""


def columns_of(column: Sequence[str] | None) -> dict[str, str]:
    """``OURS=THEIRS`` as a mapping.

    Raises
    ------
    UsageError
        If one is of another form.
    """
    from visualjudge.errors import UsageError

    pairs = [one.partition("=") for one in column or ()]
    for ours, equals, theirs in pairs:
        if not (ours and equals and theirs):
            raise UsageError(f"--column must be OURS=THEIRS, such as prompt=text, got {ours + equals + theirs!r}")
    return {ours: theirs for ours, _, theirs in pairs}
