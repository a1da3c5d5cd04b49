"""``visualjudge import``: import ground truth and model output into a data folder, with one
sub-command per format.

The commands are the rows of :data:`~visualjudge.formats.importers.IMPORTERS`: the parameters of a
row's reader become options, between those of :func:`first` and :func:`last`, which formats share.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import GenericAlias, NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from visualjudge.cli.main import LazyCommands, command_of
from visualjudge.cli.options import pairs_of
from visualjudge.cli.output import following, say, stages, tell, warnings_told
from visualjudge.core.errors import DataError, UsageError

if TYPE_CHECKING:
    from visualjudge.data.importing import Imported
    from visualjudge.data.writer import FolderWriter
    from visualjudge.formats.importers import Importer
    from visualjudge.vision.rows import Metric

# A reader with a parameter of this name gets a folder that is removed after the import.
SCRATCH = "scratch"
# Types of a metric's options that become command options.
SIMPLE = {"str": str, "int": int, "float": float, "bool": bool}
Options = dict[str, inspect.Parameter]


class Formats(LazyCommands):
    """A command for each importer."""

    def texts(self) -> dict[str, str]:
        from visualjudge.formats.importers import IMPORTERS

        return {name: row.help for name, row in IMPORTERS.items()}

    def made(self, name: str) -> Any:
        from visualjudge.formats.importers import IMPORTERS

        row = IMPORTERS[name]
        example = f"Example: {row.example}" if row.example else None
        return command_of(name, import_command(row), help=row.help, epilog=example)


app = typer.Typer(
    cls=Formats,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Import ground truth and a model's output into a data folder, with scores. Repeat to "
    "add another source.",
    epilog="Example: visualjudge import coco --task object_detection --gt instances.json --pred "
    "detr.json --images val2017 --source detr --out data",
)


@app.callback()
def _root() -> None:
    """Define the group whose commands are the formats."""


def first(
    *,
    task: str,
    gt: str,
    pred: Sequence[str] = (),
    images: str,
    source: Sequence[str],
    out: Path,
    class_of_interest: Sequence[str] = (),
    metric: str | None = None,
) -> None:
    """Define the options before those of a format; formats use those that apply to them.

    Parameters
    ----------
    task
        Task name.
    gt, images
        Folder, file, or pattern with one *.
    pred
        Predictions; if omitted, the ground truth itself is imported.
    source
        Name of the model; repeat with --pred for several.
    out
        Data folder; it may exist.
    class_of_interest
        Classes shown and scored: each in turn (default), all together, or a class name.
    metric
        Metric of the scores; default: the first of the type.
    """


def last(
    *,
    id_prefix: str = "",
    exif: str = "apply",
    allow_outside: bool = False,
    replace: bool = False,
    skip_invalid: bool = False,
    resize_pred: bool = False,
    min_score: float | None = None,
    top_k: int | None = None,
    score_at: str | None = None,
) -> None:
    """Define the options after those of a format.

    ``resize_pred`` needs a reader that accepts it; the last three need predictions with
    confidences.

    Parameters
    ----------
    id_prefix
        Prefix of each image_id; {folder} is its folder.
    exif
        EXIF: apply (default) or ignore; ignore if annotations refer to the image as stored.
    allow_outside
        Trust all paths in the input; they may then point anywhere.
    replace
        Replace records of the source.
    skip_invalid
        Exit with 0 if records were left out.
    resize_pred
        Resize predictions to the image.
    min_score
        Lowest confidence to keep; 0 keeps all.
    top_k
        Most predictions per image; the most confident are kept.
    score_at
        best-f1 keeps those above its threshold; that is the confidence with the largest F1
        (IoU 0.5) on these images; default if all predictions have a confidence and neither
        --min-score nor --top-k is given.
    """


RANKED = ("min_score", "top_k", "score_at")


def import_command(row: Importer) -> Callable[..., None]:
    """Return a function for Typer whose parameters are the options of an importer."""

    def command(**values: Any) -> None:
        _import(row, values)

    options = _options(row)
    command.__signature__ = inspect.Signature([*options.values()])  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in options.items()}
    return command


def _options(row: Importer) -> Options:
    from visualjudge.formats.importers import tasks_of
    from visualjudge.vision.metrics import metrics_of
    from visualjudge.vision.predictions import TYPES
    from visualjudge.vision.tasks import TASKS

    before = {row.each[0] if k == "pred" else k: v for k, v in options_of(first).items()}
    after = options_of(last)
    own = options_of(row.reader, (*row.each, "source"), parameter_help(first))
    tasks = [task for task in tasks_of(row) if task in TASKS.own] or tasks_of(row)
    if len(tasks) == 1:
        before["task"] = before["task"].replace(default=tasks[0])
    metrics = [metrics_of(kind) for kind in row.types if "gt" in own]
    if len(metrics) == 1:
        names = list(metrics[0])
        before["metric"] = _option("metric", str, names[0], f"{' or '.join(names)}.")
    measured = {k: v for known in metrics for one in known.values() for k, v in _of(one).items()}
    left_out = {SCRATCH, *({"gt", "images", "resize_pred"} - set(own))}
    if not any(TASKS[task].classed for task in tasks):
        left_out.add("class_of_interest")
    if not any(len(known) > 1 for known in metrics):
        left_out.add("metric")
    if all(TYPES.find(kind).ranked is None for kind in row.types):
        left_out |= set(RANKED)
    own = {name: option for name, option in own.items() if name not in ("task", *after)}
    options = {**before, **own, **measured, **after}
    return {name: option for name, option in options.items() if name not in left_out}


def options_of(
    function: Callable[..., Any],
    repeated: Sequence[str] = (),
    shared: Mapping[str, str] | None = None,
) -> Options:
    """Return an option for each parameter of a function.

    Parameters
    ----------
    repeated
        Parameters that the user gives once for each source.
    shared
        Help of the parameters that the function's docstring does not describe.
    """
    told = {**(shared or {}), **parameter_help(function)}
    hints = get_type_hints(function, include_extras=True)
    return {
        name: _option(name, hints[name], one.default, told.get(name), several=name in repeated)
        for name, one in inspect.signature(function).parameters.items()
    }


def _of(metric: Metric) -> Options:
    """Return the metric's options that are text, numbers or flags."""
    told, found = parameter_help(metric.measure), {}
    for name, one in inspect.signature(metric.measure).parameters.items():
        hint = SIMPLE.get(getattr(one.annotation, "__name__", one.annotation))
        if name in metric.options and hint is not None:
            found[name] = _option(name, hint, one.default, told.get(name))
    return found


def _option(
    name: str, hint: Any, default: Any, told: str | None, *, several: bool = False
) -> inspect.Parameter:
    kinds = [one for one in get_args(hint) if one is not NoneType]
    bare = kinds[0] if NoneType in get_args(hint) else hint
    if hasattr(hint, "__metadata__"):
        annotation = hint
    else:
        if several or get_origin(bare) in (Sequence, Mapping):
            listed = GenericAlias(list, bare if several else get_args(bare)[0])
            needed = default is inspect.Parameter.empty and bare is hint
            hint, default = (listed, default) if needed else (listed | None, None)
        flag = [f"--{name.replace('_', '-')}"] if hint is bool else []
        annotation = Annotated[hint, typer.Option(*flag, help=told, show_default=False)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def parameter_help(function: Callable[..., Any]) -> dict[str, str]:
    """Return the first clause of each entry in a docstring's "Parameters" section: a help has one
    line an option, and the pages have the rest.
    """
    _, _, rest = (inspect.getdoc(function) or "").partition("\nParameters\n----------\n")
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", re.split(r"\n\n\w+\n-+\n", rest)[0]):
        names, _, text = entry.partition("\n")
        words = " ".join(inspect.cleandoc(text).replace("``", "").split())
        found |= dict.fromkeys(names.split(", "), re.split(r"[;(]|, or |\. ", words)[0].strip(" ."))
    return found


def _import(row: Importer, values: dict[str, Any]) -> None:
    """Import each source in turn and report each problem in one line.

    The exit status is 1 if there are problems, unless they are skipped.
    """
    from visualjudge.core.untrusted import importing
    from visualjudge.data.folder import DataFolder
    from visualjudge.data.import_mistakes import equal_sources
    from visualjudge.data.importing import Intake, import_samples
    from visualjudge.data.writer import FolderWriter
    from visualjudge.vision.raster.images import stored_frames

    if values["exif"] not in ("apply", "ignore"):
        raise UsageError(f"--exif must be apply or ignore, got {values['exif']!r}")
    intake = Intake(values["id_prefix"], *(values.get(name) for name in RANKED))
    own = inspect.signature(row.reader).parameters
    shared = {*inspect.signature(first).parameters, *inspect.signature(last).parameters}
    scored = {name: values[name] for name in set(values) - (shared - {"metric"}) - set(own)}
    each = {name: values.get(name) or [] for name in row.each}
    preds = [str(one) for one in each[row.each[0]]]
    given = {
        name: pairs_of(value, f"--{name}") if "Mapping" in str(own[name].annotation) else value
        for name, value in values.items()
        if name in own and value is not None
    }
    named = values.get("gt") or values.get("images") or preds[0]
    file = named.name if isinstance(named, Path) else str(named)
    classes = tuple(values.get("class_of_interest") or ("each",))
    left_out = written = 0
    frames = nullcontext() if values["exif"] == "apply" else stored_frames()
    outside = importing(outside=values["allow_outside"])
    with outside, frames, warnings_told(), ExitStack() as stack:
        if SCRATCH in own:
            folder = stack.enter_context(TemporaryDirectory(prefix="visualjudge-"))
            given[SCRATCH] = Path(folder)
        for number, source in enumerate(_sources(values["source"], preds, row.each[0])):
            given |= {name: dict(enumerate(found)).get(number) for name, found in each.items()}
            if "source" in own:
                given["source"] = source
            with FolderWriter(values["out"], values["task"], replace=values["replace"]) as writer:
                samples = row.reader(**given)
                states = import_samples(
                    writer,
                    samples,
                    source=source,
                    classes=classes,
                    file=file,
                    intake=intake,
                    **scored,
                )
                pred = preds[number] if preds else None
                done = _written(writer, states, source or file, pred, str(named))
            _tell(done, values["task"], source, values["out"], predicted=bool(preds))
            left_out += len(done.problems)
            written += done.annotations
    if written:
        several = len(writer.sources) > 1
        equal = equal_sources(DataFolder(values["out"]), values["task"]) if several else []
        say(*(f"warning: {told}" for told in equal))
        following("describe", values["out"])
    elif not left_out:
        raise DataError(f"{named}: nothing was imported, since there is no image to score")
    if left_out and not values["skip_invalid"]:
        say(f"invalid records left out: {left_out}")
        raise typer.Exit(1)


def _sources(stated: list[str] | None, preds: Sequence[str], option: str) -> Sequence[str | None]:
    """Return the source of each import."""
    count = len(preds) or 1
    if stated and len(stated) != count:
        told = f"once for each --{option}, in the same order, got {len(stated)} for {count}"
        raise UsageError(f"--source must be given {told if preds else 'once without --pred'}")
    return stated or [None] * count


def _written(
    writer: FolderWriter, states: Iterator[Imported], source: str, pred: str | None, gt: str
) -> Imported:
    from visualjudge.data.importing import Imported, check_sides

    done = Imported()
    with stages() as progress:
        for number, state in enumerate(states, 1):
            done = state
            progress(f"importing {source}", number, number + 1)
    tell(done.problems)
    check_sides(done, gt, pred)
    if len(writer):
        writer.commit()
    return done


def _tell(done: Imported, task: str, source: str | None, out: Path, *, predicted: bool) -> None:
    from visualjudge.data.importing import notices, precision_of
    from visualjudge.vision.predictions import TYPES, type_of

    named = source or "sources of the table"
    print(
        f"{out}: {task}: {named}: annotations {done.annotations}, images {len(done.images)}, "
        f"truths {done.truths}, predictions {done.predictions}"
    )
    if not predicted:
        print("no --pred: the ground truth itself was imported as the predictions")
    for line in notices(task, done):
        print(line)
    ap = precision_of(done)
    kind = type_of(task)
    if predicted and 0 < done.predictions == done.unscored and kind.ranked is not None:
        print(
            "no prediction has a score, so AP and the threshold of best F1 are not computed "
            "(a confidence of another name is not read)"
        )
    if ap is not None:
        alike = "" if kind.name in TYPES.own else f" with the similarity of {kind.name}"
        print(f"AP {ap[0]:.3f}, AP50 {ap[1]:.3f} (COCO's definition{alike}, of all predictions)")
    if predicted and done.annotations > 1 and done.exact == done.annotations:
        say(
            f"warning: all {done.annotations} predictions score 10, the highest; "
            "are --pred and --gt the same files?"
        )
