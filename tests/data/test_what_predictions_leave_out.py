"""What an import states of predictions that a score alone does not show: parts without
a prediction, ranges of values, strips of interpolation, degraded images misread."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from visualjudge.data.folder import DataFolder
from visualjudge.data.import_mistakes import doubts_of_sources, likely_mistake
from visualjudge.data.importing import doubts, import_source
from visualjudge.formats.coco import coco
from visualjudge.formats.label_maps import label_maps
from visualjudge.formats.labelling_tools import shapes
from visualjudge.formats.outputs import outputs
from visualjudge.formats.samples import Sample, Samples
from visualjudge.formats.voc import voc
from visualjudge.formats.yolo import yolo
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.predictions import (
    DepthMap,
    WholeImage,
    masks_from_label_map,
)
from visualjudge.vision.score import notes

SIZE = 96, 128
NAMES = {1: "road", 2: "sky", 3: "tree", 4: "car", 5: "wall"}


def _smooth(seed: int, layers: int, coarse: int = 6) -> Any:
    generator = np.random.default_rng(seed)
    return np.stack(
        [
            cv2.resize(generator.normal(size=(coarse, coarse)), SIZE[::-1])
            for _ in range(layers)
        ],
        axis=-1,
    )


def test_parts_without_a_prediction_are_told() -> None:
    depth = np.full(SIZE, 3.0)
    holes = depth.copy()
    holes[:, :40] = 0
    few = depth.copy()
    few[:, :2] = np.nan
    pairs = {
        "depth_estimation": [(DepthMap(holes), DepthMap(depth))],
        "semantic_segmentation": [
            tuple(
                masks_from_label_map(values.astype(int), NAMES, unlabelled=(0,))
                for values in (holes, depth)
            )
        ],
    }
    for task, sides in pairs.items():
        assert any("31 %" in note for note in notes(task, sides, {}))
        right = [(sides[0][1], sides[0][1])]
        assert len(notes(task, right, {})) == 1
    assert (
        len(notes("depth_estimation", [(DepthMap(few), DepthMap(depth))], {}))
        == 1
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda x: x / 2, True),
        (lambda x: 255 * (x / 255) ** 2.2, True),
        (lambda x: 16 + x * 219 / 255, True),
        (lambda x: cv2.GaussianBlur(x, (0, 0), 3), False),
    ],
)
def test_values_of_restored_images_are_told_if_another_range_or_light(
    change: Any, told: bool
) -> None:
    clean = np.clip(128 + 90 * _smooth(1, 3, 20), 0, 255)
    sides = [
        WholeImage(values.astype(np.uint8)) for values in (change(clean), clean)
    ]
    for metric in ("ssim", "psnr"):
        stated = notes("lowlevel-restore", [tuple(sides)], {"metric": metric})
        assert (len(stated) == 2) == told


def test_degraded_images_in_another_order_of_channels_are_named(
    tmp_path: Path,
) -> None:
    tried, paths, right = [], [], []
    for k in range(6):
        clean = np.clip(128 + 60 * _smooth(k, 3, 10), 0, 255)
        noise = 40 * np.random.default_rng(k).normal(size=clean.shape)
        noisy = np.clip(clean + noise, 0, 255).astype(np.uint8)
        restored = WholeImage(np.clip(clean + noise / 8, 0, 255).astype("u1"))
        tried.append((restored, WholeImage(clean.astype(np.uint8))))
        for folder, order in (("noisy", 1), ("bgr", -1)):
            (tmp_path / folder).mkdir(exist_ok=True)
            Image.fromarray(noisy[:, :, ::order]).save(
                tmp_path / folder / f"{k}.png"
            )
        paths.append(tmp_path / "bgr" / f"{k}.png")
        right.append(tmp_path / "noisy" / f"{k}.png")
    message = likely_mistake("lowlevel-denoise", tried, {}, paths)
    assert message is not None
    assert message.startswith(str(tmp_path / "bgr"))
    assert "blue, green, red" in message
    assert likely_mistake("lowlevel-denoise", tried, {}, right) is None


@pytest.mark.parametrize(
    ("ordinal", "factor", "told"),
    [(False, 2, True), (False, 1, False), (True, 2, False), (True, 1, False)],
)
def test_label_maps_after_interpolation_are_named(
    tmp_path: Path,
    recwarn: pytest.WarningsRecorder,
    ordinal: bool,
    factor: int,
    told: bool,
) -> None:
    for folder in ("gt", "pred", "images"):
        (tmp_path / folder).mkdir()
    for k in range(4):
        layers = _smooth(k, 5)
        values = layers.argmax(axis=-1) + 1
        if ordinal:
            values = np.clip(np.rint(3 + 2 * layers[..., 0]), 1, 5)
        truth = values.astype(np.uint8)
        height, width = SIZE
        small = cv2.resize(truth, (width // factor, height // factor))
        maps = {"gt": truth, "pred": cv2.resize(small, (width, height))}
        for folder, side in maps.items():
            Image.fromarray(side).save(tmp_path / folder / f"{k}.png")
        Image.new("RGB", (width, height)).save(tmp_path / f"images/{k}.png")
    table = tmp_path / "classes.csv"
    table.write_text(
        "id,name\n" + "".join(f"{k},{name}\n" for k, name in NAMES.items())
    )
    folders = [str(tmp_path / name) for name in ("gt", "pred", "images")]
    samples = label_maps("semantic_segmentation", *folders, table)
    assert len(list(samples)) == 4
    assert any("nearest" in str(one.message) for one in recwarn) == told


def test_near_and_far_of_a_truth_are_not_blamed_for_disparities() -> None:
    tried = []
    for k in range(8):
        depth = np.exp(1.5 + 0.6 * _smooth(k, 1)[..., 0])
        guess = depth * np.exp(0.35 * _smooth(k + 50, 1)[..., 0])
        tried.append((DepthMap(100 / guess + 5), DepthMap(depth)))
    message = likely_mistake("depth_estimation", tried, {"align": "affine"})
    assert message is not None
    assert "disparities" in message


# The number of objects of each image.
Counts = Mapping[str, int]
TRUTHS = {"seen": 1, "empty": 1, "absent": 1, "background": 0}
GUESSES = {"seen": 1, "empty": 0}


def _coco(root: Path, sides: Sequence[Counts]) -> Samples:
    numbers = {name: k for k, name in enumerate(TRUTHS)}
    for side, counts in zip(("gt", "pred"), sides, strict=True):
        content = {
            "images": [
                {"id": numbers[name], "file_name": f"{name}.png"}
                for name in counts
            ],
            "categories": [{"id": 1, "name": "cat"}],
            "annotations": [
                {
                    "image_id": numbers[name],
                    "category_id": 1,
                    "bbox": [1, 2, 9, 8],
                }
                for name, count in counts.items()
                if count
            ],
        }
        (root / side).write_text(json.dumps(content))
    return coco("object_detection", root / "gt", root / "pred", root / "images")


def _files(
    root: Path, sides: Sequence[Counts], suffix: str, head: str, item: str
) -> tuple[Path, Path, Path]:
    for side, counts in zip(("gt", "pred"), sides, strict=True):
        (root / side).mkdir()
        for name, count in counts.items():
            text = head.replace("NAME", name).replace("ITEM", item * count)
            (root / side / f"{name}{suffix}").write_text(text)
    return root / "gt", root / "pred", root / "images"


def _yolo(root: Path, sides: Sequence[Counts]) -> Samples:
    places = _files(root, sides, ".txt", "ITEM", "0 0.5 0.5 0.2 0.2")
    (root / "classes.txt").write_text("cat")
    return yolo("object_detection", *places, root / "classes.txt")


def _voc(root: Path, sides: Sequence[Counts]) -> Samples:
    sizes = "<xmin>3</xmin><ymin>3</ymin><xmax>9</xmax><ymax>9</ymax>"
    item = f"<object><name>cat</name><bndbox>{sizes}</bndbox></object>"
    head = "<annotation><filename>NAME.png</filename>ITEM</annotation>"
    places = _files(root, sides, ".xml", head, item)
    return voc("object_detection", *places)


def _labelme(root: Path, sides: Sequence[Counts]) -> Samples:
    item = json.dumps({"label": "cat", "points": [[1, 1], [9, 1], [9, 9]]})
    places = _files(root, sides, ".json", '{"shapes": [ITEM]}', item)
    return shapes("object_detection", *places, "labelme")


@pytest.mark.parametrize("read", [_coco, _yolo, _voc, _labelme])
def test_images_that_predictions_do_not_name_are_told_and_recorded(
    read: Callable[[Path, Sequence[Counts]], Samples], tmp_path: Path
) -> None:
    (tmp_path / "images").mkdir()
    for name in TRUTHS:
        Image.new("RGB", (20, 20)).save(tmp_path / f"images/{name}.png")
    samples = read(tmp_path, (TRUTHS, GUESSES))
    done = import_source(
        tmp_path / "data", "object_detection", samples, source="m"
    )
    (told,) = [
        text for text in doubts("object_detection", done) if "1 of" in text
    ]
    assert "such as absent" in told
    without = {
        note.image_id
        for note in DataFolder(tmp_path / "data").entries("object_detection")
        if note.metadata.get("no_prediction")
    }
    assert without == {"absent"}


def test_a_ground_truth_that_was_merged_twice_is_told(tmp_path: Path) -> None:
    image = tmp_path / "a.png"
    Image.new("RGB", (20, 20)).save(image)
    boxes = [Detection("cat", (k, 2, 12, 12)) for k in range(8)]
    for copies in (0, 8):
        real = Detections((*boxes, *boxes[:copies]))
        sample = Sample("a", image, Detections(tuple(boxes[:5])), real)
        done = import_source(
            tmp_path / f"{copies}", "object_detection", [sample], source="m"
        )
        told = " ".join(doubts("object_detection", done))
        assert ("8 of 16; was a file merged twice?" in told) == bool(copies)


def test_images_that_a_source_lacks_and_files_of_two_sources_are_told(
    tmp_path: Path,
) -> None:
    rows = ["output,prompt,source,score"]
    for k, name in enumerate("abcd"):
        Image.new("RGB", (20, 20), (k, 0, 0)).save(tmp_path / f"{name}.png")
    for k, prompt in enumerate("abc"):
        rows += [f"{prompt}.png,{prompt},m,{k}", f"{prompt}.png,{prompt},n,5"]
    rows.append("d.png,a,few,5")
    (tmp_path / "t.csv").write_text("\n".join(rows))
    table = outputs(
        "generation_t2i", str(tmp_path / "t.csv"), None, tmp_path, (0, 10)
    )
    data = tmp_path / "data"
    import_source(data, "generation_t2i", table, source=None)
    equal, lacking = doubts_of_sources(DataFolder(data), "generation_t2i")
    assert "'m' and 'n' have the same predictions on all 3 images" in equal
    assert "2 of 3 by 'few';" in lacking


@pytest.mark.parametrize(
    ("labels", "told"),
    [(("cat", "cat"), False), (("cat", "dog"), True)],
)
def test_sources_that_were_scored_against_other_truths_are_told(
    tmp_path: Path, labels: tuple[str, str], told: bool
) -> None:
    Image.new("RGB", (40, 40)).save(tmp_path / "a.png")
    for name, label in zip(("m", "n"), labels, strict=True):
        truth = Detections((Detection(label, (5.0, 5.0, 20.0, 20.0)),))
        guess = Detections((Detection("cat", (5.0, 5.0, 22.0, 20.0)),))
        sample = Sample("a", tmp_path / "a.png", guess, truth)
        import_source(
            tmp_path / "data", "object_detection", [sample], source=name
        )
    stated = doubts_of_sources(
        DataFolder(tmp_path / "data"), "object_detection"
    )
    assert any("on 1 image, such as a of" in line for line in stated) is told
