"""A command of ``visualjudge import`` from the reader of a format: what all share is defined here
once.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from visualjudge.cli.output import following, say, stages, tell
from visualjudge.core.errors import UsageError
from visualjudge.core.registry import added

if TYPE_CHECKING:
    from visualjudge.data.importing import Imported, Intake
    from visualjudge.formats.sample import Found

SCRATCH = "scratch"
"""A reader with a parameter of this name gets a folder that is removed after the import."""
_EMPTY = inspect.Parameter.empty


TaskOption = Annotated[str, typer.Option(help="Task name.", show_default=False)]
OutOption = Annotated[
    Path, typer.Option(help="Data folder to create or to add to.", show_default=False)
]
SourceOption = Annotated[
    list[str],
    typer.Option(help="Name of the model; repeat with --pred for several.", show_default=False),
]
TableSourceOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Name of the model, if the table has no column 'source'; repeat with --table for "
        "several."
    ),
]
PredOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Predictions; without any, the ground truth itself is imported.", show_default=False
    ),
]
ClassesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--class-of-interest",
        help="each (every class in an image's ground truth, the default), all, or labels.",
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option(help="Metric of the scores; default: the first of the type.", show_default=False),
]
FileOption = Annotated[Path, typer.Option(help="Ground truth file.", show_default=False)]
FolderOption = Annotated[
    Path, typer.Option(help="Folder of ground truth files.", show_default=False)
]
DataSetOption = Annotated[
    str,
    typer.Option(
        help="Folder of save_to_disk or of Parquet files; a file; or a pattern.", show_default=False
    ),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        help="OURS=THEIRS maps a column with another name, such as prompt=text; may be repeated."
    ),
]
ImagesOption = Annotated[Path, typer.Option(help="Folder of the images.", show_default=False)]
FilesOption = Annotated[
    str, typer.Option(help="Folder, file, or pattern with one *.", show_default=False)
]
FILES_HELP = "Folder, file, or pattern with one * (what it stands for pairs the files)."


@dataclass(frozen=True)
class ImportOptions:
    """What a user says about any import."""

    id_prefix: Annotated[str, typer.Option(help="Prefix of each image_id.")] = ""
    id_from: Annotated[
        str,
        typer.Option(
            help="Form of image_id: the file name without suffix (name), or folder_name (folder)."
        ),
    ] = "name"
    exif: Annotated[
        str,
        typer.Option(
            help="apply the EXIF orientation of images, or ignore it if annotations refer to the "
            "stored frame."
        ),
    ] = "apply"
    allow_outside: Annotated[
        bool,
        typer.Option(
            "--allow-outside",
            help="Allow paths in the input to lead anywhere; only for your own input.",
        ),
    ] = False
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the existing records of the source.")
    ] = False
    skip_invalid: Annotated[
        bool,
        typer.Option(
            "--skip-invalid", help="Exit with status 0 even if invalid records were left out."
        ),
    ] = False


@dataclass(frozen=True)
class ResizeOptions(ImportOptions):
    """Formats whose predictions have a size of their own."""

    resize_pred: Annotated[
        bool,
        typer.Option(
            "--resize-pred", help="Resize predictions of a different size to the size of the image."
        ),
    ] = False


@dataclass(frozen=True)
class DetectorOptions(ImportOptions):
    """Formats whose predictions have confidences. Default: the threshold of best F1 on the imported
    images.
    """

    min_score: Annotated[
        float | None,
        typer.Option(
            help="Leave out predictions with lower confidence; 0 keeps all.", show_default=False
        ),
    ] = None
    top_k: Annotated[
        int | None,
        typer.Option(help="Keep the K most confident predictions of an image.", show_default=False),
    ] = None
    score_at: Annotated[
        str | None,
        typer.Option(
            help="best-f1: the threshold with the largest F1 (IoU 0.5) on these images; default "
            "if all predictions "
            "have a confidence and neither --min-score nor --top-k is given.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class MaskOptions(DetectorOptions, ResizeOptions):
    """Formats whose predictions have confidences and masks."""


def columns_of(column: Sequence[str] | None) -> dict[str, str]:
    """``OURS=THEIRS`` as a mapping.

    Raises
    ------
    UsageError
        If one is of another form.
    """
    pairs = [one.partition("=") for one in column or ()]
    for ours, equals, theirs in pairs:
        if not (ours and equals and theirs):
            raise UsageError(
                f"--column must be OURS=THEIRS, such as prompt=text, got {ours + equals + theirs!r}"
            )
    return {ours: theirs for ours, _, theirs in pairs}


_SHARED: dict[str, tuple[Any, Any]] = {
    "task": (TaskOption, _EMPTY),
    "gt": (FilesOption, _EMPTY),
    "pred": (PredOption, None),
    "images": (FilesOption, _EMPTY),
    "source": (SourceOption, _EMPTY),
    "out": (OutOption, _EMPTY),
    "class_of_interest": (ClassesOption, None),
    "metric": (MetricOption, None),
}


def import_command(
    read: Callable[..., Any],
    kind: type[ImportOptions] = ImportOptions,
    *,
    task: str | None = None,
    classed: bool = False,
    measured: bool = False,
    scored: Sequence[str] = (),
    paired: Sequence[str] = (),
) -> Callable[..., None]:
    """A function for Typer with the options of an import and those of its format.

    Parameters
    ----------
    read
        (task, pred, …) → samples. Its keyword parameters become options, each by its annotation.
        ``pred`` is one of the values of ``--pred``, or None; a parameter ``how`` gets the ``kind``.
    kind
        The options of all formats of its sort.
    task
        Default of ``--task``.
    classed
        Whether there is a class of interest to choose.
    measured
        Whether there are several metrics to choose from.
    scored
        Parameters that the score takes, not the reader.
    paired
        Parameters that are given once for each ``--pred``.
    """
    own = inspect.signature(read).parameters
    names = [item.name for item in fields(kind)]

    def command(**values: Any) -> None:
        how = kind(**{name: values.pop(name) for name in names})
        if "how" in own:
            values["how"] = how
        chosen, out, pred = (values.pop(name) for name in ("task", "out", "pred"))
        source = values["source"] if "source" in own else values.pop("source")
        pred = None if pred is None else [str(one) for one in pred]
        classes = values.pop("class_of_interest", None)
        measure = {name: values.pop(name) for name in scored}
        if measured and values.get("metric") is not None:
            measure["metric"] = values["metric"]
        if "metric" not in own:
            values.pop("metric", None)
        each = {
            name: dict(zip(pred or (), values.pop(name) or (), strict=False)) for name in paired
        }
        with _scratch(SCRATCH in own, values):
            file = _file(values, pred)
            run_import(
                chosen,
                out,
                source,
                pred,
                classes,
                how,
                file,
                lambda one: read(
                    chosen,
                    pred=one,
                    **values,
                    **{name: found.get(one) for name, found in each.items()},
                ),
                **measure,
            )

    command.__doc__ = read.__doc__
    wanted = (
        {"source", "out"}
        | ({"class_of_interest"} if classed else set())
        | ({"metric"} if measured else set())
    )
    parameters = _parameters(read, kind, task, wanted)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


@contextmanager
def _scratch(wanted: bool, values: dict[str, Any]) -> Iterator[None]:
    if not wanted:
        yield
        return
    with TemporaryDirectory(prefix="visualjudge-") as folder:
        values[SCRATCH] = Path(folder)
        yield


def _file(values: dict[str, Any], pred: list[str] | None) -> str:
    """What problems name as their file."""
    named = values.get("gt") or values.get("images") or (pred or [""])[0]
    return named.name if isinstance(named, Path) else str(named)


def _parameters(
    read: Callable[..., Any], kind: type[ImportOptions], task: str | None, wanted: Collection[str]
) -> list[inspect.Parameter]:
    hints = get_type_hints(read, include_extras=True)
    options = get_type_hints(kind, include_extras=True)
    own = {
        name: (hints[name], one.default)
        for name, one in inspect.signature(read).parameters.items()
        if name not in ("how", SCRATCH)
    }
    stated = {
        name: pair
        for name, pair in own.items()
        if name not in _SHARED or hasattr(pair[0], "__metadata__")
    }
    shared = {name: pair for name, pair in _SHARED.items() if name in own or name in wanted}
    common = {item.name: (options[item.name], item.default) for item in fields(kind)}
    named = {} if task is None else {"task": (TaskOption, task)}
    return [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )
        for name, (annotation, default) in {**shared, **named, **stated, **common}.items()
    ]


def run_import(
    task: str,
    out: Path,
    sources: list[str] | None,
    pred: list[str] | None,
    classes: list[str] | None,
    how: ImportOptions,
    file: str,
    read: Callable[[str | None], Found],
    **options: Any,
) -> None:
    """Import each source in turn; report every problem in a line; exit 1 where there is any, unless
    skipped.
    """
    from visualjudge.core.confine import importing
    from visualjudge.data.writer import FolderWriter
    from visualjudge.vision.raster.images import stored_frames

    if how.exif not in ("apply", "ignore"):
        raise UsageError(f"--exif must be apply or ignore, got {how.exif!r}")
    intake = _intake(how)
    wrong = written = 0
    frames = nullcontext() if how.exif == "apply" else stored_frames()
    with importing(outside=how.allow_outside), frames, _warnings_told():
        for source, one in _named(sources, pred):
            with FolderWriter(out, task, replace=how.replace) as writer:
                done = _one(
                    writer,
                    read(one),
                    source,
                    one,
                    tuple(classes or ("each",)),
                    file,
                    intake,
                    options,
                )
            _tell(done, task, source, out, predicted=one is not None)
            wrong += len(done.problems)
            written += done.annotations
    if written:
        following("build", out, "--out", "DATASET")
    if wrong and not how.skip_invalid:
        say(f"invalid records left out: {wrong}")
        raise typer.Exit(1)


def _named(
    sources: list[str] | None, pred: list[str] | None
) -> list[tuple[str | None, str | None]]:
    """(source, predictions) of each import."""
    preds: Sequence[str | None] = [*pred] if pred else [None]
    if sources and len(preds) != len(sources):
        told = f"once for each --pred, in the same order, got {len(sources)} for {len(preds)}"
        raise UsageError(f"--source must be given {told if pred else 'once without --pred'}")
    names: Sequence[str | None] = sources or [None for _ in preds]
    return list(zip(names, preds, strict=True))


@contextmanager
def _warnings_told() -> Iterator[None]:
    """What a reader warns of, in a line on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: say(f"warning: {message}")
        yield


def _intake(how: ImportOptions) -> Intake:
    from visualjudge.data.importing import Intake
    from visualjudge.formats.ids import Ids

    ids = Ids(how.id_prefix, how.id_from)
    if isinstance(how, DetectorOptions):
        return Intake(ids, how.min_score, how.top_k, how.score_at)
    return Intake(ids)


def _one(
    writer: Any,
    samples: Found,
    source: str | None,
    pred: str | None,
    classes: tuple[str, ...],
    file: str,
    intake: Intake,
    options: Any,
) -> Imported:
    from visualjudge.data.importing import Imported, check_predicted, import_samples

    done = Imported()
    with stages() as progress:
        states = import_samples(
            writer, samples, source=source, classes=classes, file=file, intake=intake, **options
        )
        for number, state in enumerate(states, 1):
            done = state
            progress(f"importing {source or file}", number, number + 1)
    tell(done.problems)
    if pred is not None:
        check_predicted(done, pred)
    if len(writer):
        writer.commit()
    return done


def _tell(done: Imported, task: str, source: str | None, out: Path, *, predicted: bool) -> None:
    from visualjudge.data.importing import notices, precision_of

    named = source or "sources of the table"
    print(
        f"{out}: {task}: {named}: annotations {done.annotations}, images {len(done.images)}, "
        f"truths {done.truths}, predictions {done.predictions}"
    )
    for line in notices(task, done):
        print(line)
    ap = precision_of(task, done)
    if ap is not None:
        print(f"AP {ap[0]:.3f}, AP50 {ap[1]:.3f} (COCO's definition, of all predictions)")
    if predicted and done.annotations > 1 and done.exact == done.annotations:
        say(
            f"warning: all {done.annotations} predictions equal their truth (score 10); "
            "are --pred and --gt the same files?"
        )


class Formats(TyperGroup):
    """The project's import commands, and one for each importer that was registered."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *added("importer")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or (
            _command(cmd_name) if cmd_name in added("importer") else None
        )


def _command(name: str) -> Any:
    from visualjudge.formats.importers import IMPORTERS, tasks_of
    from visualjudge.vision.metrics import metrics_of
    from visualjudge.vision.predictions import TYPES
    from visualjudge.vision.tasks import TASKS

    row = IMPORTERS[name]
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    epilog = f"Example: {row.example}" if row.example else None
    tasks = tasks_of(row)
    command = import_command(
        row.read,
        DetectorOptions
        if any(TYPES.find(kind).ranked is not None for kind in row.types)
        else ImportOptions,
        task=tasks[0] if len(tasks) == 1 else None,
        classed=any(TASKS[task].classed for task in tasks),
        measured=any(len(metrics_of(kind)) > 1 for kind in row.types),
    )
    app.command(name, help=row.help, epilog=epilog)(command)
    return typer.main.get_command(app)
