"""``visualjudge init``: what a folder has that a study can begin with, and the command
that reads it. The environment is checked in ``doctor.py``; files are read in
``visualjudge.formats``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import orjson
import yaml

from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.plurals import pluralize
from visualjudge.core.untrusted import read_file
from visualjudge.core.workbooks import workbook_rows
from visualjudge.core.yamls import read_yaml

MOST_FILES = 50_000
"""Files that are looked at, in the order of their names."""
HEAD = 1 << 16
"""Bytes read of each file."""
IMAGES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff"))
TABLES = frozenset((".csv", ".tsv", ".jsonl", ".xlsx"))
IMAGE_FOLDER = {"file_name": "output", "text": "prompt"}
"""Columns of a ``metadata`` table of Hugging Face, and what they are called here."""
COCO_TASKS = {
    '"keypoints"': "keypoint",
    '"segmentation"': "instance_segmentation",
    "": "object_detection",
}
"""Task of results by a field of theirs, the first that is there."""
MAPS = frozenset((".npy", ".npz", ".pfm"))
CLEAN = ("sharp", "gt", "clean", "hq", "hr", "target", "groundtruth")
DEGRADED = {
    "blurred": "lowlevel-deblur",
    "blur": "lowlevel-deblur",
    "rainy": "lowlevel-derain",
    "rain": "lowlevel-derain",
    "snowy": "lowlevel-desnow",
    "snow": "lowlevel-desnow",
    "noisy": "lowlevel-denoise",
    "lr": "lowlevel-super-resolution",
    "lq": "lowlevel-restore",
    "input": "lowlevel-restore",
    "degraded": "lowlevel-restore",
}
"""Names of folders of images for a restoration, in lower case; its task."""
_SPLIT = re.compile(
    r"(train|training|val|valid|validation|dev|test)(\d{4})?", re.IGNORECASE
)
"""Names of folders with a part of a data set."""
_TRUTH = re.compile("gt|truth|annotation", re.IGNORECASE)
"""A part of the name of a folder with ground truth."""
_YOLO_LINE = re.compile(r"\d+( -?[\d.]+(e-?\d+)?){4,}\s*", re.IGNORECASE)
_BOX_VALUES = 5
"""Values of a YOLO line of a box without a confidence."""
PNG = b"\x89PNG\r\n\x1a\n"
GREY = 0
PALETTE = 3
"""Types of colour in byte 25 of a PNG file (its IHDR chunk); byte 24 is its depth."""
DEEP = b"\x10"
Words = tuple[object, ...]


SHAPES = ("shapes", "--task", "object_detection", "--format")
TOOLS: tuple[tuple[str, str, Words, bool], ...] = (
    (
        '"from_name"',
        "annotations of Label Studio",
        (*SHAPES, "label-studio"),
        False,
    ),
    ('"label_id"', "annotations of CVAT (Datumaro)", (*SHAPES, "cvat"), False),
    ('"shapes"', "annotations of labelme", (*SHAPES, "labelme"), True),
    (
        "<annotations>",
        "annotations of CVAT; export them as Datumaro or COCO",
        (),
        False,
    ),
    (
        '"_cls"',
        "samples of FiftyOne; export them as fiftyone.types.COCODetectionDataset, the "
        "labels of each model too",
        (),
        False,
    ),
    (
        "PAR1",
        "Parquet files of Hugging Face",
        ("hugging-face", "--task", "object_detection"),
        True,
    ),
    ("PK\x03\x04", "an archive; unpack it", (), False),
)
"""The mark at the beginning of what a tool writes; what it is; the importer with its
options, or none if it is to be written in another form; whether it reads a folder."""
TOOL_SUFFIXES = frozenset((".json", ".xml", ".parquet", ".zip"))


@dataclass(frozen=True)
class Sight:
    """Something that a folder has."""

    path: Path
    text: str
    """What it is, in words."""
    command: Words | None = None
    """What reads it, without ``visualjudge``, or None if it belongs to another."""


def look(folder: Path, is_verdicts: Callable[[list[str]], bool]) -> list[Sight]:
    """Return what ``folder`` has, the surest beginning first; empty if nothing is
    known.

    Only names and the first bytes of files are read, so a file may turn out to be
    damaged.

    Parameters
    ----------
    folder
        Folder to search, with those in it, or a file; links and hidden files are left
        out.
    is_verdicts
        Returns whether a table with these columns has verdicts of a judge.
    """
    files = [folder]
    if folder.is_dir():
        files = list(islice(_files(folder), MOST_FILES))
    if own := list(_own(folder, files)):
        return own
    every = _folders(files, IMAGES)
    headers = _headers(files)
    maps = [  # of one channel, or of indices of a palette
        place
        for place in every
        if headers[place].startswith(PNG)
        and headers[place][-1] in (GREY, PALETTE)
    ]
    deep = [place for place in maps if headers[place][24:25] == DEEP]
    masks = [place for place in maps if place not in deep]
    deep += _folders(files, MAPS)
    photographs = {place: every[place] for place in every if place not in maps}
    panoptic = [*_panoptic(files, photographs)]
    images = [*photographs]
    sights = [
        *(panoptic or _coco(files, images)),
        *_yolo(files, images),
        *_voc(files, images),
        *_tables(files, is_verdicts),
        *_of_tools(files, images),
    ]
    places = [
        Sight(place, pluralize(count, "image"))
        for place, count in photographs.items()
    ]
    if not any(sight.command for sight in sights):
        tables = (
            path
            for path in files
            if path.suffix in (".csv", ".tsv") and "class" in path.stem
        )
        classes = next(tables, Path("classes.csv"))
        sights = [
            *_maps(DEPTH, deep, images),
            *_maps(LABELS, masks, images, classes=classes),
            *sights,
        ]
    if places and not sights:
        named = (
            {place.path.name.lower(): place.path for place in places}
            if len(places) > 1
            else _endings(places[0].path)
        )
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


def _coco(files: list[Path], images: Sequence[Path]) -> Iterator[Sight]:
    truths: list[Path] = []
    results: dict[Path, str] = {}
    for path in files:
        if path.suffix.lower() != ".json":
            continue
        text = _head(path).lstrip()
        if text.startswith("[") and '"image_id"' in text and '"score"' in text:
            results[path] = next(
                task for word, task in COCO_TASKS.items() if word in text
            )
        elif text.startswith("{"):
            text += _tail(path)
            if (
                all(f'"{name}"' in text for name in ("images", "annotations"))
                and '"caption"' not in text
            ):
                truths.append(path)
    if not truths:
        return
    task = next(iter(results.values()), "object_detection")
    models = [path for path, own in results.items() if own == task]
    truths.sort(key=_training)
    yield Sight(
        truths[0],
        "COCO annotations",
        _study("coco", task, truths[0], images, models),
    )
    yield from (Sight(path, "COCO annotations") for path in truths[1:])
    yield from (
        Sight(path, f"COCO results, {task}") for path, task in results.items()
    )


def _yolo(files: list[Path], images: Sequence[Path]) -> Iterator[Sight]:
    values: dict[Path, int] = {}
    for path in files:
        if path.suffix.lower() == ".txt" and path.parent not in values:
            line = _head(path).partition("\n")[0]
            if _YOLO_LINE.fullmatch(line):
                values[path.parent] = len(line.split())
    if not values:
        return
    truth = min(
        values,
        key=lambda place: (values[place], _training(place), len(place.parts)),
    )
    boxes = values[truth] == _BOX_VALUES
    task = "object_detection" if boxes else "instance_segmentation"
    classes = next(filter(_names_classes, files), "data.yaml")
    others = [place for place in values if place != truth]
    models = [place for place in others if not _is_split(place)]
    yield Sight(
        truth,
        f"YOLO labels, {'boxes' if boxes else 'polygons'}",
        _study("yolo", task, truth, images, models, classes=classes),
    )
    yield from (
        Sight(path, f"YOLO labels{' of a model' * (path in models)}")
        for path in others
    )


def _is_split(place: Path) -> bool:
    """Return whether labels of a folder are a part of the ground truth, as of train and
    val, by its name or that of the folder that has it."""
    return any(_SPLIT.fullmatch(name) for name in place.parts[-2:])


def _training(path: Path) -> bool:
    """Return whether a path is of images to train with, which no one judges."""
    return "train" in f"{path.parent.name}/{path.name}"


def _images_of(truth: Path, places: Sequence[Path]) -> object:
    """Return the folder of images that a ground truth is of, by its name."""
    return max(
        places,
        key=lambda place: place == truth.parent or place.name in truth.name,
        default="IMAGES",
    )


def _study(
    form: str,
    task: str,
    truth: Path,
    images: Sequence[Path],
    models: Sequence[Path],
    **options: object,
) -> Words:
    """Return the import of models' predictions; without any, of controlled errors."""
    place = _images_of(truth, images)
    words: Words = ("--task", task, "--gt", truth, "--images", place)
    if models:
        words = (form, *words)
        for name, value in options.items():
            words = (*words, f"--{name}", value)
    else:
        for name, value in options.items():
            words = (*words, "--set", f"{name}={value}")
    for path in models:
        words = (*words, "--pred", path, "--source", _model(path))
    return ("import" if models else "perturb", *words, "--out", "data")


def _model(path: Path) -> object:
    """Return the name of a model with these predictions; ``labels`` is none."""
    if not path.is_dir():
        return path.stem.removeprefix("*_")
    return path.parent.name if path.name == "labels" else path.name


def _names_classes(path: Path) -> bool:
    if path.suffix.lower() not in (".yaml", ".yml"):
        return path.name == "classes.txt"
    try:
        content = read_yaml(path)
    except (VisualJudgeError, yaml.YAMLError):
        return False
    return isinstance(content, dict) and "names" in content


def _voc(files: list[Path], images: Sequence[Path]) -> Iterator[Sight]:
    first = {
        path.parent: path for path in reversed(files) if path.suffix == ".xml"
    }
    folders = [
        place for place, path in first.items() if "<annotation>" in _head(path)
    ]
    yield from _maps(
        ("voc", "object_detection", "PASCAL VOC annotations"), folders, images
    )


def _of_tools(files: list[Path], images: Sequence[Path]) -> Iterator[Sight]:
    """Yield what labelling tools wrote, the first of each tool."""
    found = set()
    for path in files:
        head = _head(path) if path.suffix in TOOL_SUFFIXES else ""
        for mark, text, words, of_folder in TOOLS:
            if mark in head and text not in found:
                found.add(text)
                place = path.parent if of_folder else path
                command = (
                    *("import", *words, "--gt", place),
                    *("--images", _images_of(place, images))
                    * ("shapes" in words),
                    *("--out", "data"),
                )
                yield Sight(place, text, command if words else None)


def _headers(files: list[Path]) -> dict[Path, bytes]:
    """Return the first bytes of each folder's first image, as far as the colour type of
    a PNG file."""
    first = {
        path.parent: path
        for path in reversed(files)
        if path.suffix.lower() in IMAGES
    }
    return {place: _bytes(path)[:26] for place, path in first.items()}


DEPTH = ("depth", "depth_estimation", "depth maps")
LABELS = (
    "label-map",
    "semantic_segmentation",
    "label maps; --classes is a table of theirs with the columns id,name",
)


def _maps(
    form: tuple[str, str, str],
    places: list[Path],
    images: Sequence[Path],
    **options: object,
) -> Iterator[Sight]:
    if not places:
        return
    truth, *others = sorted(
        places,
        key=lambda path: (not _TRUTH.search(path.name), _training(path)),
    )
    models = [place for place in others if not _is_split(place)]
    name, task, text = form
    command = _study(name, task, truth, images, models, **options)
    yield Sight(truth, text, command)
    yield from (Sight(path, text.partition(";")[0]) for path in others)


def _panoptic(
    files: list[Path], photographs: dict[Path, int]
) -> Iterator[Sight]:
    """Yield panoptic files, each with its PNGs in a folder of its name."""
    panoptic = [
        path
        for path in files
        if path.suffix == ".json" and '"segments_info"' in _head(path)
    ]
    if not panoptic:
        return
    truth, *models = sorted(
        panoptic,
        key=lambda path: '"categories"' not in _head(path) + _tail(path),
    )
    pngs = [path.with_suffix("") for path in (truth, *models)]
    for place in pngs:
        photographs.pop(place, None)
    command = _study(
        "coco", "semantic_segmentation", truth, [*photographs], models
    )
    own = [word for path in pngs[1:] for word in ("--pred-pngs", path)]
    form = ("--gt-pngs", pngs[0], *own)
    if not models:
        form = ("--set", f"gt_pngs={pngs[0]}")
    yield Sight(truth, "panoptic COCO annotations", (*command, *form))
    yield from (Sight(path, "panoptic COCO results") for path in models)


def _tables(
    files: list[Path], is_verdicts: Callable[[list[str]], bool]
) -> Iterator[Sight]:
    for path in files:
        if path.suffix.lower() not in TABLES:
            continue
        header = _header(path)
        text = f"a table with the columns {', '.join(header)}"
        if header == ["id", "name"]:
            yield Sight(path, f"classes: {text}")
        elif "objects" in header:
            yield Sight(
                path,
                f"objects of images: {text}; `import hugging-face` reads Parquet "
                "(Dataset.to_parquet)",
            )
        elif {"index", "prediction"}.issubset(header):
            yield Sight(
                path,
                f"replies to multiple-choice questions: {text}",
                ("mmbench", "eval", path, "--data", "DATA.tsv"),
            )
        elif "rater" in header:
            yield Sight(path, f"ratings of people: {text}", ("agreement", path))
        elif "output" in header or (
            "file_name" in header and "verdict" not in header
        ):
            yield Sight(
                path,
                f"scores of generated images: {text}",
                _outputs(path, header, files),
            )
        elif {"question", "answer", "image"}.issubset(header):
            yield Sight(
                path,
                f"multiple-choice questions: {text}",
                (
                    *("mmbench", "infer", path),
                    *("--model", "MODEL", "--out", "pred.xlsx"),
                ),
            )
        elif is_verdicts(header):
            yield Sight(
                path, f"verdicts: {text}", ("adopt", path, "--out", "study")
            )
        else:
            yield Sight(
                path,
                f"{text}; of verdicts or scores of a judge: visualjudge adopt with "
                "--column item=NAME --column verdict=NAME --column truth=NAME",
            )


def _outputs(path: Path, header: list[str], files: list[Path]) -> Words:
    """Return the import of edited images, if the table names their sources, or of
    generated ones."""
    task = "generation_editing" if "image" in header else "generation_t2i"
    words = ("import", "outputs", "--task", task, "--table", path)
    renamed = [
        f"{ours}={name}"
        for name, ours in IMAGE_FOLDER.items()
        if name in header and ours not in header
    ]
    return (
        *(*words, "--root", _root(path, files)),
        *(word for pair in renamed for word in ("--column", pair)),
        *(() if "score" in header else ("--score-column", "NAME")),
        *(() if "source" in header else ("--source", "NAME")),
        *("--out", "data"),
    )


def _root(path: Path, files: list[Path]) -> Path:
    """Return the folder, as high as can be, below which a table names images."""
    text = _head(path)
    roots = (
        root
        for image in files
        if image.suffix.lower() in IMAGES
        for root in reversed(image.parents)
        if image.relative_to(root).as_posix() in text
    )
    return next(roots, path.parent)


def _header(path: Path) -> list[str]:
    if path.suffix.lower() == ".xlsx":
        with suppress(OSError, VisualJudgeError):
            return [*next(iter(workbook_rows(path)), ())]
    line = _head(path).partition("\n")[0].strip().lstrip("\ufeff")
    if path.suffix.lower() != ".jsonl":
        separator = "\t" if "\t" in line else ","
        return [name.strip(' "') for name in line.split(separator)]
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return []
    return [*record] if isinstance(record, dict) else []


def _alike(folder: Path, other: Path) -> Path:
    """Return the images of ``folder``, as a pattern if their names end in more than those
    of ``other`` do, such as ``0x4`` for ``0``."""
    first, named = (min(place.iterdir()) for place in (folder, other))
    more = first.stem.removeprefix(named.stem)
    if more in ("", first.stem):
        return folder
    return folder / f"*{more}{first.suffix}"


def _endings(folder: Path) -> dict[str, Path]:
    """Return patterns of a folder's images by the last word of their names, such as
    ``*_gt.png``."""
    words = {
        path.stem.rpartition("_")[2]: path.suffix
        for path in folder.iterdir()
        if "_" in path.stem
    }
    return {
        word.lower(): folder / f"*_{word}{suffix}"
        for word, suffix in words.items()
    }


def _images_alone(first: Path, named: dict[str, Path]) -> Sight:
    """Return controlled errors of photographs, or the import of what names tell
    apart."""
    sharp = next((named[name] for name in CLEAN if name in named), None)
    poor = next((name for name in DEGRADED if name in named), None)
    if sharp and poor:
        others = (sharp, named[poor])
        models = [path for path in named.values() if path not in others]
        images = _alike(named[poor], sharp) if sharp.is_dir() else named[poor]
        command = _study("pairs", DEGRADED[poor], sharp, [images], models)
        return Sight(sharp, "clean images", command)
    names = Counter(
        path.stem
        for place in {*named.values()}
        if place.is_dir()
        for path in place.iterdir()
    )
    if max(names.values(), default=1) > 1:
        task = DEGRADED.get(poor or "", "generation_t2i")
        return Sight(
            first.parent,
            "images of one name in several folders: outputs of models, if a table has "
            "the prompt and the score of each; of photographs, visualjudge perturb "
            "makes controlled errors",
            (
                *("import", "outputs", "--task", task, "--table", "TABLE"),
                *("--root", first.parent, "--out", "data"),
            ),
        )
    command = _study("pairs", "lowlevel-deblur", first, [first], ())
    return Sight(
        first, "photographs alone: controlled errors test a judge", command
    )
