"""``visualjudge import``: ground truth and a model's output into a data folder, a sub-command a format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.import_options import (
    FILES_HELP,
    ClassesOption,
    DetectorOptions,
    FilesOption,
    GtOption,
    ImagesOption,
    MaskOptions,
    OutOption,
    PredOption,
    ResizeOptions,
    SourceOption,
    TaskOption,
    with_options,
)
from visualjudge.cli.import_outputs import outputs
from visualjudge.cli.import_plugins import Formats
from visualjudge.cli.import_run import run_import

app = typer.Typer(
    cls=Formats,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ground truth and a model's output into a data folder, scored. Run it again with another source to add it.",
    epilog="Example: visualjudge import coco --task object_detection --gt instances.json --pred detr.json "
    "--images val2017 --source detr --out data",
)


@app.command(
    epilog="Example: visualjudge import coco --task keypoint --gt person_keypoints.json --pred pose.json "
    "--images val2017 --source vitpose --out data"
)
@with_options(MaskOptions)
def coco(
    task: TaskOption,
    gt: GtOption,
    images: ImagesOption,
    source: SourceOption,
    out: OutOption,
    pred: PredOption = None,
    gt_pngs: Annotated[Path | None, typer.Option(help="Panoptic: folder of the truth's PNGs.")] = None,
    pred_pngs: Annotated[list[Path] | None, typer.Option(help="Panoptic: folder of the predictions' PNGs.")] = None,
    class_of_interest: ClassesOption = None,
    *,
    how: MaskOptions,
) -> None:
    """COCO instances, keypoints or panoptic, and results. Prints COCO's AP where confidences are given."""
    from visualjudge.data.importers.coco import coco as read
    from visualjudge.data.importers.coco import is_panoptic
    from visualjudge.data.importers.coco import panoptic as read_panoptic
    from visualjudge.errors import UsageError

    if not is_panoptic(gt):
        run_import(
            task,
            out,
            source,
            pred,
            class_of_interest,
            how,
            gt.name,
            lambda p: read(task, gt, None if p is None else Path(p), images, resize=how.resize_pred),
        )
        return
    if gt_pngs is None or (pred and len(pred_pngs or ()) != len(pred)):
        raise UsageError("panoptic files need --gt-pngs, and a --pred-pngs for each --pred")
    pngs: dict[str | None, Path] = dict(zip(pred or (), pred_pngs or (), strict=True))
    run_import(
        task,
        out,
        source,
        pred,
        class_of_interest,
        how,
        gt.name,
        lambda p: read_panoptic(task, gt, gt_pngs, Path(p) if p else None, pngs.get(p), images),
    )


@app.command(
    epilog="Example: visualjudge import lvis --task instance_segmentation --gt lvis_v1_val.json "
    "--pred results.json --images val2017 --source eva --out data"
)
@with_options(MaskOptions)
def lvis(
    task: TaskOption,
    gt: GtOption,
    images: ImagesOption,
    source: SourceOption,
    out: OutOption,
    pred: PredOption = None,
    class_of_interest: ClassesOption = None,
    *,
    how: MaskOptions,
) -> None:
    """LVIS: as COCO; classes not looked for exhaustively on an image are not scored there."""
    from visualjudge.data.importers.coco import coco as read

    run_import(
        task,
        out,
        source,
        pred,
        class_of_interest,
        how,
        gt.name,
        lambda p: read(task, gt, None if p is None else Path(p), images, resize=how.resize_pred),
    )


@app.command(
    epilog="Example: visualjudge import voc --gt Annotations --pred results/Main --images JPEGImages "
    "--source yolo --out data"
)
@with_options(DetectorOptions)
def voc(
    gt: Annotated[Path, typer.Option(help="Folder of XML files.", show_default=False)],
    images: ImagesOption,
    source: SourceOption,
    out: OutOption,
    task: TaskOption = "object_detection",
    pred: PredOption = None,
    class_of_interest: ClassesOption = None,
    *,
    how: DetectorOptions,
) -> None:
    """PASCAL VOC XML; predictions are a folder of XML or of VOC's *_CLASS.txt results. Difficult = crowd."""
    from visualjudge.data.importers.voc import voc as read

    run_import(
        task,
        out,
        source,
        pred,
        class_of_interest,
        how,
        gt.name,
        lambda p: read(task, gt, None if p is None else Path(p), images),
    )


@app.command(
    epilog="Example: visualjudge import yolo --task object_detection --gt labels/val --pred runs/labels "
    "--images images/val --classes data.yaml --source yolo11 --out data"
)
@with_options(DetectorOptions)
def yolo(
    task: TaskOption,
    gt: Annotated[Path, typer.Option(help="Folder of label files.", show_default=False)],
    images: ImagesOption,
    classes: Annotated[Path, typer.Option(help="Class names: data.yaml, or a text with a name a line.")],
    source: SourceOption,
    out: OutOption,
    pred: PredOption = None,
    class_of_interest: ClassesOption = None,
    *,
    how: DetectorOptions,
) -> None:
    """YOLO text files of boxes or polygons; predictions may end in a confidence."""
    from visualjudge.data.importers.yolo import yolo as read

    run_import(
        task,
        out,
        source,
        pred,
        class_of_interest,
        how,
        gt.name,
        lambda p: read(task, gt, None if p is None else Path(p), images, classes),
    )


@app.command(
    epilog="Example: visualjudge import shapes --format labelme --task instance_segmentation --gt labels --pred out "
    "--images photos --source sam --out data"
)
@with_options(DetectorOptions)
def shapes(
    task: TaskOption,
    form: Annotated[
        str, typer.Option("--format", help="labelme, cartucho, supervisely, label-studio or cvat.", show_default=False)
    ],
    gt: Annotated[Path, typer.Option(help="Folder; label-studio and cvat: a file.", show_default=False)],
    images: ImagesOption,
    source: SourceOption,
    out: OutOption,
    pred: PredOption = None,
    class_of_interest: ClassesOption = None,
    *,
    how: DetectorOptions,
) -> None:
    """Labelling tools: labelme, Cartucho's text files, Supervisely, Label Studio (JSON), CVAT (Datumaro JSON)."""
    from visualjudge.data.importers.shapes import shapes as read

    run_import(
        task,
        out,
        source,
        pred,
        class_of_interest,
        how,
        gt.name,
        lambda p: read(task, form, gt, None if p is None else Path(p), images),
    )


@app.command(
    "label-map",
    epilog="Example: visualjudge import label-map --gt 'gtFine/*_gtFine_labelIds.png' "
    "--pred 'out/*.png' --images 'leftImg8bit/*_leftImg8bit.png' --classes classes.csv "
    "--source segformer --out data",
)
@with_options(ResizeOptions)
def label_map(
    gt: FilesOption,
    images: FilesOption,
    classes: Annotated[Path, typer.Option(help="Class table: csv, tsv, json or a text with a name a line.")],
    source: SourceOption,
    out: OutOption,
    task: TaskOption = "semantic_segmentation",
    pred: PredOption = None,
    unlabelled: Annotated[list[int] | None, typer.Option(help="Value without a label, beside 0 and 255.")] = None,
    channel: Annotated[int | None, typer.Option(help="Channel of the label map, from 0, where it has several.")] = None,
    *,
    how: ResizeOptions,
) -> None:
    """Label-map PNGs with a class table: ADE20K, Cityscapes, CamVid, and any other."""
    from visualjudge.data.importers.label_maps import label_maps as read

    run_import(
        task,
        out,
        source,
        pred,
        None,
        how,
        gt,
        lambda p: read(
            task, gt, p, images, classes, unlabelled=tuple(unlabelled or ()), channel=channel, resize=how.resize_pred
        ),
    )


@app.command(
    epilog="Example: visualjudge import referring --gt refs.json --instances instances.json "
    "--pred masks.json --images train2014 --source lisa --out data"
)
@with_options(ResizeOptions)
def referring(
    gt: GtOption,
    images: ImagesOption,
    source: SourceOption,
    out: OutOption,
    task: TaskOption = "referring_segmentation",
    pred: PredOption = None,
    instances: Annotated[Path | None, typer.Option(help="COCO instances that the refs' ann_id point to.")] = None,
    boxes: Annotated[bool, typer.Option(help="Take a box as the region where the truth has no mask.")] = False,
    *,
    how: ResizeOptions,
) -> None:
    """Referring expressions: RefCOCO's refs as JSON, ReferIt-like JSON, or plain rows."""
    from visualjudge.data.importers.referring import referring as read

    run_import(
        task,
        out,
        source,
        pred,
        None,
        how,
        gt.name,
        lambda p: read(
            task, gt, None if p is None else Path(p), images, instances, boxes=boxes, resize=how.resize_pred
        ),
    )


@app.command(
    epilog="Example: visualjudge import depth --gt 'gt/*.png' --gt-scale 1/256 --pred 'midas/*.pfm' "
    "--pred-inverse --align affine --images rgb --source midas --out data"
)
@with_options(ResizeOptions)
def depth(
    gt: FilesOption,
    images: FilesOption,
    source: SourceOption,
    out: OutOption,
    task: TaskOption = "depth_estimation",
    pred: PredOption = None,
    gt_scale: Annotated[str, typer.Option(help="Depth = stored value × scale, as 0.001 or 1/256.")] = "1",
    pred_scale: Annotated[str, typer.Option(help="The same for the predictions.")] = "1",
    gt_inverse: Annotated[bool, typer.Option(help="The truth is a disparity.")] = False,
    pred_inverse: Annotated[bool, typer.Option(help="The predictions are disparities.")] = False,
    align: Annotated[str, typer.Option(help="none, median or affine.")] = "median",
    *,
    how: ResizeOptions,
) -> None:
    """Depth or disparity maps: npy, npz, 16-bit PNG, PFM."""
    from visualjudge.data.importers.depth_maps import DepthForm, depth_maps

    truth, found = DepthForm.of(gt_scale, gt_inverse), DepthForm.of(pred_scale, pred_inverse)
    run_import(
        task,
        out,
        source,
        pred,
        None,
        how,
        gt,
        lambda p: depth_maps(task, gt, p, images, truth, truth if p is None else found, resize=how.resize_pred),
        align=align,
    )


@app.command(
    epilog="Example: visualjudge import pairs --task lowlevel-deblur --images blurred --pred restored "
    "--gt sharp --source hinet --out data"
)
@with_options(ResizeOptions)
def pairs(
    task: TaskOption,
    images: Annotated[str, typer.Option(help=f"Degraded inputs. {FILES_HELP}", show_default=False)],
    source: SourceOption,
    out: OutOption,
    pred: Annotated[list[str] | None, typer.Option(help=f"Restored. {FILES_HELP}", show_default=False)] = None,
    gt: Annotated[str | None, typer.Option(help=f"Clean. {FILES_HELP}", show_default=False)] = None,
    scores: Annotated[Path | None, typer.Option(help="Without --gt: a table of key and score.")] = None,
    score_range: Annotated[tuple[float, float], typer.Option(help="Range of the table's scores.")] = (0, 10),
    metric: Annotated[str, typer.Option(help="ssim or psnr.")] = "ssim",
    *,
    how: ResizeOptions,
) -> None:
    """Restorations: images degraded, restored and clean."""
    from visualjudge.data.importers.image_pairs import image_pairs

    run_import(
        task,
        out,
        source,
        pred,
        None,
        how,
        images,
        lambda p: image_pairs(task, images, p, gt, scores, score_range, resize=how.resize_pred),
        metric=metric,
    )


app.command(
    epilog="Example: visualjudge import outputs --task generation_t2i --table ratings.csv --root outputs "
    "--score-range 1 5 --source sdxl --out data"
)(outputs)
