"""``visualjudge import``: ground truth and a model's output into a data folder, a sub-command a
format.

A format is one function here: its parameters are the options that no other format has, see
:func:`~visualjudge.cli.import_command.import_command`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from visualjudge.cli.import_command import (
    FILES_HELP,
    ColumnOption,
    DataSetOption,
    DetectorOptions,
    FileOption,
    FolderOption,
    Formats,
    ImagesOption,
    ImportOptions,
    MaskOptions,
    ResizeOptions,
    TableSourceOption,
    columns_of,
    import_command,
)
from visualjudge.core.errors import UsageError

app = typer.Typer(
    cls=Formats,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Import ground truth and a model's output into a data folder, with scores. Repeat to "
    "add another source.",
    epilog="Example: visualjudge import coco --task object_detection --gt instances.json --pred "
    "detr.json "
    "--images val2017 --source detr --out data",
)
Reader = Callable[..., Any]


def form(
    example: str, kind: type[ImportOptions] = ImportOptions, **how: Any
) -> Callable[[Reader], Reader]:
    """The reader below as a command of its name."""

    def add(read: Reader) -> Reader:
        name = read.__name__.strip("_").replace("_", "-")
        epilog = f"Example: visualjudge import {name} {example} --out data"
        app.command(name, epilog=epilog)(import_command(read, kind, **how))
        return read

    return add


def _path(pred: str | None) -> Path | None:
    return None if pred is None else Path(pred)


@form(
    "--task keypoint --gt person_keypoints.json --pred pose.json --images val2017 --source vitpose",
    MaskOptions,
    classed=True,
    paired=("pred_pngs",),
)
def coco(
    task: str,
    gt: FileOption,
    pred: str | None,
    images: ImagesOption,
    how: MaskOptions,
    gt_pngs: Annotated[
        Path | None, typer.Option(help="Panoptic: folder of the ground truth's PNGs.")
    ] = None,
    pred_pngs: Annotated[
        list[Path] | None, typer.Option(help="Panoptic: folder of the predictions' PNGs.")
    ] = None,
) -> Any:
    """COCO instances, keypoints or panoptic, and results. Prints COCO's AP if there are
    confidences.
    """
    from visualjudge.formats import coco as files

    if not files.is_panoptic(gt):
        return files.coco(task, gt, _path(pred), images, resize=how.resize_pred)
    pngs: Any = pred_pngs
    if gt_pngs is None or (pred is not None and pngs is None):
        raise UsageError("panoptic files need --gt-pngs, and a --pred-pngs for each --pred")
    return files.panoptic(task, gt, gt_pngs, _path(pred), pngs, images)


@form(
    "--task instance_segmentation --gt lvis_v1_val.json --pred results.json --images val2017 "
    "--source eva",
    MaskOptions,
    classed=True,
)
def lvis(
    task: str, gt: FileOption, pred: str | None, images: ImagesOption, how: MaskOptions
) -> Any:
    """LVIS: like COCO; classes not annotated exhaustively on an image are not scored there."""
    from visualjudge.formats.coco import coco as read

    return read(task, gt, _path(pred), images, resize=how.resize_pred)


@form(
    "--gt Annotations --pred results/Main --images JPEGImages --source yolo",
    DetectorOptions,
    task="object_detection",
    classed=True,
)
def voc(task: str, gt: FolderOption, pred: str | None, images: ImagesOption) -> Any:
    """PASCAL VOC XML; predictions are a folder of XML or of VOC's *_CLASS.txt results. Difficult =
    crowd.
    """
    from visualjudge.formats.voc import voc as read

    return read(task, gt, _path(pred), images)


@form(
    "--task object_detection --gt labels/val --pred runs/labels --images images/val --classes "
    "data.yaml "
    "--source yolo11",
    DetectorOptions,
    classed=True,
)
def yolo(
    task: str,
    gt: FolderOption,
    pred: str | None,
    images: ImagesOption,
    classes: Annotated[
        Path, typer.Option(help="Class names: data.yaml, or a text file with one name per line.")
    ],
) -> Any:
    """YOLO text files of boxes or polygons; lines of predictions may end with a confidence."""
    from visualjudge.formats.yolo import yolo as read

    return read(task, gt, _path(pred), images, classes)


@form(
    "--format labelme --task instance_segmentation --gt labels --pred out --images photos "
    "--source sam",
    DetectorOptions,
    classed=True,
)
def shapes(
    task: str,
    gt: Annotated[
        Path, typer.Option(help="A folder; for label-studio and cvat, a file.", show_default=False)
    ],
    pred: str | None,
    images: ImagesOption,
    format: Annotated[
        str,
        typer.Option(
            help="labelme, cartucho, supervisely, label-studio or cvat.", show_default=False
        ),
    ],
) -> Any:
    """Labelling tools: labelme, Cartucho's text files, Supervisely, Label Studio (JSON), CVAT
    (Datumaro JSON).
    """
    from visualjudge.formats.shape_files import shapes as read

    return read(task, format, gt, _path(pred), images)


@form(
    "--gt 'gtFine/*_gtFine_labelIds.png' --pred 'out/*.png' --images "
    "'leftImg8bit/*_leftImg8bit.png' "
    "--classes classes.csv --source segformer",
    ResizeOptions,
    task="semantic_segmentation",
)
def label_map(
    task: str,
    gt: str,
    pred: str | None,
    images: str,
    how: ResizeOptions,
    classes: Annotated[
        Path,
        typer.Option(help="Class table: csv, tsv, json, or a text file with one name per line."),
    ],
    unlabelled: Annotated[
        list[int] | None, typer.Option(help="Value of unlabelled pixels, in addition to 0 and 255.")
    ] = None,
    channel: Annotated[
        int | None,
        typer.Option(help="Channel of the label map, counted from 0, if it has several."),
    ] = None,
) -> Any:
    """Label-map PNGs with a class table: ADE20K, Cityscapes, CamVid and others."""
    from visualjudge.formats.label_maps import label_maps as read

    skipped = tuple(unlabelled or ())
    return read(
        task, gt, pred, images, classes, unlabelled=skipped, channel=channel, resize=how.resize_pred
    )


@form(
    "--gt refs.json --instances instances.json --pred masks.json --images train2014 --source lisa",
    ResizeOptions,
    task="referring_segmentation",
)
def referring(
    task: str,
    gt: FileOption,
    pred: str | None,
    images: ImagesOption,
    how: ResizeOptions,
    instances: Annotated[
        Path | None, typer.Option(help="COCO instances that the refs' ann_id point to.")
    ] = None,
    boxes: Annotated[
        bool, typer.Option("--boxes", help="Use a box as the region if there is no mask.")
    ] = False,
) -> Any:
    """Referring expressions: RefCOCO's refs as JSON or pickle, ReferIt-like JSON, or plain rows."""
    from visualjudge.formats.referring import referring as read

    return read(task, gt, _path(pred), images, instances, boxes=boxes, resize=how.resize_pred)


@form(
    "--gt 'gt/*.png' --gt-scale 1/256 --pred 'midas/*.pfm' --pred-inverse --align affine "
    "--images rgb --source midas",
    ResizeOptions,
    task="depth_estimation",
    scored=("align",),
)
def depth(
    task: str,
    gt: str,
    pred: str | None,
    images: str,
    how: ResizeOptions,
    gt_scale: Annotated[
        str, typer.Option(help="Depth = stored value × scale, such as 0.001 or 1/256.")
    ] = "1",
    pred_scale: Annotated[str, typer.Option(help="The same for the predictions.")] = "1",
    gt_inverse: Annotated[
        bool, typer.Option("--gt-inverse", help="The ground truth is a disparity.")
    ] = False,
    pred_inverse: Annotated[
        bool, typer.Option("--pred-inverse", help="The predictions are disparities.")
    ] = False,
    align: Annotated[str, typer.Option(help="none, median or affine.")] = "median",
) -> Any:
    """Depth or disparity maps: npy, npz, 16-bit PNG, PFM."""
    from visualjudge.formats.depth_maps import DepthForm, depth_maps

    truth, found = DepthForm.of(gt_scale, gt_inverse), DepthForm.of(pred_scale, pred_inverse)
    return depth_maps(
        task, gt, pred, images, truth, truth if pred is None else found, resize=how.resize_pred
    )


@form(
    "--task lowlevel-deblur --images blurred --pred restored --gt sharp --source hinet",
    ResizeOptions,
    scored=("metric",),
)
def pairs(
    task: str,
    images: Annotated[str, typer.Option(help=f"Degraded inputs. {FILES_HELP}", show_default=False)],
    how: ResizeOptions,
    pred: Annotated[
        list[str] | None, typer.Option(help=f"Restored. {FILES_HELP}", show_default=False)
    ] = None,
    gt: Annotated[str | None, typer.Option(help=f"Clean. {FILES_HELP}", show_default=False)] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Instead of --gt: a table of key and score.")
    ] = None,
    score_range: Annotated[
        tuple[float, float], typer.Option(help="Range of the table's scores.")
    ] = (0, 10),
    metric: Annotated[str, typer.Option(help="ssim or psnr.")] = "ssim",
) -> Any:
    """Restorations: degraded, restored and clean images."""
    from visualjudge.formats.image_pairs import image_pairs

    restored: Any = pred
    return image_pairs(task, images, restored, gt, scores, score_range, resize=how.resize_pred)


@form(
    "--task object_detection --gt cppe5 --pred detr --source detr",
    DetectorOptions,
    classed=True,
)
def hugging_face(
    task: str,
    gt: DataSetOption,
    pred: str | None,
    scratch: Path,
    classes: Annotated[
        Path | None, typer.Option(help="Label maps: class table, if the features contain no names.")
    ] = None,
    box_format: Annotated[str, typer.Option(help="Format of objects.bbox: xywh or xyxy.")] = "xywh",
    column: ColumnOption = None,
) -> Any:
    """Hugging Face data sets on disk: a folder of save_to_disk, or Parquet files, with images
    embedded.
    """
    from visualjudge.formats.hugging_face import hugging_face as read

    return read(task, gt, pred, scratch, classes, box_format=box_format, columns=columns_of(column))


@form("--task generation_t2i --table ratings.csv --root outputs --score-range 1 5 --source sdxl")
def outputs(
    task: str,
    pred: Annotated[
        list[str],
        typer.Option(
            "--table",
            help="Table with output, score and optional columns: csv, tsv, jsonl, json, parquet.",
        ),
    ],
    scratch: Path,
    source: TableSourceOption = None,
    root: Annotated[
        Path, typer.Option(help="Folder that paths in the table are relative to.")
    ] = Path(),
    layout: Annotated[
        str,
        typer.Option(help="Layout of the table: rows, editscore, imagenhub, imagereward or tifa."),
    ] = "rows",
    prompts: Annotated[
        Path | None, typer.Option(help="JSON of prompts by image_id, if the table has none.")
    ] = None,
    score_range: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Range of the scores [default: that of the layout; rows: 0 10]."),
    ] = None,
    score_column: Annotated[
        list[str] | None,
        typer.Option(help="Column of the score [score]; repeat for several raters."),
    ] = None,
    mask_white: Annotated[
        str, typer.Option(help="Whether white in a mask is the area to fill or to keep.")
    ] = "fill",
    resize_mask: Annotated[
        bool, typer.Option("--resize-mask", help="Resize masks to their images.")
    ] = False,
    column: ColumnOption = None,
) -> Any:
    """Generated or restored images with scores given by people or a metric.

    Columns: output, score; optional: image, image_id, prompt, source, mask, control.
    """
    from visualjudge.formats.outputs import outputs as read

    if mask_white not in ("fill", "keep"):
        raise UsageError(f"--mask-white must be fill or keep, got {mask_white!r}")
    table: Any = pred
    white: Any = mask_white
    return read(
        task,
        table,
        root,
        score_range,
        score_column or "score",
        layout=layout,
        prompts=prompts,
        scratch=scratch,
        mask_white=white,
        resize_mask=resize_mask,
        columns=columns_of(column),
        sourced=bool(source),
    )
