"""Render one image: write its original once, encode each prediction once, and write its
questions. What is to be drawn is planned in ``plan.py``; encodings are in
``visualjudge.vision``, prompts in ``visualjudge.prompts``.

Runs in a worker, which returns only the questions as JSON and the checksums of the
images written.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from urllib.parse import quote

import numpy as np

from visualjudge.core.atomic import writing
from visualjudge.core.errors import DataError, PluginError, Problem
from visualjudge.core.records import (
    Annotation,
    Fault,
    ImageRecord,
    Mask,
    OptionFeatures,
    Pixels,
    Question,
    Size,
)
from visualjudge.data.folder import as_problem
from visualjudge.dataset.folder import MEDIA
from visualjudge.dataset.json_form import question_json
from visualjudge.dataset.photograph_stand_in import StandIn
from visualjudge.dataset.plan import Job
from visualjudge.dataset.predictions_file import hole_line, prediction_line
from visualjudge.dataset.question_identity import identified
from visualjudge.prompts.prompt_set import V1, PromptSet
from visualjudge.prompts.question_text import (
    Option,
    QuestionScene,
    SharedBlocks,
    question_prompt,
    shared_blocks,
)
from visualjudge.vision.encode import context_image, encode_each
from visualjudge.vision.faults import stated_faults
from visualjudge.vision.predictions import Prediction, read_prediction, type_of
from visualjudge.vision.raster.images import (
    fitted_size,
    png_bytes,
    read_rgb,
    resized_rgb,
)
from visualjudge.vision.raster.masks import mask_from_png, resized_mask
from visualjudge.vision.tasks import TASKS

LONGEST_STEM = 200
_UNSAFE = re.compile(r"""[/\\%:*?"<>|\x00-\x1f]""")
"""Separators, the escape character itself, and characters that Windows does not allow
in file names.
"""


@dataclass(frozen=True, slots=True)
class Renderer:
    """Source, destination and form of a dataset's questions; a worker calls it with one
    job.
    """

    root: Path
    out: Path
    prompts: PromptSet = V1
    max_side: int | None = None
    """Maximum length of the longer side; larger images are scaled down together with
    their predictions.
    """

    def __call__(self, job: Job) -> Piece:
        """Return the questions and images of one image.

        Raises
        ------
        DataError
            If a photograph can no longer be read, although it was checked before.
        """
        stand_in = job.stand_in
        media = MediaWriter(
            self.out, "" if stand_in is None else f"__{stand_in.name}"
        )
        piece = Piece()
        needed: dict[tuple[str, str], set[str]] = defaultdict(set)
        for _, item in job.questions:
            for name in item.annotation_ids:
                needed[item.task, name].add(item.encoding)
        photograph = cache(lambda file: read_rgb(self.root / file))
        contexts = {
            task: _context(
                task, job.images.get(task), self, media, stand_in, photograph
            )
            for task in sorted({task for task, _ in needed})
        }
        piece.predictions += [
            hole_line(task, context.image_id, context.hole)
            for task, context in contexts.items()
            if context.hole is not None
        ]
        options: Options = {}
        for (task, name), stems in sorted(needed.items()):
            note = job.entries[task, name]
            try:
                prediction, scale = _prediction(note, contexts[task], self)
            except DataError as error:
                problem = as_problem(error, note, str(self.root))
                piece.problems.append(problem)
                continue
            piece.predictions += prediction_line(task, name, prediction)
            drawn = _drawn(
                note, prediction, stems, contexts[task], media, piece
            )
            faults = _faults(note, scale)
            options |= {
                (task, name, stem): replace(option, faults=faults)
                for stem, option in drawn.items()
            }
        used: set[str] = set()
        shared = cache(shared_blocks)
        for place, item in job.questions:
            displayed = [
                options.get((item.task, name, item.encoding))
                for name in item.annotation_ids
            ]
            chosen = [option for option in displayed if option is not None]
            if len(chosen) < len(displayed):
                piece.failed.append(place)
            elif _alike(chosen):
                piece.undecidable.append(place)
            else:
                context = contexts[item.task]
                question = _question(
                    item, context, chosen, self.prompts, shared
                )
                used.update(question.images)
                piece.questions.append((place, question_json(question)))
        for unused in media.files.keys() - used:
            (self.out / unused).unlink()
        piece.files = {name: media.files[name] for name in sorted(used)}
        return piece


@dataclass(slots=True)
class Piece:
    """The result of one worker.

    ``questions`` are (place, JSON), with the better option of a pair first.
    ``undecidable`` lists the positions of questions not asked because two options look
    the same. ``failed`` lists those of questions lost to a plug-in error or to a file
    that cannot be read although its checksum is correct. ``problems`` describes what is
    wrong with each annotation. ``files`` are the SHA-256 of each image by its path in
    the dataset. ``predictions`` are lines of ``predictions.jsonl``.
    """

    questions: list[tuple[int, bytes]] = field(default_factory=list)
    undecidable: list[int] = field(default_factory=list)
    files: Mapping[str, str] = field(default_factory=dict)
    predictions: list[bytes] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


Options = dict[tuple[str, str, str], Option]
"""By task, annotation and encoding."""


@dataclass(frozen=True, slots=True)
class _Context:
    """The images before the options, and the size of the image's predictions."""

    pixels: Pixels | None
    full: Size | None = None
    """Size of the image's predictions in the data folder."""
    images: tuple[str, ...] = ()
    hole: Mask | None = None
    image_id: str = ""
    original: bool = False
    control: bool = False

    @property
    def size(self) -> Size | None:
        return (
            None
            if self.pixels is None
            else (self.pixels.shape[0], self.pixels.shape[1])
        )


class MediaWriter:
    """Write images to a dataset's folder and record their checksums. Each path is
    written once.

    Parameters
    ----------
    suffix
        Suffix of all names.
    """

    def __init__(self, out: Path, suffix: str = "") -> None:
        self._out = out
        self._suffix = suffix
        self.files: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._last: tuple[Pixels, bytes, str] | None = None

    def write(self, name: str, pixels: Pixels) -> tuple[str, int]:
        """Write ``pixels`` as ``media/<name>.png``. Return the path relative to the
        dataset and the file size in bytes.
        """
        relative = f"{MEDIA}/{name}{self._suffix}.png"
        if relative not in self.files:
            # a combined encoding has the same image as the encoding after it
            if self._last is None or self._last[0] is not pixels:
                content = png_bytes(pixels)
                self._last = (
                    pixels,
                    content,
                    hashlib.sha256(content).hexdigest(),
                )
            _, content, self.files[relative] = self._last
            self._sizes[relative] = len(content)
            with writing(self._out / relative):
                (self._out / relative).write_bytes(content)
        return relative, self._sizes[relative]


def _drawn(
    note: Annotation,
    prediction: Prediction,
    stems: set[str],
    context: _Context,
    media: MediaWriter,
    piece: Piece,
) -> dict[str, Option]:
    """Return the options by encoding. If a plug-in fails to draw one, each encoding is
    drawn separately, and those that fail are problems of the piece.
    """
    try:
        return _options(note, prediction, stems, context, media)
    except PluginError:
        made: dict[str, Option] = {}
    for stem in sorted(stems):
        try:
            made |= _options(note, prediction, {stem}, context, media)
        except PluginError as error:
            piece.problems.append(
                Problem.of(error, note.file, note.annotation_id)
            )
    return made


def _alike(options: Sequence[Option]) -> bool:
    """Return whether two options have the same text and the same image."""
    looks = {(option.text, option.digest) for option in options}
    return len(looks) < len(options)


def file_name(*parts: str) -> str:
    """Return ``parts`` as one file name without suffix. Characters that some file
    system forbids are percent-encoded; a name that would be too long ends in a digest.
    """
    name = "__".join(
        _UNSAFE.sub(lambda prediction: quote(prediction[0], safe=""), part)
        for part in parts
    )
    if len(name.encode()) <= LONGEST_STEM:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:24]
    return f"{name.encode()[: LONGEST_STEM - 26].decode(errors='ignore')}__{digest}"


def _context(
    task: str,
    record: ImageRecord | None,
    form: Renderer,
    media: MediaWriter,
    stand_in: StandIn | None,
    photograph: Callable[[str], Pixels],
) -> _Context:
    row = TASKS[task]
    root = form.root
    if record is None or not row.sourced:
        return _Context(None)
    stored = photograph(str(record.file))
    full = stored.shape[0], stored.shape[1]
    size = fitted_size(full, form.max_side)
    displayed = original = (
        resized_rgb(stored, size)
        if stand_in is None
        else stand_in.pixels(task, "file", size, root)
    )
    hole = (
        None
        if record.mask is None
        else resized_mask(mask_from_png(root / record.mask), size)
    )
    if hole is not None:
        displayed = context_image(original, hole.dense())
    path, _ = media.write(
        file_name(
            ("original_" if stand_in is None else "stand_in_") + record.image_id
        ),
        displayed,
    )
    images = [path]
    alone = record.control is not None and record.control == record.file
    if record.control is not None and not alone:
        control = read_rgb(root / record.control)
        side = fitted_size((control.shape[0], control.shape[1]), form.max_side)
        control = (
            resized_rgb(control, side)
            if stand_in is None
            else stand_in.pixels(task, "control", side, root)
        )
        images.append(
            media.write(file_name("control_" + record.image_id), control)[0]
        )
    return _Context(
        original,
        full,
        tuple(images),
        hole,
        record.image_id,
        not alone,
        record.control is not None,
    )


def _prediction(
    note: Annotation, context: _Context, form: Renderer
) -> tuple[Prediction, float]:
    """Return the prediction for the image as shown, and the factor of its size."""
    size = None if type_of(note.task).is_image else context.full
    prediction = read_prediction(
        note.task,
        note.prediction,
        size=size,
        root=form.root,
        expression=note.prompt,
    )
    own = (
        (prediction.image.shape[0], prediction.image.shape[1])
        if prediction.image is not None
        else context.full
    )
    if own is None:
        return prediction, 1.0
    target = fitted_size(own, form.max_side)
    return prediction.scaled(own, target), target[1] / own[1]


def _faults(note: Annotation, scale: float) -> tuple[Fault, ...] | None:
    stated = stated_faults(note.metadata)
    if stated is None or scale == 1:
        return stated
    scaled = []
    for fault in stated:
        x1, y1, x2, y2 = (round(v * scale, 1) for v in fault.box)
        scaled.append(replace(fault, box=(x1, y1, x2, y2)))
    return tuple(scaled)


def _options(
    note: Annotation,
    prediction: Prediction,
    stems: set[str],
    context: _Context,
    media: MediaWriter,
) -> dict[str, Option]:
    size = None if type_of(note.task).is_image else context.size
    blank = (
        context.pixels
        if context.pixels is not None
        else np.zeros((1, 1, 3), dtype=np.uint8)
    )
    area = None if size is None else covered(prediction, size)
    made: dict[str, Option] = {}
    classes = list(note.labels) or None
    for stem, encoded in encode_each(
        note.task,
        stems,
        prediction,
        blank,
        classes=classes,
        expression=note.prompt,
    ):
        path = length = None
        if encoded.image is not None:
            path, length = media.write(
                file_name(note.task, note.annotation_id, stem), encoded.image
            )
        chars = None if encoded.text is None else len(encoded.text)
        made[stem] = Option(
            path,
            encoded.text,
            encoded.legend,
            note.prompt,
            None if path is None else media.files[path],
            OptionFeatures(
                _severity(note), chars, length, prediction.count, area
            ),
        )
    return made


def _severity(note: Annotation) -> float | None:
    stated = note.metadata.get("severity")
    if (
        isinstance(stated, bool)
        or not isinstance(stated, int | float)
        or not math.isfinite(stated)
    ):
        return None
    return float(stated)


def covered(prediction: Prediction, size: Size) -> float | None:
    inside = prediction.coverage(size)
    return (
        None
        if inside is None
        else round(float(np.count_nonzero(inside) / inside.size), 4)
    )


def _question(
    drafted: Question,
    context: _Context,
    options: Sequence[Option],
    prompts: PromptSet,
    shared: SharedBlocks,
) -> Question:
    """Return a question with its prompt and the images of its options."""
    scene = QuestionScene(
        task=TASKS[drafted.task],
        stem=drafted.encoding,
        size=context.size,
        original=context.original,
        control=context.control,
        masked=context.hole is not None,
        combo=options[0].image is not None and options[0].text is not None,
        class_of_interest=drafted.class_of_interest,
    )
    prompt, spans = question_prompt(
        drafted.question_type,
        scene,
        options,
        int(drafted.id),
        prompts,
        shared=shared,
    )
    own = [option.image for option in options if option.image is not None]
    features = [
        option.features for option in options if option.features is not None
    ]
    faults = [option.faults for option in options if option.faults is not None]
    stated = len(faults) == len(options)
    question = replace(
        drafted,
        prompt=prompt,
        images=(*context.images, *own),
        features=tuple(features),
        spans=spans,
        faults=tuple(faults) if stated else None,
    )
    return identified(question)
