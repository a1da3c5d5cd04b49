"""What every importer yields, and what all of them need: files by name, and tables."""

from __future__ import annotations

import csv
import json
import pickle
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core import jsons
from visualjudge.core.confined_paths import confined_path
from visualjudge.core.errors import DataError, InvalidRecord, Problem, UsageError, in_field
from visualjudge.core.jsons import DEEPEST_JSON, is_deep
from visualjudge.core.records import Size
from visualjudge.vision.predictions import Prediction
from visualjudge.vision.raster.images import orientation
from visualjudge.vision.tasks import TASKS, task_named


@dataclass(frozen=True, eq=False)
class Sample:
    """One image with a source's prediction and its truth, not scored yet.

    ``file`` is the prediction's own file where it has one (depth map, image): it is copied as it
    is, and ``extra`` (scale, inverse) goes into the payload with it. ``final_score`` (0..10) is set
    where the score is given, and then there may be no ``truth``. ``key`` tells apart several
    predictions of one source on one image.
    """

    image_id: str
    image: Path | None
    prediction: Prediction
    truth: Prediction | None = None
    labels: tuple[str, ...] | None = None
    """Classes that can be scored on this image, for tasks with a class of interest; by default
    those of the truth, without its crowd regions.
    """
    key: str = ""
    prompt: str | None = None
    source: str | None = None
    file: Path | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    final_score: float | None = None
    mask: Path | None = None
    control: Path | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    named: bool = False
    """The input itself names the image; else ``image_id`` is the image's file name without its
    suffix.
    """
    mask_white: Literal["fill", "keep"] = "fill"
    """Whether the white of ``mask`` is the region to fill or what is kept."""
    resize_mask: bool = False
    """A mask of another size than the image is resized to it."""


LARGEST_PICKLE = 1 << 30
Found = Iterator[Sample | Problem]


def check_type(task: str, types: Collection[str], reader: str) -> str:
    """The prediction type of ``task``, which must be one of those that the importer called
    ``reader`` reads.

    Raises
    ------
    UsageError
        If there is no such task, or it has another type; the message lists the tasks that can be
        read.
    """
    found = task_named(task).type
    if found not in types:
        known = ", ".join(row.name for row in TASKS.values() if row.type in types)
        raise UsageError(f"{reader} files have no {task}; they have: {known}")
    return found


def folder_at(path: Path) -> Path:
    """``path``, which must be a folder.

    Raises
    ------
    UsageError
        If there is no such folder: one message, however many files were looked up in it.
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
    """The file below ``root`` that an annotation file states in ``field``; it may not lead out of
    that folder.

    Raises
    ------
    DataError
        If there is no such file, or the path is absolute or leads out of ``root`` (also through a
        link).
    """
    with in_field(field):
        return confined_path(root, name, of=str(root))


def other_size(what: str, found: Size, size: Size, image: Path, *, remedy: str = "") -> DataError:
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
    """What to try where an image of (height, width) ``size`` was turned by its EXIF orientation;
    else empty.
    """
    if found != size[::-1] or orientation(image) not in (5, 6, 7, 8):
        return ""
    return (
        "; the image has an EXIF orientation: give --exif ignore if annotations were made on the "
        "stored frame"
    )


def fitted(
    values: NDArray[Any], size: Size, file: Path, image: Path, *, resize: bool
) -> NDArray[Any]:
    """An H×W map at the (height, width) of its image: resized to the nearest pixel where ``resize``
    allows it.

    Raises
    ------
    DataError
        If it has another size and must not be resized.
    """
    if values.shape == size:
        return values
    if not resize:
        raise other_size(
            f"{file.name}:", (values.shape[0], values.shape[1]), size, image, remedy=RESIZE
        )
    return np.asarray(cv2.resize(values, size[::-1], interpolation=cv2.INTER_NEAREST))


RESIZE = "--resize-pred resizes predictions to the image's size"
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff")


def read_json(path: Path) -> Any:
    """The JSON value in a file.

    Raises
    ------
    DataError
        If there is no such file, or it is not JSON; the message names the line.
    """
    try:
        content = path.read_bytes()
        value = _shallow(json.loads(content))
        if b"\\ud" in content.lower():
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: must be a file, got a folder") from None
    except UnicodeEncodeError:
        raise DataError(f"{path}: contains an unpaired surrogate") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    except json.JSONDecodeError as error:
        hint = "; JSON lines must become one array" if error.msg == "Extra data" else ""
        raise DataError(f"{path}: line {error.lineno}: is not JSON: {error.msg}{hint}") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # integers of thousands of digits, thousands of levels
        raise DataError(f"{path}: cannot be read as JSON: {error}") from None


def _shallow(value: Any) -> Any:
    """``value``, whose depth is within the bound of JSON: messages can show it."""
    if is_deep(value):
        raise ValueError(f"must be nested at most {DEEPEST_JSON} levels deep")
    return value


class _DataOnly(pickle.Unpickler):
    """Reads a pickle of plain data; a name to be imported, the way by which pickles run code, is
    refused.
    """

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}, which is not plain data")


def read_pickle(path: Path) -> Any:
    """The value of a pickle of plain data (lists, dicts, strings, numbers); nothing in it is
    executed.

    Raises
    ------
    DataError
        If there is no such file, it is larger than 1 GiB, is no pickle, or holds more than plain
        data.
    """
    try:
        if path.stat().st_size > LARGEST_PICKLE:
            raise DataError(
                f"{path}: must be at most {LARGEST_PICKLE} bytes, got {path.stat().st_size}"
            )
        with path.open("rb") as file:
            return _shallow(_DataOnly(file, encoding="latin1").load())
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (
        OSError,
        pickle.UnpicklingError,
        EOFError,
        ValueError,
        IndexError,
        KeyError,
        AttributeError,
        TypeError,
        MemoryError,
        OverflowError,
        RecursionError,
    ) as error:
        raise DataError(f"{path}: must be a pickle of plain data: {error}") from None


def read_table(path: Path) -> list[dict[str, Any]]:
    """Rows of a table with named columns: ``.csv``, ``.tsv``, ``.jsonl``, or ``.json`` (an array of
    objects).

    Raises
    ------
    DataError
        If the file is missing or malformed; the message names the line.
    """
    if path.suffix.lower() in (".csv", ".tsv"):
        return _separated(path, "\t" if path.suffix.lower() == ".tsv" else ",")
    if path.suffix.lower() == ".jsonl":
        lines = enumerate(_lines(path), 1)
        return [_object(line, path, number) for number, line in lines if line.strip()]
    if path.suffix.lower() == ".json":
        content = read_json(path)
        rows = list(content.values()) if isinstance(content, dict) else content
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise DataError(f"{path}: must be a JSON array of objects, or an object of objects")
        return rows
    raise UsageError(f"{path}: a table must be a .csv, .tsv, .jsonl or .json file")


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file that :func:`read_text` could read; UTF-8 files are never read into memory
    as a whole.
    """
    try:
        with path.open("rb") as file:
            wide = file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE)
        if wide and path.stat().st_size > jsons.LONGEST_RECORD:
            raise DataError(
                f"{path}: must have at most {jsons.LONGEST_RECORD >> 20} MiB in UTF-16; save it "
                "as UTF-8"
            )
        if wide:
            yield from read_text(path).split("\n")
            return
        for number, line in enumerate(jsons.lines(path), 1):
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                where = f"{error.start} of line {number}"
                raise DataError(
                    f"{path}: must be UTF-8, got another byte at {where}; save it as UTF-8"
                ) from None
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, or of one in UTF-16 that begins with its byte order mark, as
    Windows writes them.

    Raises
    ------
    DataError
        If there is no such file, or it is in neither.
    """
    try:
        content = path.read_bytes()
        return content.decode(
            "utf-16" if content[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig"
        )
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: must be a file, got a folder") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: must be UTF-8, got another byte at {error.start}; save it as UTF-8"
        ) from None


def check_names(path: Path) -> None:
    """Refuse a folder or an image in the place of class names.

    Raises
    ------
    UsageError
        If it is one.
    """
    image = path.suffix.lower() in IMAGE_SUFFIXES
    if path.is_dir() or image:
        raise UsageError(
            f"--classes must be a file of class names, such as one name per line, got the "
            f"{'image' if image else 'folder'} {path}"
        )


def names_by_line(path: Path) -> dict[int, str]:
    """The names in a text with one name per line, counted from 0; empty lines count, but name
    nothing.
    """
    return {k: line.strip() for k, line in enumerate(read_text(path).splitlines()) if line.strip()}


def files_by_key(where: str | Path) -> dict[str, Path]:
    """Files by the part of their name that an image, its truth and its prediction share.

    Parameters
    ----------
    where
        A folder (key: file name without ending), a pattern with one ``*`` (key: what the star
        stands for; it may span folders), or one file (key: its name without ending).

    Raises
    ------
    UsageError
        If there is no such file or folder, or the pattern has several stars.
    DataError
        If two files have one key.
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
    found: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        if file.is_file() and not file.name.startswith("."):
            _put(found, file.stem, file)
    return found


def unpaired(what: str, key: str, where: str | Path | None) -> str:
    """What is missing beside an image, and how to pair other names."""
    hint = "" if "*" in str(where) else f"; a pattern pairs other names, as '{where}/*_pred.png'"
    return f"there is no {what} named {key!r} in {where}{hint}"


def aligned(
    images: str | Path, *others: str | Path | None
) -> Iterator[tuple[str, Path, list[Path | None]]]:
    """Each image's key and path, then the path of the same key in each of ``others`` (None where it
    has none).

    A single file in every place is one record, whatever the names.
    """
    shown = files_by_key(images)
    sides = [{} if where is None else files_by_key(where) for where in others]
    singles = all(where is None or Path(str(where)).is_file() for where in (images, *others))
    for key, image in sorted(shown.items()):
        yield (
            key,
            image,
            [next(iter(side.values()), None) if singles else side.get(key) for side in sides],
        )


def _matching(pattern: str) -> dict[str, Path]:
    before, after = pattern.split("*")
    folder, slash, head = before.rpartition("/")
    base = Path(folder + slash) if slash else Path()
    if not base.is_dir():
        raise UsageError(f"{pattern}: there is no folder {base}")
    found: dict[str, Path] = {}
    for file in sorted(base.rglob("*")):
        name = file.relative_to(base).as_posix()
        if (
            file.is_file()
            and name.startswith(head)
            and name.endswith(after)
            and len(name) >= len(head) + len(after)
        ):
            _put(found, name[len(head) : len(name) - len(after)].replace("/", "_"), file)
    if not found:
        raise UsageError(f"{pattern}: no file matches")
    return found


def _put(found: dict[str, Path], key: str, file: Path) -> None:
    if key in found:
        raise DataError(
            f"{found[key]} and {file.name}: two files with the same name; give a pattern with "
            "one *, such as 'dir/*.png'"
        )
    found[key] = file


def _separated(path: Path, delimiter: str) -> list[dict[str, Any]]:
    text = StringIO(read_text(path), newline="")
    try:
        table = csv.DictReader(text, delimiter=delimiter, strict=True)
        check_separated(path, table.fieldnames or ())
        rows = list(table)
    except csv.Error as error:
        raise DataError(f"{path}: is not a table: {error}") from None
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise DataError(f"{path}: row {number}: must have as many cells as the header")
    return rows


def check_separated(path: Path, header: Sequence[str]) -> None:
    """Refuse the header of a table whose cells another character separates.

    Raises
    ------
    DataError
        If it is one column whose name holds semicolons, tabs or commas.
    """
    for name, character in (("semicolons", ";"), ("tabs", "\t"), ("commas", ",")):
        if len(header) == 1 and character in header[0]:
            raise DataError(
                f"{path}: its columns are separated by {name}; save it with commas as .csv or "
                "with tabs as .tsv"
            )


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = _shallow(json.loads(line))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: line {number}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: line {number}: cannot be read as JSON: {error}") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}: line {number}: is not a JSON object")
    return value
