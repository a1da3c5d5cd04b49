"""``visualjudge perturb``: generate controlled errors of named types from ground truth."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from visualjudge.cli.output import following, say, stages, tell
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import pluralize

if TYPE_CHECKING:
    from visualjudge.data.perturbing import Made
    from visualjudge.formats.sample import Found

app = typer.Typer(add_completion=False)

EPILOG = (
    "Examples:\n\n"
    "visualjudge perturb --task object_detection --gt instances.json --images val2017 "
    "--per-image 4 --seed 0 --out data"
    "\n\n"
    "visualjudge perturb --task semantic_segmentation --gt 'labels/*.png' --classes classes.csv "
    "--images photos "
    "--out data"
    "\n\n"
    "visualjudge perturb --task depth_estimation --gt 'depth/*.png' --gt-scale 1/256 --images "
    "rgb --out data"
    "\n\n"
    "visualjudge perturb --task lowlevel-derain --gt clean --images rainy --out data"
)


@app.command(epilog=EPILOG)
def perturb(
    task: Annotated[str, typer.Option(help="Task name.", show_default=False)],
    gt: Annotated[
        str,
        typer.Option(
            help="Ground truth: a file, or a folder or pattern of files.", show_default=False
        ),
    ],
    images: Annotated[
        str, typer.Option(help="Images; for restoration, the degraded ones.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option(help="Data folder to create or to add to.", show_default=False)
    ],
    per_image: Annotated[
        int, typer.Option(min=2, help="Maximum number of severities per error type and image.")
    ] = 4,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 42,
    error_type: Annotated[
        list[str] | None, typer.Option(help="Only this type of error; may be repeated.")
    ] = None,
    pairing: Annotated[
        str,
        typer.Option(
            help="How the predictions of a group differ: they look alike, and some are nearer to "
            "the truth than others (matched), or one visible error increases in severity (ladder)."
        ),
    ] = "matched",
    classes: Annotated[Path | None, typer.Option(help="Label maps: class table.")] = None,
    gt_pngs: Annotated[
        Path | None, typer.Option(help="Panoptic: folder of the ground truth's PNGs.")
    ] = None,
    instances: Annotated[
        Path | None, typer.Option(help="Referring: COCO instances that ann_id points to.")
    ] = None,
    gt_scale: Annotated[
        str, typer.Option(help="Depth = stored value × scale, such as 0.001 or 1/256.")
    ] = "1",
    gt_inverse: Annotated[
        bool, typer.Option(help="Depth: the ground truth is a disparity.")
    ] = False,
    boxes: Annotated[
        bool, typer.Option("--boxes", help="Referring: use a box if there is no mask.")
    ] = False,
    metric: Annotated[
        str | None, typer.Option(help="Metric of the scores; default: that of the task.")
    ] = None,
    importer_option: Annotated[
        list[str] | None,
        typer.Option(help="Option of a plug-in's importer, as NAME=VALUE; may be repeated."),
    ] = None,
    with_truth: Annotated[
        bool,
        typer.Option(
            "--with-truth",
            help="Add the unmodified ground truth to each group; only with --pairing ladder.",
        ),
    ] = False,
    id_prefix: Annotated[str, typer.Option(help="Prefix of each image_id.")] = "",
    id_from: Annotated[
        str,
        typer.Option(
            help="Form of image_id: the file name without suffix (name), or folder_name (folder)."
        ),
    ] = "name",
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace existing records with the same ids.")
    ] = False,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Exit with status 0 even if records are invalid.")
    ] = False,
) -> None:
    """Add one type of error at a time to ground truth, at increasing severity, and score each
    result.
    """
    from visualjudge.data.perturbing import Made, perturb_samples, surroundings
    from visualjudge.data.writer import FolderWriter
    from visualjudge.formats.image_ids import Ids, renamed
    from visualjudge.vision.error_types import PAIRINGS

    if pairing not in PAIRINGS:
        raise UsageError(f"--pairing must be matched or ladder, got {pairing!r}")
    if with_truth and pairing == "matched":
        raise UsageError(
            "--with-truth must be used with --pairing ladder: the truth looks different "
            "from matched errors"
        )
    from_files = _reader(
        task,
        gt,
        images,
        classes,
        gt_pngs,
        instances,
        gt_scale,
        gt_inverse,
        boxes,
        importer_option or (),
    )
    ids = Ids(id_prefix, id_from)

    def read() -> Found:
        return renamed(from_files(), ids)

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
            with_truth=with_truth,
            pairing=pairing,
            file=Path(gt).name,
            metric=metric,
        )
        for number, state in enumerate(made, 1):
            done = state
            progress("putting errors in", number, number + 1)
        if len(writer):
            writer.commit()
    _tell(done, task, out, skip_invalid)


def _reader(
    task: str,
    gt: str,
    images: str,
    classes: Path | None,
    gt_pngs: Path | None,
    instances: Path | None,
    gt_scale: str,
    gt_inverse: bool,
    boxes: bool,
    importer_options: Sequence[str],
) -> Callable[[], Found]:
    """Return a function that reads the ground truth's samples from the start.

    Raises
    ------
    UsageError
        If label maps are given without their classes.
    """
    from visualjudge.core.registry import added
    from visualjudge.formats.importers import IMPORTERS
    from visualjudge.vision.tasks import task_named

    kind = task_named(task).type
    for name in added("importer"):
        if kind in IMPORTERS[name].types:
            own = _own_options(IMPORTERS[name].reader, importer_options)
            return partial(IMPORTERS[name].reader, task, gt, None, images, **own)
    if importer_options:
        raise UsageError(f"--importer-option: no plug-in reads {task}")
    if kind == "semantic" and gt_pngs is None and classes is None:
        raise UsageError(
            "semantic_segmentation needs --classes for label maps, or --gt-pngs for panoptic files"
        )
    label_maps = ("label-map", {"classes": classes})
    panoptic = ("coco", {"gt_pngs": gt_pngs})
    readers: dict[Any, tuple[str, dict[str, Any]]] = {
        "semantic": label_maps if gt_pngs is None else panoptic,
        "referring": ("referring", {"instances": instances, "boxes": boxes}),
        "depth": ("depth", {"gt_scale": gt_scale, "gt_inverse": gt_inverse}),
        "restoration": ("pairs", {}),
    }
    name, own = readers.get(kind, ("coco", {}))
    place: Any = Path if name in ("coco", "referring") else str  # others take patterns
    files = {"gt": place(gt), "images": place(images), "pred": None}
    return partial(IMPORTERS[name].reader, task=task, **files, **own)


def _own_options(reader: Callable[..., Any], stated: Sequence[str]) -> dict[str, Any]:
    """Return the options of an importer, converted to numbers and flags if their defaults
    are.

    Raises
    ------
    UsageError
        If it has no such option, or the value cannot be read.
    """
    known, found = inspect.signature(reader).parameters, {}
    for one in stated:
        name, sign, value = one.partition("=")
        if not sign or name not in known:
            raise UsageError(
                f"--importer-option must be NAME=VALUE, NAME one of {', '.join([*known][4:])}; got "
                f"{one!r}"
            )
        default = known[name].default
        try:
            numeric = isinstance(default, int | float)
            found[name] = type(default)(orjson.loads(value)) if numeric else value
        except ValueError:
            raise UsageError(
                f"--importer-option: {name} must be like {default!r}, got {value!r}"
            ) from None
    return found


def _tell(done: Made, task: str, out: Path, skip_invalid: bool) -> None:
    tell(done.problems)
    where = f"{pluralize(done.groups, 'group')} on {pluralize(done.images, 'image')}"
    print(f"{out}: {task}: {pluralize(done.annotations, 'annotation')} in {where}")
    following("build", out, "--out", "DATASET")
    if done.problems:
        say(f"invalid records left out: {len(done.problems)}")
        if not skip_invalid:
            raise typer.Exit(1)
