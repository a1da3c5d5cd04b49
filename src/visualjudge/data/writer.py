"""Add records to a data folder: one task and its sources at a time, keeping all others.

Files are staged in a hidden folder until all records are known to be valid, so a rejected import
changes nothing. They are moved first, then ``images/<task>.json`` and
``annotations/<task>_annotations.json`` are replaced atomically, so a killed import leaves a
readable folder. A lock on the folder allows concurrent imports.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self

import filelock
import numpy as np

from visualjudge.core.atomic import write_json, writing
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, UsageError, in_field
from visualjudge.core.records import Annotation, Size
from visualjudge.core.registry import in_use
from visualjudge.core.untrusted import confined_target, read_file
from visualjudge.data.folder import LAYOUTS, PLUGINS, read_plugins
from visualjudge.vision.predictions import Prediction, payload_of
from visualjudge.vision.raster.images import check_whole, oriented, png_bytes, read_rgb
from visualjudge.vision.raster.masks import mask_from_png, resized_mask
from visualjudge.vision.tasks import TASKS, task_named

FILES = "files"
LONGEST_STEM = 100
# Files that show that a folder is not a data folder; nothing is written to it.
NOT_DATA = {"dataset.json": "a dataset", "run.json": "a run"}
# EXIF orientations above this one swap height and width.
_LAST_UPRIGHT = 4
ID_REMEDY = "give --id-prefix, such as '{folder}_'"


class FolderWriter:
    """Collect records of one task, and write them to the data folder ``root`` on :meth:`commit`.

    As a context manager, it leaves no files behind without a commit. After one, ``sources`` are
    those of all records of the task in the folder.

    Parameters
    ----------
    root
        Data folder; created if it does not exist.
    task
        Name of the task.
    replace
        Whether to replace all earlier records of a source if an ``annotation_id`` exists with
        different content; if False, that is an error. An identical record changes nothing.

    Raises
    ------
    UsageError
        If ``root`` is a dataset or a run.
    """

    def __init__(self, root: str | Path, task: str, *, replace: bool = False) -> None:
        self.root = Path(root)
        for name, kind in NOT_DATA.items():
            if (self.root / name).is_file():
                raise UsageError(f"{root}: must be a data folder or a new folder, got {kind}")
        if (self.root / LAYOUTS[1][0]).is_dir():
            raise UsageError(
                f"{root}: has the document's layout, which is only read; give a new --out"
            )
        self.task = task_named(task).name
        self.replace = replace
        self._images: dict[str, dict[str, Any]] = {}
        self._given: dict[str, dict[str, Path | None]] = {}
        self._annotations: dict[str, dict[str, Any]] = {}
        self.sources: set[str | None] = set()
        self._files = WaitingFiles(self.root)

    def __enter__(self) -> Self:
        return self

    # Remove the files that were not committed.
    def __exit__(self, *_: object) -> None:
        self._files.discard()

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

        ``mask`` is written as black and white, with white as the region to fill; ``mask_white``
        states the meaning of white in the file. With ``resize_mask``, a mask of a different size is
        resized to the image's by nearest neighbour.

        Raises
        ------
        DataError
            If the file is not an image, is truncated, or ``image_id`` already names another image.
        """
        files = {"image": image, "mask": mask, "control": control}
        if image_id in self._given:
            self._check_same(image_id, files)
            return self._images[image_id]["height"], self._images[image_id]["width"]
        with in_field("image"):
            (height, width), turn = check_whole(image)
        if oriented() and turn > _LAST_UPRIGHT:
            height, width = width, height
        record: dict[str, Any] = {
            "file": self._image(image, image_id, turn),
            "width": width,
            "height": height,
        }
        if mask is not None:
            record["mask"] = self._mask(
                mask, f"{image_id}_mask", (height, width), mask_white, resize_mask
            )
        if control is not None:
            record["control"] = (
                record["file"] if control == image else self.copied(control, f"{image_id}_control")
            )
        self._given[image_id] = files
        self._images[image_id] = record
        return height, width

    def _check_same(self, image_id: str, files: Mapping[str, Path | None]) -> None:
        for what, path in files.items():
            known = self._given[image_id][what]
            if path != known and (path is None or known is None or not _same(path, known)):
                remedy = ID_REMEDY if what == "image" else "give each a unique image_id"
                raise DataError(
                    f"image_id: {image_id!r} would name two {what}s, {known} and {path}; {remedy}"
                )

    def add(self, annotation: Annotation) -> None:
        """Add an annotation whose prediction's files were already added (:meth:`copied`,
        :meth:`payload`).

        Raises
        ------
        DataError
            If the ``annotation_id`` exists.
        """
        name = annotation.annotation_id
        if name in self._annotations:
            raise DataError(f"annotation_id {name!r} occurs twice in this import")
        self._annotations[name] = _raw(annotation)

    def payload(self, prediction: Prediction, stem: str) -> dict[str, Any]:
        """Return the exact payload of a typed prediction. Depth maps and images are written to
        ``files``.
        """
        return payload_of(
            self.task, prediction, root=self._files.folder(), stem=stem_of(stem), digits=None
        )

    def copied(self, path: Path, stem: str) -> str:
        """Copy a file into the folder under a name that begins with ``stem``. Return its path
        relative to the folder.

        If a different file of that name exists, the copy's name ends in a part of its content's
        hash.
        """
        return self._files.copy(path, stem)

    # Copy the image, or write its stored frame as PNG if its EXIF orientation turn is ignored.
    def _image(self, path: Path, stem: str, turn: int) -> str:
        if oriented() or turn == 1:
            return self.copied(path, stem)
        return self._files.write(png_bytes(read_rgb(path)), stem, ".png")

    def _mask(
        self, path: Path, stem: str, size: Size, white: Literal["fill", "keep"], resize: bool
    ) -> str:
        mask = resized_mask(mask_from_png(path), size) if resize else mask_from_png(path)
        if mask.size != size:
            raise DataError(
                f"mask: {path} must be {size[0]}×{size[1]}, got {mask.size[0]}×{mask.size[1]} "
                "(height×width); "
                "--resize-mask resizes masks to their images"
            )
        dense = mask.dense() if white == "fill" else ~mask.dense()
        if not dense.any():
            raise DataError(f"mask: {path} leaves no region to fill")
        pixels = np.repeat(dense[:, :, None].astype(np.uint8) * 255, 3, axis=2)
        return self._files.write(png_bytes(pixels), stem, ".png")

    def commit(self) -> None:
        """Merge the collected records into the folder's two files of the task.

        Raises
        ------
        DataError
            If an ``image_id`` or ``annotation_id`` already has other content; then neither file
            changes.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        for folder in ("images", "annotations", FILES):
            confined_target(self.root, f"{folder}/x", of="a data folder")
        with filelock.FileLock(self.root / ".lock"):
            images = self._merged_images()
            self._check_other_tasks()
            annotations = self._merged_annotations()
            self.sources = {record.get("source") for record in annotations}
            self._files.move()
            write_json(self._image_file, images)
            write_json(self._annotation_file, annotations, indent=False)
            self._write_plugins()

    # Add the plug-ins whose rows the new records need to those already stated.
    def _write_plugins(self) -> None:
        kind = task_named(self.task).type
        rows: set[tuple[str, Any]] = {("task", self.task), ("prediction type", kind)}
        for record in self._annotations.values():
            metric = str(record["metadata"].get("metric"))
            rows |= {("metric", (kind, metric)), ("error type", (kind, record["error_type"]))}
        used = in_use(rows)
        if not used:
            return
        known = {str(one.get("name")): one for one in read_plugins(self.root)}
        for one in used:
            before = known.get(one["name"], {}).get("rows")
            listed = before if isinstance(before, list) else []
            known[one["name"]] = {**one, "rows": sorted({*one["rows"], *map(str, listed)})}
        write_json(self.root / PLUGINS, [known[name] for name in sorted(known)])

    @property
    def _image_file(self) -> Path:
        return self.root / "images" / f"{self.task}.json"

    @property
    def _annotation_file(self) -> Path:
        stem = self.root / "annotations" / f"{self.task}_annotations"
        for other in (stem.with_suffix(".parquet"), stem.with_suffix(".jsonl")):
            if other.exists():
                raise DataError(
                    f"{other}: only a .json file can grow; write its records as one array"
                )
        return stem.with_suffix(".json")

    def _merged_images(self) -> dict[str, Any]:
        path = self._image_file
        there: dict[str, Any] = _parsed(path, dict)
        for image_id, record in self._images.items():
            old = there.get(image_id)
            if old is None:
                there[image_id] = record
                continue
            if not isinstance(old, Mapping) or not self._images_agree(old, record):
                raise self._taken(path, image_id, old, "image")
            for name in ("mask", "control"):
                if (
                    name in record
                    and name in old
                    and self._content(old, name) != self._content(record, name, new=True)
                ):
                    raise DataError(
                        f"{path}: {image_id}: {name}: is already {self._source(old, name)}, and "
                        f"would become {self._given[image_id][name]}; give each a unique image_id"
                    )
            there[image_id] = {**old, **{name: record[name] for name in record if name not in old}}
        return there

    # Check that an image_id names one image (and mask) in all tasks, because a dataset stores each
    # original once.
    def _check_other_tasks(self) -> None:
        if not task_named(self.task).sourced:
            return
        for path in sorted((self.root / "images").glob("*.json")):
            if path == self._image_file or path.stem not in TASKS or not TASKS[path.stem].sourced:
                continue
            there = _parsed(path, dict)
            for image_id in self._images.keys() & there.keys():
                old, new = there[image_id], self._images[image_id]
                mask = self._content(new, "mask", new=True)
                same_mask = isinstance(old, Mapping) and self._content(old, "mask") == mask
                if not same_mask or not self._images_agree(old, new):
                    raise self._taken(path, image_id, old, "image" if same_mask else "mask")

    def _taken(self, path: Path, image_id: str, old: Any, what: str) -> DataError:
        return DataError(
            f"{path}: {image_id}: file: already names another {what}, {self._source(old)}, and "
            "would name "
            f"{self._given[image_id]['image']}; {ID_REMEDY}"
        )

    def _content(self, record: Mapping[str, Any], name: str, *, new: bool = False) -> str | None:
        path = self._files.at(str(record.get(name))) if new else self.root / str(record.get(name))
        return file_sha256(path) if record.get(name) is not None and path.is_file() else None

    def _source(self, record: Any, name: str = "file") -> Path:
        return self.root / str(record.get(name) if isinstance(record, Mapping) else record)

    def _images_agree(self, old: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
        stated = old.get("file")
        path = self.root / str(stated)
        return stated == record["file"] or (
            path.is_file() and _same(path, self._files.at(record["file"]))
        )

    def _merged_annotations(self) -> list[Any]:
        path = self._annotation_file
        there = _parsed(path, list)
        changed = set()
        for old in there:
            new = self._annotations.get(_id_of(old))
            if new is not None and new != old:
                self._check_replaceable(old, new, path)
                changed.add(new.get("source"))
        kept = [old for old in there if old.get("source") not in changed] if changed else there
        self._check_metric(kept, path)
        names = {_id_of(old) for old in kept}
        return kept + [new for name, new in self._annotations.items() if name not in names]

    # Reject scores of two metrics, which cannot be compared.
    def _check_metric(self, kept: list[Any], path: Path) -> None:
        for new in [*self._annotations.values()][:1]:
            other = next((old for old in kept if _metric_of(old) != _metric_of(new)), None)
            if other is not None:
                raise DataError(
                    f"{path}: {_id_of(new)}: metadata.metric: must be {_metric_of(other)}, as for "
                    f"source {other.get('source')!r}, got {_metric_of(new)}; give another --out"
                )

    def _check_replaceable(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: Path
    ) -> None:
        if old.get("source") != new.get("source"):
            raise DataError(
                f"{path}: {_id_of(old)}: annotation_id: is already used by source "
                f"{old.get('source')!r}"
            )
        if not self.replace:
            if _metric_of(old) != _metric_of(new):
                raise DataError(
                    f"{path}: {_id_of(old)}: source {old.get('source')!r} was scored by "
                    f"{_metric_of(old)}, this import by {_metric_of(new)}; give another --out, or "
                    "--replace if it is the only source there"
                )
            raise DataError(
                f"{path}: {_id_of(old)}: source {old.get('source')!r} has another prediction or "
                "score there; "
                "give another --source, or --replace to import this one again"
            )


def _metric_of(record: Mapping[str, Any]) -> str:
    metadata = record.get("metadata")
    stated = metadata.get("metric") if isinstance(metadata, Mapping) else None
    return "the default metric" if stated is None else str(stated)


def _raw(annotation: Annotation) -> dict[str, Any]:
    classes = annotation.class_of_interest
    record = {
        "annotation_id": annotation.annotation_id,
        "image_id": annotation.image_id,
        "task": annotation.task,
        "class_of_interest": None if classes is None else list(classes),
        "error_type": annotation.error_type,
        "prompt": annotation.prompt,
        "prediction": dict(annotation.prediction),
        "final_score": annotation.final_score,
        "source": annotation.source,
        "metadata": dict(annotation.metadata),
    }
    # as read back from JSON, so that a record compares equal after a round trip
    value: dict[str, Any] = json.loads(json.dumps(record))
    return value


def _id_of(record: Any) -> str:
    return str(record.get("annotation_id")) if isinstance(record, Mapping) else ""


def _parsed(path: Path, kind: type[Any]) -> Any:
    if not path.exists():
        return kind()
    try:
        value = json.loads(read_file(path, "json"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: is not JSON, so nothing can be added to it: {error}") from None
    if not isinstance(value, kind) or not all(
        isinstance(v, Mapping) for v in value if kind is list
    ):
        raise DataError(f"{path}: is not a JSON {'array of objects' if kind is list else 'object'}")
    return value


def _same(first: Path, second: Path) -> bool:
    return first.stat().st_size == second.stat().st_size and file_sha256(first) == file_sha256(
        second
    )


class WaitingFiles:
    """Files staged for the data folder ``root`` until :meth:`move` is called.

    If a different file of the same name exists or is staged, the new file's name ends in a part of
    its content's hash.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._is_new = not root.exists()
        self._stage: Path | None = None

    def folder(self) -> Path:
        """Return the hidden folder, created at first use."""
        if self._stage is None:
            self._root.mkdir(parents=True, exist_ok=True)
            self._stage = Path(tempfile.mkdtemp(prefix=".import-", dir=self._root))
            (self._stage / FILES).mkdir()
        return self._stage

    def at(self, name: str) -> Path:
        """Return the current path of the file ``name`` (relative to the data folder), staged or
        final.
        """
        waiting = None if self._stage is None else self._stage / name
        return waiting if waiting is not None and waiting.exists() else self._root / name

    def copy(self, path: Path, stem: str) -> str:
        """Copy a file under a name that begins with ``stem``. Return its path relative to the data
        folder."""
        return self.write(read_file(path, "array"), stem, path.suffix.lower())

    def write(self, content: bytes, stem: str, suffix: str) -> str:
        """Write a file under a name that begins with ``stem``. Return its path relative to the data
        folder."""
        name = stem_of(stem) + suffix
        there = self.at(name)
        if there.exists():
            if read_file(there, "array") == content:
                return name
            name = f"{stem_of(stem)}-{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
            if self.at(name).exists():
                return name
        path = self.folder() / name
        with writing(path):
            path.write_bytes(content)
        return name

    def move(self) -> None:
        """Move the files to their final places."""
        if self._stage is not None:
            for path in [path for path in self._stage.rglob("*") if path.is_file()]:
                target = self._root / path.relative_to(self._stage)
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
        self.discard()

    def discard(self) -> None:
        """Remove staged files, and the data folder if it was created for them."""
        if self._stage is not None:
            shutil.rmtree(self._stage, ignore_errors=True)
            self._stage = None
        if self._is_new:
            with suppress(OSError):  # missing or not empty
                self._root.rmdir()


def stem_of(text: str) -> str:
    """Return the path in a data folder, without its suffix, of a file named after ``text``."""
    return f"{FILES}/{slug(text)}"


def slug(text: str) -> str:
    """Return a file name's stem made from any text: letters, digits, ``. _ -``; long ones are
    shortened with a hash.

    Texts that differ only in other characters give different stems.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")
    if plain == text and 0 < len(plain) <= LONGEST_STEM:
        return plain
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:10]
    return f"{plain[: LONGEST_STEM - 11]}-{digest}"
