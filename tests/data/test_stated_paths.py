"""Paths that an annotation file states stay inside the folder that the user named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visualjudge.core.errors import DataError, Problem
from visualjudge.formats.coco import coco
from visualjudge.formats.outputs import outputs
from visualjudge.formats.pairing import stated_file


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for path in (folder / "a.png", tmp_path / "private.png"):
        Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(path)
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "../private.png",
        "{}/private.png",
        "link.png",
        ".",
        "",
        None,
        3,
        "b.png",
        "a\0.png",
    ],
)
def test_what_leads_out_or_is_not_there_is_refused_with_its_field(
    images: Path, name: object
) -> None:
    (images / "link.png").symlink_to(images.parent / "private.png")
    stated = name.format(images.parent) if isinstance(name, str) else name
    with pytest.raises(DataError, match=r"^file_name: "):
        stated_file(images, stated, "file_name")


def test_a_file_inside_is_found(images: Path) -> None:
    assert stated_file(images, "a.png", "file_name") == images / "a.png"


def _truth(root: Path, image: str, **annotation: object) -> Path:
    content = {
        "images": [{"id": 1, "file_name": image, "height": 4, "width": 4}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"image_id": 1, **annotation}],
    }
    (root / "gt.json").write_text(json.dumps(content))
    return root / "gt.json"


def test_no_importer_follows_a_path_out_of_its_folder(images: Path) -> None:
    root, out = images.parent, "../private.png"
    (root / "table.jsonl").write_text(
        json.dumps({"output": out, "score": 1, "prompt": "x"})
    )
    found = [
        *coco("object_detection", _truth(root, out), None, images),
        *coco(
            "semantic_segmentation",
            _truth(root, "a.png", file_name=out, segments_info=[]),
            None,
            images,
            gt_pngs=images,
        ),
        *outputs(
            "generation_t2i",
            str(root / "table.jsonl"),
            "m",
            images,
            score_range=(0, 10),
        ),
    ]
    assert len(found) == 3
    assert all(
        isinstance(one, Problem) and "leads out of" in one.reason
        for one in found
    )
