"""What people call an encoding: a short name for pages and reports, where the stem is for files."""

from __future__ import annotations

_BOXED = "boxes and labels"
_STEMS = {
    "text_xyxy": "Boxes as text (x1 y1 x2 y2)",
    "text_xywh": "Boxes as text (x y width height)",
    "text_polygon": "Polygons as text",
    "text_rle": "Run-length encoding",
    "text_matrix": "Grid as a number matrix",
    "text_subsample": "Grid as characters",
    "text_flat_list": "Keypoints as a flat list",
    "text_part_keyed_json": "Keypoints by body part",
    "text_coco_style": "Keypoints in COCO order",
    "0305": "Boxes as text and image",
    "1742": "Polygons and masks",
    "4649": "Grid as characters and masks",
    "7080": "Polygons and outlined mask",
    "plasma": "Depth in plasma colours",
    "turbo": "Depth in turbo colours",
    "gray": "Depth in grey",
    "pixel": "The output image",
    "pixel_ss0_m0": "Coloured grid on the image",
    "pixel_ss0_m1": "Coloured grid on black",
}
_BY_TASK = {
    "object_detection": {
        "pixel_s0_m0": "Boxes",
        "pixel_s1_m0": "Boxes with labels",
        "pixel_s1_m1": "Boxes with labels on black",
    },
    "instance_segmentation": {
        "pixel_ss1_m0_o0_l1_c0_b1": f"Masks, {_BOXED}",
        "pixel_ss1_m0_o0_l1_c1_b1": f"Masks coloured by instance, {_BOXED}",
        "pixel_ss1_m0_o1_l1_c0_b1": f"Opaque masks, {_BOXED}",
        "pixel_ss1_m1_o0_l1_c0_b1": f"Masks on black, {_BOXED}",
        "pixel_ss1_m0_o0_l1_c0_b0": "Masks with labels",
        "pixel_ss1_m0_o0_l0_c0_b1": "Masks with boxes",
        "pixel_ss1_m0_o0_l0_c0_b0": "Masks",
    },
    "semantic_segmentation": {
        "pixel_ss1_m0_o0_l1_c0": "Masks with labels",
        "pixel_ss1_m0_o0_l1_c1": "Masks in random colours with labels",
        "pixel_ss1_m0_o1_l1_c0": "Opaque masks with labels",
        "pixel_ss1_m1_o0_l1_c0": "Masks on black with labels",
        "pixel_ss1_m0_o0_l0_c0": "Masks",
    },
    "referring_segmentation": {
        "pixel_ss1_m0_o0_m0": "Mask",
        "pixel_ss1_m0_o0_m1": "Outline",
        "pixel_ss1_m0_o0_m2": "Mask with outline",
        "pixel_ss1_m0_o1_m0": "Opaque mask",
        "pixel_ss1_m1_o0_m0": "Mask on black",
    },
    "keypoint": {
        "pixel_s0_c1_m0": "Points coloured by person",
        "pixel_s1_c0_m0": "Skeletons in one colour",
        "pixel_s1_c1_m0": "Skeletons coloured by person",
        "pixel_s1_c2_m0": "Skeletons coloured by body part",
        "pixel_s1_c1_m1": "Skeletons coloured by person, on black",
    },
}


def encoding_title(task: str, stem: str) -> str:
    """The short name of an encoding such as "Boxes with labels"; the stem itself where it has none."""
    return _BY_TASK.get(task, {}).get(stem) or _STEMS.get(stem, stem)
