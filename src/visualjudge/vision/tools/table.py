"""Registry of tools by type and name; the type ``""`` means all types."""

from __future__ import annotations

from collections.abc import Sequence

from visualjudge.core.errors import UsageError
from visualjudge.core.registry import Registry
from visualjudge.vision.built_in_types import BUILT_IN
from visualjudge.vision.tools.base import Tool
from visualjudge.vision.tools.general import GENERAL

EVERY_TYPE = ""
TOOLS: Registry[tuple[str, str], Tool] = Registry(
    "tool",
    {(EVERY_TYPE, row.name): row for row in GENERAL}
    | {(kind.name, row.name): row for kind in BUILT_IN for row in kind.tools},
)


def tools_of(kind: str) -> dict[str, Tool]:
    """Return the tools for predictions of a type, by name. A type's own tool overrides one for all
    types.
    """
    own = {name: row for (of, name), row in TOOLS.items() if of == kind}
    return {name: row for (of, name), row in TOOLS.items() if of == EVERY_TYPE} | own


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of tools without duplicates; ``all`` means every tool.

    Raises
    ------
    UsageError
        If a tool does not exist; the message lists the known ones.
    """
    known = list(dict.fromkeys(name for _, name in TOOLS))
    if "all" in names:
        return tuple(known)
    for name in names:
        if name not in known:
            raise UsageError(
                f"--tools (tools) must be all or some of {', '.join(known)}, got {name!r}"
            )
    return tuple(dict.fromkeys(names))
