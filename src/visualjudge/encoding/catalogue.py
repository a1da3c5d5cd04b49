"""The one table: 53 encodings and 2 extended ones. Stems are names; nothing parses them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from visualjudge.encoding import boxes, depth, grid, instances, keypoints, referring, semantic, texts, whole_image
from visualjudge.encoding.encoded import Draw, Encoded, Scene
from visualjudge.encoding.styles import (
    BoxStyle,
    ComboStyle,
    DepthStyle,
    GridStyle,
    MaskStyle,
    PictureStyle,
    PoseStyle,
    RegionStyle,
    Style,
    TextStyle,
)
from visualjudge.errors import UsageError
from visualjudge.tasks import TASKS, task_named

Kind = Literal["pixel", "text", "combo"]


@dataclass(frozen=True, slots=True)
class Encoding:
    """One row: what a prediction of ``task`` is shown as under ``stem``."""

    task: str
    stem: str
    kind: Kind
    draw: Draw
    style: Style
    is_final: bool = True
    is_base_ablation: bool = True


def _pixel(task: str, stem: str, draw: Draw, style: Style, *, final: bool = True) -> Encoding:
    return Encoding(task, stem, "pixel", draw, style, final, final)


def _text(task: str, stem: str, draw: Draw, style: TextStyle, *, final: bool = True) -> Encoding:
    return Encoding(task, stem, "text", draw, style, final, final)


def _combo(task: str, stem: str, text: str, pixel: str) -> Encoding:
    return Encoding(task, stem, "combo", _both(task), ComboStyle(text, pixel))


def _both(task: str) -> Draw:
    """The drawing function of a combo: one encoding's text with another's picture and legend."""

    def draw(scene: Scene, style: ComboStyle) -> Encoded:
        text, pixel = encoding_named(task, style.text), encoding_named(task, style.pixel)
        drawn = pixel.draw(scene, pixel.style)
        return Encoded(drawn.image, text.draw(scene, text.style).text, drawn.legend, drawn.colors)

    return draw


_DET, _INS, _SEM, _REF, _KEY, _DEP = (
    "object_detection",
    "instance_segmentation",
    "semantic_segmentation",
    "referring_segmentation",
    "keypoint",
    "depth_estimation",
)

_PERCEPTION = (
    _pixel(_DET, "pixel_s0_m0", boxes.draw_boxes, BoxStyle()),
    _pixel(_DET, "pixel_s1_m0", boxes.draw_boxes, BoxStyle(tags=True)),
    _pixel(_DET, "pixel_s1_m1", boxes.draw_boxes, BoxStyle(tags=True, canvas="black")),
    _text(_DET, "text_xyxy", texts.boxes_text, TextStyle("xyxy")),
    _text(_DET, "text_xywh", texts.boxes_text, TextStyle("xywh")),
    _combo(_DET, "0305", "text_xyxy", "pixel_s1_m0"),
    _pixel(_INS, "pixel_ss0_m0", grid.draw_grid, GridStyle()),
    _pixel(_INS, "pixel_ss0_m1", grid.draw_grid, GridStyle(canvas="black")),
    _pixel(_INS, "pixel_ss1_m0_o0_l1_c0_b1", instances.draw_instances, MaskStyle(boxes=True)),
    _pixel(_INS, "pixel_ss1_m0_o0_l1_c1_b1", instances.draw_instances, MaskStyle(boxes=True, colors="instance")),
    _pixel(_INS, "pixel_ss1_m0_o1_l1_c0_b1", instances.draw_instances, MaskStyle(boxes=True, opacity=1.0)),
    _pixel(_INS, "pixel_ss1_m1_o0_l1_c0_b1", instances.draw_instances, MaskStyle(boxes=True, canvas="black")),
    _pixel(_INS, "pixel_ss1_m0_o0_l1_c0_b0", instances.draw_instances, MaskStyle()),
    _pixel(_INS, "pixel_ss1_m0_o0_l0_c0_b1", instances.draw_instances, MaskStyle(boxes=True, tags=False)),
    _text(_INS, "text_polygon", texts.polygons_text, TextStyle("polygon", ids=True)),
    _text(_INS, "text_rle", texts.rle_text, TextStyle("rle", ids=True)),
    _text(_INS, "text_matrix", texts.grid_text, TextStyle("matrix", ids=True)),
    _combo(_INS, "1742", "text_polygon", "pixel_ss1_m0_o0_l1_c0_b1"),
    _pixel(_INS, "pixel_ss1_m0_o0_l0_c0_b0", instances.draw_instances, MaskStyle(tags=False), final=False),
    _text(_INS, "text_subsample", texts.grid_text, TextStyle("subsample", ids=True), final=False),
    _pixel(_SEM, "pixel_ss0_m0", grid.draw_grid, GridStyle(colors="class")),
    _pixel(_SEM, "pixel_ss0_m1", grid.draw_grid, GridStyle(colors="class", canvas="black")),
    _text(_SEM, "text_subsample", texts.grid_text, TextStyle("subsample")),
    _pixel(_SEM, "pixel_ss1_m0_o0_l1_c0", semantic.draw_segments, MaskStyle()),
    _pixel(_SEM, "pixel_ss1_m0_o0_l1_c1", semantic.draw_segments, MaskStyle(colors="random")),
    _pixel(_SEM, "pixel_ss1_m0_o1_l1_c0", semantic.draw_segments, MaskStyle(opacity=1.0)),
    _pixel(_SEM, "pixel_ss1_m1_o0_l1_c0", semantic.draw_segments, MaskStyle(canvas="black")),
    _pixel(_SEM, "pixel_ss1_m0_o0_l0_c0", semantic.draw_segments, MaskStyle(tags=False)),
    _text(_SEM, "text_polygon", texts.polygons_text, TextStyle("polygon")),
    _text(_SEM, "text_matrix", texts.grid_text, TextStyle("matrix")),
    _combo(_SEM, "4649", "text_subsample", "pixel_ss1_m0_o0_l1_c0"),
    _pixel(_REF, "pixel_ss0_m0", grid.draw_grid, GridStyle(colors="class", region=True)),
    _pixel(_REF, "pixel_ss0_m1", grid.draw_grid, GridStyle(colors="class", canvas="black", region=True)),
    _text(_REF, "text_subsample", texts.grid_text, TextStyle("subsample", region=True)),
    _pixel(_REF, "pixel_ss1_m0_o0_m0", referring.draw_region, RegionStyle()),
    _pixel(_REF, "pixel_ss1_m0_o0_m1", referring.draw_region, RegionStyle(fill=False, contour=True)),
    _pixel(_REF, "pixel_ss1_m0_o0_m2", referring.draw_region, RegionStyle(contour=True)),
    _pixel(_REF, "pixel_ss1_m0_o1_m0", referring.draw_region, RegionStyle(opacity=1.0)),
    _pixel(_REF, "pixel_ss1_m1_o0_m0", referring.draw_region, RegionStyle(canvas="black")),
    _text(_REF, "text_polygon", texts.polygons_text, TextStyle("polygon")),
    _text(_REF, "text_matrix", texts.grid_text, TextStyle("matrix", region=True)),
    _combo(_REF, "7080", "text_polygon", "pixel_ss1_m0_o0_m2"),
    _pixel(_KEY, "pixel_s0_c1_m0", keypoints.draw_people, PoseStyle(limbs=False)),
    _pixel(_KEY, "pixel_s1_c0_m0", keypoints.draw_people, PoseStyle(colors="single")),
    _pixel(_KEY, "pixel_s1_c1_m0", keypoints.draw_people, PoseStyle()),
    _pixel(_KEY, "pixel_s1_c2_m0", keypoints.draw_people, PoseStyle(colors="part")),
    _pixel(_KEY, "pixel_s1_c1_m1", keypoints.draw_people, PoseStyle(canvas="black")),
    _text(_KEY, "text_flat_list", texts.people_text, TextStyle("flat_list")),
    _text(_KEY, "text_part_keyed_json", texts.people_text, TextStyle("part_keyed")),
    _text(_KEY, "text_coco_style", texts.people_text, TextStyle("coco_list")),
    _pixel(_DEP, "plasma", depth.draw_depth, DepthStyle("plasma")),
    _pixel(_DEP, "turbo", depth.draw_depth, DepthStyle("turbo")),
    _pixel(_DEP, "gray", depth.draw_depth, DepthStyle("gray")),
)

_PICTURES = tuple(
    _pixel(task.name, "pixel", whole_image.show_picture, PictureStyle())
    for task in TASKS.values()
    if task.family in ("restoration", "generation")
)

CATALOGUE: dict[tuple[str, str], Encoding] = {(row.task, row.stem): row for row in _PERCEPTION + _PICTURES}


def rows(task: str | None = None) -> list[Encoding]:
    """All rows, or those of one task, in the catalogue's order."""
    wanted: Iterable[str] = TASKS if task is None else (task_named(task).name,)
    return [row for name in wanted for row in CATALOGUE.values() if row.task == name]


def encoding_named(task: str, stem: str) -> Encoding:
    """The row of ``task`` and ``stem``.

    Raises
    ------
    UsageError
        If there is no such task or stem; the message lists those there are.
    """
    try:
        return CATALOGUE[task, stem]
    except KeyError:
        stems = ", ".join(row.stem for row in rows(task))
        raise UsageError(f"{task} has no encoding {stem!r}; one of: {stems}") from None
