"""The table of encodings of all prediction types: 53, and 2 extended ones. No code
parses a stem. Encoding itself is in ``encode.py``.
"""

from dataclasses import replace

from visualjudge.core.errors import UsageError, one_of
from visualjudge.core.registry import Registry, lacking
from visualjudge.vision.built_in_types import BUILT_IN
from visualjudge.vision.drawing.styles import ComboStyle
from visualjudge.vision.rows import Encoding
from visualjudge.vision.tasks import TASKS, task_named

CATALOGUE: Registry[tuple[str, str], Encoding] = Registry(
    "encoding",
    {(row.type, row.stem): row for kind in BUILT_IN for row in kind.encodings},
    home=f"{__name__}:CATALOGUE",
)


def encodings(task: str | None = None) -> list[Encoding]:
    """Return the catalogue of 53 final and 2 extended encodings, with shared rows once
    per task, without tasks that are extensions; or the encodings of ``task``.

    Raises
    ------
    UsageError
        If there is no such task.

    Examples
    --------
    >>> import visualjudge as vj
    >>> [row.stem for row in vj.encodings("depth_estimation")]
    ['plasma', 'turbo', 'gray']
    """
    wanted = (
        (row for row in TASKS.values() if not row.extension)
        if task is None
        else (task_named(task),)
    )
    return [
        replace(row, task=pattern.name)
        for pattern in wanted
        for row in CATALOGUE.values()
        if row.type == pattern.type
    ]


def order_of(row: Encoding) -> tuple[str, bool]:
    """Return a sort key that puts a combo directly before the encoding whose image it
    shows."""
    return (
        (row.style.pixel, False)
        if isinstance(row.style, ComboStyle)
        else (row.stem, True)
    )


def encoding_named(task: str, stem: str) -> Encoding:
    """Return the row of ``task`` and ``stem``.

    Raises
    ------
    UsageError
        If there is no such task or stem; the message lists the known ones.
    """
    key = task_named(task).type, stem
    if key not in CATALOGUE:
        known = one_of(stem, [row.stem for row in encodings(task)])
        raise UsageError(
            f"encoding of {task} must be {known}, got "
            f"{stem!r}{lacking('encoding', key)}"
        )
    return replace(CATALOGUE[key], task=task)


def numbers_items(task: str, stem: str) -> bool:
    """Return whether an encoding numbers its items; False of those that are not
    ours."""
    row = CATALOGUE.get((TASKS[task].type, stem)) if task in TASKS else None
    return row is not None and row.numbered


def encoding_title(task: str, stem: str) -> str:
    """Return the title of an encoding, such as "Boxes with labels"; its stem if it has
    no title."""
    row = CATALOGUE.get((TASKS[task].type, stem)) if task in TASKS else None
    return stem if row is None else row.title or stem
