"""``visualjudge plugins new``: write the project in ``assets/plugin`` under the plug-in's name."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from visualjudge.core.atomic import write_bytes
from visualjudge.core.errors import UsageError
from visualjudge.core.registry import table

TEMPLATE = Path(__file__).parent / "assets" / "plugin"
NAMED = "NAME"
"""Placeholder for the plug-in's name in the template's files and paths. Each path ends in
``.txt``.
"""


def write_plugin(name: str, out: Path) -> Path:
    """Write the project of a plug-in ``name`` into the folder ``out``, and return the folder.

    Raises
    ------
    UsageError
        If the name is not valid for a Python package or is that of a prediction type, or ``out``
        exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) or keyword.iskeyword(name):
        raise UsageError(
            f"NAME must be lower-case letters, digits and _, and begin with a letter, got {name!r}"
        )
    if name in table("prediction type"):
        raise UsageError(f"NAME must not be the name of a prediction type, got {name!r}")
    if out.exists():
        raise UsageError(f"{out} already exists; choose another --out")
    for path in sorted(TEMPLATE.rglob("*.txt")):
        target = out / str(path.relative_to(TEMPLATE)).removesuffix(".txt").replace(NAMED, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target, path.read_text("utf-8").replace(NAMED, name).encode())
    return out
