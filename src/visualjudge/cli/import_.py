"""``visualjudge import``: import ground truth and model output into a data folder, with
one sub-command per format. The work is done in ``data/importing.py``.

The commands are the rows of :data:`~visualjudge.formats.importers.IMPORTERS`: the
parameters of a row's reader become options, between those of :func:`first` and
:func:`last`, which formats share.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from visualjudge.cli.console import (
    as_options,
    end_with,
    following,
    last_of,
    say,
    tell,
)
from visualjudge.cli.main import Commands, command_of
from visualjudge.cli.options import pairs_of, parameter_of
from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import importing
from visualjudge.formats.importers import IMPORTERS, Importer, tasks_of

if TYPE_CHECKING:
    from visualjudge.data.importing import Imported

# A reader with a parameter of this name gets a folder that is removed after the import.
SCRATCH = "scratch"
RANKED = ("min_score", "top_k", "score_at")


class Formats(Commands):
    """A command for each importer."""

    def texts(self) -> dict[str, str]:
        return {name: row.help for name, row in IMPORTERS.items()}

    def made(self, name: str) -> Any:
        return command_of({name: import_command(IMPORTERS[name])})


app = Formats(
    no_args_is_help=True,
    help="Import ground truth and a model's output into a data folder, with scores. "
    "Repeat to add another model. Of other formats: arrays, by "
    "visualjudge.import_samples in Python.",
    epilog="Example: visualjudge import coco --task object_detection --gt "
    "instances.json --pred "
    "detr.json --images val2017 --source detr --out data",
)


def first(
    *,
    task: str,
    gt: str,
    pred: Sequence[str] = (),
    images: str,
    source: Sequence[str] = (),
    out: Path,
    class_of_interest: Sequence[str] = (),
    metric: str | None = None,
) -> None:
    """Define the options before those of a format; formats use those that apply to
    them.

    Parameters
    ----------
    task
        Task name.
    gt, images
        Folder, file or pattern (with ``*``).
    pred
        Predictions, repeatable; if omitted, the ground truth itself is imported.
    source
        Name of the model of each --pred; without one, the ground truth is named truth.
    out
        Data folder; it may exist.
    class_of_interest
        Only this class, all shows every class; default: each in turn.
    metric
        Metric of the scores.
    """


def last(
    *,
    id_prefix: str = "",
    exif: Literal["apply", "ignore"] = "apply",
    allow_outside: bool = False,
    replace: bool = False,
    skip_invalid: bool = False,
    resize_pred: bool = False,
    min_score: float | None = None,
    top_k: int | None = None,
    score_at: Literal["best-f1"] | None = None,
) -> None:
    """Define the options after those of a format.

    ``resize_pred`` needs a reader that accepts it; the last three need predictions with
    confidences.

    Parameters
    ----------
    id_prefix
        Prefix of each image_id; {folder} is its folder.
    exif
        Ignore it if annotations refer to the image as stored; default: apply.
    allow_outside
        Trust all paths in the input; they may then point anywhere.
    replace
        Replace records of the model.
    skip_invalid
        Exit with 0 if records were left out.
    resize_pred
        Resize predictions to the image.
    min_score
        Lowest confidence to keep; 0 keeps all.
    top_k
        Most predictions per image; the most confident are kept.
    score_at
        Keep what is above the threshold of the best F1; that is the confidence with the largest
        F1 (IoU 0.5) on these images; default if all predictions have a confidence and
        neither --min-score nor --top-k is given.
    """


def import_command(row: Importer) -> Callable[..., None]:
    """Return a function for Typer whose parameters are the options of an importer."""

    def command(**values: Any) -> None:
        _import(row, values)

    options = _options(row)
    command.__doc__ = (
        f"{row.help}\n\nExample: {row.example}" if row.example else row.help
    )
    command.__signature__ = inspect.Signature([*options.values()])  # type: ignore[attr-defined]
    command.__annotations__ = {
        name: option.annotation for name, option in options.items()
    }
    return command


def _options(row: Importer) -> dict[str, inspect.Parameter]:
    from visualjudge.vision.metrics import metrics_of
    from visualjudge.vision.predictions import TYPES
    from visualjudge.vision.tasks import TASKS

    before = {
        row.each[0] if k == "pred" else k: v
        for k, v in options_of(first).items()
    }
    after = options_of(last)
    own = options_of(row.reader, (*row.each, "source"), parameter_help(first))
    tasks = [task for task in tasks_of(row) if task in TASKS.own] or tasks_of(
        row
    )
    if len(tasks) == 1:
        before["task"] = before["task"].replace(default=tasks[0])
    known = [metrics_of(kind) for kind in row.types if "gt" in own]
    before["metric"] = parameter_of(
        "metric",
        str | None,
        None,
        help=" or ".join(dict.fromkeys(chain.from_iterable(known)))
        + "; default: the first.",
    )
    measured = {
        name: option
        for metrics in known
        for metric in metrics.values()
        for name, option in options_of(metric.measure).items()
        if name in metric.options - before.keys()
    }
    own = {
        name: option
        for name, option in own.items()
        if name not in ("task", *after)
    }
    applies = {
        SCRATCH: False,
        **{
            name: name in inspect.signature(row.reader).parameters
            for name in ("gt", "images")
        },
        "resize_pred": "resize_pred"
        in inspect.signature(row.reader).parameters,
        "class_of_interest": any(TASKS[task].classed for task in tasks),
        "metric": any(len(metrics) > 1 for metrics in known),
        **dict.fromkeys(
            RANKED, any(TYPES.find(kind).ranked for kind in row.types)
        ),
    }
    options = {**before, **own, **measured, **after}
    return {
        name: option
        for name, option in options.items()
        if applies.get(name, True)
    }


def options_of(
    function: Callable[..., Any],
    repeated: Sequence[str] = (),
    shared: Mapping[str, str] | None = None,
) -> dict[str, inspect.Parameter]:
    """Return an option for each parameter of a function.

    Parameters
    ----------
    repeated
        Parameters that the user gives once for each source.
    shared
        Help of the parameters that the function's docstring does not describe.
    """
    helps = {**(shared or {}), **parameter_help(function)}
    hints = get_type_hints(function, include_extras=True)
    return {
        name: parameter_of(
            name,
            hints.get(name, _kind(parameter.default)),
            parameter.default,
            several=name in repeated,
            help=helps.get(name),
            show_default=False,
        )
        for name, parameter in inspect.signature(function).parameters.items()
    }


def _kind(default: Any) -> Any:
    """Return the type of a plug-in's parameter without one, from its default."""
    return (
        type(default) if isinstance(default, bool | int | float) else str | None
    )


def parameter_help(function: Callable[..., Any]) -> dict[str, str]:
    """Return the first clause of each entry in a docstring's "Parameters" section: a
    help has one line an option, and the pages have the rest.
    """
    _, _, rest = (inspect.getdoc(function) or "").partition(
        "\nParameters\n----------\n"
    )
    collected: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", re.split(r"\n\n\w+\n-+\n", rest)[0]):
        names, _, text = entry.partition("\n")
        words = " ".join(inspect.cleandoc(text).replace("``", "").split())
        collected |= dict.fromkeys(
            names.split(", "),
            re.split(r"[;(]|, or |\. ", words)[0].strip(" .") + ".",
        )
    return collected


def _import(row: Importer, values: dict[str, Any]) -> None:
    from visualjudge.data.folder import DataFolder
    from visualjudge.data.import_mistakes import Files, doubts_of_sources
    from visualjudge.data.importing import Imported, Intake, import_source
    from visualjudge.formats.pairing import IMAGE_SUFFIXES, hint_below
    from visualjudge.vision.raster.images import stored_frames

    def watched(states: Iterator[Imported]) -> Iterator[Imported]:
        state = last_of(
            f"importing {source or Path(str(named)).name}", states, Imported()
        )
        tell(state.problems)
        yield state

    task = values["task"]
    out = values["out"]
    preds = values.get(row.each[0]) or []
    sources = row.sources(values["source"] or [], preds)
    supplied = _arguments(row, values)
    own = row.parameters
    chosen = values.keys() - {
        *(inspect.signature(first).parameters.keys() - {"metric"}),
        *inspect.signature(last).parameters,
        *own,
    }
    named = values.get("gt") or values.get("images") or preds[0]
    printed: set[str] = set()
    intake = Intake(values["id_prefix"], *(values.get(name) for name in RANKED))
    left_out = written = 0
    with (
        importing(outside=values["allow_outside"]),
        nullcontext() if values["exif"] == "apply" else stored_frames(),
        TemporaryDirectory(prefix="visualjudge-") as scratch,
    ):
        for number, source in enumerate(sources):
            offered = {**supplied, "source": source, SCRATCH: Path(scratch)}
            for name in row.each:
                every = dict(enumerate(values.get(name) or ()))
                offered[name] = every.get(number)
            done = import_source(
                out,
                task,
                row.reader(**{k: v for k, v in offered.items() if k in own}),
                replace=values["replace"],
                watch=watched,
                source=source,
                classes=tuple(values.get("class_of_interest") or ("each",)),
                files=Files(
                    str(named), str(preds[number]) if preds else str(named)
                ),
                intake=intake,
                **{name: values[name] for name in chosen},
            )
            _tell(done, task, source, out, printed, predicted=bool(preds))
            left_out += len(done.problems)
            written += done.annotations
    if written:
        if len(done.sources) > 1:
            say(
                *(
                    f"warning: {message}"
                    for message in doubts_of_sources(DataFolder(out), task)
                )
            )
        following("describe", out)
    elif not left_out:
        raise DataError(
            f"{named}: nothing was imported, since there is no image to score"
            f"{hint_below(Path(str(named)), IMAGE_SUFFIXES)}"
        )
    end_with(
        [
            f"invalid records left out: {left_out}{'; nothing was imported' * (not written)}"
        ]
        if left_out and not (written and values["skip_invalid"])
        else []
    )


def _arguments(row: Importer, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the reader's parameters that the user gave."""
    return {
        name: pairs_of(value, f"--{name}")
        if "Mapping" in str(row.parameters[name].annotation)
        else value
        for name, value in values.items()
        if name in row.parameters and value is not None
    }


def _tell(
    done: Imported,
    task: str,
    source: str | None,
    out: Path,
    printed: set[str],
    *,
    predicted: bool,
) -> None:
    from visualjudge.data.importing import doubts, notices

    counts, *lines = notices(task, done, predicted=predicted)
    name = source or "models of the table"
    print(f"{out}: {task}: {name}: {counts}")
    if predicted:
        say(*(f"warning: {name}: {doubt}" for doubt in doubts(task, done)))
    new = [as_options(line) for line in lines if line not in printed]
    print(*new, sep="\n", end="\n" * bool(new))
    printed.update(lines)
