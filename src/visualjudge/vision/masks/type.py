"""Prediction types of instances, label maps and referring expressions."""

from __future__ import annotations

from functools import partial
from typing import Any

from visualjudge.vision import fields
from visualjudge.vision.contexts import Prompts, classes, mixed
from visualjudge.vision.drawing import grid
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.errors import items
from visualjudge.vision.masks import (
    draw,
    errors,
    errors_matched as matched,
    features,
    record,
    score,
    texts,
)
from visualjudge.vision.masks.errors_matched import MATCHED
from visualjudge.vision.rows import Encoding, ErrorType, Metric, PredictionType, Ranked, Task, combo


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
        grid.draw_grid,
        grid.GridStyle(),
        title="Coloured grid on the image",
    ),
    Encoding(
        "instance",
        "pixel_ss0_m1",
        "pixel",
        grid.draw_grid,
        grid.GridStyle(canvas="black"),
        title="Coloured grid on black",
    ),
    Encoding(
        "instance",
        "pixel_ss1_m0_o0_l1_c0_b1",
        "pixel",
        draw.draw_instances,
        draw.MaskStyle(boxes=True),
        title="Masks, boxes and labels",
    ),
    Encoding(
        "instance",
        "pixel_ss1_m0_o0_l1_c1_b1",
        "pixel",
        draw.draw_instances,
        draw.MaskStyle(boxes=True, colors="instance"),
        title="Masks coloured by instance, boxes and labels",
    ),
    Encoding(
        "instance",
        "pixel_ss1_m0_o1_l1_c0_b1",
        "pixel",
        draw.draw_instances,
        draw.MaskStyle(boxes=True, opacity=1.0),
        title="Opaque masks, boxes and labels",
    ),
    Encoding(
        "instance",
        "pixel_ss1_m1_o0_l1_c0_b1",
        "pixel",
        draw.draw_instances,
        draw.MaskStyle(boxes=True, canvas="black"),
        title="Masks on black, boxes and labels",
    ),
    Encoding(
        "instance",
        "pixel_ss1_m0_o0_l1_c0_b0",
        "pixel",
        draw.draw_instances,
        draw.MaskStyle(),
        title="Masks with labels",
    ),
    Encoding(
        "instance",
        "pixel_ss1_m0_o0_l0_c0_b1",
        "pixel",
        draw.draw_instances,
        draw.MaskStyle(boxes=True, tags=False),
        title="Masks with boxes",
    ),
    Encoding(
        "instance",
        "text_polygon",
        "text",
        texts.polygons_text,
        TextStyle("polygon", ids=True),
        title="Polygons as text",
    ),
    Encoding(
        "instance",
        "text_rle",
        "text",
        texts.rle_text,
        TextStyle("rle", ids=True),
        title="Run-length encoding",
    ),
    Encoding(
        "instance",
        "text_matrix",
        "text",
        texts.grid_text,
        TextStyle("matrix", ids=True),
        title="Grid as a number matrix",
    ),
)
_INSTANCE_EXTENDED = (
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
)
INSTANCE = PredictionType(
    "instance",
    record.Masks,
    record.read_instances,
    partial(record.write_items, "instances"),
    files=partial(record.item_files, "instances"),
    told_size=partial(record.told_size, "instances"),
    tasks=(Task("instance_segmentation", "instance segmentation", "instance", classed=True),),
    encodings=(
        *_INSTANCE,
        combo(
            "1742",
            _INSTANCE,
            "text_polygon",
            "pixel_ss1_m0_o0_l1_c1_b1",
            title="Polygons and masks",
        ),
        *_INSTANCE_EXTENDED,
    ),
    metrics=(
        Metric(
            "instance",
            "f1",
            score.mask_f1,
            frozenset({"class_of_interest"}),
            score.mask_f1_by_class,
        ),
    ),
    errors=(
        ErrorType(
            "instance",
            "classification",
            items.classification,
            items.two_labels,
            matched=MATCHED.classification,
        ),
        ErrorType(
            "instance",
            "localization",
            errors.localization,
            items.something,
            matched=MATCHED.localization,
        ),
        ErrorType(
            "instance", "duplicate", errors.duplicate, items.something, matched=MATCHED.duplicate
        ),
        ErrorType(
            "instance", "background", errors.background, items.something, matched=MATCHED.background
        ),
        ErrorType("instance", "missed", items.missed, items.something, matched=MATCHED.missed),
        ErrorType(
            "instance", "boundary", errors.boundary, items.something, matched=matched.boundary
        ),
    ),
    ranked=Ranked("segm", score.coco_annotation, 100),
    context=classes,
    look=features.mask_features,
    places=record.corners,
    arrays=record.instances_from_arrays,
)

_SEMANTIC = (
    Encoding(
        "semantic",
        "pixel_ss0_m0",
        "pixel",
        grid.draw_grid,
        grid.GridStyle(colors="class"),
        title="Coloured grid on the image",
    ),
    Encoding(
        "semantic",
        "pixel_ss0_m1",
        "pixel",
        grid.draw_grid,
        grid.GridStyle(colors="class", canvas="black"),
        title="Coloured grid on black",
    ),
    Encoding(
        "semantic",
        "text_subsample",
        "text",
        texts.grid_text,
        TextStyle("subsample"),
        title="Grid as characters",
    ),
    Encoding(
        "semantic",
        "pixel_ss1_m0_o0_l1_c0",
        "pixel",
        draw.draw_segments,
        draw.MaskStyle(),
        title="Masks with labels",
    ),
    Encoding(
        "semantic",
        "pixel_ss1_m0_o0_l1_c1",
        "pixel",
        draw.draw_segments,
        draw.MaskStyle(colors="random"),
        title="Masks in random colours with labels",
    ),
    Encoding(
        "semantic",
        "pixel_ss1_m0_o1_l1_c0",
        "pixel",
        draw.draw_segments,
        draw.MaskStyle(opacity=1.0),
        title="Opaque masks with labels",
    ),
    Encoding(
        "semantic",
        "pixel_ss1_m1_o0_l1_c0",
        "pixel",
        draw.draw_segments,
        draw.MaskStyle(canvas="black"),
        title="Masks on black with labels",
    ),
    Encoding(
        "semantic",
        "pixel_ss1_m0_o0_l0_c0",
        "pixel",
        draw.draw_segments,
        draw.MaskStyle(tags=False),
        title="Masks",
    ),
    Encoding(
        "semantic",
        "text_polygon",
        "text",
        texts.polygons_text,
        TextStyle("polygon"),
        title="Polygons as text",
    ),
    Encoding(
        "semantic",
        "text_matrix",
        "text",
        texts.grid_text,
        TextStyle("matrix"),
        title="Grid as a number matrix",
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
    metrics=(Metric("semantic", "miou", score.mean_iou),),
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
)

_REFERRING = (
    Encoding(
        "referring",
        "pixel_ss0_m0",
        "pixel",
        grid.draw_grid,
        grid.GridStyle(colors="class", region=True),
        title="Coloured grid on the image",
    ),
    Encoding(
        "referring",
        "pixel_ss0_m1",
        "pixel",
        grid.draw_grid,
        grid.GridStyle(colors="class", canvas="black", region=True),
        title="Coloured grid on black",
    ),
    Encoding(
        "referring",
        "text_subsample",
        "text",
        texts.grid_text,
        TextStyle("subsample", region=True),
        title="Grid as characters",
    ),
    Encoding(
        "referring",
        "pixel_ss1_m0_o0_m0",
        "pixel",
        draw.draw_region,
        draw.RegionStyle(),
        title="Mask",
    ),
    Encoding(
        "referring",
        "pixel_ss1_m0_o0_m1",
        "pixel",
        draw.draw_region,
        draw.RegionStyle(fill=False, contour=True),
        title="Outline",
    ),
    Encoding(
        "referring",
        "pixel_ss1_m0_o0_m2",
        "pixel",
        draw.draw_region,
        draw.RegionStyle(contour=True),
        title="Mask with outline",
    ),
    Encoding(
        "referring",
        "pixel_ss1_m0_o1_m0",
        "pixel",
        draw.draw_region,
        draw.RegionStyle(opacity=1.0),
        title="Opaque mask",
    ),
    Encoding(
        "referring",
        "pixel_ss1_m1_o0_m0",
        "pixel",
        draw.draw_region,
        draw.RegionStyle(canvas="black"),
        title="Mask on black",
    ),
    Encoding(
        "referring",
        "text_polygon",
        "text",
        texts.polygons_text,
        TextStyle("polygon"),
        title="Polygons as text",
    ),
    Encoding(
        "referring",
        "text_matrix",
        "text",
        texts.grid_text,
        TextStyle("matrix", region=True),
        title="Grid as a number matrix",
    ),
)
REFERRING = PredictionType(
    "referring",
    record.Masks,
    record.read_region,
    record.write_region,
    files=fields.named_file("segmentation"),
    told_size=partial(record.told_size, ""),
    tasks=(Task("referring_segmentation", "referring segmentation", "referring", expression=True),),
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
    metrics=(Metric("referring", "iou", score.region_iou),),
    errors=(
        ErrorType(
            "referring",
            "wrong_instance",
            errors.wrong_instance,
            errors.another_object,
        ),
        ErrorType(
            "referring", "boundary", errors.boundary, items.something, matched=matched.boundary
        ),
        ErrorType(
            "referring",
            "localization",
            errors.localization,
            items.something,
            matched=MATCHED.localization,
        ),
        ErrorType("referring", "missed", errors.eaten, items.something, matched=matched.eaten),
    ),
    context=expression,
    look=features.mask_features,
    places=record.corners,
    arrays=record.region_from_arrays,
)
