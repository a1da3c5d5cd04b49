"""The rows of instances, label maps and referring expressions: their tasks, metrics,
encodings, errors and faults, which are in the other files of this folder. What a row
has is in ``vision/rows.py``.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from visualjudge.vision import fields
from visualjudge.vision.contexts import Prompts, classes, mixed
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.errors import items
from visualjudge.vision.masks import (
    draw,
    errors,
    errors_matched as matched,
    faults,
    features,
    label_grid,
    misread,
    record,
    score,
    texts,
)
from visualjudge.vision.masks.errors_matched import MATCHED
from visualjudge.vision.rows import (
    Encoding,
    ErrorType,
    Faults,
    Metric,
    PredictionType,
    Ranked,
    Task,
    combo,
    drawn,
)
from visualjudge.vision.scoring.matching import TEN_THRESHOLDS


def expression(asset: Any, _scene: Any, prompts: Prompts) -> list[str]:
    """Return the referring expression, unless each option has its own."""
    return [
        asset.part("referring_mixed")
        if mixed(prompts)
        else asset.part("referring", {"prompt": prompts[0]})
    ]


_INSTANCE = (
    Encoding(
        "instance",
        "pixel_ss0_m0",
        "pixel",
        label_grid.draw_grid,
        label_grid.GridStyle(),
        title="Coloured grid on the image",
        numbered=True,
    ),
    Encoding(
        "instance",
        "pixel_ss0_m1",
        "pixel",
        label_grid.draw_grid,
        label_grid.GridStyle(canvas="black"),
        title="Coloured grid on black",
        numbered=True,
    ),
    *drawn(
        "instance",
        "pixel",
        draw.draw_instances,
        (
            "pixel_ss1_m0_o0_l1_c0_b1",
            "Masks, boxes and labels",
            draw.MaskStyle(boxes=True),
        ),
        (
            "pixel_ss1_m0_o0_l1_c1_b1",
            "Masks coloured by instance, boxes and labels",
            draw.MaskStyle(boxes=True, colors="instance"),
        ),
        (
            "pixel_ss1_m0_o1_l1_c0_b1",
            "Opaque masks, boxes and labels",
            draw.MaskStyle(boxes=True, opacity=1.0),
        ),
        (
            "pixel_ss1_m1_o0_l1_c0_b1",
            "Masks on black, boxes and labels",
            draw.MaskStyle(boxes=True, canvas="black"),
        ),
        ("pixel_ss1_m0_o0_l1_c0_b0", "Masks with labels", draw.MaskStyle()),
        (
            "pixel_ss1_m0_o0_l0_c0_b1",
            "Masks with boxes",
            draw.MaskStyle(boxes=True, tags=False),
        ),
    ),
    Encoding(
        "instance",
        "text_polygon",
        "text",
        texts.polygons_text,
        TextStyle("polygon", ids=True),
        title="Polygons as text",
        numbered=True,
    ),
    Encoding(
        "instance",
        "text_rle",
        "text",
        texts.rle_text,
        TextStyle("rle", ids=True),
        title="Run-length encoding",
        numbered=True,
    ),
    Encoding(
        "instance",
        "text_matrix",
        "text",
        texts.grid_text,
        TextStyle("matrix", ids=True),
        title="Grid as a number matrix",
        numbered=True,
    ),
)
INSTANCE = PredictionType(
    "instance",
    record.Masks,
    record.read_instances,
    partial(record.write_items, "instances"),
    files=partial(record.item_files, "instances"),
    told_size=partial(record.told_size, "instances"),
    tasks=(
        Task(
            "instance_segmentation",
            "instance segmentation",
            "instance",
            classed=True,
        ),
    ),
    encodings=(
        *_INSTANCE,
        combo(
            "1742",
            _INSTANCE,
            "text_polygon",
            "pixel_ss1_m0_o0_l1_c1_b1",
            title="Polygons and masks",
        ),
        Encoding(
            "instance",
            "pixel_ss1_m0_o0_l0_c0_b0",
            "pixel",
            draw.draw_instances,
            draw.MaskStyle(tags=False),
            is_final=False,
            is_base_ablation=False,
            title="Masks",
        ),
        Encoding(
            "instance",
            "text_subsample",
            "text",
            texts.grid_text,
            TextStyle("subsample", ids=True),
            is_final=False,
            is_base_ablation=False,
            title="Grid as characters",
        ),
    ),
    misreadings=misread.MISREADINGS,
    metrics=(
        Metric(
            "instance",
            "f1",
            score.mask_f1,
            by_class=score.mask_f1_by_class,
            how="mean F1 over mask IoU .50 to .95, matched within a label",
            defaults={"iou": TEN_THRESHOLDS},
        ),
    ),
    errors=(
        *items.item_errors(
            "instance",
            MATCHED,
            errors.localization,
            errors.duplicate,
            errors.background,
        ),
        ErrorType(
            "instance",
            "boundary",
            errors.boundary,
            items.something,
            matched=matched.boundary,
        ),
    ),
    ranked=Ranked("segm", score.coco_annotation, 100),
    context=classes,
    look=features.mask_features,
    places=record.corners,
    arrays=record.instances_from_arrays,
    faults=Faults(
        faults.INSTANCE_KINDS,
        faults.INSTANCE_FAULTS,
        faults.INSTANCE_FAULTS.by_class,
    ),
)


def _labelled_pixels(
    type: str, masks: tuple[Encoding, ...], *, region: bool = False
) -> tuple[Encoding, ...]:
    on_image = label_grid.GridStyle(colors="class", region=region)
    return (
        *drawn(
            type,
            "pixel",
            label_grid.draw_grid,
            ("pixel_ss0_m0", "Coloured grid on the image", on_image),
            (
                "pixel_ss0_m1",
                "Coloured grid on black",
                replace(on_image, canvas="black"),
            ),
        ),
        Encoding(
            type,
            "text_subsample",
            "text",
            texts.grid_text,
            TextStyle("subsample", region=region),
            title="Grid as characters",
        ),
        *masks,
        Encoding(
            type,
            "text_polygon",
            "text",
            texts.polygons_text,
            TextStyle("polygon"),
            title="Polygons as text",
        ),
        Encoding(
            type,
            "text_matrix",
            "text",
            texts.grid_text,
            TextStyle("matrix", region=region),
            title="Grid as a number matrix",
        ),
    )


_SEMANTIC = _labelled_pixels(
    "semantic",
    drawn(
        "semantic",
        "pixel",
        draw.draw_segments,
        ("pixel_ss1_m0_o0_l1_c0", "Masks with labels", draw.MaskStyle()),
        (
            "pixel_ss1_m0_o0_l1_c1",
            "Masks in random colours with labels",
            draw.MaskStyle(colors="random"),
        ),
        (
            "pixel_ss1_m0_o1_l1_c0",
            "Opaque masks with labels",
            draw.MaskStyle(opacity=1.0),
        ),
        (
            "pixel_ss1_m1_o0_l1_c0",
            "Masks on black with labels",
            draw.MaskStyle(canvas="black"),
        ),
        ("pixel_ss1_m0_o0_l0_c0", "Masks", draw.MaskStyle(tags=False)),
    ),
)
SEMANTIC = PredictionType(
    "semantic",
    record.Masks,
    record.read_segments,
    partial(record.write_items, "segments"),
    files=record.segment_files,
    told_size=partial(record.told_size, "segments"),
    tasks=(Task("semantic_segmentation", "semantic segmentation", "semantic"),),
    encodings=(
        *_SEMANTIC,
        combo(
            "4649",
            _SEMANTIC,
            "text_subsample",
            "pixel_ss1_m0_o0_l1_c0",
            title="Grid as characters and masks",
        ),
    ),
    misreadings=misread.OF_MAPS,
    metrics=(
        Metric(
            "semantic",
            "miou",
            score.mean_iou,
            how="mean IoU of the labels of either side, without pixels that the truth "
            "does not label",
            note=score.semantic_note,
            defaults={"unlabelled": "not counted"},
        ),
    ),
    errors=(
        ErrorType(
            "semantic",
            "classification",
            errors.semantic_classification,
            items.two_labels,
            errors.semantic_clean,
        ),
        ErrorType(
            "semantic",
            "boundary",
            errors.semantic_boundary,
            items.two_labels,
            errors.semantic_clean,
            matched.semantic_boundary,
        ),
        ErrorType(
            "semantic",
            "missed",
            errors.semantic_missed,
            items.something,
            errors.semantic_clean,
            matched.semantic_missed,
        ),
        ErrorType(
            "semantic",
            "background",
            errors.semantic_background,
            items.two_labels,
            errors.semantic_clean,
            matched.semantic_background,
        ),
    ),
    context=classes,
    look=features.mask_features,
    places=record.corners,
    arrays=record.label_map_from_arrays,
    faults=Faults(faults.SEMANTIC_KINDS, faults.semantic_faults),
)

_REFERRING = _labelled_pixels(
    "referring",
    drawn(
        "referring",
        "pixel",
        draw.draw_region,
        ("pixel_ss1_m0_o0_m0", "Mask", draw.RegionStyle()),
        (
            "pixel_ss1_m0_o0_m1",
            "Outline",
            draw.RegionStyle(fill=False, contour=True),
        ),
        (
            "pixel_ss1_m0_o0_m2",
            "Mask with outline",
            draw.RegionStyle(contour=True),
        ),
        ("pixel_ss1_m0_o1_m0", "Opaque mask", draw.RegionStyle(opacity=1.0)),
        (
            "pixel_ss1_m1_o0_m0",
            "Mask on black",
            draw.RegionStyle(canvas="black"),
        ),
    ),
    region=True,
)
REFERRING = PredictionType(
    "referring",
    record.Masks,
    record.read_region,
    record.write_region,
    files=fields.named_file("segmentation"),
    told_size=partial(record.told_size, ""),
    tasks=(
        Task(
            "referring_segmentation",
            "referring segmentation",
            "referring",
            expression=True,
        ),
    ),
    encodings=(
        *_REFERRING,
        combo(
            "7080",
            _REFERRING,
            "text_polygon",
            "pixel_ss1_m0_o0_m2",
            title="Polygons and outlined mask",
        ),
    ),
    misreadings=misread.MISREADINGS,
    metrics=(
        Metric("referring", "iou", score.region_iou, how="IoU of the region"),
    ),
    errors=(
        ErrorType(
            "referring",
            "wrong_instance",
            errors.wrong_instance,
            errors.another_object,
        ),
        ErrorType(
            "referring",
            "boundary",
            errors.boundary,
            items.something,
            matched=matched.boundary,
        ),
        ErrorType(
            "referring",
            "localization",
            errors.localization,
            items.something,
            matched=MATCHED.localization,
        ),
        ErrorType(
            "referring",
            "missed",
            errors.eaten,
            items.something,
            matched=matched.eaten,
        ),
    ),
    context=expression,
    look=features.mask_features,
    places=record.corners,
    arrays=record.region_from_arrays,
    faults=Faults(faults.REFERRING_KINDS, faults.referring_faults),
)
