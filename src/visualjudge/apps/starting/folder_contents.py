"""``visualjudge init``: what a folder has that a study can begin with, and the command
that reads it. Files that say by themselves what they are have rows in
``known_files.py``; the environment is checked in ``doctor.py``.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path

from visualjudge.apps.starting.known_files import (
    CLASSES,
    COCO,
    COCO_RESULTS,
    FORMATS,
    KNOWN,
    LAST,
    OWN,
    PANOPTIC,
    TABLE_OF_CLASSES,
    VOC,
    YOLO,
    Known,
)
from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.plurals import pluralize
from visualjudge.core.untrusted import read_file
from visualjudge.core.workbooks import workbook_rows

MOST_FILES = 50_000
"""Files that are looked at, in the order of their names."""
MOST_ALIKE = 30
"""Files of one kind in a folder whose first and last bytes are read."""
HEAD = 1 << 16
"""Bytes read at each end of a file."""
IMAGES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff"))
MAPS = frozenset((".npy", ".npz", ".pfm"))
PIXELS = IMAGES | MAPS
NO_IMAGES = re.compile(
    r"velodyne_raw/|/(train|val)_batch\d|/(labels|results|confusion_matrix)[^/]*$"
    r"|/[^/]*_curve\.",
)
"""Images that are plots of a tool, or measurements that a model is given."""
COCO_TASKS = {
    '"keypoints"': "keypoint",
    '"segmentation"': "instance_segmentation",
    "": "object_detection",
}
"""Task of results by a field of theirs, the first that is there."""
CLEAN = frozenset(
    ("sharp", "gt", "clean", "hq", "hr", "high", "target", "groundtruth")
)
ANYHOW = ("lq", "low", "input", "degraded")
"""Words that do not say how images are degraded."""
DEGRADED = {
    "blurred": "lowlevel-deblur",
    "blur": "lowlevel-deblur",
    "blurry": "lowlevel-deblur",
    "rainy": "lowlevel-derain",
    "rain": "lowlevel-derain",
    "snowy": "lowlevel-desnow",
    "snow": "lowlevel-desnow",
    "noisy": "lowlevel-denoise",
    "lr": "lowlevel-super-resolution",
    **dict.fromkeys(ANYHOW, "lowlevel-restore"),
}
"""Words in names of images for a restoration, or of their folder, in lower case; its
task."""
TASKS = {
    **DEGRADED,
    "deblur": "lowlevel-deblur",
    "derain": "lowlevel-derain",
    "desnow": "lowlevel-desnow",
    "masked": "generation_inpainting_low_level",
    "mask": "generation_inpainting_high_level",
    "removed": "generation_inpainting_high_level",
    "edited": "generation_editing",
    "condition": "generation_controllable",
}
"""Words in names of images that models made, and of what they were given; their task."""
MADE = frozenset(
    (
        *("restored", "output", "outputs", "result", "results", "removed"),
        *("edited", "inpainted", "generated", "pred"),
    )
)
"""Words in names of images that models made."""
NO_NAMES = frozenset(
    (
        *("labels", "predictions", "results", "results.bbox", "results.segm"),
        *("bbox", "coco_instances_results", "inference"),
        *("x2", "x3", "x4", "X2", "X3", "X4"),
    )
)
"""Names of folders and files that tell no model from another."""
_SPLIT = re.compile(
    r"(train|training|val|valid|validation|dev|test)(\d{4})?", re.IGNORECASE
)
"""Names of folders with a part of a data set."""
_TRUTH = re.compile("gt|truth|annotation", re.IGNORECASE)
"""A part of the name of a folder with ground truth."""
_PREDICTED = re.compile(r"(^|/)(runs/\w+/|pred)")
"""Folders of labels that a model made."""
_KEY = re.compile(r"^.+(?=_[A-Za-z]+\.)|^[A-Za-z]+(?=_[A-Za-z_]+_[xX]\d\.)|\d+")
"""What images of one folder that belong together share in their names."""
MAP = re.compile(rb"\x89PNG\r\n\x1a\n.{16}(.)[\x00\x03]", re.DOTALL)
"""Beginning of a PNG file of one channel, or of indices of a palette, with its depth."""
Words = tuple[object, ...]
Places = dict[Path, list[Path]]
"""Images by their folder, or by a pattern with one star if a folder has several of each
name."""


ROWS = (*OWN, *FORMATS, *KNOWN, *LAST)


@dataclass(frozen=True)
class Sight:
    """Something that a folder has."""

    path: Path
    text: str
    """What it is, in words."""
    command: Words = ()
    """What reads it, without ``visualjudge``; empty if it belongs to another."""
    then: tuple[Words, ...] = ()
    """What reads the rest of it after that."""


@dataclass(frozen=True)
class File:
    """A file that is looked into: its first and last bytes as text, and the columns of a
    table, or the fields of the first record."""

    path: Path
    text: str
    columns: list[str]
    has_verdicts: bool


Kinds = dict[Known | None, list[File]]


def look(folder: Path, is_verdicts: Callable[[list[str]], bool]) -> list[Sight]:
    """Return what ``folder`` has, the surest beginning first; empty if nothing is
    known.

    Only names and the ends of files are read, so a file may turn out to be damaged.

    Parameters
    ----------
    folder
        Folder to search, with those in it, or a file; links and hidden files are left
        out.
    is_verdicts
        Returns whether a table with these columns has verdicts of a judge.
    """
    paths = [folder]
    if folder.is_dir():
        paths = list(islice(_files(folder), MOST_FILES))
    kinds = defaultdict[Known | None, list[File]](list)
    for file in _looked_into(paths, is_verdicts):
        kinds[_row(ROWS, file)].append(file)
    pngs = {
        file.path.with_suffix("")
        for row in PANOPTIC
        for file in kinds.get(row, ())
    }
    places = _places(paths, pngs)
    photographs, *_ = _apart(places)
    images = [*photographs]
    known = {
        row: _sight(row, kinds[row], images, paths)
        for row in ROWS
        if row in kinds
    }
    if own := [known[row] for row in OWN if row in known]:
        return own[:1]
    voc = [file.path.parent for file in kinds.get(VOC, ())]
    sights = [
        *_coco(kinds, images),
        *_yolo(kinds.get(YOLO, []), kinds.get(CLASSES, []), images),
        *_maps(("voc", "object_detection", VOC.text), voc, images),
        *(known[row] for row in KNOWN if row in known),
    ]
    sights = (
        sights
        or _of_scenes(places, kinds)
        or _of_images(places, kinds)
        or _photographs(photographs)
    )
    return [
        *sights,
        *(known[row] for row in LAST if row in known),
        *(
            Sight(place, pluralize(len(every), "image"))
            for place, every in photographs.items()
        ),
    ]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if not (path.name.startswith(".") or path.is_symlink()):
            yield from _files(path) if path.is_dir() else (path,)


def _looked_into(
    paths: list[Path], is_verdicts: Callable[[list[str]], bool]
) -> Iterator[File]:
    """Yield the first files of each kind in each folder, images last."""
    counts: Counter[tuple[Path, str]] = Counter()
    for path in sorted(paths, key=lambda path: path.suffix.lower() in PIXELS):
        suffix = path.suffix.lower()
        counts[path.parent, suffix] += 1
        if counts[path.parent, suffix] <= MOST_ALIKE:
            text = "" if suffix in PIXELS else _text(path)
            columns = _columns(path, text)
            yield File(path, text, columns, is_verdicts(columns))


def _text(path: Path) -> str:
    """Return the first and last bytes of a file; nothing if it cannot be read."""
    ends = _bytes(path, 0, max(HEAD, path.stat().st_size - HEAD))
    text = ends.decode("utf-8", errors="replace").replace("\r\n", "\n")
    return text.lstrip("\ufeff \n\t")


def _bytes(path: Path, *starts: int) -> bytes:
    try:
        return b"".join(read_file(path, "json", k, HEAD) for k in starts)
    except (OSError, VisualJudgeError):
        return b""


def _columns(path: Path, text: str) -> list[str]:
    """Return the columns of a table, or the fields of the first record."""
    suffix = path.suffix.lower()
    line = text.partition("\n")[0]
    names: Iterable[object] = ()
    if suffix in (".csv", ".tsv"):
        names = line.split("\t" if "\t" in line else ",")
    with suppress(OSError, TypeError, ValueError, VisualJudgeError):
        if suffix == ".xlsx":
            names = next(iter(workbook_rows(path)), ())
        if suffix == ".jsonl" or (suffix == ".json" and text.startswith("[")):
            names, _ = json.JSONDecoder().raw_decode(text.lstrip("[ \n\t"))
    return [str(name).strip(' "\r') for name in names]


def _row(rows: Sequence[Known], file: File) -> Known | None:
    """Return the first kind that a file is of."""
    place = file.path.as_posix()
    columns = {name.lower() for name in file.columns}
    fitting = (
        row
        for row in rows
        if re.search(f"(^|/){row.name}$", place)
        and columns.issuperset(row.columns)
        and all(word in file.text for word in row.has)
        and re.match(row.line, file.text)
        and row.verdicts <= file.has_verdicts
    )
    return next(fitting, None)


def _sight(
    row: Known, files: list[File], images: Sequence[Path], paths: list[Path]
) -> Sight:
    """Return files of one kind, with what stands for the words in capitals."""
    first = files[0]
    folders = [
        Path(re.sub(f"(^|/){row.name}$", "", file.path.as_posix()) or ".")
        for file in files
    ]
    several = {
        "PATHS": [file.path for file in files],
        "FOLDERS": [*dict.fromkeys(folders)],
    }
    roots = (  # as high as can be
        root
        for image in paths
        if "ROOT" in row.command and image.suffix.lower() in IMAGES
        for root in reversed(image.parents)
        if image.relative_to(root).as_posix() in first.text
    )
    line = re.match(row.line, first.text)
    words = {
        "PATH": first.path,
        "FOLDER": folders[0],
        "ROOT": next(roots, first.path.parent),
        "IMAGES": _images_of(first.path, images),
        "COLUMNS": ", ".join(first.columns)[:300],
        **(line.groupdict() if line else {}),
    }

    every = re.compile(rf"\b({'|'.join(words)})\b")

    def filled(text: str) -> str:
        return every.sub(lambda match: str(words[match[1]]), text)

    command: Words = tuple(
        part
        for word in row.command.split()
        for part in several.get(word, (filled(word),))
    )
    text, mark, way = filled(row.text).partition(";")
    more = f" (and {len(files) - 1} more)" if len(files) > 1 else ""
    return Sight(first.path, text + more + mark + way, command)


def _places(paths: list[Path], without: set[Path]) -> Places:
    """Return the images of each folder, the fullest first, and apart if it has several of
    each name, as ``rgb_0.jpg`` and ``depth_0.png``."""
    pixels = [
        path
        for path in paths
        if path.suffix.lower() in PIXELS
        and path.parent not in without
        and not NO_IMAGES.search(path.as_posix())
    ]
    pixels.sort(key=lambda path: path.parent)
    folders = {
        folder: [*files]
        for folder, files in groupby(pixels, lambda path: path.parent)
    }
    places: Places = {}
    for folder in sorted(folders, key=lambda folder: -len(folders[folder])):
        series = defaultdict[Path, dict[str, Path]](dict)
        for path in folders[folder]:
            for key in islice(_KEY.finditer(path.name), 1):
                name = f"{path.name[: key.start()]}*{path.name[key.end() :]}"
                series[folder / name][key[0]] = path
        shared = Counter(map(frozenset, series.values()))
        apart = {
            pattern: [*keys.values()]
            for pattern, keys in series.items()
            if shared[frozenset(keys)] > 1 < len(keys) and len(series) < 9
        }
        if not apart and _is_scene(folders[folder]):
            apart = {path: [path] for path in folders[folder]}
        places |= apart or {folder: folders[folder]}
    return places


def _is_scene(files: list[Path]) -> bool:
    """Return whether the images of a folder belong to one, as ``gt.png``,
    ``lq_x4.png`` and ``restored_ESRGAN.png``."""
    first = {re.split("[_-]", path.stem.lower())[0] for path in files}
    return len(files) < 9 and not (
        first.isdisjoint(CLEAN) or first.isdisjoint(DEGRADED.keys() | MADE)
    )


def _apart(places: Places) -> tuple[Places, list[Path], list[Path]]:
    """Return photographs, places of label maps and places of depth maps, by their first
    files."""
    found = {
        place: MAP.match(_bytes(files[0], 0)) for place, files in places.items()
    }
    deep = [
        place
        for place, match in found.items()
        if (match and match[1] == b"\x10")
        or places[place][0].suffix.lower() in MAPS
    ]
    masks = [
        place for place, match in found.items() if match and place not in deep
    ]
    photographs = {
        place: files
        for place, files in places.items()
        if place not in (*masks, *deep)
    }
    return photographs, masks, deep


def _coco(kinds: Kinds, images: Sequence[Path]) -> Iterator[Sight]:
    results = {
        file.path: row.text
        for row in COCO_RESULTS
        for file in kinds.get(row, ())
    }
    task = next(iter(results.values()), "object_detection")
    truths = sorted(
        kinds.get(COCO, ()),
        key=lambda file: (
            _training(file.path),
            ('"keypoints"' in file.text) != (COCO_RESULTS[0] in kinds),
        ),
    )
    models = [path for path, own in results.items() if own == task]
    yield from _found(
        ("coco", task, COCO.text),
        [file.path for file in truths],
        models,
        images,
    )
    yield from (
        Sight(path, f"COCO results, {task}") for path, task in results.items()
    )
    panoptic = [file.path for row in PANOPTIC for file in kinds.get(row, ())]
    for path in panoptic[:1]:  # each with its PNGs in a folder of its name
        yield from _found(
            ("coco", "semantic_segmentation", "panoptic COCO annotations"),
            [path],
            panoptic[1:],
            images,
            gt_pngs=path.with_suffix(""),
        )


def _yolo(
    labels: list[File], classes: list[File], images: Sequence[Path]
) -> Iterator[Sight]:
    values = {
        file.path.parent: len(file.text.partition("\n")[0].split())
        for file in reversed(labels)
    }
    pose = any("kpt_shape" in file.text for file in classes)
    models = [
        place
        for place, count in sorted(values.items())
        if _PREDICTED.search(place.as_posix())
        or (count % 2 == 0 and not pose)  # the last is a confidence
    ]
    truths = [place for place in sorted(values) if place not in models]
    task = "instance_segmentation"
    # a class, a box and a confidence
    if pose or min(values.values(), default=0) <= 6:
        task = "keypoint" if pose else "object_detection"
    need = (
        "" if classes else "; write data.yaml first, with their `names: [...]`"
    )
    table = classes[0].path if classes else "data.yaml"
    truths.sort(key=_training)
    form = ("yolo", task, f"{YOLO.text}{need}")
    yield from _found(form, truths, models, images, classes=table)
    yield from (Sight(path, "YOLO labels of a model") for path in models)


def _maps(
    form: tuple[str, str, str],
    places: list[Path],
    images: Sequence[Path],
    scene: str = "",
    **options: object,
) -> Iterator[Sight]:
    """Yield ground truth and predictions of one format, told apart by their names."""
    places = sorted(
        {*places},
        key=lambda path: (
            not _TRUTH.search(path.name),
            not _TRUTH.search("/".join(path.parts[-3:])),
            _training(path),
            path,
        ),
    )
    models = [  # not a part of the ground truth, such as train beside val
        place
        for place in places[1:]
        if not any(map(_SPLIT.fullmatch, place.parts[-2:]))
    ]
    truths = [place for place in places if place not in models]
    return _found(form, truths, models, images, scene, **options)


def _found(
    form: tuple[str, str, str],
    truths: Sequence[Path],
    models: Sequence[Path],
    images: Sequence[Path],
    scene: str = "",
    **options: object,
) -> Iterator[Sight]:
    """Yield ground truth with its command, and without one what it does not need."""
    name, task, text = form
    for path in truths[:1]:
        command = _study(name, task, path, images, models, scene, **options)
        yield Sight(path, text, command)
    yield from (Sight(path, text.partition(";")[0]) for path in truths[1:])


def _training(path: Path) -> bool:
    """Return whether a path is of images to train with, which no one judges."""
    return "train" in f"{path.parent.name}/{path.name}"


def _images_of(truth: Path, places: Sequence[Path]) -> object:
    """Return the folder of images that a ground truth is of, by its name, or else the
    nearest."""
    return max(
        places,
        key=lambda place: (
            place == truth.parent or place.name in truth.name,
            len({*place.parts} & {*truth.parts}),
        ),
        default="IMAGES",
    )


def _study(
    form: str,
    task: str,
    truth: Path,
    images: Sequence[Path],
    models: Sequence[Path],
    scene: str = "",
    **options: object,
) -> Words:
    """Return the import of models' predictions; without any, of controlled errors."""
    flags = [
        word
        for name, value in options.items()
        for word in (
            (f"--{name.replace('_', '-')}", value)
            if models
            else ("--set", f"{name}={value}")
        )
    ]
    for path, model in zip(models, _names(models, scene), strict=True):
        flags += ["--pred", path, "--source", model]
        if "gt_pngs" in options:
            flags += ["--pred-pngs", path.with_suffix("")]
    if scene:
        flags += ["--id-prefix", f"{scene}_"]
    return (
        *(("import", form) if models else ("perturb",)),
        *("--task", task, "--gt", truth),
        *("--images", _images_of(truth, images), *flags, "--out", "data"),
    )


def _names(models: Sequence[Path], scene: str) -> Sequence[str]:
    """Return what the paths of models differ by, from their end; a scene is none."""
    every = [
        [
            path.name if path.is_dir() else path.stem,
            *reversed(path.parts[:-1]),
        ]
        for path in models
    ]
    columns = zip(*every, strict=False)
    differing = (
        [name.removeprefix("*_") for name in names]
        for names in columns
        if len({*names}) == len(names)
        and NO_NAMES.isdisjoint(names)
        and scene not in names
    )
    return next(differing, [f"model{k}" for k in range(len(models))])


def _of_scenes(places: Places, kinds: Kinds) -> list[Sight]:
    """Return what each scene has: folders whose names stand in the same place of several
    paths, and say nothing of what they hold."""
    for k in (2, 1):
        groups = defaultdict[tuple[str, ...], dict[str, Path]](dict)
        for place in places:
            parts = [".", ".", *place.parts]
            name = parts.pop(-k)
            groups[tuple(parts)][name] = place
        sets = Counter(map(frozenset, groups.values()))
        names = max(sets, key=lambda names: sets[names], default=frozenset())
        if sets[names] < 2 or len(names) < 2 or any(map(_is_part, names)):
            continue
        own = [group for group in groups.values() if group.keys() == names]
        sights = [
            sight
            for name in sorted(names)
            for sight in _of_images(
                {group[name]: places[group[name]] for group in own}, kinds, name
            )[:1]
        ]
        commands = [sight.command for sight in sights if sight.command]
        return [replace(sights[0], then=tuple(commands[1:]))] if sights else []
    return []


def _is_part(name: str) -> bool:
    """Return whether the name of a folder says which part of a data set it holds."""
    return (
        "*" in name
        or _SPLIT.fullmatch(name) is not None
        or bool(_words(name) & (CLEAN | DEGRADED.keys()))
    )


def _words(name: str) -> set[str]:
    return {*re.findall("[a-z]+", name.lower())}


def _of_images(places: Places, kinds: Kinds, scene: str = "") -> list[Sight]:
    """Return depth maps, label maps or restorations."""
    photographs, masks, deep = _apart(places)
    images = [*photographs]
    tables = [file.path for file in kinds.get(TABLE_OF_CLASSES, ())]
    classes = (*tables, Path("classes.csv"))[0]
    need = (
        "" if classes.exists() else f"; write {classes} first, lines of id,name"
    )
    labels = ("label-map", "semantic_segmentation", f"label maps{need}")
    inverse = "; of disparities, an import needs --gt-inverse --pred-inverse"
    depths = "depth maps" + inverse * any("disp" in path.name for path in deep)
    return [
        *_maps(("depth", "depth_estimation", depths), deep, images, scene),
        *_maps(
            labels,
            [place for place in masks if not _is_filled(place, images)],
            images,
            scene,
            classes=classes,
        ),
    ] or _restored(photographs, scene)


def _is_filled(mask: Path, images: list[Path]) -> bool:
    """Return whether a mask says where models fill an image that lies beside it."""
    return "mask" in _words(mask.name) and any(
        _words(place.name) & (MADE | CLEAN | TASKS.keys())
        for place in images
        if place.parent == mask.parent
    )


def _restored(photographs: Places, scene: str) -> list[Sight]:
    words = {
        place: next(
            (
                _words(name)
                for name in reversed(place.parts)
                if name != scene and name not in NO_NAMES
            ),
            set(),
        )
        for place in photographs
    }
    poor = [place for place in words if words[place] & DEGRADED.keys()]
    sharp = [
        place for place in words if words[place] & CLEAN and place not in poor
    ]
    if not sharp or not poor:
        return []
    models = [place for place in words if place not in (*poor, *sharp)]
    place = min(poor, key=lambda place: len(place.name))
    task = next(DEGRADED[word] for word in DEGRADED if word in words[place])
    first, truth = (photographs[path][0] for path in (place, sharp[0]))
    more = first.stem.removeprefix(truth.stem)
    if more not in ("", first.stem):  # such as 0x4.png for 0.png
        place /= f"*{more}{first.suffix}"
    return [
        *_found(
            ("pairs", task, "clean images"), sharp[:1], models, [place], scene
        )
    ]


def _photographs(photographs: Places) -> list[Sight]:
    """Return controlled errors of photographs, or the import of models' outputs if names
    recur."""
    if not photographs:
        return []
    first, files = next(iter(photographs.items()))
    names = Counter(
        path.stem for place in photographs.values() for path in place
    )
    by_class = len(photographs) > 1 and _SPLIT.fullmatch(first.parent.name)
    made = sum(not MADE.isdisjoint(_words(path.stem)) for path in files)
    recur = names.most_common(1)[0][1] > 1 or "*" in first.name
    if (recur or 3 * made >= len(files)) and not by_class:
        beside = first.parent.iterdir() if "*" in first.name else files
        words = _words(" ".join(path.name for path in (*photographs, *beside)))
        tasks = (
            TASKS[word]
            for word in sorted(TASKS, key=ANYHOW.__contains__)
            if word in words
        )
        task = next(tasks, "generation_t2i")
        text = (
            "outputs of models, by their names: with a table of the score of each (and "
            "of its prompt, if it has one), people's or a metric's; of photographs, "
            "visualjudge perturb makes controlled errors"
        )
        root = first.parent if recur else files[0].parent
        command: Words = (
            *("import", "outputs", "--task", task, "--table", "TABLE"),
            *("--root", root, "--out", "data"),
        )
        return [Sight(root, text, command)]
    kind = "images by class, which no task judges; as " if by_class else ""
    place = first
    if len([*first.glob(f"{files[0].stem}.*")]) > 1:
        place /= f"*{files[0].suffix}"
    command = _study("pairs", "lowlevel-deblur", place, [place], ())
    return [
        Sight(
            first,
            f"{kind}photographs alone: controlled errors test a judge",
            command,
        )
    ]
