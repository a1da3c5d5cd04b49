"""Read data folders and check every record:
``annotations/<task>_annotations.{json,jsonl,parquet}``, ``images/<task>.json``; or, as
in the document of the judge dataset, ``data_json_v2`` and ``images_v2``. A file that is
not named after a task holds records of several, such as ``lowlevel_annotations.json``
with ``lowlevel.json``, and ``generation_annotations.json`` with
``generation_images.json``. They are written in ``writer.py``; a dataset's folder is in
``dataset/folder.py``, a run's in ``runs/folder.py``.

An invalid record never stops the others: it becomes a
:class:`~visualjudge.core.errors.Problem` and is skipped. :meth:`DataFolder.entries`
reads the records, :func:`check_entry` checks a prediction. Checks are strict: a quoted
number is not a number, an integer is not an identifier. Nothing is converted or
repaired silently.
"""

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from visualjudge.core import jsons
from visualjudge.core.errors import (
    DataError,
    InvalidRecord,
    PluginError,
    Problem,
    UsageError,
    in_field,
)
from visualjudge.core.folder_kinds import what_it_is
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.parquet import table_parts
from visualjudge.core.records import IMAGE_MARK, Annotation, ImageRecord
from visualjudge.core.registry import lacking
from visualjudge.core.typed_records import first_problem
from visualjudge.core.untrusted import confined_path
from visualjudge.formats.outputs import given_score
from visualjudge.vision.faults import stated_faults
from visualjudge.vision.fields import check_in_pixels
from visualjudge.vision.predictions import ReadContext, read_prediction, type_of
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.raster.masks import mask_from_png
from visualjudge.vision.tasks import TASKS, task_named

# Folders of annotations and of image indexes: ours, and those of the document.
LAYOUTS = (("annotations", "images"), ("data_json_v2", "images_v2"))
SUFFIX = "_annotations"
_CONTROL = re.compile("[\0-\x1f\x7f\ud800-\udfff]")
FORMATS = (".json", ".jsonl", ".parquet")
_ROWS = 256
_UNWRITABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
# Maximum length of a text of a record (a prompt, an id, a source) in characters.
LONGEST_TEXT = 20_000
# Maximum length of an image_id in bytes: it becomes part of a file name, which file
# systems limit to 255.
LONGEST_NAME = 180


def _writable(text: str) -> str:
    if _UNWRITABLE.search(text):
        raise ValueError(
            "must not contain control characters or unpaired surrogates"
        )
    return text


def _plain(text: str) -> str:
    if IMAGE_MARK in text:
        raise ValueError(
            f"contains {IMAGE_MARK!r}, which marks an image in the questions; replace "
            "it"
        )
    return _writable(text)


def _short(text: str) -> str:
    if len(text.encode()) > LONGEST_NAME:
        raise ValueError(
            f"must be at most {LONGEST_NAME} bytes long, for use in file names"
        )
    return text


def _with_faults(metadata: Json) -> Json:
    stated_faults(metadata)
    return metadata


_Filled = StringConstraints(min_length=1, max_length=LONGEST_TEXT)
Text = Annotated[
    str, StringConstraints(max_length=LONGEST_TEXT), AfterValidator(_writable)
]
Line = Annotated[str, _Filled, AfterValidator(_plain)]
Name = Annotated[str, _Filled, AfterValidator(_plain), AfterValidator(_short)]
Wire = TypeVar("Wire")
# One value of ``images/<task>.json``; sizes are compared with the file later.
_IMAGE = TypeAdapter(ImageRecord)


class AnnotationWire(
    BaseModel, strict=True, extra="ignore", allow_inf_nan=False
):
    """One entry of ``annotations/<task>_annotations.*``; unknown fields are ignored."""

    annotation_id: Name
    image_id: Name
    task: str
    class_of_interest: list[Line] | None = None
    error_type: Line | None = None
    prompt: Line | None = None
    prediction: Json
    final_score: Annotated[float, Field(ge=0, le=10)]
    source: Text | None = None
    metadata: Annotated[Json, AfterValidator(_with_faults)] | None = None


class DataFolder:
    """An open data folder.

    ``problems`` grows as records are read; an invalid image record is reported with
    each annotation that needs it. ``name`` is the folder as given, ``root`` its path.

    Parameters
    ----------
    root
        Folder.
    score_range
        Range of the records' scores, which become 0 to 10; None if they are.

    Raises
    ------
    UsageError
        If there is no such folder, or it has no ``annotations``.
    """

    def __init__(
        self, root: str | Path, score_range: tuple[float, float] | None = None
    ) -> None:
        self.root = Path(root)
        self.name = str(root)
        self.score_range = score_range
        self.problems: list[Problem] = []
        if not self.root.is_dir():
            raise UsageError(f"{root}: no such folder")
        layout = next(
            (item for item in LAYOUTS if (self.root / item[0]).is_dir()), None
        )
        if layout is None:
            raise UsageError(
                f"{root} is not a data folder: folder 'annotations' (or 'data_json_v2') "
                f"not found; {what_it_is(self.root)}"
            )
        self._notes, self._indexes = (self.root / name for name in layout)

    @functools.cached_property
    def files(self) -> Mapping[str, Path]:
        """The annotations file of each task that has one, in catalogue order.

        Raises
        ------
        DataError
            If a task has two files. A file of an unknown task is a problem, not an
            error.
        """
        collected: dict[str, Path] = {}
        for path in sorted(self._notes.iterdir()):
            if path.suffix not in FORMATS or not path.stem.endswith(SUFFIX):
                continue
            stem = path.stem.removesuffix(SUFFIX)
            for task in [stem] if stem in TASKS else self._tasks_in(path, stem):
                if task in collected:
                    raise DataError(
                        f"{self._notes.name}/{path.name} and {collected[task].name}: "
                        f"two files contain {task}; keep one"
                    )
                collected[task] = inside(
                    self.root, f"{self._notes.name}/{path.name}"
                )
        return {task: collected[task] for task in TASKS if task in collected}

    def _tasks_in(self, path: Path, stem: str) -> list[str]:
        """Return the tasks of a file of several; none is a problem of its name, and a
        record of no task is one of its own."""
        try:
            stated = [_task_of(raw) for raw in self._records(path)]
        except DataError as error:
            self.problems.append(_file_problem(path, error))
            return []
        known = [task for task in TASKS if task in stated]
        if not known:
            reason = f"there is no task {stem!r}{lacking('task', stem)}"
            self.problems.append(
                Problem(path.name, "file name", "task", reason)
            )
            return []
        for position, (task, raw) in enumerate(
            zip(stated, self._records(path), strict=True)
        ):
            if task not in TASKS:
                reason = f"there is no task {task!r}{lacking('task', task)}"
                self.problems.append(
                    Problem(path.name, name_of(raw, position), "task", reason)
                )
        return known

    @functools.cache  # noqa: B019 - a folder lives as long as a command
    def _records(self, path: Path) -> list[Any]:
        return read_records(path)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that have annotations."""
        return tuple(self.files)

    def images(self, task: str) -> dict[str, ImageRecord]:
        """Return the valid image records of ``task``; empty if there is no
        ``images/<task>.json``.
        """
        return {
            key: record
            for key, (record, _) in self._images(task).items()
            if record is not None
        }

    @functools.cache  # noqa: B019 - a folder lives as long as a command
    def entries(self, task: str) -> list[Annotation]:
        """Return all annotations of ``task`` that are consistent in themselves, sorted
        by ``annotation_id``.

        Problems of the others, or of the whole file, are added to ``problems``. All
        records with a duplicate ``annotation_id`` are invalid, because it is unclear
        which one was meant.

        Raises
        ------
        DataError
            If the task has no file.
        """
        task_named(task)
        if task not in self.files:
            raise DataError(
                f"{self.name}: has no annotations/{task}{SUFFIX}.json (.jsonl, "
                ".parquet)"
            )
        try:
            read = list(self._read(task))
        except DataError as error:
            self.problems.append(_file_problem(self.files[task], error))
            read = []
        times = Counter(note.annotation_id for note in read)
        for name, count in times.items():
            if count > 1:
                self.problems.append(
                    Problem(
                        self.files[task].name,
                        name,
                        "annotation_id",
                        f"occurs {count} times; an id is unique within its task",
                    )
                )
        return sorted(
            [note for note in read if times[note.annotation_id] == 1],
            key=lambda note: note.annotation_id,
        )

    def other_ranges(self, tasks: Iterable[str]) -> Iterator[str]:
        """Yield a line for each task whose scores look like a range of 0 to 1, 1 to 5
        or 1 to 7; of a stated range, if they lie in its lowest tenth.
        """
        for task in tasks:
            scores = [note.final_score for note in self.entries(task)] or [0]
            ends = min(scores), max(scores)
            usual = self.score_range is None and ends in ((1, 5), (1, 7))
            low, high = ends if usual else (0, 1)
            if len(scores) > 1 and 0 < ends[1] <= high:
                doubt = (
                    f"between {low:g} and {high:g}, and were read as 0 (worst) to 10 "
                    f"(best); if {high:g} is the best, build with `score_range` "
                    f"{low:g} {high:g}"
                    if self.score_range is None
                    else f"in the lowest tenth of `score_range` "
                    f"{self.score_range[0]:g} {self.score_range[1]:g}; is it that of "
                    "the file?"
                )
                yield f"{task}: final_score: all {len(scores)} lie {doubt}"

    def annotations(self, task: str) -> Iterator[Annotation]:
        """Yield every valid annotation of ``task`` with its prediction, sorted by
        ``annotation_id``.
        """
        notes, records = self.entries(task), self.images(task)
        for note in notes:
            checked = check_entry(
                note, records.get(note.image_id), str(self.root)
            )
            if isinstance(checked, Problem):
                self.problems.append(checked)
            else:
                yield note

    def _read(self, task: str) -> Iterator[Annotation]:
        path = self.files[task]
        joint = path.stem.removesuffix(SUFFIX) != task
        images = self._images(task)
        for position, raw in enumerate(self._records(path)):
            if joint and _task_of(raw) != task:
                continue
            try:
                if isinstance(raw, DataError):
                    raise InvalidRecord(
                        Problem(
                            path.name,
                            f"record {position + 1}",
                            "record",
                            str(raw).removeprefix(f"{path.name}: "),
                        )
                    )
                annotation = annotation_from_wire(
                    _rescaled(raw, self.score_range, path.name, position),
                    file=path.name,
                    task=task,
                    position=position,
                )
                self._check_image(annotation, images, path.name)
            except InvalidRecord as error:
                self.problems.append(error.problem)
                continue
            yield annotation

    def _check_image(
        self,
        note: Annotation,
        images: Mapping[str, tuple[ImageRecord | None, str]],
        file: str,
    ) -> None:
        record, reason = images.get(note.image_id, (None, ""))
        if record is not None or (not reason and type_of(note.task).is_image):
            return
        index = self._index(note.task)
        where = f"{index.parent.name}/{index.name}"
        why = (
            f"its record in {where} cannot be used: {reason}" if reason else ""
        )
        why = why or f"there is no image {note.image_id!r} in {where}"
        raise InvalidRecord(Problem(file, note.annotation_id, "image_id", why))

    def _index(self, task: str) -> Path:
        """Return the index of a task's images: its own, or that of its file's tasks."""
        stem = (
            self.files[task].stem.removesuffix(SUFFIX)
            if task in self.files
            else task
        )
        places = [
            self._indexes / f"{name}.json"
            for name in (task, stem, f"{stem}_images")
        ]
        return next((place for place in places if place.is_file()), places[0])

    @functools.cache  # noqa: B019 - a folder lives as long as a command
    def _images(self, task: str) -> dict[str, tuple[ImageRecord | None, str]]:
        """Return each image_id with its record, or with None and the reason why it
        cannot be used."""
        path = self._index(task)
        if not path.is_file():
            return {}
        name = f"{path.parent.name}/{path.name}"
        try:
            content = jsons.lenient(
                jsons.content(inside(self.root, name), "json"), name
            )
            if not isinstance(content, dict):
                raise DataError(f"{name}: must be a JSON object")
        except DataError as error:
            self.problems.append(
                Problem(
                    name, "the file", "records", str(error).partition(": ")[2]
                )
            )
            return {}
        collected: dict[str, tuple[ImageRecord | None, str]] = {}
        for image_id, raw in content.items():
            try:
                record = image_from_wire(image_id, raw, file=name)
                _check_images(record, self.root)
                collected[image_id] = (record, "")
            except InvalidRecord as error:
                collected[image_id] = (
                    None,
                    f"{error.problem.field}: {error.problem.reason}",
                )
            except DataError as error:
                collected[image_id] = (None, str(error))
        return collected


def _task_of(raw: Any) -> str:
    return str(raw.get("task")) if isinstance(raw, Mapping) else ""


def _file_problem(path: Path, error: DataError) -> Problem:
    return Problem(
        path.name,
        "the file",
        "records",
        str(error).removeprefix(f"{path.name}: "),
    )


def _rescaled(
    raw: Any, limits: tuple[float, float] | None, file: str, position: int
) -> Any:
    """Return a record with a score of 0 to 10; anything but a number is left as it
    is."""
    stated = raw.get("final_score") if isinstance(raw, Mapping) else None
    if limits is None or type(stated) not in (int, float):
        return raw
    try:
        return {**raw, "final_score": given_score(stated, limits)}
    except DataError as error:
        raise InvalidRecord(
            Problem(
                file,
                name_of(raw, position),
                "final_score",
                str(error).partition(": ")[2],
            )
        ) from None


def inside(root: Path, stated: str) -> Path:
    """Return ``root / stated``, which must stay inside ``root``, so that a folder can
    be moved and shared.

    Raises
    ------
    DataError
        If it is outside the folder or there is no such file.
    """
    return confined_path(root, stated, of="the data folder")


def check_entry(
    note: Annotation,
    image: ImageRecord | None,
    root: str,
    *,
    fast: bool = False,
) -> Problem | tuple[str, ...]:
    """Check the prediction of ``note``: all numbers, masks, files and sizes. Return
    its labels, or what is wrong with it.

    Parameters
    ----------
    note
        Annotation to check.
    image
        Its image record, or None if the task does not need one.
    root
        Path of the data folder.
    fast
        Whether to trust stated checksums of files, for callers that read the files
        later and handle errors.
    """
    payload = note.prediction
    kind = type_of(note.task)
    size = (
        None
        if image is None or kind.is_image
        else image_size(Path(root, str(image.file)))
    )
    try:
        for field, path in kind.files(payload):
            with in_field(field):
                inside(Path(root), path)
        if fast and kind.check is not None:
            kind.check(payload, ReadContext(size, Path(root), note.prompt))
            return ()
        prediction = read_prediction(
            note.task,
            payload,
            size=size,
            root=Path(root),
            expression=note.prompt,
        )
        if size is not None:
            prediction.check(size)
        if kind.places:
            check_in_pixels(kind.places(prediction), "prediction")
        return check_labels(prediction.labels)
    except DataError as error:
        return as_problem(error, note, root)
    # unforeseen errors in untrusted records fail the record, not the build
    except Exception as error:
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return as_problem(
            DataError(f"prediction: cannot be read: {text}"), note, root
        )


def _check_images(record: ImageRecord, root: Path) -> None:
    with in_field("file"):
        height, width = image_size(inside(root, str(record.file)))
    for name, stated, real in (
        ("width", record.width, width),
        ("height", record.height, height),
    ):
        if stated is not None and stated != real:
            raise DataError(
                f"{name}: must be {real}, the {name} of {record.file}, got {stated}"
            )
    if record.mask is not None:
        with in_field("mask"):
            if not mask_from_png(
                inside(root, record.mask), (height, width)
            ).area:
                raise DataError(f"{record.mask} leaves no region to fill")
    if record.control is not None:
        with in_field("control"):
            image_size(inside(root, record.control))


def check_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels, each of which must be one line of text that a prompt can show.

    Raises
    ------
    DataError
        If one is not.
    """
    for label in labels:
        if not isinstance(label, str):
            raise DataError(
                f"label: must be text, got {type(label).__name__} {label!r:.40}"
            )
        if (
            IMAGE_MARK in label
            or label.splitlines() != [label]
            or _CONTROL.search(label)
        ):
            raise DataError(
                f"label: must be one line of text without {IMAGE_MARK!r} and control "
                f"characters, got {label!r}"
            )
    return labels


def as_problem(error: DataError, note: Annotation, root: str) -> Problem:
    """Return the problem of the prediction of ``note``.

    Errors of the readers begin with the field; the folder's own path is removed.
    """
    message = str(error).replace(f"{root}/", "")
    field, reason = message.split(": ", 1) if ": " in message else ("", message)
    if not isinstance(error, PluginError):
        field = (
            f"prediction.{field}"
            if field and field != "prediction"
            else "prediction"
        )
    return Problem(note.file, note.annotation_id, field, reason)


def annotation_from_wire(
    raw: Any, *, file: str, task: str, position: int
) -> Annotation:
    """Return a record of ``file``, without checking its ``prediction``.

    Parameters
    ----------
    raw
        JSON value.
    file
        Name for messages.
    task
        Task according to the file's name.
    position
        Number of the record in the file, from 0; names a record that has no usable
        ``annotation_id``.

    Raises
    ------
    InvalidRecord
        If a field is invalid; the message names the first one and the reason.
    """
    name = name_of(raw, position)
    if not isinstance(raw, Mapping):
        raise InvalidRecord(Problem(file, name, "record", "must be an object"))
    if raw.get("task") != task and "task" in raw:
        known = (
            "another task's file is the place for it"
            if raw["task"] in TASKS
            else "there is no such task"
        )
        raise InvalidRecord(
            Problem(
                file,
                name,
                "task",
                f"is {raw['task']!r} in the file of {task}: {known}",
            )
        )
    wire = _validated(AnnotationWire.model_validate, raw, file, name)
    if TASKS[task].expression and not (wire.prompt or "").strip():
        raise InvalidRecord(
            Problem(
                file,
                name,
                "prompt",
                "must contain the referring expression, got none",
            )
        )
    classes = wire.class_of_interest
    return Annotation(
        **{
            **dict(wire),
            "class_of_interest": None if classes is None else tuple(classes),
            "metadata": wire.metadata or {},
            "file": file,
        }
    )


def image_from_wire(image_id: str, raw: Any, *, file: str) -> ImageRecord:
    """Return the image record of ``image_id``.

    Raises
    ------
    InvalidRecord
        If a field is invalid; the message names the first one and the reason.
    """
    if not isinstance(raw, Mapping):
        raise InvalidRecord(
            Problem(
                file,
                image_id,
                "record",
                'must be an object such as {"file": "photo.png"}',
            )
        )
    record = _validated(
        _IMAGE.validate_python, {**raw, "image_id": image_id}, file, image_id
    )
    if record.file is None:
        address = (
            "; a url is not read: download it with `fetch` of adopt, or name a "
            "file here"
        )
        raise InvalidRecord(
            Problem(
                file,
                image_id,
                "file",
                f"is missing{address if record.url is not None else ''}",
            )
        )
    return record


def _validated(
    validate: Callable[[Any], Wire], raw: Fields, file: str, name: str
) -> Wire:
    try:
        return validate(raw)
    except ValidationError as error:
        place, reason = first_problem(error, displayed=True)
        raise InvalidRecord(
            Problem(file, name, ".".join(place) or "record", reason)
        ) from None


def name_of(raw: Any, position: int) -> str:
    """Return a record's ``annotation_id``, or its number in the file if it has none."""
    stated = raw.get("annotation_id") if isinstance(raw, Mapping) else None
    return (
        stated
        if isinstance(stated, str) and stated
        else f"record {position + 1}"
    )


def read_records(path: Path) -> list[Any]:
    """Return the records of a file in order. NaN and infinity are allowed, so that a
    later check can name their field. A line that is not JSON is a :class:`DataError` in
    its place.

    In a Parquet table, a null at any depth means a missing field, because a struct has
    the fields of all rows. Text in ``prediction`` or ``metadata`` is JSON.

    Raises
    ------
    DataError
        If the file cannot be read, or is not a JSON array.
    """
    if path.suffix == ".parquet":
        return [
            _without_nulls(_row(row, path.name))
            for part in table_parts(path, _ROWS)
            for row in part.to_dicts()
        ]
    if path.suffix == ".jsonl":
        return [
            _line(line, path.name) for line in jsons.lines(path) if line.strip()
        ]
    text = jsons.content(path, "json")
    try:
        content = jsons.lenient(text, path.name)
    except DataError:
        content = None
        with suppress(
            ValueError, RecursionError
        ):  # perhaps only some records are unusable
            content = json.loads(text)
        if not isinstance(content, list):
            raise
        return [
            _line(json.dumps(record).encode(), path.name) for record in content
        ]
    if not isinstance(content, list):
        raise DataError(
            f"{path.name}: must be a JSON array"
            + "; name it .jsonl if it has one record per line"
            * isinstance(content, dict)
        )
    return content


def _line(line: bytes, name: str) -> Any:
    try:
        return jsons.lenient(line, name)
    except DataError as error:
        return error


def _row(row: Json, name: str) -> Json:
    for field in ("prediction", "metadata"):
        if isinstance(row.get(field), str):
            row[field] = jsons.lenient(row[field], f"{name}: {field}")
    return row


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_nulls(item)
            for key, item in value.items()
            if item is not None
        }
    return (
        [_without_nulls(item) for item in value]
        if isinstance(value, list)
        else value
    )
