"""Options that every ``visualjudge import`` command has, and those that a kind of format adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

TaskOption = Annotated[str, typer.Option(help="Task name.", show_default=False)]
OutOption = Annotated[Path, typer.Option(help="Data folder to create or to add to.", show_default=False)]
SourceOption = Annotated[
    list[str], typer.Option(help="Name of the model; repeat with --pred for several.", show_default=False)
]
TableSourceOption = Annotated[
    list[str] | None,
    typer.Option(help="Name of the model, if the table has no column 'source'; repeat with --table for several."),
]
PredOption = Annotated[
    list[str] | None,
    typer.Option(help="Predictions; without any, the ground truth itself is imported.", show_default=False),
]
ClassesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--class-of-interest", help="each (every class in an image's ground truth, the default), all, or labels."
    ),
]
MetricOption = Annotated[
    str | None, typer.Option(help="Metric of the scores; default: the first of the type.", show_default=False)
]
FileOption = Annotated[Path, typer.Option(help="Ground truth file.", show_default=False)]
FolderOption = Annotated[Path, typer.Option(help="Folder of ground truth files.", show_default=False)]
DataSetOption = Annotated[
    str, typer.Option(help="Folder of save_to_disk or of Parquet files; a file; or a pattern.", show_default=False)
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(help="OURS=THEIRS maps a column with another name, such as prompt=text; may be repeated."),
]
ImagesOption = Annotated[Path, typer.Option(help="Folder of the images.", show_default=False)]
FilesOption = Annotated[str, typer.Option(help="Folder, file, or pattern with one *.", show_default=False)]
FILES_HELP = "Folder, file, or pattern with one * (what it stands for pairs the files)."


@dataclass(frozen=True)
class ImportOptions:
    """What a user says about any import."""

    id_prefix: Annotated[str, typer.Option(help="Prefix of each image_id.")] = ""
    id_from: Annotated[
        str, typer.Option(help="Form of image_id: the file name without suffix (name), or folder_name (folder).")
    ] = "name"
    exif: Annotated[
        str,
        typer.Option(
            help="apply the EXIF orientation of images, or ignore it if annotations refer to the stored frame."
        ),
    ] = "apply"
    allow_outside: Annotated[
        bool,
        typer.Option("--allow-outside", help="Allow paths in the input to lead anywhere; only for your own input."),
    ] = False
    replace: Annotated[bool, typer.Option("--replace", help="Replace the existing records of the source.")] = False
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Exit with status 0 even if invalid records were left out.")
    ] = False


@dataclass(frozen=True)
class ResizeOptions(ImportOptions):
    """Formats whose predictions have a size of their own."""

    resize_pred: Annotated[
        bool, typer.Option("--resize-pred", help="Resize predictions of a different size to the size of the image.")
    ] = False


@dataclass(frozen=True)
class DetectorOptions(ImportOptions):
    """Formats whose predictions have confidences. Default: the threshold of best F1 on the imported images."""

    min_score: Annotated[
        float | None, typer.Option(help="Leave out predictions with lower confidence; 0 keeps all.", show_default=False)
    ] = None
    top_k: Annotated[
        int | None, typer.Option(help="Keep the K most confident predictions of an image.", show_default=False)
    ] = None
    score_at: Annotated[
        str | None,
        typer.Option(
            help="best-f1: the threshold with the largest F1 (IoU 0.5) on these images; default if all predictions "
            "have a confidence and neither --min-score nor --top-k is given.",
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
    from visualjudge.core.errors import UsageError

    pairs = [one.partition("=") for one in column or ()]
    for ours, equals, theirs in pairs:
        if not (ours and equals and theirs):
            raise UsageError(f"--column must be OURS=THEIRS, such as prompt=text, got {ours + equals + theirs!r}")
    return {ours: theirs for ours, _, theirs in pairs}
