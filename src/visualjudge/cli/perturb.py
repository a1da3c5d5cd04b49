"""``visualjudge perturb``: generate controlled errors of named types from ground truth.
The work is done in ``data/perturbing.py``.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from visualjudge.cli.console import following, last_of, tell
from visualjudge.cli.options import SeedOption, SkipInvalid, settings
from visualjudge.core.errors import UsageError, one_of
from visualjudge.core.plurals import pluralize
from visualjudge.core.registry import added
from visualjudge.formats.importers import IMPORTERS

if TYPE_CHECKING:
    from visualjudge.formats.samples import Samples

IN_FOLDERS = {".xml": "voc", ".txt": "yolo"}
"""Importers of ground truth in a file an image, by the ends of the files' names."""


def perturb(
    task: Annotated[str, typer.Option(help="Task name.", metavar="TASK")],
    gt: Annotated[
        str,
        typer.Option(
            help="Ground truth: file, folder or pattern.", metavar="GT"
        ),
    ],
    images: Annotated[
        str, typer.Option(help="Images; for restorations, the degraded.")
    ],
    out: Annotated[
        Path,
        typer.Option(help="Data folder to create or extend.", metavar="DATA"),
    ],
    per_image: Annotated[
        int,
        typer.Option(
            min=2, help="Severities per error type and image.", metavar="N"
        ),
    ] = 4,
    seed: SeedOption = 42,
    error_type: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this type of error; repeatable.", metavar="TYPE"
        ),
    ] = None,
    pairing: Annotated[
        Literal["matched", "ladder"],
        typer.Option(help="Errors look alike, or one error grows."),
    ] = "matched",
    metric: Annotated[
        str | None, typer.Option(help="Metric of the scores.", metavar="NAME")
    ] = None,
    id_prefix: Annotated[
        str, typer.Option(help="Prefix of each image_id.")
    ] = "",
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace records with the same id."),
    ] = False,
    skip_invalid: SkipInvalid = False,
    set: Annotated[
        list[str] | None,
        typer.Option(
            help="Options of `import`: classes, gt_scale, …", metavar="NAME=…"
        ),
    ] = None,
) -> None:
    """Add one type of error at a time to ground truth, at increasing severity, and
    score each result.

    Example: visualjudge perturb --task keypoint --gt gt.json --images val2017 --out
    data
    """
    from visualjudge.data.perturbing import Made, perturb_samples, surroundings
    from visualjudge.data.writer import FolderWriter
    from visualjudge.formats.samples import Sample, named

    from_files = truth_reader(task, gt, images, settings(set))

    def read() -> Samples:
        for item in from_files():
            if isinstance(item, Sample):
                item = dataclasses.replace(
                    item, image_id=named(item, id_prefix)
                )
            yield item

    with FolderWriter(out, task, replace=replace) as writer:
        made = perturb_samples(
            writer,
            read(),
            surroundings(read()),
            levels=per_image,
            seed=seed,
            wanted=error_type,
            with_truth=False,
            pairing=pairing,
            file=Path(gt).name,
            metric=metric,
        )
        done = last_of("putting errors in", made, Made())
        if len(writer):
            writer.commit()
    print(
        f"{out}: {task}: {pluralize(done.annotations, 'annotation')} in "
        f"{pluralize(done.groups, 'group')} on {pluralize(done.images, 'image')}"
    )
    following("build", out, "--out", "DATASET")
    tell(done.problems, skip=skip_invalid)


def truth_reader(
    task: str, gt: str, images: str, data: Mapping[str, Any]
) -> Callable[[], Samples]:
    """Return a function that reads ground truth alone, from the start at every call.

    Parameters
    ----------
    data
        Further options of the importer of the task's type.

    Raises
    ------
    UsageError
        If the task has no ground truth, or its importer has no such option or needs
        another.
    """
    from visualjudge.vision import predictions, tasks

    kind = tasks.task_named(task).type
    if not predictions.TYPES.find(kind).errors:
        raise UsageError(
            f"{task} has no controlled errors: its scores are given, not computed"
        )
    place = Path(gt)
    held = (
        {path.suffix for path in place.iterdir()} if place.is_dir() else set()
    )
    first = [name for suffix, name in IN_FOLDERS.items() if suffix in held]
    first += added("importer")
    if "gt_pngs" not in data:
        first.append("label-map")
    name = next(
        item for item in (*first, *IMPORTERS) if kind in IMPORTERS[item].types
    )
    reader = IMPORTERS[name].reader
    known = inspect.signature(reader).parameters
    values = {"gt": gt, "images": images, **data}
    for word in sorted(data.keys() - known):
        raise UsageError(
            f"--set: must be {one_of(word, known)}, got {word!r} (importer {name})"
        )
    for word, item in known.items():
        if item.default is item.empty and word not in {*values, "task", "pred"}:
            raise UsageError(
                f"--set {word} is missing; the importer {name} needs it"
            )
    paths = {
        word: Path(value)
        for word, value in values.items()
        if "Path" in str(known[word].annotation)
    }
    return partial(reader, task=task, pred=None, **{**values, **paths})
