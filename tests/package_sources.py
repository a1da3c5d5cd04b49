"""The package's own files as syntax trees, for tests of what its code may say. Each is
parsed and walked once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import visualjudge

ROOT = Path(visualjudge.__file__).parent
SOURCES = tuple(sorted(ROOT.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    """The file's syntax tree."""
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the file's syntax tree."""
    return tuple(ast.walk(tree(path)))


def found_in(
    paths: Iterable[Path], rule: Callable[[Iterable[ast.AST]], Iterable[object]]
) -> list[str]:
    """What ``rule`` finds among all nodes of each of ``paths``, as ``cli/main.py:
    12``."""
    return [
        f"{path.relative_to(ROOT).as_posix()}: {one}"
        for path in paths
        for one in rule(nodes(path))
    ]
