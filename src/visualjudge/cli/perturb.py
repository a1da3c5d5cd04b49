"""``visualjudge perturb``: generate controlled errors of named types from ground truth."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from visualjudge.cli.options import SeedOption, SkipInvalid
from visualjudge.cli.output import following, stages, tell
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import pluralize

if TYPE_CHECKING:
    from visualjudge.formats.sample import Found

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}
# The importer that reads the ground truth of each type; all others are read as COCO.
READERS = {
    "semantic": "label-map",
    "referring": "referring",
    "depth": "depth",
    "restoration": "pairs",
}


def perturb(
    context: typer.Context,
    task: Annotated[str, typer.Option(help="Task name.", metavar="TASK")],
    gt: Annotated[str, typer.Option(help="Ground truth: file, folder or pattern.", metavar="GT")],
    images: Annotated[str, typer.Option(help="Images; degraded ones of restorations.")],
    out: Annotated[Path, typer.Option(help="Data folder to create or extend.", metavar="DATA")],
    per_image: Annotated[
        int, typer.Option(min=2, help="Severities per error type and image.", metavar="N")
    ] = 4,
    seed: SeedOption = 42,
    error_type: Annotated[
        list[str] | None, typer.Option(help="Only this type of error; repeatable.", metavar="TYPE")
    ] = None,
    pairing: Annotated[
        Literal["matched", "ladder"],
        typer.Option(help="Errors that look alike, or one error that grows."),
    ] = "matched",
    metric: Annotated[
        str | None, typer.Option(help="Metric of the scores.", metavar="NAME")
    ] = None,
    id_prefix: Annotated[str, typer.Option(help="Prefix of each image_id.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace records of one id.")] = False,
    skip_invalid: SkipInvalid = False,
) -> None:
    """Add one type of error at a time to ground truth, at increasing severity, and score each
    result. Further options are those with which `visualjudge import` reads the ground truth, such
    as --classes, --gt-scale, --instances.

    Example: visualjudge perturb --task keypoint --gt gt.json --images val2017 --out data
    """
    from visualjudge.data.perturbing import Made, perturb_samples, surroundings
    from visualjudge.data.writer import FolderWriter
    from visualjudge.formats.sample import Sample, named

    from_files = _reader(task, gt, images, context.args)

    def read() -> Found:
        for item in from_files():
            if isinstance(item, Sample):
                item = dataclasses.replace(item, image_id=named(item, id_prefix))
            yield item

    done = Made()
    with FolderWriter(out, task, replace=replace) as writer, stages() as progress:
        around = surroundings(read())
        made = perturb_samples(
            writer,
            read(),
            around,
            levels=per_image,
            seed=seed,
            wanted=error_type,
            with_truth=False,
            pairing=pairing,
            file=Path(gt).name,
            metric=metric,
        )
        for number, state in enumerate(made, 1):
            done = state
            progress("putting errors in", number, number + 1)
        if len(writer):
            writer.commit()
    where = f"{pluralize(done.groups, 'group')} on {pluralize(done.images, 'image')}"
    print(f"{out}: {task}: {pluralize(done.annotations, 'annotation')} in {where}")
    following("build", out, "--out", "DATASET")
    tell(done.problems, skip=skip_invalid)


def _reader(task: str, gt: str, images: str, words: Sequence[str]) -> Callable[[], Found]:
    """Return a function that reads the ground truth's samples from the start."""
    from visualjudge.core.registry import added
    from visualjudge.formats.importers import IMPORTERS
    from visualjudge.vision.tasks import task_named

    kind = task_named(task).type
    panoptic = "--gt-pngs" in words
    name = "coco" if panoptic else READERS.get(kind, "coco")
    name = next((plugin for plugin in added("importer") if kind in IMPORTERS[plugin].types), name)
    reader = IMPORTERS[name].reader
    known = inspect.signature(reader).parameters
    files: dict[str, Any] = {"gt": gt, "images": images, "pred": None}
    for place in ("gt", "images"):
        if known[place].annotation in (Path, "Path"):  # others take patterns
            files[place] = Path(files[place])
    return partial(reader, task=task, **files, **_importer_options(name, known, words))


def _importer_options(name: str, known: Any, words: Sequence[str]) -> dict[str, str | bool | Path]:
    """Return further options of the command line as arguments of an importer.

    Raises
    ------
    UsageError
        If the importer has no such option, or it lacks a value.
    """
    own = [key for key in known if key not in ("task", "gt", "pred", "images")]
    values: dict[str, str | bool | Path] = {}
    rest = list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        key = word.removeprefix("--").replace("-", "_")
        if not word.startswith("--") or key not in own:
            options = ", ".join(f"--{one.replace('_', '-')}" for one in own)
            raise UsageError(f"perturb has no option {word}; the importer {name} has {options}")
        if isinstance(known[key].default, bool):
            values[key] = True
        elif equals or rest:
            text = value if equals else rest.pop(0)
            values[key] = Path(text) if "Path" in str(known[key].annotation) else text
        else:
            raise UsageError(f"{word} must be followed by a value")
    needed = [key for key in own if known[key].default is inspect.Parameter.empty]
    for key in set(needed) - set(values):
        raise UsageError(f"--{key.replace('_', '-')} is missing; the importer {name} needs it")
    return values
