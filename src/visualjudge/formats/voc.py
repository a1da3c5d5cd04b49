"""PASCAL VOC: a folder of XML files; predictions as XML or as VOC results, one text file per class.

Format: the VOC2012 development kit. VOC counts pixels from 1 and includes ``xmax`` and ``ymax``, so
x1 = xmin − 1 and x2 = xmax here. As in VOC's evaluation, ``difficult`` objects need not be found,
and predictions that match them are not errors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

from visualjudge.core.confined_paths import confined_path
from visualjudge.core.errors import DataError, InvalidRecord, Problem, UsageError
from visualjudge.core.records import Size, Xyxy
from visualjudge.formats.sample import Found, Sample, check_type, folder_at, invalid, read_text
from visualjudge.vision.predictions import Detection, Detections
from visualjudge.vision.raster.images import image_size

COLUMNS = 6
LARGEST_XML = 16 * 2**20
"""Maximum size of an image's annotation file in bytes."""
IMAGES = (".jpg", ".jpeg", ".png")


def voc(task: str, gt: Path, pred: Path | None, images: Path) -> Found:
    """Yield the samples of a VOC data set. Without ``pred``, the ground truth is its own
    prediction.

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
    """
    check_type(task, ("detection",), "VOC")
    folder_at(images)
    truths = _xml_files(gt)
    results = None if pred is None else _results(pred)
    for stem, path in truths.items():
        try:
            image = _image(path, stem, images)
            real = _objects(path, image_size(image))
            found = real.without_crowds() if results is None else results.get(stem, Detections(()))
            if isinstance(found, Path):
                found = _objects(found, None)
        except InvalidRecord as error:
            yield error.problem
            continue
        yield Sample(image.stem, image, found, real, real.labels)
    for stem in sorted(set(results or ()) - set(truths)):
        yield Problem(str(pred), stem, "image", f"there is no {stem}.xml in {gt}")


def _xml_files(folder: Path) -> dict[str, Path]:
    found = {path.stem: path for path in sorted(folder_at(folder).glob("*.xml"))}
    if not found:
        raise UsageError(f"{folder}: contains no .xml file")
    return found


def _image(path: Path, stem: str, images: Path) -> Path:
    named = _root(path).findtext("filename")
    for name in ([named] if named else []) + [stem + ending for ending in IMAGES]:
        with suppress(DataError):
            return confined_path(images, name)
    raise invalid(path, "annotation", "filename", f"there is no file {images / (named or stem)}")


def _objects(path: Path, size: Size | None) -> Detections:
    root = _root(path)
    for name, real in (("height", size and size[0]), ("width", size and size[1])):
        stated = root.findtext(f"size/{name}")
        if real and stated and stated.strip() != str(real):
            raise invalid(
                path,
                "annotation",
                f"size.{name}",
                f"must match the image, {real}, got {stated}",
            )
    items = []
    for k, node in enumerate(root.findall("object")):
        where = f"object {k + 1}"
        label = (node.findtext("name") or "").strip()
        if not label:
            raise invalid(path, where, "name", "the field is missing")
        box = [
            _number(node, f"bndbox/{name}", path, where)
            for name in ("xmin", "ymin", "xmax", "ymax")
        ]
        difficult = (node.findtext("difficult") or "0").strip() == "1"
        name = "confidence" if node.findtext("confidence") is not None else "score"
        score = None if node.findtext(name) is None else _number(node, name, path, where)
        items.append(Detection(label, _xyxy(box, path, where), score, difficult))
    return Detections(tuple(items))


def _results(pred: Path) -> Mapping[str, Detections | Path]:
    """Read predictions by image from XML files, or from lines ``image confidence xmin ymin xmax
    ymax`` of ``*_CLASS.txt`` files.
    """
    if any(folder_at(pred).glob("*.xml")):
        return dict(_xml_files(pred))
    items: dict[str, list[Detection]] = defaultdict(list)
    files = sorted(pred.glob("*.txt"))
    if not files:
        raise UsageError(f"{pred}: contains neither .xml nor .txt files")
    for path in files:
        label = path.stem.rpartition("_")[2]
        for number, line in enumerate(read_text(path).splitlines(), 1):
            if line.strip():
                stem, item = _line(line, label, path, number)
                items[stem].append(item)
    return {stem: Detections(tuple(found)) for stem, found in items.items()}


def _line(line: str, label: str, path: Path, number: int) -> tuple[str, Detection]:
    cells = line.split()
    try:
        if len(cells) != COLUMNS:
            raise ValueError
        score, *box = (float(cell) for cell in cells[1:])
        return cells[0], Detection(label, _xyxy(box, path, f"line {number}"), score)
    except ValueError:
        raise DataError(
            f"{path}: line {number}: must be 'image confidence xmin ymin xmax ymax'"
        ) from None


def _xyxy(box: list[float], path: Path, where: str) -> Xyxy:
    xmin, ymin, xmax, ymax = box
    if not all(abs(v) < float("inf") for v in box) or xmax < xmin or ymax < ymin:
        raise invalid(
            path, where, "bndbox", f"must be finite xmin, ymin, xmax, ymax in this order, got {box}"
        )
    return xmin - 1, ymin - 1, xmax, ymax


def _root(path: Path) -> ElementTree.Element:
    try:
        if path.stat().st_size > LARGEST_XML:
            raise invalid(path, "annotation", "xml", f"must be at most {LARGEST_XML >> 20} MiB")
        text = path.read_bytes()
        if b"<!ENTITY" in text.replace(b"\0", b""):  # also found in UTF-16
            raise invalid(path, "annotation", "xml", "must not declare entities")
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise invalid(path, "annotation", "xml", f"is not XML: {error}") from None


def _number(node: ElementTree.Element, name: str, path: Path, where: str) -> float:
    text = node.findtext(name)
    try:
        return float(text or "")
    except ValueError:
        raise invalid(
            path, where, name.replace("/", "."), f"must be a number, got {text!r}"
        ) from None
