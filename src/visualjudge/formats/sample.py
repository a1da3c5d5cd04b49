"""The samples that importers yield, and helpers that all importers share: files by name, and
tables.
"""

from __future__ import annotations

import csv
import math
import pickle
import warnings
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core import jsons
from visualjudge.core.errors import (
    DataError,
    InvalidRecord,
    Problem,
    UsageError,
    in_field,
)
from visualjudge.core.jsons import DEEPEST_JSON, LONGEST_RECORD, is_deep
from visualjudge.core.records import Size, Xyxy
from visualjudge.core.untrusted import confined_path, open_file, read_file
from visualjudge.vision.predictions import Prediction
from visualjudge.vision.raster.images import orientation
from visualjudge.vision.tasks import TASKS, task_named


@dataclass(frozen=True, eq=False)
class Sample:
    """An image with a source's prediction and the ground truth, not yet scored.

    ``file`` is the prediction's own file, if any (depth map, image). It is copied unchanged, and
    ``extra`` (scale, inverse) is added to its payload. ``final_score`` (0..10) is set if the score
    is given; ``truth`` may then be None. ``key`` distinguishes several predictions of one source on
    one image.
    """

    image_id: str
    image: Path | None
    prediction: Prediction
    truth: Prediction | None = None
    # Classes that can be scored on this image, for tasks with a class of interest. The default is
    # the classes of the ground truth without its crowd regions.
    labels: tuple[str, ...] | None = None
    key: str = ""
    prompt: str | None = None
    source: str | None = None
    file: Path | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    final_score: float | None = None
    mask: Path | None = None
    control: Path | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    # Whether white in mask is the region to fill or the region to keep.
    mask_white: Literal["fill", "keep"] = "fill"
    # Whether a mask of another size than the image is resized to it.
    resize_mask: bool = False


T = TypeVar("T")
Side = TypeVar("Side", bound=Prediction)
Found = Iterator[Sample | Problem]


def check_type(task: str, types: Collection[str], reader: str) -> str:
    """Return the prediction type of ``task``, which must be in ``types``; ``reader`` names the
    importer in the error.

    Raises
    ------
    UsageError
        If the task does not exist or has another type; the message lists the tasks that can be
        read.
    """
    found = task_named(task).type
    if found not in types:
        known = ", ".join(row.name for row in TASKS.values() if row.type in types)
        raise UsageError(f"{reader} files have no {task}; they have: {known}")
    return found


def folder_at(path: Path) -> Path:
    """Check that ``path`` is a folder and return it.

    Raises
    ------
    UsageError
        If there is no such folder, so that one message replaces an error for each file in it.
    """
    if "*" in str(path):
        raise UsageError(f"{path}: must be a folder, got a pattern")
    if not path.is_dir():
        reason = "must be a folder, got a file" if path.is_file() else "no such folder"
        raise UsageError(f"{path}: {reason}")
    return path


def invalid(file: Path, record: str, field: str, reason: str) -> InvalidRecord:
    """Return the error for a record that cannot be used."""
    return InvalidRecord(Problem(file.name, record, field, reason))


def stated_file(root: Path, name: object, field: str) -> Path:
    """Return the file below ``root`` named by the annotation field ``field``; it must not be
    outside that folder.

    Raises
    ------
    DataError
        If there is no such file, or the path is absolute or leads outside ``root`` (also through a
        link).
    """
    with in_field(field):
        return confined_path(root, name, of=str(root))


def other_size(
    what: str, found: Size, size: Size, image: Path, *, remedy: str = ""
) -> DataError:
    """Return the error for a ``what`` whose (height, width) differs from its image, with a likely
    reason.
    """
    if found == size[::-1]:
        remedy = "height and width seem to be swapped"
    hint = exif_hint(found, size, image) or (f"; {remedy}" if remedy else "")
    return DataError(
        f"{what} must be {size[0]}×{size[1]}, got {found[0]}×{found[1]} (height×width){hint}"
    )


def exif_hint(found: Size, size: Size, image: Path) -> str:
    """Return a hint if EXIF orientation rotated an image of (height, width) ``size``, otherwise an
    empty string.
    """
    if found != size[::-1] or orientation(image) not in (5, 6, 7, 8):
        return ""
    return (
        "; the image has an EXIF orientation: give --exif ignore if annotations were made on the "
        "image as stored"
    )


def fitted(
    values: NDArray[Any], size: Size, file: Path, image: Path, *, resize: bool
) -> NDArray[Any]:
    """Return an H×W map that has its image's (height, width). With ``resize``, other sizes are
    resized by nearest neighbour.

    Raises
    ------
    DataError
        If the map has another size and ``resize`` is False.
    """
    if values.shape == size:
        return values
    if not resize:
        raise other_size(
            f"{file.name}:",
            (values.shape[0], values.shape[1]),
            size,
            image,
            remedy=RESIZE,
        )
    return np.asarray(cv2.resize(values, size[::-1], interpolation=cv2.INTER_NEAREST))


def named(sample: Sample, prefix: str) -> str:
    """Return the ``image_id`` of a sample: ``prefix``, in which ``{folder}`` stands for its image's
    folder, and its own name.
    """
    if sample.image is not None and "{folder}" in prefix:
        prefix = prefix.replace("{folder}", sample.image.resolve().parent.name)
    return prefix.replace("{folder}", "") + sample.image_id


def whole(value: Any) -> Any:
    """Return a whole number for a float without a fraction, as data frames write 99.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def class_name(number: Any, names: Mapping[int, str], field: str = "class") -> str:
    """Return the name of class ``number``. Negative numbers, which mean "no label" elsewhere, are
    no classes.
    """
    key = whole(number)
    if isinstance(key, bool) or not isinstance(key, int) or key not in names:
        known = f"{min(names)} to {max(names)}" if names else "of which there are none"
        raise DataError(
            f"{field}: must be the number of a class name, {known}, got {key!r:.40}"
        )
    return names[key]


def turned(
    box: Sequence[float], degrees: float, *, about_corner: bool = False
) -> tuple[float, ...]:
    """Return the ring x, y, x, y, … of a box [x, y, width, height] turned clockwise about its
    centre, or about its first corner.
    """
    x, y, width, height = map(float, box)
    middle = (0.0, 0.0) if about_corner else (width / 2, height / 2)
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    ring: tuple[float, ...] = ()
    for across, down in ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height)):
        right, below = across - middle[0], down - middle[1]
        ring += (
            round(x + middle[0] + right * cosine - below * sine, 9),
            round(y + middle[1] + right * sine + below * cosine, 9),
        )
    return ring


def hull(ring: Sequence[float]) -> Xyxy:
    """Return the upright box around points x, y, x, y, …"""
    return min(ring[::2]), min(ring[1::2]), max(ring[::2]), max(ring[1::2])


def told_once(file: object, told: str, places: Sequence[str]) -> None:
    """Warn of a kind of record, naming the first of ``places``; nothing if there is none."""
    if places:
        warnings.warn(
            f"{file}: {places[0]}: {told}; records like this: {len(places)}",
            stacklevel=2,
        )


RESIZE = "--resize-pred resizes predictions to the image's size"
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises
    ------
    DataError
        If there is no such file, or it is not JSON; the message names the line.
    """
    return jsons.lenient(read_file(path, "table").removeprefix(BOM_UTF8), str(path))


# Unpickler of plain data. It rejects imported names, through which pickles could run code.
class _DataOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(
            f"it names {module}.{name}, which is not plain data"
        )


def read_pickle(path: Path) -> Any:
    """Read a pickle of plain data (lists, dicts, strings, numbers) without executing anything in
    it.

    Raises
    ------
    DataError
        If there is no such file, or it is larger than 1 GiB, is not a pickle, or contains more than
        plain data.
    """
    with open_file(path, "table") as file:
        try:
            value = _DataOnly(file, encoding="latin1").load()
        except Exception as error:  # an unpickler of a damaged file raises anything
            raise DataError(
                f"{path}: must be a pickle of plain data: {error}"
            ) from None
    if is_deep(value):
        raise DataError(f"{path}: must be nested at most {DEEPEST_JSON} levels deep")
    return value


def read_table(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a table with named columns: ``.csv``, ``.tsv``, ``.jsonl``, or ``.json`` (an
    array of objects).

    Raises
    ------
    DataError
        If the file is missing or malformed; the message names the line.
    """
    if path.suffix.lower() == ".json":
        content = read_json(path)
        rows = list(content.values()) if isinstance(content, dict) else content
        jsons.check_kinds(str(path), rows, [dict])
        return rows
    return list(table_rows(path))


def table_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a ``.csv``, ``.tsv`` or ``.jsonl`` file as they are read.

    Raises
    ------
    DataError
        As :func:`read_table` does.
    """
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        for number, line in enumerate(_lines(path), 1):
            if line.strip():
                value = jsons.lenient(line, str(path), number)
                jsons.check_kinds(f"{path}: line {number}", value, dict)
                yield value
    elif suffix in (".csv", ".tsv"):
        yield from _separated(path, "\t" if suffix == ".tsv" else ",")
    else:
        raise UsageError(f"{path}: a table must be a .csv, .tsv, .jsonl or .json file")


def read_text(path: Path) -> str:
    """Read a UTF-8 file, or a UTF-16 file that begins with a byte order mark, as Windows writes
    them.

    Raises
    ------
    DataError
        If there is no such file, or it has another encoding.
    """
    with _opened(path) as text:
        return text.read()


def _lines(path: Path) -> Iterator[str]:
    with _opened(path) as text:
        yield from bounded_lines(path, text)


def bounded_lines(path: Path, text: TextIO) -> Iterator[str]:
    """Yield the lines of a text of which none is longer than a record may be.

    Raises
    ------
    DataError
        If one is longer.
    """
    for number, line in enumerate(
        iter(partial(text.readline, LONGEST_RECORD + 1), ""), 1
    ):
        if len(line) > LONGEST_RECORD:
            raise DataError(
                f"{path}: line {number}: must have at most {LONGEST_RECORD >> 20} MiB"
            )
        yield line


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    with open_file(path, "table") as file:
        wide = file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE)
        file.seek(0)
        try:
            yield TextIOWrapper(file, "utf-16" if wide else "utf-8-sig", newline="")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}: must be UTF-8, got an invalid byte at "
                f"{file.tell() - len(error.object) + error.start}; save it as UTF-8"
            ) from None


def files_by_key(where: str | Path) -> dict[str, Path]:
    """Return files by key: the part of the name that an image, its ground truth and its prediction
    share.

    Parameters
    ----------
    where
        A folder (key: file name without suffix), a pattern with one ``*`` (key: the part that ``*``
        matches, which may span folders), or one file (key: its name without suffix).

    Raises
    ------
    UsageError
        If there is no such file or folder, or the pattern has several stars.
    DataError
        If two files have the same key.
    """
    text = str(where)
    if text.count("*") > 1:
        raise UsageError(f"{text}: a pattern must have one *, got {text.count('*')}")
    if "*" in text:
        return _matching(text)
    path = Path(text)
    if path.is_file():
        return {path.stem: path}
    if not path.is_dir():
        raise UsageError(f"{text}: no such file or folder")
    return _by_stem(
        file
        for file in path.iterdir()
        if file.is_file() and not file.name.startswith(".")
    )


def images_by_key(folder: Path) -> dict[str, Path]:
    """Return the images of a folder by file name without suffix. Other files, such as labels beside
    their photographs, are passed over.
    """
    return _by_stem(
        file
        for file in folder_at(folder).iterdir()
        if file.suffix.lower() in IMAGE_SUFFIXES
    )


def _by_stem(files: Iterable[Path]) -> dict[str, Path]:
    return by_name(((file.stem, str(file), file) for file in sorted(files)), "files")


def aligned(
    images: str | Path, *others: str | Path | None
) -> Iterator[tuple[str, Path, list[Path | None]]]:
    """Yield each image's key and path, and the paths with the same key in ``others`` (None if there
    is none).

    If all arguments are single files, they form one record even if their names differ.
    """
    shown = files_by_key(images)
    sides = [{} if where is None else files_by_key(where) for where in others]
    singles = all(
        where is None or Path(str(where)).is_file() for where in (images, *others)
    )
    for key, image in sorted(shown.items()):
        found = [
            next(iter(side.values()), None) if singles else side.get(key)
            for side in sides
        ]
        yield key, image, found


def paired(
    what: str,
    images: str,
    gt: str,
    pred: str | None,
    read: Callable[[Path, Path, bool], Side],
) -> Iterator[Problem | tuple[Path, Side, Side, Path]]:
    """Yield each image, its prediction, its truth and the prediction's file: a ``what`` of the same
    name for each side. Without ``pred``, the truth is its own prediction.

    ``read`` takes the file, the image, and whether the file is a prediction.
    """
    for key, image, files in aligned(images, *([gt] if pred is None else [gt, pred])):
        sides: list[Side] = []
        try:
            for file, where in zip(files, (gt, pred), strict=False):
                if file is None:
                    hint = (
                        ""
                        if "*" in str(where)
                        else f"; a pattern ('{where}/*_x.png') pairs others"
                    )
                    raise DataError(
                        f"there is no {what} named {key!r} in {where}{hint}"
                    )
                sides.append(read(file, image, bool(sides)))
        except DataError as error:
            yield Problem(
                image.name, key, "prediction" if sides else "truth", str(error)
            )
            continue
        yield image, sides[-1], sides[0], files[-1] or image


def compared(
    images: Iterable[tuple[str, Path]],
    truth: Callable[[str, Path], Side],
    pred: Callable[[str, Path], Side] | None,
) -> Found:
    """Yield the sample of each (key, image), whose sides are read by key and image. Without
    ``pred``, the truth is its own prediction. An invalid record becomes a problem.
    """
    for key, image in images:
        try:
            real = truth(key, image)
            found = real.without_crowds() if pred is None else pred(key, image)
        except InvalidRecord as error:
            yield error.problem
        else:
            yield Sample(image.stem, image, found, real)


def _matching(pattern: str) -> dict[str, Path]:
    before, after = pattern.split("*")
    folder, slash, head = before.rpartition("/")
    base = Path(folder + slash) if slash else Path()
    if not base.is_dir():
        raise UsageError(f"{pattern}: there is no folder {base}")
    names = [
        (name[len(head) : len(name) - len(after)].replace("/", "_"), str(file), file)
        for file in sorted(base.rglob("*"))
        for name in [file.relative_to(base).as_posix()]
        if name.startswith(head) and name.endswith(after)
        if file.is_file() and len(name) >= len(head) + len(after)
    ]
    if not names:
        raise UsageError(f"{pattern}: no file matches")
    return by_name(names, "files")


def by_name(rows: Iterable[tuple[str, str, T]], what: str) -> dict[str, T]:
    """Return the third item of each row by its first, such as an image's name. The second says
    where the row stands, because of two rows of one name the last would win.
    """
    found: dict[str, tuple[str, T]] = {}
    for name, where, value in rows:
        if name in found:
            raise DataError(
                f"{found[name][0]} and {where}: two {what} of the name {name!r}; rename one, or "
                "choose with a pattern such as 'dir/*.png'"
            )
        found[name] = where, value
    return {name: value for name, (_, value) in found.items()}


def _separated(path: Path, delimiter: str) -> Iterator[dict[str, Any]]:
    lines = _lines(path)
    header = next(lines, "")
    other = [
        sign for sign in ("\t", ";", ",") if sign in header and delimiter not in header
    ]
    table = csv.DictReader(
        chain([header], lines), delimiter=other[0] if other else delimiter, strict=True
    )
    try:
        names = [name for name in table.fieldnames or () if name.strip()]
        if len(set(names)) < len(names):
            raise DataError(
                f"{path}: a header must name a column once, got {', '.join(names)}"
            )
        for number, row in enumerate(table, 2):
            if None in row or None in row.values():
                raise DataError(
                    f"{path}: row {number}: must have as many cells as the header"
                )
            yield row
    except csv.Error as error:
        raise DataError(f"{path}: is not a table: {error}") from None
