"""The types of ``import visualjudge`` for type checkers and editors: ``__init__.pyi``
of it.

The names are imported when first used, and the keywords of `judge`, `build` and others
are the fields of a record: neither is seen without being run. ``tools/docs_pages.py``
writes the file.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import visualjudge

HEAD = (
    '"""Made by tools/docs_pages.py from the functions and their records of '
    'options."""'
)
LONGEST = 100
Home = tuple[str, str]


def stub() -> str:
    """The text of the stub file."""
    imports: set[Home] = set()
    functions = []
    for name, home in sorted(visualjudge._HOMES.items()):
        value = getattr(visualjudge, name)
        value = getattr(value, "__wrapped__", value)
        if inspect.isfunction(value) and hasattr(value, "__signature__"):
            functions.append(_function(name, value, imports))
        else:
            imports.add((home, name))
    modules: dict[str, list[str]] = {}
    for module, name in sorted(
        imports, key=lambda home: (home[0], home[1].islower(), home[1])
    ):
        shown = f"{name} as {name}" if name in visualjudge._HOMES else name
        modules.setdefault(module, []).append(shown)
    ours = [
        _import(*one)
        for one in modules.items()
        if one[0].startswith("visualjudge.")
    ]
    others = [
        _import(*one)
        for one in modules.items()
        if not one[0].startswith("visualjudge.")
    ]
    public = "".join(f'    "{name}",\n' for name in visualjudge.__all__)
    parts = (
        *others,
        "",
        *ours,
        "",
        f"__all__ = [\n{public}]",
        "__version__: str",
        "",
    )
    return "\n".join((HEAD, "", *parts, "\n".join(functions), ""))


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= LONGEST:
        return line
    inside = "".join(f"    {name},\n" for name in names)
    return f"from {module} import (\n{inside})"


def _function(name: str, function: Any, imports: set[Home]) -> str:
    parts, starred = [], False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts, starred = [*parts, "*"], True
        stars = "**" if one.kind is one.VAR_KEYWORD else ""
        default = "" if one.default is one.empty else " = ..."
        parts.append(
            f"{stars}{one.name}: {_typed(one.annotation, function, imports)}{default}"
        )
    word = "async def" if inspect.iscoroutinefunction(function) else "def"
    result = _typed(
        inspect.signature(function).return_annotation, function, imports
    )
    inside = "".join(f"    {part},\n" for part in parts)
    return f"{word} {name}(\n{inside}) -> {result}: ..."


def _typed(annotation: Any, function: Any, imports: set[Home]) -> str:
    """The annotation; the names in it are added to ``imports``. Records take any
    sequence."""
    if not isinstance(annotation, str):
        raise SystemExit(
            f"{function.__module__} must import annotations from __future__: the"
            f" stub has them as they are written, got {annotation}"
        )
    annotation = annotation.replace(
        "tuple[str, ...]", "Sequence[str] | None"
    ).replace("'", '"')
    for node in ast.walk(ast.parse(annotation)):
        if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
            homes = {
                **_names("visualjudge.options"),
                **_names(function.__module__),
            }
            imports.add(homes[node.id])
    return annotation


@cache
def _names(module: str) -> dict[str, Home]:
    """Where each name of a module comes from."""
    file = Path(str(importlib.import_module(module).__file__))
    found: dict[str, Home] = {}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {
                one.asname or one.name: (node.module, one.name)
                for one in node.names
            }
    own = vars(importlib.import_module(module))
    return {
        **{name: (module, name) for name in own if name not in found},
        **found,
    }
