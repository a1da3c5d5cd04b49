"""COCO instances, boxes, keypoints and results, and LVIS, whose images are not
annotated exhaustively. Masks of COCO panoptic PNGs are in ``label_maps.py``.

Formats: https://cocodataset.org/#format-data and #format-results;
https://www.lvisdataset.org.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

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
from visualjudge.core.records import Size, Xyxy
from visualjudge.core.typed_records import record_of
from visualjudge.formats.pairing import (
    ByKey,
    file_below,
    folder_at,
    normal,
)
from visualjudge.formats.samples import (
    NO_PREDICTION,
    RESIZE,
    Sample,
    Samples,
    check_type,
    exif_hint,
    hull,
    invalid,
    other_size,
    turned,
    warn_once,
)
from visualjudge.formats.tables import read_json, whole
from visualjudge.vision import fields
from visualjudge.vision.fields import crowd, flag, score
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
from visualjudge.vision.raster.images import image_size, opened, stored_samples
from visualjudge.vision.raster.masks import (
    Budget,
    mask_from_array,
    mask_from_wire,
    resized_mask,
)

_NUMBERS = {float, int}
# The prefix of 2014 image names in LVIS; the 2017 folders contain the same images
# without it.
_COCO_2014 = re.compile(r"^COCO_(train|val|test)2014_")
FEDERATED = ("neg_category_ids", "not_exhaustive_category_ids")
# The records of an image, each with its location in the file.
Rows = Sequence[tuple[str, Any]]


@dataclass(frozen=True)
class ImageEntry:
    """One entry of ``images``."""

    image_id: str
    path: Path
    size: Size
    raw: Mapping[str, Any] = field(default_factory=dict)


# The place of each of COCO's keypoints, by the normal name of a category.
Joints = dict[str, list[int]]
# (records, image, whether they are predictions) → the prediction of an image.
Typed = Callable[[Rows, ImageEntry, bool], Prediction]


@dataclass(eq=False)
class CocoTruth:
    """An indexed COCO ground truth file; ``problems`` lists the records that cannot be
    used."""

    file: Path
    labels: dict[Any, str]
    images: dict[Any, ImageEntry]
    annotations: dict[Any, list[tuple[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    problems: list[Problem] = field(default_factory=list)
    # Class names by number in the predictions' own table.
    predicted: dict[Any, str] = field(default_factory=dict)
    # The order of keypoints by category, of the truths and of the predictions.
    joints: Joints = field(default_factory=dict)
    predicted_joints: Joints = field(default_factory=dict)
    # Number of each image by the file name that the ground truth states.
    numbers: ByKey[Any] = field(default_factory=ByKey)


def coco(
    task: str,
    gt: Path,
    pred: Path | None,
    images: Path,
    *,
    gt_pngs: Path | None = None,
    pred_pngs: Path | None = None,
    resize_pred: bool = False,
) -> Samples:
    """Yield the samples of a COCO instances, keypoints or panoptic file. Without
    ``pred``, the ground truth is its own prediction.

    LVIS files are recognised by ``neg_category_ids``. A class whose instances are not
    all annotated on an image cannot be scored there, and predictions of a class that
    the annotators did not check are neither right nor wrong. Both are left out.

    Parameters
    ----------
    gt
        Ground truth file.
    images
        Folder of the images.
    gt_pngs
        Panoptic: folder of the ground truth's PNGs.
    pred_pngs
        Panoptic: folder of the predictions' PNGs.

    Raises
    ------
    UsageError
        If the importer cannot read the task, or a panoptic file is given without PNGs.
    DataError
        If a whole file cannot be read.
    """
    content = read_json(gt)
    rows = content.get("annotations") if isinstance(content, dict) else None
    first = rows[0] if rows and isinstance(rows, list) else None
    segments = isinstance(first, dict) and "segments_info" in first
    kind = (
        check_type(task, _FROM_PANOPTIC, "COCO panoptic")
        if segments
        else check_type(task, _READERS, "COCO instance")
    )
    if segments and (
        gt_pngs is None or (pred is not None and pred_pngs is None)
    ):
        raise UsageError(
            "panoptic files need `gt_pngs`, and a `pred_pngs` for each `pred`"
        )
    truth = _truth(content, gt, folder_at(images))
    results = None if pred is None else _results(pred, truth)
    if segments:
        typed = _of_segments(
            kind, content, truth, pred or gt, gt_pngs, pred_pngs
        )
    else:
        typed = reader_of_rows(kind, truth, pred or gt, resize=resize_pred)
        _warn_of_ids(truth)
        warn_once(
            pred,
            "keypoints: no v is above 0; all but those at 0, 0 are read as visible",
            [
                where
                for rows in (results or {}).values()
                for where, raw in rows
                if _READERS[kind][2]
                and isinstance(raw.get("keypoints"), list)
                and _all_finite(raw["keypoints"])
                and not any(raw["keypoints"][2::3])
            ],
        )
    yield from samples_of(truth, results, pred or gt, typed)


def samples_of(
    truth: CocoTruth,
    results: Mapping[Any, Rows] | None,
    pred: Path,
    typed: Typed,
) -> Samples:
    """Yield the samples of records in COCO's form; without ``results``, the truth's."""
    yield from truth.problems
    for number, image in truth.images.items():
        try:
            real = typed(truth.annotations[number], image, False)
            yield _sample(
                image,
                (
                    real
                    if results is None
                    else typed(results.get(number, ()), image, True)
                ),
                real,
                truth,
                own=results is None,
                named=results is None or number in results,
            )
        except InvalidRecord as error:
            yield error.problem
    if results is not None:
        yield from _of_unknown_images(results, truth, pred)


def _truth(content: Any, gt: Path, images: Path) -> CocoTruth:
    """Read the categories, images and annotations of a COCO file (annotations
    unchanged)."""
    if not isinstance(content, Mapping) or not all(
        isinstance(content.get(k), list) for k in ("images", "annotations")
    ):
        hint = (
            ", got an array, as in a results file; `gt` and `pred` seem to be swapped"
            if isinstance(content, list)
            else ""
        )
        raise DataError(
            f"{gt}: must be a COCO ground truth: an object with the lists 'images' and "
            f"'annotations'{hint}"
        )
    truth = CocoTruth(gt, _labels(content.get("categories"), gt), {})
    truth.joints = _joints(content["categories"], gt)
    truth.predicted_joints = truth.joints
    with os.scandir(images) as entries:  # one look for all images
        files = {
            entry.name
            for entry in entries
            if entry.is_file(follow_symlinks=False)
        }
    for k, raw in enumerate(content["images"]):
        try:
            number = whole(raw.get("id")) if isinstance(raw, Mapping) else None
            if not isinstance(number, int | str):
                raise invalid(
                    gt,
                    f"images[{k}]",
                    "id",
                    "must be a whole number or a string",
                )
            if number in truth.images:
                raise invalid(
                    gt, f"images[{k}]", "id", f"{number!r} occurs twice"
                )
            name = _name_of(raw)
            if name in truth.numbers:
                raise invalid(
                    gt,
                    f"images[{k}]",
                    "file_name",
                    f"{name!r} is that of image {truth.numbers[name]!r} too",
                )
            truth.images[number] = _image(
                raw, f"images[{k}]", gt, images, files
            )
            truth.numbers[name] = number
        except InvalidRecord as error:
            truth.problems.append(error.problem)
    # Numbers first, as pycocotools has them: the order decides between equal
    # confidences.
    truth.images = dict(
        sorted(
            truth.images.items(),
            key=lambda row: (isinstance(row[0], str), row[0]),
        )
    )
    truth.annotations.update(
        _by_image(content["annotations"], f"{gt}: annotations")
    )
    return truth


def _labels(categories: Any, gt: Path) -> dict[Any, str]:
    rows = categories if isinstance(categories, list) else []
    labels = {
        whole(row["id"]): row["name"]
        for row in rows
        if isinstance(row, Mapping)
        and isinstance(whole(row.get("id")), int | str)
        if "name" in row
    }
    if (
        not labels
        or len(labels) != len(rows)
        or not all(
            isinstance(name, str) and name.strip() for name in labels.values()
        )
    ):
        raise DataError(
            f"{gt}: categories: must be a list of objects, each with a unique 'id' and "
            "a 'name'"
        )
    if len(set(labels.values())) != len(labels):
        raise DataError(
            f"{gt}: categories: must have different names, got one twice"
        )
    return labels


def _name_of(image: Mapping[str, Any]) -> str:
    return (
        str(image.get("file_name") or "")
        or str(image.get("coco_url", "")).rpartition("/")[2]
    )


def _joints(categories: Sequence[Mapping[str, Any]], file: Path) -> Joints:
    """Return the order of keypoints of each category that names them."""
    orders: Joints = {}
    foreign = []
    for row in categories:
        names = row.get("keypoints") or ()
        with in_field(f"{file}: categories: {row['name']}: keypoints"):
            order = joint_order(names)
        if order is not None:
            orders[normal(row["name"])] = order
        elif names:
            foreign.append(
                f"categories: {row['name']}: keypoints: {names[0]!r}"
            )
    warn_once(
        file,
        NO_NAME_KNOWN,
        foreign,
    )
    return orders


def _image(
    raw: Mapping[str, Any],
    where: str,
    gt: Path,
    images: Path,
    files: Collection[str],
) -> ImageEntry:
    name = _name_of(raw)
    if not name:
        raise invalid(gt, where, "file_name", "the field is missing")
    try:
        renamed = _COCO_2014.sub("", name)
        if name not in files and renamed in files:
            name = renamed
        path = images / name if name in files else file_below(images, name)
        size = image_size(path)
    except DataError as error:
        raise invalid(gt, where, "file_name", str(error)) from None
    stated = raw.get("height", size[0]), raw.get("width", size[1])
    if stated != size:
        field_name = "height" if stated[0] != size[0] else "width"
        raise invalid(
            gt,
            where,
            field_name,
            f"must match {name}, {size[0]}×{size[1]}, got {stated[0]!r}×{stated[1]!r} "
            f"(height×width){exif_hint(stated, size, path)}",
        )
    return ImageEntry(path.stem, path, size, raw)


def _results(pred: Path, truth: CocoTruth) -> dict[Any, list[tuple[str, Any]]]:
    """Return results by image. A results file is an array, or an object with
    annotations."""
    content = read_json(pred)
    own = content if isinstance(content, Mapping) else {"annotations": content}
    rows = own.get("annotations")
    if not isinstance(rows, list):
        raise DataError(
            f"{pred}: must be a COCO results file: an array of objects, or an object "
            f"with 'annotations', got {type(content).__name__}"
        )
    return _by_own_tables(_by_image(rows, f"{pred}: "), own, pred, truth)


def _check_numbers(
    content: Mapping[str, Any],
    name: str,
    known: Mapping[Any, Any],
    pred: Path,
    truth: CocoTruth,
) -> None:
    """Refuse ids of images or categories that are places in a list of them."""
    stated = {
        number
        for row in content["annotations"]
        if isinstance(row, Mapping)
        and isinstance(number := whole(row.get(name)), int)
    }
    if not stated <= known.keys() and stated <= {*range(len(known) + 1)}:
        raise DataError(
            f"{pred}: {name}: {min(stated)} to {max(stated)} look like places in a list; the "
            f"ids in {truth.file.name} are {', '.join(map(str, known))[:80]}"
        )


def _by_own_tables(
    results: dict[Any, list[tuple[str, Any]]],
    content: Mapping[str, Any],
    pred: Path,
    truth: CocoTruth,
) -> dict[Any, list[tuple[str, Any]]]:
    """Return the results by the ground truth's number of their image. A file of
    predictions with tables of its own means those: classes are joined by name, images
    by file name.
    """
    if content.get("categories"):
        truth.predicted = _labels(content["categories"], pred)
        truth.predicted_joints = truth.joints | _joints(
            content["categories"], pred
        )
        known = set(map(normal, truth.labels.values()))
        foreign = [
            name
            for name in truth.predicted.values()
            if normal(name) not in known
        ]
        if len(foreign) == len(truth.predicted):
            raise DataError(
                f"{pred}: categories: must have names of {truth.file.name}, got "
                f"{', '.join(foreign)[:80]}"
            )
        warn_once(pred, f"is no category of {truth.file.name}", foreign)
    else:
        _check_numbers(content, "category_id", truth.labels, pred, truth)
    own = {
        whole(image.get("id")): _name_of(image)
        for image in (
            record_of(jsons.Json, raw, f"{pred}: images[{k}]")
            for k, raw in enumerate(content.get("images") or ())
        )
    }
    results = {**{number: [] for number in own}, **results}
    if not own:
        if truth.images.keys().isdisjoint(results):
            own = _named_as_ids(truth)
        _check_numbers(
            content, "image_id", {**truth.images, **own}, pred, truth
        )
    joined: dict[Any, list[tuple[str, Any]]] = defaultdict(list)
    for number, rows in results.items():
        name = own.get(number)
        if name:
            there = truth.numbers.find(name)
            number = name if there is None else there
        joined[number] += rows
    return joined


def _named_as_ids(truth: CocoTruth) -> dict[Any, str]:
    """Return the file names of images by themselves and by their stems, which
    Ultralytics writes as ids, as numbers if they are; without those of two images.
    """
    stems = [(PurePath(name).stem, name) for name in truth.numbers]
    keys = [
        (key, name)
        for stem, name in stems
        for key in {name, stem, int(stem) if stem.isdecimal() else stem}
    ]
    times = Counter(key for key, _ in keys)
    return {key: name for key, name in keys if times[key] == 1}


def _by_image(
    rows: Iterable[Any], file: str
) -> dict[Any, list[tuple[str, Any]]]:
    collected: dict[Any, list[tuple[str, Any]]] = defaultdict(list)
    within = file.rpartition(": ")[2]
    for k, raw in enumerate(rows):
        number = whole(raw.get("image_id")) if isinstance(raw, dict) else None
        if not isinstance(number, (int, str)):
            raise DataError(
                f"{file}[{k}]: image_id: must be a whole number or a string, got "
                f"{number!r:.40}"
            )
        collected[number].append((f"{within}[{k}]", raw))
    return collected


def _warn_of_ids(truth: CocoTruth) -> None:
    """Warn about annotations of no image of the file, and about ids that occur
    twice."""
    if truth.problems:  # records of skipped images have been reported
        return
    rows = [
        (number, *row)
        for number, rows in truth.annotations.items()
        for row in rows
    ]
    absent = [where for number, where, _ in rows if number not in truth.images]
    times = Counter(
        repr(raw.get("id")) for _, _, raw in rows if raw.get("id") is not None
    )
    again = [where for _, where, raw in rows if times[repr(raw.get("id"))] > 1]
    warn_once(
        truth.file,
        "image_id: must be an image of the file; the record is left out",
        absent,
    )
    warn_once(
        truth.file,
        "id: occurs twice; the records count as two objects",
        again[1:],
    )


def _of_unknown_images(
    results: Mapping[Any, Rows], truth: CocoTruth, pred: Path
) -> list[Problem]:
    """Return a problem for each result on an image that is not in the ground truth.
    Results on skipped images are not reported again."""
    known = {*truth.images, *truth.annotations}
    example = f", such as {next(iter(truth.images))!r}" if truth.images else ""
    return [
        Problem(
            pred.name,
            where,
            "image_id",
            f"must be the id of an image of {truth.file.name}{example}, got {number!r}",
        )
        for number, rows in results.items()
        if number not in known and not truth.problems
        for where, _ in rows
    ]


def reader_of_rows(
    kind: str, truth: CocoTruth, pred: Path, *, resize: bool
) -> Typed:
    """Return the reader of records of a type, for other formats that have COCO's
    fields, too."""
    read, gather, has_joints = _READERS[kind]

    def typed(rows: Rows, image: ImageEntry, predicted: bool) -> Prediction:
        items = []
        budget = Budget()
        for where, raw in rows:
            try:
                label = _label(raw, truth, predicted)
                item = budget.admit(
                    read(raw, label, image, resize and predicted)
                )
                if has_joints:
                    order = (
                        truth.predicted_joints if predicted else truth.joints
                    ).get(normal(label), slice(None))
                    item = replace(item, keypoints=item.keypoints[order])
            except DataError as error:
                raise InvalidRecord(
                    Problem.of(
                        error, (pred if predicted else truth.file).name, where
                    )
                ) from None
            items.append(item)
        return gather(image, tuple(items))

    return typed


def _label(raw: Mapping[str, Any], truth: CocoTruth, predicted: bool) -> str:
    number = whole(raw.get("category_id")) if isinstance(raw, dict) else None
    if number is None:
        raise DataError(
            "category_id: the field is missing; class names are not accepted"
        )
    labels = (truth.predicted if predicted else None) or truth.labels
    name = labels.get(number) if isinstance(number, (int, str)) else None
    if name is None:
        first, name = next(iter(labels.items()))
        raise DataError(
            f"category_id: must be a category of {truth.file.name}, such as {first!r} "
            f"({name}), got {number!r}"
        )
    return name


def _detection(
    raw: Mapping[str, Any], label: str, image: ImageEntry, _resize: bool
) -> Detection:
    corners = _xyxy(raw.get("bbox"))
    box = raw["bbox"]
    stated = raw.get("attributes")  # as CVAT writes them
    turn = stated.get("rotation") if isinstance(stated, dict) else 0
    if turn and _all_finite((turn,)):
        return Detection(label, hull(turned(box, turn)), score(raw), crowd(raw))
    return Detection(
        label, corners, score(raw), crowd(raw), (float(box[2]), float(box[3]))
    )


def _instance(
    raw: Mapping[str, Any], label: str, image: ImageEntry, resize: bool
) -> Instance:
    if raw.get("segmentation") in (None, [], ""):
        raise DataError(
            "segmentation: the field is missing or empty"
            + "; `task` object_detection reads boxes"
            * (raw.get("bbox") is not None)
        )
    with in_field("segmentation"):
        mask = mask_from_wire(raw["segmentation"], image.size)
    if mask.size != image.size and not resize:
        raise other_size(
            "segmentation:", mask.size, image.size, image.path, remedy=RESIZE
        )
    return Instance(
        label, resized_mask(mask, image.size), score(raw), crowd(raw)
    )


def _person(
    raw: Mapping[str, Any], _label: str, _image: ImageEntry, _resize: bool
) -> Person:
    numbers = raw.get("keypoints")
    if (
        not isinstance(numbers, list)
        or len(numbers) != 51
        or not _all_finite(numbers)
    ):
        raise DataError(
            "keypoints: must be a list of 51 numbers, x, y, v for each of the 17 COCO "
            "keypoints, got "
            f"{len(numbers) if isinstance(numbers, list) else numbers!r:.40}"
        )
    area = (
        None if raw.get("area") is None else fields.number(raw["area"], "area")
    )
    box = _xyxy(raw["bbox"]) if raw.get("bbox") is not None else None
    points = np.array(numbers, dtype=np.float64).reshape(17, 3)
    if (
        "score" in raw and not points[:, 2].any()
    ):  # v has no meaning in COCO's results
        points[:, 2] = points.any(axis=1)
    return Person(points, box, area, crowd(raw), score(raw))


def _sample(
    image: ImageEntry,
    prediction: Prediction,
    real: Prediction,
    truth: CocoTruth,
    *,
    own: bool,
    named: bool,
) -> Sample:
    labels = real.labels
    judged = None
    if all(name in image.raw for name in FEDERATED):
        open_ended, absent = (
            {
                truth.labels[k]
                for k in map(whole, image.raw[name])
                if k in truth.labels
            }
            for name in reversed(FEDERATED)
        )
        labels = tuple(label for label in labels if label not in open_ended)
        judged = frozenset(labels) | (absent - open_ended)
        prediction = prediction.only(judged)
        real = real.only(judged)
    if own:
        prediction = real.without_crowds()
    return Sample(
        image.image_id,
        image.path,
        prediction,
        real,
        labels,
        judged=judged,
        metadata={} if named else NO_PREDICTION,
    )


def _xyxy(box: Any) -> Xyxy:
    if not isinstance(box, list) or len(box) != 4 or not _all_finite(box):
        raise DataError(
            f"bbox: must be [x, y, width, height], four finite numbers, got {box!r:.60}"
        )
    x, y, w, h = map(float, box)
    if w < 0 or h < 0:
        raise DataError(
            "bbox: must be [x, y, width, height], got a negative width or height"
        )
    return x, y, x + w, y + h


def _all_finite(values: Sequence[Any]) -> bool:
    """The sum of numbers with an infinite one or a NaN, which compares false, is no
    finite one."""
    return _NUMBERS.issuperset(map(type, values)) and abs(sum(values)) <= 1e308


# By type: the reader of an item, of a prediction, and whether items have joints.
_READERS: dict[
    str,
    tuple[Callable[..., Any], Callable[[ImageEntry, Any], Prediction], bool],
] = {
    "detection": (_detection, lambda _image, items: Detections(items), False),
    "instance": (
        _instance,
        lambda image, items: Masks(image.size, items),
        False,
    ),
    "keypoint": (_person, lambda _image, items: People(items), True),
}


# ---------------------------------------------------------------- panoptic


def _of_segments(
    kind: str,
    content: Mapping[str, Any],
    truth: CocoTruth,
    pred: Path,
    gt_pngs: Path | None,
    pred_pngs: Path | None,
) -> Typed:
    """Return the reader of COCO panoptic records: segments, and PNGs with id = R + 256
    G + 65536 B and 0 = void. Semantic segmentation merges the segments of a class;
    instance segmentation uses those of isthing categories."""
    folders = [
        folder_at(folder)
        for folder in (gt_pngs, pred_pngs)
        if folder is not None
    ]
    things = {
        row["name"]
        for row in content["categories"]
        if flag(row.get("isthing", 1), "isthing")
    }

    def typed(rows: Rows, image: ImageEntry, predicted: bool) -> Prediction:
        file, pngs = (
            (pred, folders[-1]) if predicted else (truth.file, folders[0])
        )
        return _FROM_PANOPTIC[kind](
            _segments(rows, image, truth, file, pngs, predicted), things
        )

    return typed


def _segments(
    rows: Rows,
    image: ImageEntry,
    truth: CocoTruth,
    file: Path,
    pngs: Path,
    predicted: bool,
) -> Masks:
    if not rows:
        return Masks(image.size, ())
    if len(rows) > 1:
        raise invalid(
            file,
            rows[1][0],
            "image_id",
            "must have one panoptic annotation, got two",
        )
    where, raw = rows[0]
    try:
        path = file_below(pngs, raw.get("file_name"))
        ids = _panoptic_ids(path, image)
    except DataError as error:
        raise invalid(file, where, "file_name", str(error)) from None
    segments = raw.get("segments_info")
    if not isinstance(segments, list):
        raise invalid(file, where, "segments_info", "must be a list of objects")
    items = []
    budget = Budget()
    seen: dict[Any, int] = {}
    for k, segment in enumerate(segments):
        try:
            label = _label(segment, truth, predicted)
            number = whole(segment.get("id"))
            if seen.setdefault(number, k) != k:
                raise DataError(
                    f"id: must occur once in an image, got {number!r} in "
                    f"segments_info[{seen[number]}] too"
                )
            mask = budget.admit(mask_from_array(ids == number))
            if mask.area == 0:
                raise DataError(
                    f"id: must be a value of {path.name}, got {number!r}"
                    f"{_other_channels(number, ids)}"
                )
            items.append(Instance(label, mask, None, crowd(segment)))
        except DataError as error:
            raise InvalidRecord(
                Problem.of(error, file.name, f"{where}.segments_info[{k}]")
            ) from None
    unlike = any(
        segment.get("area", item.mask.area) != item.mask.area
        for segment, item in zip(segments, items, strict=True)
    )
    warn_once(
        f"{file.name}: segments_info",
        "an area is not that of its pixels; are these the PNGs of this file?",
        [str(pngs)] * unlike,
    )
    lacking = set(np.unique(ids).tolist()) - {0, *seen}
    if lacking:
        raise invalid(
            file,
            where,
            "segments_info",
            f"{min(lacking)} of {path.name} is missing",
        )
    return Masks(image.size, tuple(items))


def _other_channels(number: Any, ids: NDArray[np.uint32]) -> str:
    """Return a hint if an id is missing because of the channels of the PNG."""
    if not (ids >= 1 << 16).any():
        return "; it looks like a two-channel PNG"
    if not isinstance(number, int):
        return ""
    turned = number >> 16 | number & 0xFF00 | (number & 0xFF) << 16
    return "; its channels seem to be blue, green, red" if turned in ids else ""


def _panoptic_ids(path: Path, image: ImageEntry) -> NDArray[np.uint32]:
    with opened(path) as png:
        plain = (
            png if png.mode in ("RGB", "L", "I", "I;16") else png.convert("RGB")
        )
        colours = stored_samples(plain).astype(np.uint32)
    if colours.shape[:2] != image.size:
        raise other_size(
            path.name,
            (colours.shape[0], colours.shape[1]),
            image.size,
            image.path,
        )
    # one channel has the ids themselves
    return np.atleast_3d(colours) @ np.array(
        [1] if colours.ndim == 2 else [1, 256, 65536], dtype=np.uint32
    )


_FROM_PANOPTIC: dict[str, Callable[[Masks, set[str]], Prediction]] = {
    "semantic": lambda side, _things: side.with_items(
        Instance(label, mask) for label, mask in sorted(side.by_label().items())
    ),
    "instance": lambda side, things: side.only(things),
}
