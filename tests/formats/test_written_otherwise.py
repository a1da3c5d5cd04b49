"""The same study written otherwise scores the same: other numbers of classes, ids as
text, another order of rows, names in other Unicode forms, other palettes, one file as
two.

``VISUALJUDGE_CASES=200`` tries so many of each.
"""

from __future__ import annotations

import json
import os
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st
from PIL import Image

import visualjudge as vj
from visualjudge.data.importing import import_samples
from visualjudge.data.writer import FolderWriter
from visualjudge.formats.coco import coco
from visualjudge.formats.label_maps import label_maps
from visualjudge.formats.labelling_tools import shapes
from visualjudge.formats.outputs import outputs
from visualjudge.formats.referring import referring
from visualjudge.formats.voc import voc
from visualjudge.formats.yolo import yolo

CASES = int(os.environ.get("VISUALJUDGE_CASES", "2"))
WIDTH, HEIGHT = 48, 32
LABELS = ["chat noir", "chien", "été"]
STEMS = ["café", "b", "c1"]
Rng = np.random.Generator
Scores = dict[tuple[Any, ...], float]


def scores(task: str, *readings: Any) -> Scores:
    """The score of each image and class, of one import or several."""
    found: Scores = {}
    for samples in readings:
        with (
            TemporaryDirectory() as out,
            FolderWriter(Path(out), task) as writer,
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (*_, done) = import_samples(writer, samples, source="m")
                assert not done.problems, [*map(str, done.problems)]
                writer.commit()
            for note in vj.open_data(out).annotations(task):
                image = unicodedata.normalize("NFC", note.image_id)
                found[image, note.class_of_interest, note.prompt] = (
                    note.final_score
                )
    assert found
    return found


def photos(folder: Path, form: str = "NFC") -> Path:
    folder.mkdir(parents=True)
    for stem in STEMS:
        name = unicodedata.normalize(form, stem)
        Image.new("RGB", (WIDTH, HEIGHT), (90, 9, 9)).save(
            folder / f"{name}.png"
        )
    return folder


def boxes(rng: Rng) -> list[tuple[int, int, list[int]]]:
    """(image, class, [x, y, width, height]) of some objects; the first image has
    one."""
    rows = []
    for k in range(int(rng.integers(4, 10))):
        x, y, w, h = (
            int(v) for v in rng.integers((0, 0, 4, 4), (30, 20, 18, 12))
        )
        rows.append(
            (k % len(STEMS), int(rng.integers(len(LABELS))), [x, y, w, h])
        )
    return rows


def moved(rows: list[Any], rng: Rng) -> list[Any]:
    """The objects as a model finds them: shifted a little, some of another class."""
    found = []
    for image, label, (x, y, w, h) in rows:
        dx, dy = (int(v) for v in rng.integers(0, 3, 2))
        other = int(rng.integers(len(LABELS))) if rng.random() < 0.2 else label
        found.append((image, other, [x + dx, y + dy, w, h]))
    return found


def coco_file(
    rows: list[Any], scored: bool, change: str, rng: Rng
) -> dict[str, Any]:
    """A COCO object; ``change`` is how it is written."""
    numbers = [1, 2, 3]
    images = [7, 8, 9]
    if change == "renumbered":
        numbers = (10 + rng.permutation(3)).tolist()
        images = (100 + rng.permutation(3)).tolist()
    key: Callable[[int], Any] = str if change == "ids as text" else int
    form = "NFD" if change == "other Unicode forms" else "NFC"
    named = [unicodedata.normalize(form, label) for label in LABELS]
    if change == "other case":
        named = [f" {label.upper()}" for label in LABELS]
    annotations = [
        {
            "id": key(k + 1),
            "image_id": key(images[image]),
            "category_id": key(numbers[label]),
            "bbox": box,
            "segmentation": [_ring(box)],
            **({"score": 1 - k / 100} if scored else {}),
        }
        for k, (image, label, box) in enumerate(rows)
    ]
    if change == "row order":
        annotations = [
            annotations[k] for k in rng.permutation(len(annotations))
        ]
    names = [unicodedata.normalize(form, stem) + ".png" for stem in STEMS]
    return {
        "images": [
            {"id": key(n), "file_name": name}
            for n, name in zip(images, names, strict=True)
        ],
        "categories": [
            {"id": key(n), "name": name}
            for n, name in zip(numbers, named, strict=True)
        ],
        "annotations": annotations,
    }


def _ring(box: list[int]) -> list[int]:
    x, y, w, h = box
    return [x, y, x + w, y, x + w, y + h, x, y + h]


def dump(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


CHANGES = (
    "renumbered",
    "ids as text",
    "row order",
    "other Unicode forms",
    "other case",
    "split",
)


def each(*changes: str) -> Any:
    """A test of random studies, each written in one of the ways."""

    def decorated(test: Callable[..., None]) -> Any:
        tried = settings(
            max_examples=CASES,
            deadline=None,
            database=None,
            phases=[Phase.generate],
        )(given(seed=st.integers(0, 2**32 - 1))(test))
        return pytest.mark.parametrize("change", changes)(tried)

    return decorated


@pytest.mark.parametrize("task", ["object_detection", "instance_segmentation"])
@each(*CHANGES)
def test_coco(task: str, change: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    real = boxes(rng)
    found = moved(real, rng)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        images = photos(root / "images")
        gt = dump(root / "gt.json", coco_file(real, False, "", rng))
        pred = dump(root / "pred.json", coco_file(found, True, "", rng))
        plain = scores(task, coco(task, gt, pred, images))
        if change != "split":
            other = dump(
                root / "other.json", coco_file(found, True, change, rng)
            )
            assert scores(task, coco(task, gt, other, images)) == plain
            if change in ("ids as text", "row order"):
                real_too = dump(
                    root / "g2.json", coco_file(real, False, change, rng)
                )
                assert (
                    scores(task, coco(task, real_too, other, images)) == plain
                )
            return
        content = json.loads(gt.read_text())
        halves = []
        for name, kept in (("one", [7]), ("two", [8, 9])):
            part = {
                **content,
                "images": [
                    row for row in content["images"] if row["id"] in kept
                ],
                "annotations": [
                    row
                    for row in content["annotations"]
                    if row["image_id"] in kept
                ],
            }
            rows = [
                row
                for row in json.loads(pred.read_text())["annotations"]
                if row["image_id"] in kept
            ]
            # of all predictions: a threshold of its own would belong to each half
            for row in rows:
                del row["score"]
            gt_part = dump(root / f"{name}.json", part)
            pred_part = dump(root / f"{name}-pred.json", rows)
            halves.append(coco(task, gt_part, pred_part, images))
        bare = json.loads(pred.read_text())
        for row in bare["annotations"]:
            del row["score"]
        whole = scores(
            task, coco(task, gt, dump(root / "bare.json", bare), images)
        )
        assert scores(task, *halves) == whole


@each("row order", "other Unicode forms")
def test_yolo(change: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    real = boxes(rng)
    found = moved(real, rng)

    def write(folder: Path, rows: list[Any], how: str) -> Path:
        folder.mkdir()
        for image, stem in enumerate(STEMS):
            lines = [
                f"{label} {(x + w / 2) / WIDTH} {(y + h / 2) / HEIGHT} {w / WIDTH} "
                f"{h / HEIGHT}"
                for at, label, (x, y, w, h) in rows
                if at == image
            ]
            if how == "row order":
                lines = [lines[k] for k in rng.permutation(len(lines))]
            form = "NFD" if how == "other Unicode forms" else "NFC"
            name = unicodedata.normalize(form, stem)
            (folder / f"{name}.txt").write_text("\n".join(lines))
        return folder

    with TemporaryDirectory() as folder:
        root = Path(folder)
        images, names = photos(root / "images"), root / "names.txt"
        names.write_text("\n".join(LABELS))
        gt = write(root / "gt", real, "")
        task = "object_detection"
        sides = [write(root / how, found, how) for how in ("plain", change)]
        plain, other = (
            scores(task, yolo(task, gt, side, images, names)) for side in sides
        )
        assert other == plain


@each("row order", "other Unicode forms")
def test_voc_and_labelme(change: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    real = boxes(rng)
    found = moved(real, rng)
    form = "NFD" if change == "other Unicode forms" else "NFC"

    def write(folder: Path, rows: list[Any], *, otherwise: bool) -> Path:
        folder.mkdir()
        order = rng.permutation(len(rows)) if otherwise else range(len(rows))
        for image, stem in enumerate(STEMS):
            own = [rows[k] for k in order if rows[k][0] == image]
            objects = "".join(
                f"<object><name>{LABELS[label]}</name><bndbox><xmin>{x + 1}</xmin>"
                f"<ymin>{y + 1}</ymin><xmax>{x + w}</xmax><ymax>{y + h}</ymax></bndbox></object>"
                for _, label, (x, y, w, h) in own
            )
            name = unicodedata.normalize(form if otherwise else "NFC", stem)
            (folder / f"{name}.xml").write_text(
                f"<annotation><filename>{name}.png</filename>{objects}</annotation>"
            )
            listed = [
                {"label": LABELS[label], "points": [[x, y], [x + w, y + h]]}
                | {"shape_type": "rectangle"}
                for _, label, (x, y, w, h) in own
            ]
            dump(
                folder / f"{name}.json",
                {"imagePath": f"{name}.png", "shapes": listed},
            )
        return folder

    with TemporaryDirectory() as folder:
        root = Path(folder)
        images = photos(root / "images")
        gt = write(root / "gt", real, otherwise=False)
        plain, other = (
            write(root / str(how), found, otherwise=how)
            for how in (False, True)
        )
        task = "object_detection"
        of_voc = [
            scores(task, voc(task, gt, side, images)) for side in (plain, other)
        ]
        assert of_voc[0] == of_voc[1]
        drawn = [
            scores(task, shapes(task, gt, side, images, "labelme"))
            for side in (plain, other)
        ]
        assert drawn[0] == drawn[1] == of_voc[0]


def palette(path: Path, indices: np.ndarray, colours: list[int]) -> None:
    image = Image.fromarray(indices.astype(np.uint8), "P")
    image.putpalette(colours)
    image.save(path)


@each("palette")
def test_masks_and_label_maps(change: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 4, (HEIGHT, WIDTH))
    guess = np.where(rng.random(values.shape) < 0.2, 1, values)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        images = photos(root / "images")
        names = dump(root / "names.json", {"1": "a", "2": "b", "3": "c"})
        for side, map_ in (("gt", values), ("grey", guess), (change, guess)):
            (root / side).mkdir()
            for stem in STEMS:
                path = root / side / f"{stem}.png"
                if (
                    side == change
                ):  # numbers count in a label map, whatever their colours
                    palette(path, map_, rng.integers(0, 256, 12).tolist())
                else:
                    Image.fromarray(map_.astype(np.uint8)).save(path)
        task = "semantic_segmentation"
        read = [
            scores(
                task,
                label_maps(
                    task, str(root / "gt"), str(root / side), str(images), names
                ),
            )
            for side in ("grey", change)
        ]
        assert read[0] == read[1]
        region = values == 2
        for name in ("white last", "white first"):
            (root / name).mkdir()
            white = [0, 0, 0, 255, 255, 255]
            first = name == "white first"
            palette(
                root / name / "k.png",
                region ^ first,
                white[3:] + white[:3] if first else white,
            )
        rows = [
            {
                "image": "b.png",
                "expression": "it",
                "key": "k",
                "bbox": [2, 2, 30, 20],
            }
        ]
        gt = dump(root / "refs.json", rows)
        task = "referring_segmentation"
        masks = [
            scores(task, referring(task, gt, root / name, images, boxes=True))
            for name in ("white last", "white first")
        ]
        assert masks[0] == masks[1]


@each("row order", "ids as text", "split")
def test_tables_of_outputs_and_verdicts(change: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        photos(root / "images")
        lines = [
            f"images/{stem}.png,{k + 1},say {k % 2},{rng.integers(0, 11)}"
            for k, stem in enumerate(STEMS)
        ]
        votes = [f"{k + 1},a,b,{rng.choice(['A', 'B'])},A" for k in range(6)]
        heads = (
            "output,image_id,prompt,score",
            "item,model_a,model_b,verdict,truth",
        )

        def table(name: str, head: str, rows: list[str]) -> Path:
            path = root / name
            path.write_text("\n".join([head, *rows]) + "\n")
            return path

        def otherwise(rows: list[str], cell: int) -> list[list[str]]:
            if change == "row order":
                return [[rows[k] for k in rng.permutation(len(rows))]]
            if change == "split":
                return [rows[:2], rows[2:]]
            cells = [row.split(",") for row in rows]
            for row in cells:
                row[cell] += ".0"
            return [[",".join(row) for row in cells]]

        task = "generation_t2i"

        def read(name: str, rows: list[str]) -> Any:
            return outputs(task, str(table(name, heads[0], rows)), "m", root)

        parts = otherwise(lines, 1)
        whole = scores(task, read("o.csv", lines))
        assert whole == scores(
            task, *(read(f"o{k}.csv", part) for k, part in enumerate(parts))
        )

        def answers(name: str, parts: list[list[str]]) -> list[Any]:
            paths = [
                table(f"{name}{k}.csv", heads[1], part)
                for k, part in enumerate(parts)
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done = vj.adopt([*paths], root / name, judge="j")
            run = vj.open_run(done.runs[0])
            return sorted((v.id, str(v.value)) for v in run.verdicts.values())

        assert answers("plain", [votes]) == answers(
            "other", otherwise(votes, 0)
        )
