"""The one table: 53 encodings and 2 extended ones. Stems are names; nothing parses them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from visualjudge.core.errors import UsageError, one_of
from visualjudge.core.registry import Registry
from visualjudge.vision.boxes import draw as boxes
from visualjudge.vision.depth import draw as depth
from visualjudge.vision.drawing import grid, texts
from visualjudge.vision.drawing.encoded import Draw, Encoded, Scene
from visualjudge.vision.drawing.styles import (
    BoxStyle,
    ComboStyle,
    DepthStyle,
    GridStyle,
    ImageStyle,
    MaskStyle,
    PoseStyle,
    RegionStyle,
    Style,
    TextStyle,
)
from visualjudge.vision.images import draw as whole_image
from visualjudge.vision.masks import instances, referring, semantic
from visualjudge.vision.poses import draw as keypoints
from visualjudge.vision.tasks import TASKS, task_named

Kind = Literal["pixel", "text", "combo"]


@dataclass(frozen=True, slots=True)
class Encoding:
    """One row: what a prediction of ``type`` is shown as under ``stem``.

    Attributes
    ----------
    type
        Name of the prediction type.
    stem
        Name of the encoding, unique within the type.
    kind
        "pixel", "text" or "combo" (a text and an image of one option).
    draw
        Function of (scene, style) that returns an :class:`~visualjudge.vision.drawing.encoded.Encoded`.
    style
        Frozen dataclass with the parameters of ``draw``.
    is_final, is_base_ablation
        Whether the subsets judge_analysis and encoding_analysis use it.
    task
        The task it was looked up for; empty in the table.
    """

    type: str
    stem: str
    kind: Kind
    draw: Draw
    style: Style
    is_final: bool = True
    is_base_ablation: bool = True
    task: str = ""


def _pixel(of: str, stem: str, draw: Draw, style: Style, *, final: bool = True) -> Encoding:
    return Encoding(of, stem, "pixel", draw, style, final, final)


def _text(of: str, stem: str, draw: Draw, style: TextStyle, *, final: bool = True) -> Encoding:
    return Encoding(of, stem, "text", draw, style, final, final)


def _combo(of: str, stem: str, text: str, pixel: str) -> Encoding:
    return Encoding(of, stem, "combo", both(of), ComboStyle(text, pixel))


def both(of: str) -> Draw:
    """The drawing function of a combo of type ``of``: one encoding's text with another's image and legend."""

    def draw(scene: Scene, style: ComboStyle) -> Encoded:
        text, pixel = CATALOGUE[of, style.text], CATALOGUE[of, style.pixel]
        drawn, said = scene.once(pixel.draw, pixel.style), scene.once(text.draw, text.style)
        return Encoded(drawn.image, said.text, drawn.legend, drawn.colors)

    return draw


_ROWS = (
    _pixel("detection", "pixel_s0_m0", boxes.draw_boxes, BoxStyle()),
    _pixel("detection", "pixel_s1_m0", boxes.draw_boxes, BoxStyle(tags=True)),
    _pixel("detection", "pixel_s1_m1", boxes.draw_boxes, BoxStyle(tags=True, canvas="black")),
    _text("detection", "text_xyxy", texts.boxes_text, TextStyle("xyxy")),
    _text("detection", "text_xywh", texts.boxes_text, TextStyle("xywh")),
    _combo("detection", "0305", "text_xyxy", "pixel_s1_m0"),
    _pixel("instance", "pixel_ss0_m0", grid.draw_grid, GridStyle()),
    _pixel("instance", "pixel_ss0_m1", grid.draw_grid, GridStyle(canvas="black")),
    _pixel("instance", "pixel_ss1_m0_o0_l1_c0_b1", instances.draw_instances, MaskStyle(boxes=True)),
    _pixel("instance", "pixel_ss1_m0_o0_l1_c1_b1", instances.draw_instances, MaskStyle(boxes=True, colors="instance")),
    _pixel("instance", "pixel_ss1_m0_o1_l1_c0_b1", instances.draw_instances, MaskStyle(boxes=True, opacity=1.0)),
    _pixel("instance", "pixel_ss1_m1_o0_l1_c0_b1", instances.draw_instances, MaskStyle(boxes=True, canvas="black")),
    _pixel("instance", "pixel_ss1_m0_o0_l1_c0_b0", instances.draw_instances, MaskStyle()),
    _pixel("instance", "pixel_ss1_m0_o0_l0_c0_b1", instances.draw_instances, MaskStyle(boxes=True, tags=False)),
    _text("instance", "text_polygon", texts.polygons_text, TextStyle("polygon", ids=True)),
    _text("instance", "text_rle", texts.rle_text, TextStyle("rle", ids=True)),
    _text("instance", "text_matrix", texts.grid_text, TextStyle("matrix", ids=True)),
    _combo("instance", "1742", "text_polygon", "pixel_ss1_m0_o0_l1_c0_b1"),
    _pixel("instance", "pixel_ss1_m0_o0_l0_c0_b0", instances.draw_instances, MaskStyle(tags=False), final=False),
    _text("instance", "text_subsample", texts.grid_text, TextStyle("subsample", ids=True), final=False),
    _pixel("semantic", "pixel_ss0_m0", grid.draw_grid, GridStyle(colors="class")),
    _pixel("semantic", "pixel_ss0_m1", grid.draw_grid, GridStyle(colors="class", canvas="black")),
    _text("semantic", "text_subsample", texts.grid_text, TextStyle("subsample")),
    _pixel("semantic", "pixel_ss1_m0_o0_l1_c0", semantic.draw_segments, MaskStyle()),
    _pixel("semantic", "pixel_ss1_m0_o0_l1_c1", semantic.draw_segments, MaskStyle(colors="random")),
    _pixel("semantic", "pixel_ss1_m0_o1_l1_c0", semantic.draw_segments, MaskStyle(opacity=1.0)),
    _pixel("semantic", "pixel_ss1_m1_o0_l1_c0", semantic.draw_segments, MaskStyle(canvas="black")),
    _pixel("semantic", "pixel_ss1_m0_o0_l0_c0", semantic.draw_segments, MaskStyle(tags=False)),
    _text("semantic", "text_polygon", texts.polygons_text, TextStyle("polygon")),
    _text("semantic", "text_matrix", texts.grid_text, TextStyle("matrix")),
    _combo("semantic", "4649", "text_subsample", "pixel_ss1_m0_o0_l1_c0"),
    _pixel("referring", "pixel_ss0_m0", grid.draw_grid, GridStyle(colors="class", region=True)),
    _pixel("referring", "pixel_ss0_m1", grid.draw_grid, GridStyle(colors="class", canvas="black", region=True)),
    _text("referring", "text_subsample", texts.grid_text, TextStyle("subsample", region=True)),
    _pixel("referring", "pixel_ss1_m0_o0_m0", referring.draw_region, RegionStyle()),
    _pixel("referring", "pixel_ss1_m0_o0_m1", referring.draw_region, RegionStyle(fill=False, contour=True)),
    _pixel("referring", "pixel_ss1_m0_o0_m2", referring.draw_region, RegionStyle(contour=True)),
    _pixel("referring", "pixel_ss1_m0_o1_m0", referring.draw_region, RegionStyle(opacity=1.0)),
    _pixel("referring", "pixel_ss1_m1_o0_m0", referring.draw_region, RegionStyle(canvas="black")),
    _text("referring", "text_polygon", texts.polygons_text, TextStyle("polygon")),
    _text("referring", "text_matrix", texts.grid_text, TextStyle("matrix", region=True)),
    _combo("referring", "7080", "text_polygon", "pixel_ss1_m0_o0_m2"),
    _pixel("keypoint", "pixel_s0_c1_m0", keypoints.draw_people, PoseStyle(limbs=False)),
    _pixel("keypoint", "pixel_s1_c0_m0", keypoints.draw_people, PoseStyle(colors="single")),
    _pixel("keypoint", "pixel_s1_c1_m0", keypoints.draw_people, PoseStyle()),
    _pixel("keypoint", "pixel_s1_c2_m0", keypoints.draw_people, PoseStyle(colors="part")),
    _pixel("keypoint", "pixel_s1_c1_m1", keypoints.draw_people, PoseStyle(canvas="black")),
    _text("keypoint", "text_flat_list", texts.people_text, TextStyle("flat_list")),
    _text("keypoint", "text_part_keyed_json", texts.people_text, TextStyle("part_keyed")),
    _text("keypoint", "text_coco_style", texts.people_text, TextStyle("coco_list")),
    _pixel("depth", "plasma", depth.draw_depth, DepthStyle("plasma")),
    _pixel("depth", "turbo", depth.draw_depth, DepthStyle("turbo")),
    _pixel("depth", "gray", depth.draw_depth, DepthStyle("gray")),
    _pixel("restoration", "pixel", whole_image.show_image, ImageStyle()),
    _pixel("generation", "pixel", whole_image.show_image, ImageStyle()),
)
CATALOGUE: Registry[tuple[str, str], Encoding] = Registry("encoding", {(row.type, row.stem): row for row in _ROWS})


def encodings(task: str | None = None) -> list[Encoding]:
    """The catalogue: 53 final encodings and 2 extended ones, shared rows once a task; of ``task`` alone if given.

    Raises
    ------
    UsageError
        If there is no such task.

    Examples
    --------
    >>> import visualjudge as vj
    >>> [row.stem for row in vj.encodings("depth_estimation")]
    ['plasma', 'turbo', 'gray']
    """
    wanted = TASKS.values() if task is None else (task_named(task),)
    return [replace(row, task=one.name) for one in wanted for row in CATALOGUE.values() if row.type == one.type]


def order_of(row: Encoding) -> tuple[str, bool]:
    """Sorts a combo right before the encoding whose image it shows."""
    return (row.style.pixel, False) if isinstance(row.style, ComboStyle) else (row.stem, True)


def encoding_named(task: str, stem: str) -> Encoding:
    """The row of ``task`` and ``stem``.

    Raises
    ------
    UsageError
        If there is no such task or stem; the message lists the known ones.
    """
    key = task_named(task).type, stem
    if key not in CATALOGUE:
        known = one_of(stem, [row.stem for row in encodings(task)])
        raise UsageError(f"encoding of {task} must be {known}, got {stem!r}")
    return replace(CATALOGUE[key], task=task)
