"""Clones of the origins, which tests compare with ours: folders of
``VISUALJUDGE_CLONES``.

Nothing of them is in this project; tests that need one are skipped where it is not
there.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

CLONES = os.environ.get("VISUALJUDGE_CLONES")
needs_clones = pytest.mark.skipif(
    not CLONES, reason="VISUALJUDGE_CLONES names no folder of clones"
)


def clone(name: str) -> Path:
    """The folder of a clone; skips the test without it."""
    path = Path(CLONES or "") / name
    if not CLONES or not path.is_dir():
        pytest.skip(f"VISUALJUDGE_CLONES holds no {name}")
    return path


def functions_of(
    path: Path, names: Iterable[str], **known: Any
) -> dict[str, Any]:
    """Functions and methods of a module, compiled alone, so that what else it imports
    need not be installed; ``known`` are the names that they use.
    """
    wanted = set(names)
    tree = ast.parse(path.read_text("utf-8"))
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in wanted
    ]
    assert {node.name for node in nodes} == wanted
    for node in nodes:
        node.decorator_list = []
    space = dict(known)
    exec(compile(ast.Module(nodes, []), str(path), "exec"), space)
    return space
