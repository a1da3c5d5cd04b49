"""PASCAL VOC: a folder of XML files; predictions as XML or as VOC results, one text
file per class. Polygons and boxes of labelling tools are in ``labelling_tools.py``.

Format: the VOC2012 development kit. VOC counts pixels from 1 and includes ``xmax`` and
``ymax``, so x1 = xmin − 1 and x2 = xmax here. Where a box begins at 0, the files count
from 0, and x1 = xmin. As in VOC's evaluation, ``difficult`` objects need not be found,
and predictions that match them are not errors.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from visualjudge.core.errors import (
    DataError,
    InvalidRecord,
    Problem,
    UsageError,
)
from visualjudge.core.records import Size, Xyxy
from visualjudge.core.untrusted import read_file, text_lines
from visualjudge.formats.pairing import (
    ByKey,
    by_name,
    file_below,
    files_ending_in,
    folder_at,
    hint_below,
    images_by_key,
)
from visualjudge.formats.samples import (
    Samples,
    check_type,
    compared,
    invalid,
    warn_once,
)
from visualjudge.vision.fields import flag
from visualjudge.vision.predictions import Detection, Detections
from visualjudge.vision.raster.images import image_size

# VOC results by image: file, line number, class, and the cells after the image.
Lines = Mapping[str, list[tuple[Path, int, str, list[str]]]]


def voc(task: str, gt: Path, pred: Path | None, images: Path) -> Samples:
    """Yield the samples of a VOC data set. Without ``pred``, the ground truth is its
    own prediction.

    Parameters
    ----------
    gt
        Folder of ground truth files.
    images
        Folder of the images.

    Raises
    ------
    UsageError
        If the task is not object_detection, or there is no such folder.
    DataError
        If two files are of one image.
    """
    check_type(task, ("detection",), "VOC")
    by_key = images_by_key(images)
    truths = ByKey({path.stem: path for path in files_ending_in(gt, ".xml")})
    files = [] if pred is None else sorted(folder_at(pred).glob("*.xml"))
    guesses = ByKey({path.stem: path for path in files})
    results = ByKey({} if pred is None or guesses else _results(pred))
    records = ByKey[Any]({**guesses, **results})
    first = _first_pixel([*truths.values(), *guesses.values()], results)
    displayed = []
    for stem, path in truths.items():
        try:
            displayed.append(
                (str(_image(path, stem, images, by_key)), str(path), stem)
            )
        except InvalidRecord as error:
            yield error.problem
    images_of = by_name(displayed, "files")

    def truth(stem: str, image: Path) -> Detections:
        return _objects(truths[stem], image_size(image), first)

    def guess(stem: str, _image: Path) -> Detections:
        path = guesses.find(stem)
        return (
            _objects(path, None, first)
            if path is not None
            else Detections(
                tuple(_line(line, first) for line in results.find(stem) or [])
            )
        )

    yield from compared(
        ((stem, Path(name)) for name, stem in images_of.items()),
        truth,
        None if pred is None else guess,
        records,
    )
    for stem in sorted(key for key in records if not truths.find(key)):
        yield Problem(
            str(pred), stem, "image", f"there is no {stem}.xml in {gt}"
        )


def _first_pixel(files: list[Path], results: Lines) -> int:
    """Return 0 if a box begins at 0, otherwise VOC's 1; and say so, because the whole
    set is read that way."""
    zeros = [str(path) for path in files if any(_begins_at_zero(path))]
    zeros += [
        f"{path}: line {number}"
        for rows in results.values()
        for path, number, _, cells in rows
        if not all(cell.strip("0.") for cell in cells[1:3])
    ]
    warn_once(
        "VOC boxes",
        "xmin or ymin is below 1, so pixels are counted from 0 in all files, not "
        "from 1 as in VOC",
        zeros,
    )
    return 0 if zeros else 1


def _begins_at_zero(path: Path) -> Iterator[bool]:
    with suppress(InvalidRecord):  # reported when its objects are read
        for box in _root(path).iterfind("object/bndbox"):
            begins = (box.findtext(name) or "1" for name in ("xmin", "ymin"))
            yield any(
                not text.partition(".")[0].strip("0 \n") for text in begins
            )


def _image(path: Path, stem: str, images: Path, by_key: ByKey[Path]) -> Path:
    """Return the image of the stated name; or else that of its stem or of the file's,
    whatever its suffix."""
    named = (_root(path).findtext("filename") or "").strip()
    if named:
        with suppress(DataError):
            return file_below(images, named)
    for key in (Path(named).stem, stem):
        image = by_key.find(key)
        if image is not None:
            return image
    raise invalid(
        path,
        "annotation",
        "filename",
        f"there is no file {images / (named or stem)}",
    )


def _objects(path: Path, size: Size | None, first: int) -> Detections:
    root = _root(path)
    for name, real in (
        ("height", size and size[0]),
        ("width", size and size[1]),
    ):
        stated = (root.findtext(f"size/{name}") or "0").strip()
        if real and stated not in (
            "0",
            str(real),
            f"{real}.0",
        ):  # some tools write 0 for unknown
            raise invalid(
                path,
                "annotation",
                f"size.{name}",
                f"must match the image, {real}, got {stated}",
            )
    items = []
    for k, node in enumerate(root.findall("object"), 1):
        where = f"object {k}"
        label = (node.findtext("name") or "").strip()
        if not label:
            raise invalid(path, where, "name", "the field is missing")
        sides = [f"bndbox/{side}" for side in ("xmin", "ymin", "xmax", "ymax")]
        confidence = node.findtext("confidence") or node.findtext("score")
        try:
            box = [_number(node.findtext(side), side) for side in sides]
            score = (
                None
                if confidence is None
                else _number(confidence, "confidence")
            )
            items.append(
                Detection(
                    label,
                    _xyxy(box, first),
                    score,
                    flag(node.findtext("difficult"), "difficult"),
                )
            )
        except DataError as error:
            raise InvalidRecord(Problem.of(error, path.name, where)) from None
    return Detections(tuple(items))


def _results(pred: Path) -> Lines:
    """Read lines image confidence xmin ymin xmax ymax of *_CLASS.txt files by image."""
    collected: dict[str, list[tuple[Path, int, str, list[str]]]] = defaultdict(
        list
    )
    files = sorted(pred.glob("*.txt"))
    if not files:
        raise UsageError(
            f"{pred}: contains neither .xml nor .txt files"
            f"{hint_below(pred, ['.xml', '.txt'])}"
        )
    for path in files:
        # the name of a class may hold underscores
        label = re.sub(r"^(?:comp\d+_det_[^_]+_|.*_)", "", path.stem)
        for number, line in enumerate(text_lines(path), 1):
            cells = line.split()
            if len(cells) not in (0, 6):
                raise DataError(
                    f"{path}: line {number}: must be 'image confidence xmin ymin xmax "
                    "ymax'"
                )
            if cells:
                collected[cells[0]].append((path, number, label, cells[1:]))
    return collected


def _line(row: tuple[Path, int, str, list[str]], first: int) -> Detection:
    path, number, label, cells = row
    try:
        score, *box = (
            _number(cell, "confidence xmin ymin xmax ymax") for cell in cells
        )
        return Detection(label, _xyxy(box, first), score)
    except DataError as error:
        raise InvalidRecord(
            Problem.of(error, path.name, f"line {number}")
        ) from None


def _xyxy(box: list[float], first: int) -> Xyxy:
    xmin, ymin, xmax, ymax = box
    if (
        not all(abs(v) < float("inf") for v in box)
        or xmax < xmin
        or ymax < ymin
    ):
        raise DataError(
            "bndbox: must be finite xmin, ymin, xmax, ymax in this order, not x, y, "
            f"width, height, got {box}"
        )
    return xmin - first, ymin - first, xmax, ymax


def _root(path: Path) -> ElementTree.Element:
    try:
        text = read_file(path, "xml")
        if b"<!ENTITY" in text.replace(b"\0", b""):  # also found in UTF-16
            raise DataError("must not declare entities")
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise invalid(
            path, "annotation", "xml", f"is not XML: {error}"
        ) from None
    except DataError as error:  # too large, or no regular file
        raise invalid(
            path, "annotation", "xml", str(error).removeprefix(f"{path}: ")
        ) from None


def _number(text: str | None, name: str) -> float:
    try:
        return float(text or "")
    except ValueError:
        reason = (
            "the field is missing"
            if text is None
            else f"must be a number, got {text!r}"
        )
        raise DataError(f"{name.replace('/', '.')}: {reason}") from None
