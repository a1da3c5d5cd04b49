"""Formats of one file an image: VOC, YOLO, label maps, depth maps, image pairs, tables
of outputs, expressions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corpus.workspace import (
    HEIGHT,
    WIDTH,
    Case,
    Json,
    dump,
    gray,
    photo,
    region,
    rle,
    truncated,
)

Change = Callable[[Path], Any]


def table_of(
    format_name: str,
    make: Callable[[Path], None],
    words: tuple[str, ...],
    changes: dict[str, Change],
) -> Any:
    """A case for each change, made after the right files are written."""
    for name, change in changes.items():

        def broken(root: Path, change: Change = change) -> None:
            make(root)
            change(root)

        yield Case(f"{format_name}: {name}", broken, words)


def cases() -> Iterator[Case]:
    yield from table_of(
        "voc", voc, words("voc", "Annotations", "pred", "images"), VOC
    )
    yield from table_of(
        "yolo",
        yolo,
        (*words("yolo", "labels", "pred", "images"), *YOLO_MORE),
        YOLO,
    )
    maps = (
        *words("label-map", "gt", "pred", "images"),
        "--classes",
        "{}/classes.csv",
    )
    yield from table_of("label-map", label_map, maps, LABEL_MAP)
    yield from table_of(
        "depth", depth, words("depth", "gt", "pred", "images"), DEPTH
    )
    yield from table_of(
        "pairs",
        pairs,
        (*words("pairs", "gt", "pred", "images"), "--task", "lowlevel-deblur"),
        PAIRS,
    )
    yield from table_of("outputs", outputs, OUTPUT_WORDS, OUTPUTS)
    yield from table_of(
        "referring",
        referring,
        words("referring", "gt.json", "pred.json", "images"),
        REFERRING,
    )
    plain = words("depth", "gt", "pred", "images")
    for name, more in {
        "scale is a text": "deep",
        "scale is nought": "0",
        "scale divides by nought": "1/0",
    }.items():
        yield Case(
            f"depth options: {name}", depth, (*plain, "--gt-scale", more)
        )
    yield Case(
        "depth options: align is unknown", depth, (*plain, "--align", "best")
    )
    yield Case(
        "depth options: two stars",
        depth,
        tuple("{}/*/*.npy" if w == "{}/gt" else w for w in plain),
    )
    yield Case(
        "outputs options: score range is turned",
        outputs,
        (*OUTPUT_WORDS, "--score-range", "5", "1"),
    )
    yield Case(
        "outputs options: mask-white is unknown",
        outputs,
        (*OUTPUT_WORDS, "--mask-white", "gray"),
    )
    yield Case(
        "outputs options: no such column",
        outputs,
        (*OUTPUT_WORDS, "--score-column", "stars"),
    )
    no_table = tuple(
        "{}/none.csv" if word == "{}/table.csv" else word
        for word in OUTPUT_WORDS
    )
    yield Case("outputs options: no such table", outputs, no_table)
    yield Case(
        "outputs options: an editing table without sources",
        outputs,
        editing("generation_editing"),
    )
    yield Case(
        "outputs options: a task with a metric", outputs, editing("keypoint")
    )


def words(command: str, gt: str, pred: str, images: str) -> tuple[str, ...]:
    return (
        "import",
        command,
        "--gt",
        "{}/" + gt,
        "--pred",
        "{}/" + pred,
        "--images",
        "{}/" + images,
        "--source",
        "m",
        "--out",
        "{}/data",
    )


OUTPUT_WORDS = (
    "import",
    "outputs",
    "--task",
    "generation_t2i",
    "--table",
    "{}/table.csv",
    "--root",
    "{}",
    "--source",
    "m",
    "--out",
    "{}/data",
)


def editing(task: str) -> tuple[str, ...]:
    return tuple(
        task if word == "generation_t2i" else word for word in OUTPUT_WORDS
    )


# ---------------------------------------------------------------- VOC

BOX = (
    "<bndbox><xmin>2</xmin><ymin>2</ymin><xmax>9</xmax><ymax>8</ymax></bndbox>"
)
XML = (
    "<annotation><filename>a.png</filename><size><width>20</width><height>10</height></size>"
    f"<object><name>cat</name>{BOX}</object></annotation>"
)


def voc(root: Path) -> None:
    photo(root / "images/a.png")
    dump(root / "Annotations/a.xml", XML)
    dump(root / "pred/comp_det_test_cat.txt", "a 0.9 2 2 9 8\n")


def xml(old: str, new: str) -> Change:
    return lambda root: dump(root / "Annotations/a.xml", XML.replace(old, new))


def line(text: str) -> Change:
    return lambda root: dump(root / "pred/comp_det_test_cat.txt", text)


VOC: dict[str, Change] = {
    "not XML": xml("</annotation>", ""),
    "declares entities": xml(
        "<annotation>", '<!DOCTYPE a [<!ENTITY x "y">]><annotation>'
    ),
    "object without name": xml("<name>cat</name>", ""),
    "object without box": xml(BOX, ""),
    "xmax is a text": xml("<xmax>9</xmax>", "<xmax>wide</xmax>"),
    "xmax before xmin": xml("<xmax>9</xmax>", "<xmax>1</xmax>"),
    "ymin is infinite": xml("<ymin>2</ymin>", "<ymin>inf</ymin>"),
    "width is another": xml("<width>20</width>", "<width>21</width>"),
    "image is not there": lambda r: (r / "images/a.png").unlink(),
    "image is cut short": lambda r: truncated(r / "images/a.png"),
    "no XML at all": lambda r: (r / "Annotations/a.xml").unlink(),
    "results line is short": line("a 0.9 2 2 9\n"),
    "results line has a text": line("a high 2 2 9 8\n"),
    "results box is turned": line("a 0.9 9 8 2 2\n"),
    "results of an unknown image": line("z 0.9 2 2 9 8\n"),
    "results folder is empty": lambda r: (
        r / "pred/comp_det_test_cat.txt"
    ).unlink(),
    "no such images folder": lambda r: (r / "images").rename(r / "photos"),
}

# ---------------------------------------------------------------- YOLO

YOLO_MORE = ("--task", "object_detection", "--classes", "{}/names.txt")


def yolo(root: Path) -> None:
    photo(root / "images/a.png")
    dump(root / "labels/a.txt", "0 0.3 0.4 0.4 0.6\n")
    dump(root / "pred/a.txt", "0 0.3 0.4 0.4 0.6 0.9\n")
    dump(root / "names.txt", "cat\ndog\n")


def label(text: str) -> Change:
    return lambda root: dump(root / "labels/a.txt", text)


YOLO: dict[str, Change] = {
    "class is not named": label("7 0.3 0.4 0.4 0.6\n"),
    "class is a fraction": label("0.5 0.3 0.4 0.4 0.6\n"),
    "class is a text": label("cat 0.3 0.4 0.4 0.6\n"),
    "class is NaN": label("nan 0.3 0.4 0.4 0.6\n"),
    "class is negative": label("-1 0.3 0.4 0.4 0.6\n"),
    "three numbers": label("0 0.3 0.4 0.4\n"),
    "two numbers": label("0 0.3\n"),
    "class alone": label("0\n"),
    "coordinates in pixels": label("0 6 4 8 6\n"),
    "coordinate is negative": label("0 -0.3 0.4 0.4 0.6\n"),
    "coordinate is NaN": label("0 nan 0.4 0.4 0.6\n"),
    "coordinate is infinite": label("0 inf 0.4 0.4 0.6\n"),
    "numbers parted by commas": label("0,0.3,0.4,0.4,0.6\n"),
    "label file without image": lambda r: dump(
        r / "labels/b.txt", "0 0.3 0.4 0.4 0.6\n"
    ),
    "predictions in pixels": lambda r: dump(
        r / "pred/a.txt", "0 6 4 8 6 0.9\n"
    ),
    "label file is not text": lambda r: (r / "labels/a.txt").write_bytes(
        b"\xff\xfe\x00"
    ),
    "image is cut short": lambda r: truncated(r / "images/a.png"),
    "no such classes": lambda r: (r / "names.txt").unlink(),
    "no such labels": lambda r: (r / "labels").rename(r / "elsewhere"),
    "no such images": lambda r: (r / "images").rename(r / "elsewhere"),
}

# ---------------------------------------------------------------- label maps


def label_map(root: Path) -> None:
    photo(root / "images/a.png")
    gray(root / "gt/a.png", region() + np.uint8(1))
    gray(root / "pred/a.png", region(3, 3, 9, 9) + np.uint8(1))
    dump(root / "classes.csv", "id,name\n1,road\n2,car\n")


LABEL_MAP: dict[str, Change] = {
    "value is not in the table": lambda r: gray(
        r / "pred/a.png", region() * np.uint8(7)
    ),
    "map is of another size": lambda r: gray(
        r / "pred/a.png", np.ones((5, 10), np.uint8)
    ),
    "map is a photograph": lambda r: photo(r / "pred/a.png"),
    "map is a text": lambda r: dump(r / "pred/a.png", "no"),
    "map is cut short": lambda r: truncated(r / "gt/a.png"),
    "prediction is missing": lambda r: (r / "pred/a.png").rename(
        r / "pred/b.png"
    ),
    "truth is missing": lambda r: (r / "gt/a.png").rename(r / "gt/b.png"),
    "image is cut short": lambda r: truncated(r / "images/a.png"),
    "table without names": lambda r: dump(r / "classes.csv", "id\n1\n"),
    "table id is a text": lambda r: dump(
        r / "classes.csv", "id,name\none,road\n"
    ),
    "table id occurs twice": lambda r: dump(
        r / "classes.csv", "id,name\n1,road\n1,car\n"
    ),
    "table name is empty": lambda r: dump(r / "classes.csv", "id,name\n1,\n"),
    "table row is short": lambda r: dump(r / "classes.csv", "id,name\n1\n"),
    "no such table": lambda r: (r / "classes.csv").unlink(),
    "no such folder": lambda r: (r / "gt").rename(r / "truth"),
}

# ---------------------------------------------------------------- depth


def depth(root: Path) -> None:
    photo(root / "images/a.png")
    values = np.linspace(1, 5, WIDTH * HEIGHT).reshape(HEIGHT, WIDTH)
    for name in ("gt", "pred"):
        (root / name).mkdir()
        np.save(root / name / "a.npy", values)


def in_place_of(values: Any, name: str = "a.npy") -> Change:
    def change(root: Path) -> None:
        (root / "pred/a.npy").unlink()
        if name.endswith(".npy"):
            np.save(root / "pred" / name, values)
        else:
            gray(root / "pred" / name, values)

    return change


def content(data: bytes, name: str = "a.npy") -> Change:
    def change(root: Path) -> None:
        (root / "pred/a.npy").unlink()
        (root / "pred" / name).write_bytes(data)

    return change


DEPTH: dict[str, Change] = {
    "a colour-mapped image": in_place_of(
        np.arange(600, dtype=np.uint8).reshape(HEIGHT, WIDTH, 3), "a.png"
    ),
    "map is of another size": in_place_of(np.ones((5, 10))),
    "map has three axes": in_place_of(np.ones((HEIGHT, WIDTH, 2))),
    "map is nothing but noughts": in_place_of(np.zeros((HEIGHT, WIDTH))),
    "map is nothing but NaN": in_place_of(np.full((HEIGHT, WIDTH), np.nan)),
    "map is a text array": in_place_of(np.full((HEIGHT, WIDTH), "far")),
    "map holds objects": in_place_of(np.array([[{"a": 1}]], dtype=object)),
    "npy is cut short": content(b"\x93NUMPY\x01\x00"),
    "npy is empty": content(b""),
    "npy is a text": content(b"far away"),
    "npz is a text": content(b"far away", "a.npz"),
    "pfm of three channels": content(b"PF\n20 10\n-1\n" + bytes(2400), "a.pfm"),
    "pfm is cut short": content(b"Pf\n20 10\n-1\n" + bytes(20), "a.pfm"),
    "png is a text": content(b"far", "a.png"),
    "prediction is missing": in_place_of(np.ones((HEIGHT, WIDTH)), "b.npy"),
    "two maps of one name": lambda r: gray(
        r / "pred/a.png", np.ones((HEIGHT, WIDTH), np.uint16)
    ),
    "image is cut short": lambda r: truncated(r / "images/a.png"),
}

# ---------------------------------------------------------------- restorations


def pairs(root: Path) -> None:
    for k, name in enumerate(("images", "gt", "pred")):
        photo(root / name / "a.png", seed=k)


PAIRS: dict[str, Change] = {
    "restored is of another size": lambda r: photo(r / "pred/a.png", (16, 8)),
    "restored is cut short": lambda r: truncated(r / "pred/a.png"),
    "clean is a text": lambda r: dump(r / "gt/a.png", "clean"),
    "degraded is cut short": lambda r: truncated(r / "images/a.png"),
    "restored is missing": lambda r: (r / "pred/a.png").rename(
        r / "pred/b.png"
    ),
    "clean is missing": lambda r: (r / "gt/a.png").rename(r / "gt/b.png"),
    "no such folder": lambda r: (r / "pred").rename(r / "out"),
}

# ---------------------------------------------------------------- tables of outputs


def outputs(root: Path) -> None:
    photo(root / "o.png")
    dump(root / "table.csv", "output,score,prompt\no.png,7,a cat\n")


def rows(text: str) -> Change:
    return lambda root: dump(root / "table.csv", text)


OUTPUTS: dict[str, Change] = {
    "output is not there": rows("output,score,prompt\nx.png,7,a cat\n"),
    "output is empty": rows("output,score,prompt\n,7,a cat\n"),
    "no output column": rows("file,score,prompt\no.png,7,a cat\n"),
    "no score column": rows("output,prompt\no.png,a cat\n"),
    "score is a text": rows("output,score,prompt\no.png,good,a cat\n"),
    "score is empty": rows("output,score,prompt\no.png,,a cat\n"),
    "score is NaN": rows("output,score,prompt\no.png,nan,a cat\n"),
    "score is out of range": rows("output,score,prompt\no.png,77,a cat\n"),
    "neither image nor prompt": rows("output,score\no.png,7\n"),
    "row is short": rows("output,score,prompt\no.png,7\n"),
    "row is long": rows("output,score,prompt\no.png,7,a cat,more\n"),
    "output is a text": lambda r: dump(r / "o.png", "no"),
    "output is cut short": lambda r: truncated(r / "o.png"),
    "image is not there": rows(
        "output,score,prompt,image\no.png,7,a cat,x.png\n"
    ),
    "table is not text": lambda r: (r / "table.csv").write_bytes(
        b"\xff\xfe\x00"
    ),
}

# ---------------------------------------------------------------- referring expressions


def expressions() -> Json:
    return [
        {
            "image": "a.png",
            "expression": "the cat",
            "key": "1",
            "segmentation": rle(region()),
        }
    ]


def referring(root: Path) -> None:
    photo(root / "images/a.png")
    dump(root / "gt.json", expressions())
    dump(
        root / "pred.json",
        [{"key": "1", "segmentation": rle(region(3, 3, 9, 9))}],
    )


def one(**fields: Any) -> Change:
    return lambda root: dump(root / "gt.json", [{**expressions()[0], **fields}])


def predicted(text: Any) -> Change:
    return lambda root: dump(
        root / "pred.json", text if isinstance(text, str) else json.dumps(text)
    )


REFERRING: dict[str, Change] = {
    "expression is empty": one(expression=" "),
    "image is not there": one(image="b.png"),
    "region is missing": one(segmentation=None),
    "region is of another size": one(segmentation=rle(np.ones((4, 4)))),
    "region is a number": one(segmentation=3),
    "objects is a number": lambda r: dump(
        r / "gt.json", [{"image": "a.png", "objects": 3}]
    ),
    "expressions is a text": lambda r: dump(
        r / "gt.json", [{"image": "a.png", "objects": [{"expressions": "cat"}]}]
    ),
    "row is a text": lambda r: dump(r / "gt.json", ["the cat"]),
    "prediction is missing": predicted([]),
    "prediction without key": predicted([{"segmentation": rle(region())}]),
    "prediction is of another size": predicted(
        [{"key": "1", "segmentation": rle(np.ones((4, 4)))}]
    ),
    "prediction is not JSON": predicted("["),
    "image is cut short": lambda r: truncated(r / "images/a.png"),
    "no such images folder": lambda r: (r / "images").rename(r / "photos"),
}
