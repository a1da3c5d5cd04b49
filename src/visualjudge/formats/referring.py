"""Referring expressions: RefCOCO refs as JSON or pickle with COCO instances,
ReferIt-like JSON, or plain rows. Other masks of COCO are in ``coco.py``.

Format of refs: Kazemzadeh et al. 2014, Yu et al. 2016
(https://github.com/lichengunc/refer).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import (
    DataError,
    Problem,
    in_field,
    of_format,
)
from visualjudge.core.records import Mask, Size
from visualjudge.formats.pairing import files_by_key, folder_at, stated_file
from visualjudge.formats.samples import (
    RESIZE,
    Sample,
    Samples,
    check_type,
    other_size,
)
from visualjudge.formats.tables import (
    first_row,
    read_json,
    read_pickle,
    read_table,
    whole,
)
from visualjudge.vision.fields import box
from visualjudge.vision.predictions import Instance, Masks
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.raster.masks import (
    empty_mask,
    mask_from_array,
    mask_from_wire,
    resized_mask,
)


@dataclass(frozen=True)
class Expression:
    """One expression for one region; ``key`` identifies it in predictions."""

    where: str
    key: str
    file_name: str
    text: str
    region: Any
    # [x1, y1, x2, y2], used if there is no mask.
    bbox: Any = None


def referring(
    task: str,
    gt: Path,
    pred: Path | None,
    images: Path,
    instances: Path | None = None,
    *,
    boxes: bool = False,
    resize_pred: bool = False,
) -> Samples:
    """Yield the samples of a referring-expression file. Without ``pred``, the ground
    truth is its own prediction.

    Parameters
    ----------
    gt
        Ground truth file.

        RefCOCO refs (``ann_id``, ``sentences``; with ``instances``; JSON or pickle),
        ``{"image", "objects": [{"expressions"}]}``, or rows of ``image``,
        ``expression``, ``segmentation``.
    pred
        Predictions; if omitted, the ground truth itself is imported.

        Rows with ``key`` and ``segmentation``, or a folder of mask PNGs named by key.
        The key is a sent_id, or an object_id or ref_id for all expressions of a region.
    images
        Folder of the images.
    instances
        COCO instances that ann_id of the refs points to.
    boxes
        Use the box as the region if there is no mask; a box is ``[x1, y1, x2, y2]``.
    resize_pred
        Resize predicted masks to the size of their image (nearest neighbour).
    """
    check_type(task, ("referring",), "referring-expression")
    folder_at(images)
    predictions = None if pred is None else _predictions(pred)
    for item in _expressions(gt, instances):
        try:
            yield _sample(
                item,
                predictions,
                images,
                (gt.parent, (pred or gt).parent),
                boxes,
                resize_pred,
            )
        except DataError as error:
            yield Problem.of(error, gt.name, item.where)


def _sample(
    item: Expression,
    predictions: Mapping[str, Any] | None,
    images: Path,
    roots: tuple[Path, Path],
    boxes: bool,
    resize: bool,
) -> Sample:
    image = stated_file(images, item.file_name, "image")
    if not item.text.strip():
        raise DataError("expression: is empty")
    size = image_size(image)
    real = _region(item, image, size, roots[0], boxes)
    result = (
        real
        if predictions is None
        else _predicted(item, predictions, roots[1], image, size, resize)
    )
    sides = (
        Masks(size, (Instance(item.text, mask),)) for mask in (result, real)
    )
    return Sample(
        image.stem,
        image,
        next(sides),
        next(sides),
        key=item.key,
        prompt=item.text,
    )


def _region(
    item: Expression, image: Path, size: Size, root: Path, boxes: bool
) -> Mask:
    if item.region is None and not boxes:
        raise DataError(
            "segmentation: is missing; `boxes` takes the box as the region"
        )
    if item.region is None:
        x1, y1, x2, y2 = (max(0, round(v)) for v in box(item.bbox, "bbox"))
        dense = np.zeros(size, dtype=np.bool_)
        dense[y1:y2, x1:x2] = True
        return mask_from_array(dense)
    return _mask(item.region, "segmentation", size, root, image)


def _predicted(
    item: Expression,
    predictions: Mapping[str, Any],
    root: Path,
    image: Path,
    size: Size,
    resize: bool,
) -> Mask:
    for key in (item.key, item.key.rpartition(".")[0]):
        if key in predictions:
            form = predictions[key]
            if form is None:
                return empty_mask(size)
            return _mask(
                form,
                "prediction",
                size,
                None if isinstance(form, Path) else root,
                image,
                resize,
            )
    raise DataError(f"prediction: not found for key {item.key!r}")


def _mask(
    form: Any,
    field: str,
    size: Size,
    root: Path | None,
    image: Path,
    resize: bool = False,
) -> Mask:
    with in_field(field):
        mask = mask_from_wire(form, size, root)
    if mask.size != size and not resize:
        raise other_size(
            f"{field}:",
            mask.size,
            size,
            image,
            remedy=(RESIZE if field == "prediction" else ""),
        )
    return resized_mask(mask, size)


def _predictions(pred: Path) -> dict[str, Any]:
    if pred.is_dir():
        return dict(files_by_key(pred))
    collected = {}
    for number, row in enumerate(read_table(pred), first_row(pred)):
        key = next(
            (
                row[name]
                for name in ("key", "sent_id", "object_id", "ref_id")
                if name in row
            ),
            None,
        )
        if key is None or "segmentation" not in row:
            raise DataError(
                f"{pred}: row {number}: needs key (or sent_id, object_id, ref_id) and "
                "segmentation"
            )
        if str(whole(key)) in collected:
            raise DataError(
                f"{pred}: row {number}: key {key!r} must occur once, got it twice"
            )
        collected[str(whole(key))] = row["segmentation"]
    return collected


def _expressions(gt: Path, instances: Path | None) -> Iterator[Expression]:
    content = _content(gt)
    groups = content if isinstance(content, list) else [content]
    regions = _instances(instances) if instances else {}
    for k, row in enumerate(groups):
        lists = (
            [row.get(name, []) for name in ("objects", "sentences")]
            if isinstance(row, Mapping)
            else [None]
        )
        if not all(isinstance(item, list) for item in lists):
            raise DataError(
                f"{gt}: [{k}]: must be an object in which 'objects' or 'sentences' is "
                "a list"
            )
        if "objects" in row:
            yield from _of_objects(row, k, gt)
        elif "sentences" in row:
            yield from _of_ref(row, k, regions)
        else:
            text = str(row.get("expression", ""))
            file_name = str(row.get("image", row.get("file_name", "")))
            if not file_name:
                raise DataError(
                    f"{gt}: [{k}]: must have 'image' with 'expression' or 'objects', "
                    "or be a ref with 'sentences', got "
                    f"{', '.join(map(str, row))[:80] or 'no field'}"
                )
            yield Expression(
                f"[{k}]",
                str(whole(row.get("key", row.get("sent_id", k)))),
                file_name,
                text,
                row.get("segmentation"),
                row.get("bbox"),
            )


def _content(gt: Path) -> Any:
    if gt.suffix.lower() in (".p", ".pkl", ".pickle"):
        return read_pickle(gt)
    return (
        read_table(gt)
        if gt.suffix.lower() in (".jsonl", ".csv", ".tsv")
        else read_json(gt)
    )


def _of_objects(
    row: Mapping[str, Any], k: int, gt: Path
) -> Iterator[Expression]:
    for j, item in enumerate(row["objects"]):
        texts = item.get("expressions") if isinstance(item, Mapping) else None
        if not isinstance(texts, list):
            raise DataError(
                f"{gt}: [{k}].objects[{j}]: expressions: must be a list of strings"
            )
        name = str(whole(item.get("object_id", f"{k}_{j}")))
        for n, text in enumerate(texts):
            yield Expression(
                f"[{k}].objects[{j}].expressions[{n}]",
                f"{name}.{n}",
                str(row.get("image", "")),
                str(text),
                item.get("segmentation"),
                item.get("bbox"),
            )


def _of_ref(
    row: Mapping[str, Any], k: int, regions: Mapping[Any, Mapping[str, Any]]
) -> Iterator[Expression]:
    known = regions.get(whole(row.get("ann_id")), {})
    region = row.get("segmentation", known.get("segmentation"))
    file_name = known.get("file_name") or str(row.get("file_name", ""))
    for n, sentence in enumerate(row["sentences"]):
        text = (
            sentence.get("raw", sentence.get("sent", ""))
            if isinstance(sentence, Mapping)
            else str(sentence)
        )
        numbered = isinstance(sentence, Mapping) and "sent_id" in sentence
        key = (
            str(whole(sentence["sent_id"]))
            if numbered
            else f"{whole(row.get('ref_id', k))}.{n}"
        )
        yield Expression(
            f"[{k}].sentences[{n}]", key, file_name, str(text), region
        )


def _instances(path: Path) -> dict[Any, Mapping[str, Any]]:
    content = read_json(path)
    try:
        names = {
            whole(row["id"]): row["file_name"] for row in content["images"]
        }
        rows = [(whole(row["id"]), row) for row in content["annotations"]]
        regions: dict[Any, Mapping[str, Any]] = {
            number: {**row, "file_name": names[whole(row["image_id"])]}
            for number, row in rows
        }
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path}: must be a COCO instances file: {of_format(error)}"
        ) from None
    if len(regions) < len(rows):
        times = Counter(number for number, _ in rows)
        raise DataError(
            f"{path}: annotations: id: must occur once, got "
            f"{times.most_common(1)[0][0]!r} twice"
        )
    return regions
