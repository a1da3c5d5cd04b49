"""A command of ``visualjudge import`` from the reader of a format: what all share is defined here once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

from visualjudge.cli.import_options import (
    ClassesOption,
    FilesOption,
    ImportOptions,
    MetricOption,
    OutOption,
    PredOption,
    SourceOption,
    TaskOption,
)
from visualjudge.cli.import_run import run_import

SCRATCH = "scratch"
"""A reader with a parameter of this name gets a folder that is removed after the import."""
_EMPTY = inspect.Parameter.empty
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
        (task, pred, …) → samples. Its keyword parameters become options, each by its annotation. ``pred`` is one of the
        values of ``--pred``, or None; a parameter ``how`` gets the ``kind``.
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
        each = {name: dict(zip(pred or (), values.pop(name) or (), strict=False)) for name in paired}
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
                lambda one: read(chosen, pred=one, **values, **{name: found.get(one) for name, found in each.items()}),
                **measure,
            )

    command.__doc__ = read.__doc__
    wanted = {"source", "out"} | ({"class_of_interest"} if classed else set()) | ({"metric"} if measured else set())
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
    stated = {name: pair for name, pair in own.items() if name not in _SHARED or hasattr(pair[0], "__metadata__")}
    shared = {name: pair for name, pair in _SHARED.items() if name in own or name in wanted}
    common = {item.name: (options[item.name], item.default) for item in fields(kind)}
    named = {} if task is None else {"task": (TaskOption, task)}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in {**shared, **named, **stated, **common}.items()
    ]
