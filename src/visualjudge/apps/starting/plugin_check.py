"""Checks of ``visualjudge plugins check``: each row that a plug-in registered, on its type's
example.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from visualjudge.core.atomic import write_bytes
from visualjudge.core.errors import DataError, PluginError, UsageError, VisualJudgeError
from visualjudge.core.records import Pixels, Size
from visualjudge.core.registry import plugins, rows_of
from visualjudge.data.folder import DataFolder
from visualjudge.data.perturbing import Surroundings, perturb_samples
from visualjudge.data.writer import FolderWriter
from visualjudge.dataset.build import BuildOptions, build
from visualjudge.formats.importers import IMPORTERS, tasks_of
from visualjudge.formats.sample import Sample
from visualjudge.prompts.question_text import QuestionScene, Shown, question_prompt
from visualjudge.vision.encode import encode
from visualjudge.vision.encodings import encodings
from visualjudge.vision.error_types import error_type_named, error_types, perturbed
from visualjudge.vision.errors.groups import graded
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.metrics import metrics_of
from visualjudge.vision.predictions import TYPES, payload_of, read_prediction
from visualjudge.vision.raster.images import png_bytes
from visualjudge.vision.rows import Encoding, PredictionType
from visualjudge.vision.score import score
from visualjudge.vision.tasks import TASKS
from visualjudge.vision.view import Given

QUESTIONS = 10
"""Minimum number of questions that a build must ask about one example and its errors."""
LEVELS, SEED = 5, 0
Example = tuple[Pixels, Any, str | None]


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of one check; ``problem`` is None if it passed."""

    what: str
    problem: str | None = None

    @property
    def line(self) -> str:
        """The line shown in the terminal."""
        return (
            f"{self.what}: ok" if self.problem is None else f"{self.what}: failed: {self.problem}"
        )


def check_plugin(name: str) -> Iterator[Trial]:
    """Try every row that the plug-in ``name`` registered.

    Raises
    ------
    UsageError
        If no plug-in of that name is installed.
    """
    found = next((one for one in plugins() if name in (one.name, one.distribution)), None)
    if found is None:
        known = ", ".join(one.name for one in plugins()) or "none"
        raise UsageError(f"plug-in {name!r} is not installed; installed: {known}")
    yield Trial("load", found.problem)
    if found.problem is not None:
        return

    def keys(table: str) -> list[Any]:
        return [key for what, key in rows_of(found.name) if what == table]

    types, tasks = keys("prediction type"), keys("task")
    for kind in types:
        own = [task.name for task in TASKS.values() if task.type == kind]
        if not own:
            yield Trial(f"type {kind}", "tasks: no task has predictions of this type")
        elif TYPES[kind].example is None:
            yield Trial(
                f"type {kind}", "example: must be given, so that the type can be tried and shown"
            )
    for task in dict.fromkeys(
        [*tasks, *(task.name for task in TASKS.values() if task.type in types)]
    ):
        make = TYPES.find(TASKS[task].type).example
        if make is not None:
            yield from _task(task, make)
    yield from (_tried(f"importer {key}", partial(_importer, key)) for key in keys("importer"))
    yield from (_tried(f"prompts {key}", partial(_parts, key)) for key in keys("prompt folder"))


def _parts(folder: str) -> None:
    """Check that the project uses every part in a prompt folder: parts of types, tasks and
    encodings.
    """
    named = {"questions/context": {*TYPES, *TASKS}}
    for kind in TYPES:
        tasks = [task.name for task in TASKS.values() if task.type == kind]
        named[f"questions/format/{kind}"] = {
            row.stem for task in tasks[:1] for row in encodings(task)
        }
    for path in sorted(Path(folder).rglob("v*.yaml")):
        asset = path.parent.relative_to(folder).as_posix()
        parts = yaml.safe_load(path.read_text(encoding="utf-8")).get("parts") or {}
        if asset in named and (lost := sorted(set(parts) - named[asset])):
            known = ", ".join(sorted(named[asset])) or "none"
            raise DataError(
                f"{asset}: part {lost[0]!r} is never shown; its name must be one of: {known}"
            )


def _tried(what: str, work: Callable[[], object]) -> Trial:
    try:
        work()
    except VisualJudgeError as error:
        return Trial(what, " ".join(str(error).split()))
    except Exception as error:  # methods of a plug-in's record are not guarded
        return Trial(what, f"{type(error).__name__}: {' '.join(str(error).split())}")
    return Trial(what)


def _task(task: str, make: Callable[[], Example]) -> Iterator[Trial]:
    kind = TYPES[TASKS[task].type]
    example: list[Example] = []
    yield (trial := _tried(f"task {task}, example", lambda: example.append(make())))
    if trial.problem is not None:
        return
    image, truth, expression = example[0]
    scene = ErrorScene((image.shape[0], image.shape[1]), tuple(truth.labels), LEVELS)
    yield _tried(f"task {task}, record", lambda: _round_trip(task, truth, scene, expression))
    yield _tried(f"task {task}, scaled", lambda: _half(task, truth, scene.size))
    yield _tried(f"task {task}, marks and places", lambda: _shapes(kind, truth))
    for metric in metrics_of(kind.name):
        yield _tried(f"task {task}, metric {metric}", partial(_perfect, task, truth, metric))
        if TASKS[task].classed:
            yield _tried(
                f"task {task}, metric {metric} of a class",
                partial(_perfect_of_class, task, truth, metric),
            )
    for error in error_types(task):
        yield _tried(
            f"task {task}, error type {error}", partial(_rising, task, error, truth, scene)
        )
        if error_type_named(task, error).matched is not None:
            yield _tried(
                f"task {task}, error type {error}, matched",
                partial(_matched, task, error, truth, scene),
            )
    for row in encodings(task):
        yield _tried(f"task {task}, encoding {row.stem}", partial(_drawn, task, row, example[0]))
        yield _tried(f"task {task}, prompt {row.stem}", partial(_prompt, task, row, scene))
    if kind.look is not None:
        yield _tried(f"task {task}, look", lambda: _features(kind.look, truth, image))
    if error_types(task):
        yield _tried(f"task {task}, build", lambda: _build(task, example[0]))


def _round_trip(task: str, truth: Any, scene: ErrorScene, expression: str | None) -> None:
    truth.check(scene.size)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        written = payload_of(task, truth, root=root, stem="first", digits=None)
        again = read_prediction(task, written, size=scene.size, root=root, expression=expression)
        if type(again) is not type(truth):
            raise DataError(f"read: must give a {type(truth).__name__}, got {type(again).__name__}")
        for name in ("labels", "count"):
            if getattr(again, name) != getattr(truth, name):
                raise DataError(
                    f"write: must keep {name} {getattr(truth, name)}, got {getattr(again, name)} "
                    "when it is read again"
                )
        if (field := TYPES[TASKS[task].type].file_field) is not None:
            payload_of(task, again, root=root, stem="second", digits=None)
            first, second = (
                next(root.glob(f"{stem}.*")).read_bytes() for stem in ("first", "second")
            )
            if first != second:
                raise DataError(f"{field}: must be the same file when it is read and written again")
        elif payload_of(task, again, root=root, stem="first", digits=None) != written:
            raise DataError("write: must give the same payload when it is read and written again")


def _half(task: str, truth: Any, size: Size) -> None:
    """Check that a prediction resized to half the size fits the smaller image, with marks half as
    far from its corner.
    """
    if TYPES[TASKS[task].type].is_image:
        return
    target = (size[0] // 2, size[1] // 2)
    found = truth.scaled(size, target)
    found.check(target)
    for whole, half in zip(truth.marks(), found.marks(), strict=True):
        wanted = np.array(whole.box) * np.tile(np.divide(target, size)[::-1], 2)
        if not np.allclose(half.box, wanted, atol=4):
            raise DataError(
                f"scaled: mark {whole.label!r} must lie at {wanted.round(1).tolist()} on an image "
                f"of half the size, got {list(half.box)}"
            )


def _shapes(kind: PredictionType, truth: Any) -> None:
    for mark in truth.marks():
        box = np.asarray(mark.box, dtype=object)
        if box.shape != (4,) or not np.isfinite(box.astype(float)).all():
            raise DataError(
                f"marks: {mark.label!r}: box must be (left, top, right, bottom), got {mark.box!r}"
            )
    if kind.places is not None and np.shape(found := kind.places(truth)) != (truth.count or 0, 4):
        raise DataError(
            f"places: must be an array of {truth.count or 0}×4 corners, got {np.shape(found)}"
        )


def _perfect_of_class(task: str, truth: Any, metric: str) -> None:
    """Check that a prediction without a class scores 0 for it and keeps its score for another
    class.
    """
    label = truth.labels[0]
    others = [name for name in truth.labels if name != label]
    without = truth.only(others)
    for name, wanted in [(label, 0), *((other, 10) for other in others)]:
        found = score(task, without, truth, metric=metric, class_of_interest=(name,))
        if found != wanted:
            raise DataError(
                f"class_of_interest: without the items of {label!r} the score for {name!r} must be "
                f"{wanted}, got {found}"
            )


def _matched(task: str, error: str, truth: Any, scene: ErrorScene) -> None:
    if not graded(task, error, truth, scene, seed=SEED, key="example", pairing="matched"):
        raise DataError("must make predictions with different scores on the example")


def _perfect(task: str, truth: Any, metric: str) -> None:
    value = score(task, truth, truth, metric=metric)
    if value != 10:
        raise DataError(f"must give 1 for the truth against itself, got {value / 10}")


def _rising(task: str, error: str, truth: Any, scene: ErrorScene) -> None:
    if not error_type_named(task, error).applies(truth, scene):
        raise DataError("applies: must be true for the example, so that the error can be tried")
    made, again = (
        [*perturbed(task, error, truth, scene, seed=SEED, key="example")] for _ in range(2)
    )
    if [score(task, found, truth) for _, found in made] != [
        score(task, found, truth) for _, found in again
    ]:
        raise DataError(
            "must give the same prediction for the same generator state, got another score"
        )
    scores = [score(task, found, truth) for _, found in made]
    if not scores[-1] < score(task, truth, truth) or any(
        later > earlier for earlier, later in pairwise(scores)
    ):
        raise DataError(
            f"must lower the score as its severity rises, got {', '.join(map(str, scores))}"
        )


def _drawn(task: str, row: Encoding, example: Example) -> None:
    image, truth, expression = example
    before = image.copy()
    first, second = (encode(task, row.stem, truth, image, expression=expression) for _ in range(2))
    if not np.array_equal(before, image):
        raise DataError("must not write to the image; draw on scene.canvas()")
    for name, value, kinds in (
        ("image", first.image, ("pixel", "combo")),
        ("text", first.text, ("text", "combo")),
    ):
        if (value is not None) != (row.kind in kinds):
            raise DataError(
                f"{name}: must be {'given' if row.kind in kinds else 'None'} for the kind "
                f"{row.kind}"
            )
    none = np.zeros((0, 0, 3), np.uint8)
    drawn, again = (none if one.image is None else one.image for one in (first, second))
    if drawn.dtype != np.uint8 or drawn.ndim != 3 or drawn.shape[2] != 3:
        raise DataError(f"image: must be H×W×3 uint8, got {drawn.dtype} of shape {drawn.shape}")
    if (
        first.text != second.text
        or first.legend != second.legend
        or not np.array_equal(drawn, again)
    ):
        raise DataError("must draw the same prediction identically each time")


def _prompt(task: str, row: Encoding, scene: ErrorScene) -> None:
    combo = row.kind == "combo"
    text = None if row.kind == "pixel" else "text"
    shown = [Shown(row.kind != "text", text)] * 2
    question_prompt(
        "pairwise",
        QuestionScene(TASKS[task], row.stem, scene.size, TASKS[task].sourced, combo=combo),
        shown,
    )


def _features(look: Any, truth: Any, image: Pixels) -> None:
    found = [dict(look(truth, Given(image))) for _ in range(2)]
    if not all(np.isfinite(value) for value in found[0].values()):
        raise DataError("must give finite numbers")
    if found[0] != found[1]:
        raise DataError("must give the same numbers each time")


def _build(task: str, example: Example) -> None:
    image, truth, expression = example
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_bytes(root / "example.png", png_bytes(image))
        sample = Sample("example", root / "example.png", truth, truth, prompt=expression)
        with FolderWriter(root / "data", task) as writer:
            around = Surroundings(tuple(truth.labels))
            for made in perturb_samples(
                writer, [sample], around, levels=LEVELS, seed=SEED, with_truth=True
            ):
                if made.problems:
                    raise DataError(str(made.problems[0]))
            writer.commit()
        built = build(root / "data", root / "dataset", BuildOptions(seed=SEED))
        if built.problems:
            raise DataError(str(built.problems[0]))
        if built.questions < QUESTIONS:
            raise DataError(f"must build at least {QUESTIONS} questions, got {built.questions}")
        with DataFolder(root / "data") as data:
            if not data.entries(task):
                raise DataError("must leave annotations that can be read")


def _importer(name: str) -> None:
    """Check that an importer reports a missing file as a data error; files of its format are not
    known here.
    """
    row = IMPORTERS[name]
    if not tasks_of(row):
        raise DataError(f"types: must name a type that a task has, got {', '.join(row.types)}")
    with tempfile.TemporaryDirectory() as folder:
        missing = str(Path(folder) / "missing")
        try:
            found = [*row.reader(tasks_of(row)[0], missing, None, missing)]
        except PluginError:
            raise
        except (DataError, UsageError):
            return
        if any(isinstance(one, Sample) for one in found):
            raise DataError("read: must yield no sample for files that do not exist")
