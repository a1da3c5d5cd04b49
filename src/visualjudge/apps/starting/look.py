"""What a folder has that a study can begin with, and the command that reads it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import orjson
import yaml

from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.plurals import pluralize
from visualjudge.core.untrusted import read_file
from visualjudge.core.yamls import read_yaml

MOST_FILES = 50_000
"""Files that are looked at, in the order of their names."""
HEAD = 1 << 16
"""Bytes read of each file."""
IMAGES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff"))
TABLES = frozenset((".csv", ".tsv", ".jsonl"))
CLEAN = ("sharp", "gt", "clean")
DEGRADED = ("blurred", "blur", "input", "degraded")
"""Names of folders of images for a restoration, in lower case."""
_YOLO_LINE = re.compile(r"\d+( -?[\d.]+(e-?\d+)?){4,}\s*", re.IGNORECASE)
_BOX_VALUES = 5
"""Values of a YOLO line of a box without a confidence."""
PNG = b"\x89PNG\r\n\x1a\n"
GREY = 0
PALETTE = 3
"""Types of colour in byte 25 of a PNG file (its IHDR chunk)."""
Words = tuple[object, ...]


@dataclass(frozen=True)
class Sight:
    """Something that a folder has."""

    path: Path
    text: str
    """What it is, in words."""
    command: Words | None = None
    """What reads it, without ``visualjudge``, or None if it belongs to another."""


@dataclass(frozen=True)
class _Labels:
    path: Path
    values: int
    """Number of values in the first line."""


def look(folder: Path, is_verdicts: Callable[[list[str]], bool]) -> list[Sight]:
    """Return what ``folder`` has, the surest beginning first; empty if nothing is
    known.

    Only names and the first bytes of files are read, so a file may turn out to be
    damaged.

    Parameters
    ----------
    folder
        Folder to search, with those in it; links and hidden files are left out.
    is_verdicts
        Returns whether a table with these columns has verdicts of a judge.
    """
    files = list(islice(_files(folder), MOST_FILES))
    if own := list(_own(folder, files)):
        return own
    every = _folders(files, IMAGES)
    masks = [place for place in every if _has_masks(place, files)]
    photographs = {place: every[place] for place in every if place not in masks}
    sights = [
        *_coco(files, photographs),
        *_yolo(files, photographs),
        *_voc(files, photographs),
        *_tables(files, is_verdicts),
    ]
    places = [
        Sight(place, pluralize(count, "image"))
        for place, count in photographs.items()
    ]
    if masks and not any(sight.command for sight in sights):
        sights = [*_label_maps(masks, photographs), *sights]
    if places and not sights:
        named = {place.path.name.lower(): place.path for place in places}
        return [*places, _images_alone(places[0].path, named)]
    return [*sights, *places]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def _folders(files: list[Path], suffixes: frozenset[str]) -> dict[Path, int]:
    """Return the folders that hold files of these kinds, the fullest first."""
    counts = Counter(
        path.parent for path in files if path.suffix.lower() in suffixes
    )
    return dict(counts.most_common())


def _own(folder: Path, files: list[Path]) -> Iterator[Sight]:
    """Yield the run, dataset or data folder that the folder is or holds."""
    runs = [path.parent for path in files if path.name == "run.json"]
    datasets = [path.parent for path in files if path.name == "dataset.json"]
    data = [
        path.parent.parent
        for path in files
        if path.name.endswith("_annotations.json")
    ]
    if runs:
        yield Sight(runs[0], "a run of a judge", ("card", *runs))
    elif datasets:
        command = (
            "judge",
            datasets[0],
            "--swap",
            "--model",
            "MODEL",
            "--out",
            "run",
        )
        yield Sight(datasets[0], "a dataset of questions", command)
    elif data and all(place == data[0] for place in data):
        yield Sight(
            data[0], "a data folder", ("build", data[0], "--out", "dataset")
        )


def _head(path: Path) -> str:
    return _bytes(path).decode("utf-8", errors="replace")


def _tail(path: Path) -> str:
    return _bytes(path, end=True).decode("utf-8", errors="replace")


def _bytes(path: Path, *, end: bool = False) -> bytes:
    """Return the first or last bytes of a file; nothing if it cannot be read."""
    try:
        start = max(0, path.stat().st_size - HEAD) if end else 0
        return read_file(path, "json", start, HEAD)
    except (OSError, VisualJudgeError):
        return b""


def _coco(files: list[Path], photographs: dict[Path, int]) -> Iterator[Sight]:
    truths: list[Path] = []
    results: dict[Path, str] = {}
    for path in files:
        if path.suffix.lower() != ".json":
            continue
        text = _head(path).lstrip()
        if text.startswith("[") and '"image_id"' in text and '"score"' in text:
            results[path] = _coco_task(text)
        elif text.startswith("{") and '"annotations"' in text + _tail(path):
            truths.append(path)
    if not truths:
        return
    tasks = [*results.values()] or ["object_detection"]
    images = next(iter(photographs), "IMAGES")
    command: Words = ("import", "coco", "--task", tasks[0], "--gt", truths[0])
    command = (*command, "--images", images)
    for path, task in results.items():
        if task == tasks[0]:
            command = (*command, "--pred", path, "--source", path.stem)
    if not results:
        command = ("perturb", *command[2:])
    yield Sight(truths[0], "COCO annotations", (*command, "--out", "data"))
    yield from (Sight(path, "COCO annotations") for path in truths[1:])
    yield from (
        Sight(path, f"COCO results, {task}") for path, task in results.items()
    )


def _coco_task(text: str) -> str:
    if '"keypoints"' in text:
        return "keypoint"
    return (
        "instance_segmentation"
        if '"segmentation"' in text
        else "object_detection"
    )


def _yolo(files: list[Path], photographs: dict[Path, int]) -> Iterator[Sight]:
    folders: dict[Path, _Labels] = {}
    for path in files:
        if path.suffix.lower() == ".txt" and path.parent not in folders:
            line = _head(path).partition("\n")[0]
            if _YOLO_LINE.fullmatch(line):
                folders[path.parent] = _Labels(path.parent, len(line.split()))
    if not folders:
        return
    truth = min(
        folders.values(), key=lambda item: (item.values, len(item.path.parts))
    )
    boxes = truth.values == _BOX_VALUES
    task = "object_detection" if boxes else "instance_segmentation"
    classes = next(filter(_names_classes, files), "data.yaml")
    images = next(iter(photographs), "IMAGES")
    others = [folder.path for folder in folders.values() if folder is not truth]
    command: Words = ("--task", task, "--gt", truth.path, "--images", images)
    command = ("import", "yolo", *command, "--classes", classes)
    for path in others:
        command = (*command, "--pred", path, "--source", _model(path))
    message = "boxes" if boxes else "polygons"
    yield Sight(
        truth.path, f"YOLO labels, {message}", (*command, "--out", "data")
    )
    yield from (Sight(path, "YOLO labels of a model") for path in others)


def _model(labels: Path) -> str:
    """Return the name of a model whose labels are in a folder; ``labels`` is none."""
    return labels.parent.name if labels.name == "labels" else labels.name


def _names_classes(path: Path) -> bool:
    if path.suffix.lower() not in (".yaml", ".yml"):
        return path.name == "classes.txt"
    try:
        content = read_yaml(path)
    except (VisualJudgeError, yaml.YAMLError):
        return False
    return isinstance(content, dict) and "names" in content


def _voc(files: list[Path], photographs: dict[Path, int]) -> Iterator[Sight]:
    first = {
        path.parent: path for path in reversed(files) if path.suffix == ".xml"
    }
    folders = [
        place for place, path in first.items() if "<annotation" in _head(path)
    ]
    folders.sort()
    if not folders:
        return
    images = next(iter(photographs), "IMAGES")
    command: Words = ("import", "voc", "--gt", folders[0], "--images", images)
    for path in folders[1:]:
        command = (*command, "--pred", path, "--source", path.name)
    yield Sight(
        folders[0], "PASCAL VOC annotations", (*command, "--out", "data")
    )


def _has_masks(place: Path, files: list[Path]) -> bool:
    """Return whether a folder's first image has one channel, or indices of a
    palette."""
    path = next(
        path
        for path in files
        if path.parent == place and path.suffix.lower() in IMAGES
    )
    header = _bytes(path)[:26]
    return header.startswith(PNG) and header[-1] in (GREY, PALETTE)


def _label_maps(
    masks: list[Path], photographs: dict[Path, int]
) -> Iterator[Sight]:
    images = next(iter(photographs), "IMAGES")
    command: Words = (
        "import",
        "label-map",
        "--gt",
        masks[0],
        "--images",
        images,
    )
    command = (*command, "--classes", "classes.csv")
    for path in masks[1:]:
        command = (*command, "--pred", path, "--source", path.name)
    yield Sight(masks[0], "label maps", (*command, "--out", "data"))
    yield from (Sight(path, "label maps") for path in masks[1:])


def _tables(
    files: list[Path], is_verdicts: Callable[[list[str]], bool]
) -> Iterator[Sight]:
    for path in files:
        if path.suffix.lower() not in TABLES:
            continue
        header = _header(path)
        text = f"a table with the columns {', '.join(header)}"
        if "rater" in header:
            yield Sight(path, f"ratings of people: {text}", ("agreement", path))
        elif is_verdicts(header):
            command = ("adopt", path, "--out", "study")
            yield Sight(path, f"verdicts: {text}", command)
        else:
            yield Sight(path, text)


def _header(path: Path) -> list[str]:
    line = _head(path).partition("\n")[0].strip().lstrip("\ufeff")
    if path.suffix.lower() != ".jsonl":
        separator = "\t" if "\t" in line else ","
        return [name.strip(' "') for name in line.split(separator)]
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return []
    return [*record] if isinstance(record, dict) else []


def _images_alone(first: Path, named: dict[str, Path]) -> Sight:
    """Return controlled errors of photographs, or the import of what names tell
    apart."""
    sharp = next((named[name] for name in CLEAN if name in named), None)
    poor = next((named[name] for name in DEGRADED if name in named), None)
    if sharp and poor:
        command: Words = ("import", "pairs", "--task", "lowlevel-deblur")
        command = (*command, "--images", poor, "--gt", sharp)
        for path in named.values():
            if path not in (sharp, poor):
                command = (*command, "--pred", path, "--source", path.name)
        return Sight(sharp, "clean images", (*command, "--out", "data"))
    task = ("--task", "lowlevel-deblur")
    command = (
        "perturb",
        *task,
        "--gt",
        first,
        "--images",
        first,
        "--out",
        "data",
    )
    return Sight(
        first, "photographs alone: controlled errors test a judge", command
    )
