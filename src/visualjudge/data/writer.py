"""Add records to a data folder: one task and its sources at a time, keeping all others.
Reading is in ``folder.py``; what is written comes from ``importing.py`` or
``perturbing.py``.

Files are staged in a hidden folder until all records are known to be valid, so a
rejected import changes nothing. They are moved first, then ``images/<task>.json`` and
``annotations/<task>_annotations.json`` are replaced atomically, so a killed import
leaves a readable folder. A lock on the folder allows concurrent imports.
"""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self

import filelock
import numpy as np
import orjson

from visualjudge.core import jsons
from visualjudge.core.atomic import write_json, writing
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import (
    DataError,
    RunError,
    UsageError,
    in_field,
)
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.locks import free, locked
from visualjudge.core.records import Annotation, Size
from visualjudge.core.untrusted import check_file, confined_target, read_file
from visualjudge.data.folder import LAYOUTS
from visualjudge.vision.predictions import Prediction, WriteContext, type_of
from visualjudge.vision.raster.images import (
    check_whole,
    image_size,
    orientation,
    oriented,
    png_bytes,
    read_rgb,
)
from visualjudge.vision.raster.masks import mask_from_png, resized_mask
from visualjudge.vision.score import measured_by
from visualjudge.vision.tasks import TASKS, task_named

FILES = "files"
FILE_FIELDS = ("file", "mask", "control")
LONGEST_STEM = 100
# Files that show that a folder is not a data folder; nothing is written to it.
NOT_DATA = {"": "a file", "dataset.json": "a dataset", "run.json": "a run"}
ID_REMEDY = "give `id_prefix`, such as '{folder}_', or an image_id of its own"


class FolderWriter:
    """Collect records of one task, and write them to the data folder ``root`` on
    :meth:`commit`.

    As a context manager, it leaves no files behind without a commit. After one,
    ``sources`` are those of all records of the task in the folder.

    Parameters
    ----------
    root
        Data folder; created if it does not exist.
    task
        Name of the task.
    replace
        Whether to replace all earlier records of a source if an ``annotation_id``
        exists with different content; if False, that is an error. An identical record
        changes nothing.

    Raises
    ------
    UsageError
        If ``root`` is a dataset, a run or a file.
    """

    def __init__(
        self, root: str | Path, task: str, *, replace: bool = False
    ) -> None:
        self.root = Path(root)
        for name, kind in NOT_DATA.items():
            if (self.root / name).is_file():
                raise UsageError(
                    f"{root}: must be a data folder or a new folder, got {kind}"
                )
        if (self.root / LAYOUTS[1][0]).is_dir():
            raise UsageError(
                f"{root}: has the document's layout, which is only read; give a new "
                "`out`"
            )
        self.task = task_named(task).name
        self.kind = type_of(task)
        self.replace = replace
        self._images: dict[str, Json] = {}
        self._given: dict[str, dict[str, Path | None]] = {}
        self._annotations: dict[str, Annotation] = {}
        self._copies: dict[str, Path] = {}
        self.sources: set[str | None] = set()
        self._is_new = not self.root.exists()
        self._image_file = self.root / "images" / f"{self.task}.json"

    def __enter__(self) -> Self:
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
        for left in self.root.glob(".import-*"):  # by a killed process
            with suppress(RunError):
                lock = locked(left)
                shutil.rmtree(left, ignore_errors=True)
                free(left, lock)
        self._stage = Path(tempfile.mkdtemp(prefix=".import-", dir=self.root))
        self._lock = locked(self._stage)
        (self._stage / FILES).mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the files that were not committed, and the folder if it was made for
        them."""
        shutil.rmtree(self._stage, ignore_errors=True)
        free(self._stage, self._lock)
        if self._is_new:
            with suppress(OSError):  # not empty
                self.root.rmdir()

    def __len__(self) -> int:
        return len(self._annotations)

    def add_image(
        self,
        image_id: str,
        image: Path,
        *,
        mask: Path | None = None,
        control: Path | None = None,
        mask_white: Literal["fill", "keep"] = "fill",
        resize_mask: bool = False,
    ) -> Size:
        """Copy an image into the folder and add its record. Return its (height, width).

        ``mask`` is written as black and white, with white as the region to fill;
        ``mask_white`` states the meaning of white in the file. With ``resize_mask``, a
        mask of a different size is resized to the image's by nearest neighbour.

        Raises
        ------
        DataError
            If the file is not an image, is truncated, or ``image_id`` already names
            another image.
        """
        files = {"file": image, "mask": mask, "control": control}
        if image_id in self._given:
            for name, path in files.items():
                known = self._given[image_id][name]
                if path != known and _sum(path) != _sum(known):
                    raise DataError(
                        f"image_id: {image_id!r} would name two {name}s, {known} and "
                        f"{path}; {ID_REMEDY}"
                    )
            return self._images[image_id]["height"], self._images[image_id][
                "width"
            ]
        with in_field("image"):
            height, width = image_size(image)
            check_whole(image)
        record: Json = {
            "file": self._image(image, image_id),
            "width": width,
            "height": height,
        }
        if mask is not None:
            record["mask"] = self._mask(
                mask,
                f"{image_id}_mask",
                (height, width),
                mask_white,
                resize_mask,
            )
        if control is not None:
            record["control"] = (
                record["file"]
                if control == image
                else self.copied(control, f"{image_id}_control")
            )
        self._given[image_id] = files
        self._images[image_id] = record
        return height, width

    def add(self, annotation: Annotation) -> None:
        """Add an annotation whose prediction's files were already added
        (:meth:`copied`, :meth:`payload`).

        Raises
        ------
        DataError
            If the ``annotation_id`` exists.
        """
        name = annotation.annotation_id
        if name in self._annotations:
            raise DataError(
                f"annotation_id {name!r} occurs twice in this import"
            )
        self._annotations[name] = annotation

    def payload(self, prediction: Prediction, stem: str) -> Json:
        """Return the exact payload of a typed prediction. Depth maps and images are
        written to ``files``.
        """
        return self.kind.write(
            prediction, WriteContext(self._stage, f"{FILES}/{slug(stem)}", None)
        )

    def copied(self, path: Path, stem: str) -> str:
        """Copy a file into the folder under a name that begins with ``stem``. Return
        its path relative to the folder.

        If a different file of that name exists, the copy's name ends in a part of its
        content's hash. Files of new names are copied on :meth:`commit`.
        """
        suffix = path.suffix.lower()
        name = f"{FILES}/{slug(stem)}{suffix}"
        if self._path(name).exists():
            return self._written(read_file(path, "array"), stem, suffix)
        check_file(path, "array")
        self._copies[name] = path
        return name

    def _written(self, content: bytes, stem: str, suffix: str) -> str:
        name = f"{FILES}/{slug(stem)}{suffix}"
        if (there := self._path(name)).exists():
            if read_file(there, "array") == content:
                return name
            name = f"{FILES}/{slug(stem)}-{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
            if self._path(name).exists():
                return name
        path = self._stage / name
        with writing(path):
            path.write_bytes(content)
        return name

    def _path(self, name: str) -> Path:
        """Return the current path of a file of the folder: to be copied, staged or
        final."""
        staged = self._copies.get(name, self._stage / name)
        return staged if staged.exists() else self.root / name

    def _image(self, path: Path, stem: str) -> str:
        """Copy the image, or write its stored frame as PNG if its EXIF orientation is
        ignored."""
        return (
            self.copied(path, stem)
            if oriented() or orientation(path) == 1
            else self._written(png_bytes(read_rgb(path)), stem, ".png")
        )

    def _mask(
        self,
        path: Path,
        stem: str,
        size: Size,
        white: Literal["fill", "keep"],
        resize: bool,
    ) -> str:
        mask = (
            resized_mask(mask_from_png(path), size)
            if resize
            else mask_from_png(path)
        )
        if mask.size != size:
            raise DataError(
                f"mask: {path} must be {size[0]}×{size[1]}, got "
                f"{mask.size[0]}×{mask.size[1]} (height×width); `resize_mask` resizes "
                "masks to their images"
            )
        dense = mask.dense() if white == "fill" else ~mask.dense()
        if not dense.any():
            raise DataError(f"mask: {path} leaves no region to fill")
        return self._written(
            png_bytes(
                np.repeat(dense[:, :, None].astype(np.uint8) * 255, 3, axis=2)
            ),
            stem,
            ".png",
        )

    def commit(self) -> None:
        """Merge the collected records into the folder's two files of the task.

        Raises
        ------
        DataError
            If an ``image_id`` or ``annotation_id`` already has other content; then
            neither file changes.
        """
        for name, path in self._copies.items():
            with writing(self._stage / name):
                shutil.copyfile(path, self._stage / name)
        for folder in ("images", "annotations", FILES):
            confined_target(self.root, f"{folder}/x", of="a data folder")
        with filelock.FileLock(self.root / ".lock"):
            images = self._merged_images()
            annotations = self._merged_annotations()
            self.sources = {record.get("source") for record in annotations}
            (self.root / FILES).mkdir(exist_ok=True)
            for path in (self._stage / FILES).iterdir():
                path.replace(self.root / FILES / path.name)
            write_json(self._image_file, images)
            write_json(self._annotation_file, annotations, indent=False)

    @property
    def _annotation_file(self) -> Path:
        stem = self.root / "annotations" / f"{self.task}_annotations"
        for other in (stem.with_suffix(".parquet"), stem.with_suffix(".jsonl")):
            if other.exists():
                raise DataError(
                    f"{other}: only a .json file can grow; write its records as one "
                    "array"
                )
        return stem.with_suffix(".json")

    def _merged_images(self) -> Json:
        there: Json = _parsed(self._image_file, dict)
        for image_id, record in self._images.items():
            old = there.get(image_id, record)
            self._check_agrees(
                self._image_file,
                image_id,
                old,
                [
                    name
                    for name in FILE_FIELDS
                    if name in record and name in old
                ],
            )
            there[image_id] = {**old, **record, **old}
        # A dataset stores the original of an image_id once, for all tasks.
        for task in TASKS.values() if task_named(self.task).sourced else ():
            path = self._image_file.with_name(f"{task.name}.json")
            others = (
                _parsed(path, dict)
                if task.sourced and task.name != self.task
                else {}
            )
            for image_id in self._images.keys() & others.keys():
                self._check_agrees(
                    path, image_id, others[image_id], ["file", "mask"]
                )
        return there

    def _check_agrees(
        self, path: Path, image_id: str, old: Fields, names: Sequence[str]
    ) -> None:
        for name in names:
            stated = old.get(name)
            new = self._images[image_id].get(name)
            if stated != new and _sum(stated and self.root / stated) != _sum(
                new and self._path(new)
            ):
                raise DataError(
                    f"{path}: {image_id}: {name}: already names another "
                    f"{'image' if name == 'file' else name}, "
                    f"{self.root / str(stated)}, and would name "
                    f"{self._given[image_id][name]}; {ID_REMEDY}"
                )

    def _merged_annotations(self) -> list[Any]:
        path = self._annotation_file
        there = _parsed(path, list)
        # as read back from JSON, so that a record compares equal after a round trip
        added = orjson.loads(
            orjson.dumps(
                [_raw(annotation) for annotation in self._annotations.values()]
            )
        )
        new = {row["annotation_id"]: row for row in added}
        changed = [old for old in there if new.get(_id_of(old), old) != old]
        sources = [old.get("source") for old in changed]
        selected = [
            old
            for old in there
            if not self.replace or old.get("source") not in sources
        ]
        # Records of 1.1 do not state defaults.
        defaults = {
            "metric": "the default metric",
            **measured_by(self.task, {}),
        }
        for old in selected:
            for name, default in defaults.items() if added else ():
                ours, theirs = (
                    (row.get("metadata") or {}).get(name, default)
                    for row in (added[0], old)
                )
                if ours != theirs:
                    raise DataError(
                        f"{path}: {_id_of(added[0])}: metadata.{name}: must be "
                        f"{theirs}, as for model {old.get('source')!r}, got {ours}; "
                        "give another `out`, or `replace` if it is the only model "
                        "there"
                    )
        for old in changed:
            if old.get("source") != new[_id_of(old)]["source"]:
                raise DataError(
                    f"{path}: {_id_of(old)}: annotation_id: is already used by model "
                    f"{old.get('source')!r}"
                )
            if not self.replace:
                raise DataError(
                    f"{path}: {_id_of(old)}: model {old.get('source')!r} has another "
                    "prediction or score there; give another `source`, or `replace` to "
                    "import this one again"
                )
        names = {_id_of(old) for old in selected}
        return selected + [
            row for name, row in new.items() if name not in names
        ]


def _raw(note: Annotation) -> Json:
    return {
        "annotation_id": note.annotation_id,
        "image_id": note.image_id,
        "task": note.task,
        "class_of_interest": note.class_of_interest,
        "error_type": note.error_type,
        "prompt": note.prompt,
        "prediction": dict(note.prediction),
        "final_score": note.final_score,
        "source": note.source,
        "metadata": dict(note.metadata),
    }


def _id_of(record: Any) -> str:
    return (
        str(record.get("annotation_id")) if isinstance(record, Mapping) else ""
    )


def _parsed(path: Path, kind: type[Any]) -> Any:
    if not path.exists():
        return kind()
    value = jsons.lenient(jsons.content(path, "json"), str(path))
    rows = value.values() if isinstance(value, dict) else value
    if not isinstance(value, kind) or not all(
        isinstance(row, Mapping) for row in rows
    ):
        raise DataError(
            f"{path}: must be {'an array' if kind is list else 'an object'} of JSON "
            "objects"
        )
    return value


def _sum(path: Path | None) -> str | None:
    return file_sha256(path) if path is not None and path.is_file() else None


def slug(text: str) -> str:
    """Return a file name's stem made from any text: letters, digits, ``. _ -``; long
    ones are shortened with a hash.

    Texts that differ only in other characters give different stems.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")
    if plain == text and 0 < len(plain) <= LONGEST_STEM:
        return plain
    return with_hash(plain, text, LONGEST_STEM)


def with_hash(name: str, text: str, most: int) -> str:
    """Return the name in at most so many bytes, ending in a part of the text's hash."""
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
    return f"{name.encode()[: most - 11].decode(errors='ignore')}-{digest[:10]}"
