"""Checks on output files: a format the command supports, and no input file or part of our
folders.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO, cast

from visualjudge.cli.terminal import PlainStream
from visualjudge.core.errors import UsageError

OUTPUTS = ("out", "json", "badge")
"""The options that name an output in any command; some name a folder, which its writer checks."""
FILES = frozenset((".csv", ".html", ".json", ".jsonl", ".lock", ".pdf", ".png", ".svg", ".xlsx"))
"""Suffixes of outputs that are files: their folder must exist."""


def guard(command: Any) -> None:
    """Make a command and its sub-commands refuse such an output before they start, and print
    nothing that a terminal would obey.
    """
    for child in getattr(command, "commands", {}).values():
        guard(child)
    if hasattr(command, "commands"):
        return
    run = command.invoke

    def invoke(context: Any) -> Any:
        _check_outputs(command, context.params)
        with redirect_stdout(cast(TextIO, PlainStream(sys.stdout))):
            return run(context)

    command.invoke = invoke


def _check_outputs(command: Any, values: Mapping[str, Any]) -> None:
    options = {parameter.name: parameter.opts[0] for parameter in command.params}
    outputs = {
        options[name]: Path(values[name])
        for name in OUTPUTS
        if isinstance(values.get(name), str | Path)
    }
    inputs = [path for name in options if name not in OUTPUTS for path in _files(values.get(name))]
    for option, path in outputs.items():
        same = [name for name in outputs if name != option and outputs[name] == path]
        if same:
            raise UsageError(f"{option}: {path} is what {same[0]} writes; name another file")
        if path.suffix.lower() in FILES and not path.parent.is_dir():
            raise UsageError(f"{option}: {path}: no folder {path.parent}; create it first")
        if path.is_file():
            keep(option, path, inputs)


def keep(option: str, path: Path, inputs: list[Path]) -> None:
    """Refuse a file that is an input or part of a folder of ours.

    Raises
    ------
    UsageError
        If the file is one of these.
    """
    if any(path.samefile(known) for known in inputs):
        raise UsageError(f"{option}: {path} is an input file; name another file")
    if whole := _whole(path.resolve()):
        raise UsageError(f"{option}: {path} is part of the {whole}; name another file")


def _files(value: Any) -> Iterator[Path]:
    """Yield the files that an argument or option names, whatever its type."""
    if isinstance(value, str | Path):
        yield from (path for path in [Path(value)] if _is_file(path))
    elif isinstance(value, Iterable):
        for one in value:
            yield from _files(one)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # not a path: too long, or contains NUL
        return False


def _whole(path: Path) -> str | None:
    """Return the dataset, run or data folder that contains ``path``."""
    for folder in path.parents:
        top = path.relative_to(folder).parts[0]
        for kind, parts in _parts().items():
            if top in parts and (folder / parts[0]).exists():
                return f"{kind} {folder}"
    return None


def _parts() -> dict[str, tuple[str, ...]]:
    """Return the files and folders of each kind of folder; the first one identifies it."""
    from visualjudge.core.image_storage import PACKED
    from visualjudge.data.writer import FILES
    from visualjudge.dataset.folder import MEDIA, META
    from visualjudge.dataset.json_form import QUESTIONS
    from visualjudge.dataset.predictions_file import PREDICTIONS
    from visualjudge.runs.folder import COMPACTED, RUN, VERDICTS

    return {
        "dataset": (META, QUESTIONS, PACKED, PREDICTIONS, MEDIA),
        "run": (RUN, VERDICTS, COMPACTED),
        "data folder": ("annotations", FILES, "images"),
    }
