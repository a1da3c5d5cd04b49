"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

import visualjudge
from package_sources import ROOT, SOURCES, found_in, tree
from visualjudge.vision.tasks import TASKS

MAY_NAME_TASKS = {"tasks.py", "encodings.py"}
MAX_LINES = 600
ONCE = ("Format", "Media", "Options", "Picture", "Reading", "Scene", "Task", "Token")


def _compares_with_a_task(nodes: Iterable[ast.AST]) -> list[int]:
    lines = []
    for node in nodes:
        if not isinstance(node, ast.Compare):
            continue
        for side in (node.left, *node.comparators):
            values = side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
            if any(isinstance(value, ast.Constant) and value.value in TASKS for value in values):
                lines.append(node.lineno)
    return lines


def test_code_branches_on_a_row_of_the_task_table_not_on_its_name() -> None:
    paths = [path for path in SOURCES if path.name not in MAY_NAME_TASKS]
    assert found_in(paths, _compares_with_a_task) == []


def test_file_has_one_subject_and_a_docstring() -> None:
    lines = {path: path.read_text("utf-8").count("\n") for path in SOURCES}
    assert [path for path in SOURCES if lines[path] > MAX_LINES] == []
    unnamed = [path for path in SOURCES if tree(path).body and not ast.get_docstring(tree(path))]
    assert unnamed == []
    assert [path for path in SOURCES if path.name == "utils.py"] == []


def test_a_name_stands_for_one_thing() -> None:
    classes = [node for path in SOURCES for node in tree(path).body]
    times = Counter(node.name for node in classes if isinstance(node, ast.ClassDef))
    assert [name for name in ONCE if times[name] > 1] == []


def test_a_package_does_not_hide_its_modules() -> None:
    hidden = set()
    for init in ROOT.rglob("__init__.py"):
        modules = {
            path.stem for path in init.parent.iterdir() if path.suffix == ".py" or path.is_dir()
        }
        nodes = [node for node in ast.walk(tree(init)) if isinstance(node, ast.ImportFrom)]
        hidden |= modules & {alias.asname or alias.name for node in nodes for alias in node.names}
    assert hidden == set()


def test_the_rooms_at_the_top_are_those_of_the_map() -> None:
    """``visualjudge.__doc__`` is the map: each room stands in it."""
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert len(rooms) <= 14
    assert visualjudge.__doc__ is not None
    assert rooms <= set(visualjudge.__doc__.replace(",", " ").split())
