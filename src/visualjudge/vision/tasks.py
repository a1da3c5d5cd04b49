"""The tasks of the built-in types and of plug-ins. Their rows are in
``vision/<type>/type.py``.

Code branches on a row's field, or looks up a table by ``type``; it never compares a
task's or a type's name.
"""

from visualjudge.core.registry import Registry
from visualjudge.vision.built_in_types import BUILT_IN
from visualjudge.vision.rows import Task

TASKS: Registry[str, Task] = Registry(
    "task",
    {row.name: row for kind in BUILT_IN for row in kind.tasks},
    home=f"{__name__}:TASKS",
)


def task_named(name: str) -> Task:
    """Return the row of ``name``.

    Raises
    ------
    UnknownName
        If there is no such task; the message lists the known ones.
    """
    return TASKS.find(name)
