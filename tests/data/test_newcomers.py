"""Mistakes of newcomers are named as what they are: by the command as they would run
it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from corpus.workspace import coco_files, coco_words, dump, gray, photo
from visualjudge.cli.main import run
from visualjudge.data.importing import Imported, doubts
from visualjudge.vision.predictions import Instance, Masks
from visualjudge.vision.raster.masks import mask_from_array

Make = Callable[[Path], tuple[str, ...]]
DETECTION = coco_words("object_detection")
SIZE = 64, 48


def told(
    root: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str]:
    """The exit status of a command, and all that it prints."""
    sys.argv = [
        "visualjudge",
        *(word.replace("{}", str(root)) for word in words),
    ]
    try:
        run()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    output = capsys.readouterr()
    return status, output.out + output.err


def coco_with(change: Callable[[Any, Any], Any], *words: str) -> Make:
    def make(root: Path) -> tuple[str, ...]:
        coco_files(lambda gt, pred, _: change(gt, pred))(root)
        return words or DETECTION

    return make


def each(change: Callable[[dict[str, Any]], Any]) -> Callable[[Any, Any], None]:
    """Change every prediction."""
    return lambda _, pred: [change(row) for row in pred] and None


def without_pred(root: Path) -> tuple[str, ...]:
    coco_files(lambda *_: None)(root)
    at = DETECTION.index("--pred")
    return DETECTION[:at] + DETECTION[at + 2 :]


def depths(
    change: Callable[[Any], Any], *more: str, suffix: str = ".npy"
) -> Make:
    """Two depth maps in millimetres, and predictions made of metres."""

    def make(root: Path) -> tuple[str, ...]:
        (root / "pred").mkdir()
        for k in range(2):
            photo(root / f"rgb/{k}.png", (SIZE[1], SIZE[0]), seed=k)
            metres = np.random.default_rng(k).uniform(1, 9, SIZE)
            gray(root / f"gt/{k}.png", (1000 * metres).astype(np.uint16))
            if suffix == ".npy":
                np.save(root / f"pred/{k}.npy", change(metres))
            else:
                gray(root / f"pred/{k}{suffix}", change(metres))
        sides = (
            "--gt",
            "{}/gt",
            "--pred",
            "{}/pred",
            "--images",
            "{}/rgb",
            "--source",
            "m",
        )
        return ("import", "depth", *sides, "--out", "{}/data", *more)

    return make


def exchanged_depths(root: Path) -> tuple[str, ...]:
    words = depths(lambda metres: metres, "--gt-scale", "1/1000")(root)
    files = [root / f"pred/{k}.npy" for k in range(2)]
    maps = [np.load(file) for file in files]
    for file, values in zip(files, reversed(maps), strict=True):
        np.save(file, values)
    return words


def label_maps(
    suffix: str, turn: Callable[[Any], Any] = lambda values: values
) -> Make:
    def make(root: Path) -> tuple[str, ...]:
        (root / "classes.txt").write_text("none\nroad\ncar\n")
        values = np.ones(SIZE, np.uint8)
        values[:, 20:] = 2
        photo(root / "rgb/a.png", (SIZE[1], SIZE[0]))
        gray(root / "gt/a.png", values)
        gray(root / f"pred/a{suffix}", turn(values))
        sides = (
            "--gt",
            "{}/gt",
            "--pred",
            "{}/pred",
            "--images",
            "{}/rgb",
            "--source",
            "m",
        )
        return (
            "import",
            "label-map",
            *sides,
            "--classes",
            "{}/classes.txt",
            "--out",
            "{}/data",
        )

    return make


def pairs(pred: str, gt: str, images: str, *more: str) -> Make:
    def make(root: Path) -> tuple[str, ...]:
        photo(root / "low/a.png", (20, 16))
        photo(root / "high/a.png", (80, 64))
        photo(root / "made/a.png", (80, 64), seed=1)
        (root / "scores.csv").write_text("file,score\na,3\n")
        task = (
            "--task",
            "lowlevel-super-resolution",
            "--source",
            "m",
            "--out",
            "{}/data",
        )
        truth = ("--gt", f"{{}}/{gt}") if gt else ()
        named = ("--pred", f"{{}}/{pred}", "--images", f"{{}}/{images}")
        return ("import", "pairs", *named, *truth, *task, *more)

    return make


def ratings(text: str) -> Make:
    def make(root: Path) -> tuple[str, ...]:
        for k in range(3):
            photo(root / f"{k}.png", seed=k)
        (root / "t.csv").write_text(text)
        words = (
            "--task",
            "generation_t2i",
            "--table",
            "{}/t.csv",
            "--root",
            "{}",
        )
        return (
            "import",
            "outputs",
            *words,
            "--source",
            "m",
            "--out",
            "{}/data",
        )

    return make


def verdicts(text: str | bytes, *more: str, name: str = "v.csv") -> Make:
    def make(root: Path) -> tuple[str, ...]:
        (root / name).write_bytes(
            text if isinstance(text, bytes) else text.encode()
        )
        return ("adopt", f"{{}}/{name}", "--out", "{}/study", *more)

    return make


def merged_cells(root: Path) -> tuple[str, ...]:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["item", "judge", "verdict", "truth"], ["a", "gpt", "A", "A"]):
        book.active.append(row)
    book.active.append(["b", None, "B", "A"])
    book.save(root / "v.xlsx")
    return ("adopt", "{}/v.xlsx", "--out", "{}/study")


def two_channels(root: Path) -> tuple[str, ...]:
    photo(root / "images/a.png", (4, 3))
    for folder, third in (("gt", 1), ("pred", 0)):
        pixels = np.full((3, 4, 3), (5, 1, third), np.uint8)
        (root / folder).mkdir()
        Image.fromarray(pixels).save(root / folder / "a.png")
    segment = {"id": 5 + 256 + 65536, "category_id": 1}
    rows = [{"image_id": 7, "file_name": "a.png", "segments_info": [segment]}]
    image = {"id": 7, "file_name": "a.png", "width": 4, "height": 3}
    categories = [{"id": 1, "name": "sky", "isthing": 0}]
    for name in ("gt", "pred"):
        dump(
            root / f"{name}.json",
            {"images": [image], "categories": categories, "annotations": rows},
        )
    return coco_words(
        "semantic_segmentation", "--gt-pngs", "{}/gt", "--pred-pngs", "{}/pred"
    )


def joined_as_text(root: Path) -> tuple[str, ...]:
    """Corners whose far side is the near one and the width, written one after the
    other."""
    return coco_with(each(lambda row: row.update(bbox=[1, 1, 400, 300])))(root)


def lines(header: str, *rows: str) -> str:
    return "\n".join((header, *rows)) + "\n"


SCORES = tuple(f"q{k},{k % 5 + 1},{(k * 3) % 5 + 1}" for k in range(10))
SHARES = tuple(f"q{k},{k / 10},{1 - k / 10}" for k in range(10))
PAIRS = ("q1,A,B", "q2,B,B")
OUT = ("--source", "m", "--out", "{}/data")
METRES = "contains whole numbers up to"
MISTAKES: dict[str, tuple[Make, int, str]] = {
    "a file that the images lack": (
        coco_with(each(lambda row: row.update(image_id="c.png"))),
        1,
        "must be the id of an image of gt.json, such as 7, got 'c.png'",
    ),
    "results as --gt": (
        coco_with(lambda gt, pred: (pred, gt)),
        1,
        "gt.json: must be a COCO ground truth: an object with the lists 'images' and "
        "'annotations', got an array, as in a results file; --gt and --pred seem to be "
        "swapped",
    ),
    "no --pred": (
        without_pred,
        0,
        "no --pred: the ground truth itself was imported",
    ),
    "a confidence of another name": (
        coco_with(each(lambda row: row.update(confidence=row.pop("score")))),
        0,
        "need one for each (a confidence of another name is not read)",
    ),
    "a box of another name": (
        coco_with(each(lambda row: row.update(box=row.pop("bbox")))),
        1,
        "bbox: must be [x, y, width, height], four finite numbers, got None",
    ),
    "a threshold above all": (
        coco_with(lambda gt, pred: None, *DETECTION, "--min-score", "2"),
        2,
        "--min-score must leave a prediction, got 2.0; the highest confidence is 0.9",
    ),
    "results as JSON lines": (
        lambda root: (
            coco_with(lambda gt, pred: None)(root),
            (root / "pred.json").write_text('{"a": 1}\n{"a": 2}\n'),
            DETECTION,
        )[-1],
        1,
        "pred.json: line 2: is not JSON: trailing characters; JSON lines must become one array",
    ),
    "boxes far beyond their image": (
        joined_as_text,
        0,
        "pred.json: image a: a prediction extends beyond its image",
    ),
    "a two-channel panoptic PNG": (
        two_channels,
        1,
        "looks like a two-channel PNG",
    ),
    "a forgotten --gt-scale": (depths(lambda metres: metres), 0, f"{METRES} 8"),
    "millimetres as predictions": (
        depths(
            lambda metres: (1000 * metres).astype(np.uint16),
            "--gt-scale",
            "1/1000",
            suffix=".png",
        ),
        0,
        "--pred-scale sets their unit",
    ),
    "two disparities": (
        depths(lambda metres: 1 / metres, "--gt-scale", "1/1000"),
        0,
        "it looks as if values are disparities",
    ),
    "two predictions exchanged": (
        exchanged_depths,
        0,
        "it looks as if the two predictions are exchanged",
    ),
    "a depth map on its side": (
        depths(lambda metres: metres.T, "--gt-scale", "1/1000"),
        1,
        "are height and width swapped, or is it of",
    ),
    "a JPEG of labels": (
        label_maps(".jpg"),
        1,
        "got a JPEG, which changes the values of pixels",
    ),
    "labels on their side": (
        label_maps(".png", lambda values: values.T),
        1,
        "are height and width swapped, or is it of",
    ),
    "the degraded image as --pred": (
        pairs("low", "high", "low"),
        1,
        "a.png is the degraded image and",
    ),
    "the clean image as --images": (
        pairs("made", "low", "high"),
        1,
        "--gt and --images seem to be swapped",
    ),
    "ratings from 0 to 1": (
        ratings("output,prompt,score\n0.png,a,0.5\n1.png,a,0.9\n"),
        0,
        "score: all 2 values are numbers from 0 to 1, and were read as ranging from 0 "
        "to 10",
    ),
    "verdicts from 1 to 5": (
        verdicts(lines("item,score,human_score", *SCORES)),
        0,
        "v.csv: score: all 10 values are whole or half numbers from 1 to 5",
    ),
    "verdicts from 0 to 1": (
        verdicts(lines("item,score,human_score", *SHARES)),
        0,
        "human_score: all 10 values are numbers from 0 to 1",
    ),
    "dates as verdicts": (
        verdicts(lines("item,score,human_score", "q1,2024-01-01,7", "q2,3,8")),
        1,
        "v.csv: row 2: score must be a number, got '2024-01-01'",
    ),
    "no verdict at all": (
        verdicts(lines("item,verdict,truth", "q1,,A", "q2,,B")),
        1,
        "v.csv: verdict: no row has a verdict",
    ),
    "one column for both": (
        verdicts(
            lines("item,verdict,truth", *PAIRS),
            *("--column", "truth=truth", "--column", "verdict=truth"),
        ),
        2,
        "verdict and truth must be two columns, got truth",
    ),
    "merged cells": (
        merged_cells,
        1,
        "v.xlsx: row 3: judge must be given in all rows or in none",
    ),
    "a table of another code page": (
        verdicts("item,verdict,truth\né,A,B\n".encode("latin-1")),
        1,
        "v.csv: must be UTF-8",
    ),
    "a folder of verdicts": (
        lambda root: ("adopt", "{}", "--out", "{}/study"),
        2,
        "must be a file that ends in .csv",
    ),
    "a file as the folder of XML": (
        lambda root: (
            coco_files(lambda *_: None)(root),
            (
                "import",
                "voc",
                "--gt",
                "{}/gt.json",
                "--images",
                "{}/images",
                *OUT,
            ),
        )[-1],
        2,
        "gt.json: must be a folder, got a file",
    ),
    "an environment variable that is not set": (
        lambda root: (
            (root / "c.yaml").write_text(
                "_base_: {x: '${env:NOT_SET_HERE}/x.yaml'}\n"
            ),
            (
                "pipeline",
                "{}/c.yaml",
                "--input",
                "{}/c.yaml",
                "--out",
                "{}/o.jsonl",
            ),
        )[-1],
        2,
        "_base_.x: the environment variable NOT_SET_HERE is not set",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    make, status, message = MISTAKES[name]
    found, output = told(tmp_path, capsys, *make(tmp_path))
    assert message in " ".join(output.split())
    assert found == status


def test_whole_numbers_written_as_floats_are_ids(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    words = coco_with(each(lambda row: row.update(image_id=7.0)))(tmp_path)
    assert told(tmp_path, capsys, *words)[0] == 0
    words = coco_with(each(lambda row: row.update(image_id=7.5)))(tmp_path)
    status, output = told(tmp_path, capsys, *words, "--replace")
    assert (
        status == 1
        and "image_id: must be a whole number or a string, got 7.5" in output
    )


def test_names_of_2014_are_found_without_their_prefix(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    coco_files(
        lambda gt, *_: gt["images"][0].update(file_name="COCO_val2014_a.png")
    )(tmp_path)
    assert told(tmp_path, capsys, *DETECTION)[0] == 0


def test_one_source_is_nothing_to_compare(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    coco_files(lambda *_: None)(tmp_path)
    told(tmp_path, capsys, *DETECTION)
    status, output = told(
        tmp_path, capsys, "build", "{}/data", "--out", "{}/dataset"
    )
    assert status == 0 and "nothing is compared" in output
    shutil.copy(tmp_path / "gt.json", tmp_path / "pred.json")
    told(
        tmp_path,
        capsys,
        *(word if word != "m" else "other" for word in DETECTION),
    )
    _, output = told(tmp_path, capsys, "build", "{}/data", "--out", "{}/second")
    assert "nothing is compared" not in output


@pytest.mark.parametrize(
    "make", [coco_with(lambda *_: None), depths(lambda metres: metres * 1.1)]
)
def test_one_file_given_as_two_sources_is_named(
    make: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    words = make(tmp_path)
    assert "same predictions" not in told(tmp_path, capsys, *words)[1]
    status, output = told(
        tmp_path, capsys, *(word if word != "m" else "twin" for word in words)
    )
    images = "all 2 images" if "depth" in words else "all 1 image"
    equal = f"sources 'm' and 'twin' have the same predictions on {images}; import one"
    assert status == 0 and f"warning: {equal}" in output
    for command, said in (
        (("describe", "{}/data"), "no two predictions can be compared: "),
        (("plan", "{}/data"), "no two predictions can be compared: "),
        (("build", "{}/data", "--out", "{}/dataset"), "nothing is compared: "),
        (
            (
                "build",
                "{}/data",
                "--out",
                "{}/d",
                "--subset",
                "encoding_analysis",
            ),
            "can be asked: ",
        ),
    ):
        assert f"{said}{equal}" in told(tmp_path, capsys, *command)[1]


def test_a_third_source_does_not_hide_two_equal_ones(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    words = coco_with(lambda *_: None)(tmp_path)
    for name in ("m", "twin"):
        told(
            tmp_path, capsys, *(word if word != "m" else name for word in words)
        )
    shutil.copy(tmp_path / "gt.json", tmp_path / "pred.json")
    told(
        tmp_path, capsys, *(word if word != "m" else "other" for word in words)
    )
    _, output = told(tmp_path, capsys, "describe", "{}/data")
    assert "warning: sources 'm' and 'twin' have the same predictions" in output
    assert "next: visualjudge plan" in output


@pytest.mark.parametrize(
    ("marked", "told"),
    [(False, "no prediction marks anything"), (True, "no common")],
)
def test_masks_that_are_all_empty_are_told(marked: bool, told: str) -> None:
    masks = np.zeros((2, *SIZE), bool)
    masks[0, :4, :4] = True
    masks[1, 9:, 9:] = marked
    truth, result = (
        Masks(SIZE, (Instance("the cat", mask_from_array(mask)),))
        for mask in masks
    )
    done = Imported(annotations=1, tried=[(result, truth)])
    assert told in next(doubts("referring_segmentation", done))
