"""YOLO text files: one file per image, one line per object, coordinates as fractions of
the image's width and height. COCO's files are in ``coco.py``.

Format: https://docs.ultralytics.com/datasets/detect, /segment and /pose. ``class cx cy
w h`` is a box, ``class x y x y x y …`` a polygon, and if data.yaml has ``kpt_shape``,
``class cx cy w h x y v …`` a pose. A confidence may follow, and after it a tracker's
number, which is not read. An image without a file has no objects.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import (
    DataError,
    InvalidRecord,
    Problem,
    UsageError,
    in_field,
)
from visualjudge.core.records import FloatArray, Size
from visualjudge.core.untrusted import text_lines
from visualjudge.core.yamls import read_yaml
from visualjudge.formats.pairing import (
    ByKey,
    folder_at,
    hint_below,
    images_by_key,
)
from visualjudge.formats.samples import (
    Samples,
    check_type,
    compared,
    hull,
    warn_once,
)
from visualjudge.formats.tables import (
    YAML,
    class_name,
    class_table,
)
from visualjudge.vision.poses.skeleton import NO_NAME_KNOWN, joint_order
from visualjudge.vision.predictions import (
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    Person,
    Prediction,
)
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.raster.masks import Budget, mask_from_polygons

BOX = 4
JOINTS = 17
# Number of files of a side in which the order of a line's numbers is looked at.
LOOKED_AT = 200
# Smallest share of boxes that leave their image and would fit it with the confidence
# first.
MISPLACED = 0.3
# Tolerance beyond 0 and 1 for centres and sizes, because predicted boxes may extend
# slightly beyond the image; and the corners of an outline whose middle is in the image,
# because a turned box may have three corners outside.
OUTSIDE = 0.05
CORNERS_OUTSIDE = 0.75
# A list of classes beside the labels.
OWN_CLASSES = "classes.txt"


@dataclass(frozen=True, slots=True)
class Lines:
    """How the lines of a folder are read: class names, keypoints of a person and
    numbers of each (0: no poses), whether a tracker's number ends each line, and the
    order of keypoints by class name where the file names them.
    """

    names: dict[int, str]
    joints: int = 0
    numbers: int = 0
    tracked: bool = False
    orders: Mapping[Any, Sequence[int] | None] = field(default_factory=dict)

    @property
    def pose(self) -> int:
        """The numbers of a pose, its box included; 0 if lines are no poses."""
        return BOX + self.joints * self.numbers if self.joints else 0


def yolo(
    task: str, gt: Path, pred: Path | None, images: Path, classes: Path
) -> Samples:
    """Yield the samples of YOLO label files. Without ``pred``, the ground truth is its
    own prediction.

    Parameters
    ----------
    gt
        Folder of ground truth files.
    images
        Folder of the images.
    classes
        Class names: data.yaml or a table; or a text file with one name per line.

    Raises
    ------
    UsageError
        If the task has no boxes, masks or poses, or a folder is missing.
    DataError
        If a folder's lines have the confidence before the box.
    """
    item, gather = _READERS[check_type(task, _READERS, "YOLO")]
    lines = _lines(classes)
    folders = [folder_at(folder) for folder in (gt, pred) if folder is not None]
    by_key = images_by_key(images)
    labels = {
        folder: _label_files(folder, classes, lines) for folder in folders
    }
    for folder in folders:
        bare = sorted(key for key in by_key if not labels[folder].find(key))
        hint = hint_below(folder, [".txt"], by_key)
        if len(bare) == len(by_key) and (hint or folder == gt):
            raise UsageError(
                f"{folder}: must contain .txt files of labels for the images of "
                f"{images}, got none for its {len(by_key)} images{hint}"
            )
        warn_once(
            folder,
            "has no label file, and counts as an image without objects",
            [f"image {key}" for key in bare if folder == gt],
        )

    clipped: list[str] = []

    def read(folder: Path, form: Lines, key: str, image: Path) -> Prediction:
        size = image_size(image)
        path = labels[folder].find(key)
        return gather(
            size,
            tuple(_items(path, form, size, item, clipped)) if path else (),
        )

    sides = [
        partial(read, folder, _form(folder, lines, truth=folder == gt))
        for folder in folders
    ]
    yield from compared(
        by_key.items(),
        sides[0],
        sides[1] if pred is not None else None,
        labels[folders[-1]],
    )
    warn_once(
        gt if pred is None else f"{gt}, {pred}",
        "corners outside the image were moved to its edge",
        clipped,
    )
    for folder in folders:
        for path in labels[folder].values():
            image = by_key.find(path.stem)
            used = image and labels[folder].find(image.stem)
            if used != path:
                reason = (
                    f"{used} is read for {image}"
                    if image
                    else f"image {path.stem} not found in {images}"
                )
                yield Problem(path.name, path.stem, "image", reason)


def _lines(path: Path) -> Lines:
    """Return the class names, and kpt_shape and kpt_names of data.yaml."""
    table = class_table(path)
    content = read_yaml(path) if path.suffix.lower() in YAML else {}
    content = content if isinstance(content, dict) else {}
    shape = content.get("kpt_shape", [0, 0])
    if not isinstance(shape, list) or [type(v) for v in shape] != [int, int]:
        raise DataError(
            f"{path}: kpt_shape: must be [keypoints, 2 or 3], got {shape!r:.40}"
        )
    names = content.get("kpt_names") or {}
    by_class = names if isinstance(names, dict) else dict.fromkeys(table, names)
    orders = {}
    for number, joints in by_class.items():
        with in_field(f"{path}: kpt_names"):
            if not isinstance(joints, list):
                raise DataError(f"must be a list, got {joints!r:.40}")
            orders[table.get(number)] = joint_order(joints)
    warn_once(
        f"{path}: kpt_names",
        NO_NAME_KNOWN,
        [str(name) for name, order in orders.items() if order is None],
    )
    return Lines(table, shape[0], shape[1], orders=orders)


def _label_files(folder: Path, classes: Path, lines: Lines) -> ByKey[Path]:
    """Return the label files of a folder. A list of classes among them, as labelImg
    writes it, must be the one that is used.
    """
    paths = sorted(path for path in folder.glob("*.txt") if path != classes)
    own = folder / OWN_CLASSES
    if own in paths:
        paths.remove(own)
        if class_table(own) != lines.names:
            raise DataError(
                f"{own}: must have the classes of {classes}, got others; labels of two "
                "lists of classes cannot be compared"
            )
    return ByKey({path.stem: path for path in paths})


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    return (
        (number, line.split())
        for number, line in enumerate(text_lines(path), 1)
        if line.strip()
    )


def _form(folder: Path, lines: Lines, *, truth: bool) -> Lines:
    """Return how the lines of a folder end: a tracker numbers all of them, beyond 1 or
    after a confidence."""
    every = [
        cells
        for path in sorted(folder.glob("*.txt"))[:LOOKED_AT]
        for _, cells in _cells(path)
        if len(cells) > 1 + (lines.pose or BOX)
    ]
    counted = bool(every) and all(cells[-1].isdecimal() for cells in every)
    confident = all(len(cells) == 3 + (lines.pose or BOX) for cells in every)
    tracked = counted and (
        confident or max(int(cells[-1]) for cells in every) > 1
    )
    if not tracked and not lines.pose:
        _check_confidence_last(
            folder, [cells[1:] for cells in every if len(cells) == 2 + BOX]
        )
    counts = {len(cells) - 1 for cells in every}
    if (
        not (tracked or lines.pose)
        and len(every) > len(counts) == 1
        and not counts <= ({8, 9} if truth else {5, 8, 9})
    ):
        warn_once(
            folder,
            f"{counts.pop()} numbers follow each class, read as an outline, or as a "
            "box and a confidence; angles are not read, and poses need kpt_shape in "
            "the data.yaml of `classes`",
            [*map(" ".join, every)],
        )
    return replace(lines, tracked=tracked)


def _check_confidence_last(folder: Path, rows: list[list[str]]) -> None:
    """Reject boxes that extend beyond their image but fit if the second number of a
    line, not the last, is the confidence."""
    try:
        numbers = np.array(rows, dtype=np.float64).reshape(-1, BOX + 1)
    except ValueError:  # reported when the line is read
        return
    leaving = int((~_fits(numbers[:, :BOX])).sum())
    if leaving > MISPLACED * len(rows) and _fits(numbers[:, 1:]).all():
        raise DataError(
            f"{folder}: confidence must be the last number of a line (class cx cy w h "
            f"confidence); {leaving} of {len(rows)} boxes extend beyond their image, "
            "but all fit it with the second number as confidence: move it to the end"
        )


def _fits(boxes: FloatArray) -> Any:
    """Return which of the boxes, (n, 4) of cx, cy, w, h as fractions, lie within their
    image."""
    centres = boxes[:, :2]
    halves = boxes[:, 2:] / 2
    return (
        (centres - halves >= -OUTSIDE)
        & (centres + halves <= 1 + OUTSIDE)
        & (halves >= 0)
    ).all(axis=1)


def _items(
    path: Path,
    form: Lines,
    size: Size,
    item: Callable[..., Any],
    clipped: list[str],
) -> Iterator[Any]:
    budget = Budget()
    for line, cells in _cells(path):
        try:
            label, values, score = _numbers(cells, form)
            if (
                len(values) > BOX
                and not form.pose
                and (abs(values - 0.5) > 0.5).any()
            ):
                clipped.append(f"{path.name}: line {line}")
            yield budget.admit(item(label, values, score, form, size))
        except DataError as error:
            raise InvalidRecord(
                Problem.of(error, path.name, f"line {line}", "numbers")
            ) from None


def _numbers(
    cells: list[str], form: Lines
) -> tuple[str, FloatArray, float | None]:
    try:
        number, *values = map(float, cells)
    except ValueError:
        raise DataError(
            "numbers: must be a class number and coordinates separated by spaces, got "
            f"{' '.join(cells)!r:.60}"
        ) from None
    if not np.isfinite([number, *values]).all():
        raise DataError("numbers: must be finite")
    label = class_name(number, form.names)
    if form.tracked and len(values) > (form.pose or BOX):
        values.pop()
    confident = len(values) == form.pose + 1 if form.pose else len(values) % 2
    score = values.pop() if confident else None
    if score is not None and not 0 <= score <= 1:
        raise DataError(
            f"confidence: must be from 0 to 1, got {score:g}; is it an angle, which is "
            "not read, or a tracker's number, or does a data.yaml with kpt_shape belong "
            "to `classes`?"
        )
    if form.pose and len(values) != form.pose:
        raise DataError(
            f"numbers: must be a class and {form.pose} numbers, got {len(values)}"
        )
    if len(values) < BOX:
        raise DataError("numbers: must be a class and 4 numbers, or 6 and more")
    places = values[: form.pose and BOX] or values
    is_outline = len(places) > BOX and (
        0 <= np.mean(places[::2]) <= 1 >= np.mean(places[1::2])
    )
    most = CORNERS_OUTSIDE if is_outline else OUTSIDE
    outside = [value for value in places if not -most <= value <= 1 + most]
    if outside:
        what = (
            "is it the number of an instance?"
            if outside == places[:1]
            else "are they pixels?"
        )
        raise DataError(
            "coordinates: must be fractions of the image's width and height, 0 to 1, "
            f"got {outside[0]:g}; {what}"
        )
    return label, np.array(values), score


def _detection(
    label: str, values: FloatArray, score: float | None, form: Lines, size: Size
) -> Detection:
    height, width = size
    if not form.pose and len(values) > BOX:
        ring = np.clip(values.reshape(-1, 2), 0, 1) * (width, height)
        return Detection(label, hull(ring.ravel().tolist()), score)
    cx, cy, w, h = (values[:BOX] * (width, height, width, height)).tolist()
    if w < 0 or h < 0:
        raise DataError("box: has a negative width or height")
    return Detection(
        label, (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2), score
    )


def _instance(
    label: str, values: FloatArray, score: float | None, form: Lines, size: Size
) -> Instance:
    if form.pose or len(values) == BOX:
        raise DataError(
            "numbers: must be a class and 6 numbers or more, got a box; `task` "
            "object_detection reads it"
        )
    return Instance(
        label,
        mask_from_polygons(
            [(values.reshape(-1, 2) * (size[1], size[0])).ravel().tolist()],
            size,
        ),
        score,
    )


def _person(
    label: str, values: FloatArray, score: float | None, form: Lines, size: Size
) -> Person:
    if form.joints != JOINTS:
        raise DataError(
            "keypoints: must be the 17 of COCO, with kpt_shape: [17, 3] in the "
            f"data.yaml of `classes`, got {form.joints or 'no kpt_shape'}"
        )
    points = np.zeros((JOINTS, 3))
    points[:, : form.numbers] = values[BOX:].reshape(JOINTS, form.numbers)
    points[:, :2] *= (size[1], size[0])
    if form.numbers == 2:
        points[:, 2] = 2 * points[:, :2].any(axis=1)
    order = form.orders.get(label)
    if order is not None:
        points = points[order]
    return Person(
        points,
        _detection(label, values, score, form, size).xyxy,
        None,
        False,
        score,
    )


_READERS: dict[
    str, tuple[Callable[..., Any], Callable[[Size, Any], Prediction]]
] = {
    "detection": (_detection, lambda _size, items: Detections(items)),
    "instance": (_instance, Masks),
    "keypoint": (_person, lambda _size, items: People(items)),
}
