"""Checks on output files: a format the command supports, and no input file or part of our
folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from visualjudge.core.errors import UsageError

OUTPUTS = ("out", "json", "badge", "csv")
"""The options that name an output file in any command; some name a folder, which its writer
checks.
"""
PAGES = (".html", ".md")


def keep_inputs(command: Any) -> None:
    """Make a command and its sub-commands refuse such an output before starting."""
    for child in getattr(command, "commands", {}).values():
        keep_inputs(child)
    if hasattr(command, "commands"):
        return
    run = command.invoke

    def invoke(context: Any) -> Any:
        options = {parameter.name: parameter.opts[0] for parameter in command.params}
        outputs = {
            options[name]: Path(context.params[name])
            for name in OUTPUTS
            if isinstance(context.params.get(name), str | Path)
        }
        inputs = [
            path
            for name in options
            if name not in OUTPUTS
            for path in _files(context.params.get(name))
        ]
        for option, path in outputs.items():
            others = [
                name
                for name, other in outputs.items()
                if name != option and other.resolve() == path.resolve()
            ]
            if others:
                raise UsageError(f"{option}: {path} is what {others[0]} writes; name another file")
            if path.is_file():
                keep(option, path, inputs)
        return run(context)

    command.invoke = invoke


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
    from visualjudge.data.pending_files import FILES
    from visualjudge.dataset.folder import MEDIA, META
    from visualjudge.dataset.json_form import QUESTIONS
    from visualjudge.dataset.predictions_file import PREDICTIONS
    from visualjudge.runs.folder import COMPACTED, RUN, VERDICTS

    return {
        "dataset": (META, QUESTIONS, PACKED, PREDICTIONS, MEDIA),
        "run": (RUN, VERDICTS, COMPACTED),
        "data folder": ("annotations", FILES, "images"),
    }
