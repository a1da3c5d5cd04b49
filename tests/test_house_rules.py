"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import tokenize
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import visualjudge
from package_sources import ROOT, SOURCES, found_in, tree
from visualjudge.vision.tasks import TASKS

MAY_NAME_TASKS = {"tasks.py", "encodings.py"}
ONCE = ("Format", "Media", "Options", "Picture", "Reading", "Scene", "Task", "Token")


def _compares_with_a_task(nodes: Iterable[ast.AST]) -> list[int]:
    lines = []
    for node in nodes:
        if not isinstance(node, ast.Compare):
            continue
        for side in (node.left, *node.comparators):
            values = (
                side.elts
                if isinstance(side, ast.Tuple | ast.List | ast.Set)
                else [side]
            )
            if any(
                isinstance(value, ast.Constant) and value.value in TASKS
                for value in values
            ):
                lines.append(node.lineno)
    return lines


def test_code_branches_on_a_row_of_the_task_table_not_on_its_name() -> None:
    paths = [path for path in SOURCES if path.name not in MAY_NAME_TASKS]
    assert found_in(paths, _compares_with_a_task) == []


def test_file_has_one_subject_and_a_docstring() -> None:
    unnamed = [
        path
        for path in SOURCES
        if tree(path).body and not ast.get_docstring(tree(path))
    ]
    assert unnamed == []
    assert [path for path in SOURCES if path.name == "utils.py"] == []


BUDGET = {
    "core": 1200,
    "vision": 4150,
    "formats and data": 2580,
    "prompts": 420,
    "dataset": 1580,
    "clients": 1850,
    "replies": 560,
    "judges": 1380,
    "runs": 1270,
    "analysis": 5800,
    "apps": 5000,
    "studio": 2350,
    "cli": 1450,
}
"""Statements without docstrings that a room may have; one that has fewer lowers its row."""
OVER: dict[str, int] = {
    "core": 1500,
    "vision": 4550,
    "formats and data": 2950,
    "prompts": 520,
    "dataset": 1730,
    "clients": 1950,
    "replies": 800,
    "judges": 1500,
    "runs": 1350,
    "analysis": 7300,
    "apps": 5560,
    "studio": 2500,
    "cli": 1600,
}
"""Rooms over their row: what they have at most until they are rebuilt."""
MOST_STATEMENTS = 34_000
"""To become 30,000."""
MOST_TOKENS_A_LINE = 8.44
"""To become 8.0 when each room has been read once."""
MOST_DECISIONS = 40
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def _texts(path: Path) -> list[ast.Constant]:
    """Docstrings: strings that stand alone."""
    values = [node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Expr)]
    return [
        value
        for value in values
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    ]


def statements(path: Path) -> int:
    """Statements without docstrings."""
    nodes = sum(isinstance(node, ast.stmt) for node in ast.walk(tree(path)))
    return nodes - len(_texts(path))


def tokens_and_lines(path: Path) -> tuple[int, int]:
    """Tokens of the code and lines that have any: neither layout, nor comments, nor docstrings."""
    of_docstrings = {
        line
        for text in _texts(path)
        for line in range(text.lineno, (text.end_lineno or text.lineno) + 1)
    }
    tokens = 0
    lines: set[int] = set()
    with path.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type in _LAYOUT:
                continue
            if token.type == tokenize.STRING and token.start[0] in of_docstrings:
                continue
            tokens += 1
            lines.add(token.start[0])
    return tokens, len(lines)


def test_a_room_keeps_to_its_budget() -> None:
    sizes: Counter[str] = Counter()
    for path in SOURCES:
        room = path.relative_to(ROOT).parts[0]
        room = "formats and data" if room in ("formats", "data") else room
        sizes[room] += statements(path)
    limits = BUDGET | OVER
    assert {
        name: size for name, size in sizes.items() if size > limits.get(name, 200)
    } == {}


def test_the_whole_keeps_to_its_budget() -> None:
    assert sum(map(statements, SOURCES)) <= MOST_STATEMENTS
    counts = [tokens_and_lines(path) for path in SOURCES]
    assert sum(n for n, _ in counts) <= MOST_TOKENS_A_LINE * sum(n for _, n in counts)


def test_decisions_are_few_and_listed() -> None:
    folder = ROOT.parents[1] / "docs" / "decisions"
    pages = [path.name for path in folder.glob("0*.md")]
    assert len(pages) <= MOST_DECISIONS
    listed = (folder / "README.md").read_text("utf-8")
    assert [name for name in pages if f"]({name})" not in listed] == []


def test_a_name_stands_for_one_thing() -> None:
    classes = [node for path in SOURCES for node in tree(path).body]
    times = Counter(node.name for node in classes if isinstance(node, ast.ClassDef))
    assert [name for name in ONCE if times[name] > 1] == []


def test_a_package_does_not_hide_its_modules() -> None:
    hidden = set()
    for init in ROOT.rglob("__init__.py"):
        modules = {
            path.stem
            for path in init.parent.iterdir()
            if path.suffix == ".py" or path.is_dir()
        }
        own = ".".join(init.parent.relative_to(ROOT.parent).parts)
        nodes = [
            node for node in ast.walk(tree(init)) if isinstance(node, ast.ImportFrom)
        ]
        nodes = [node for node in nodes if node.module != own]  # the module itself
        hidden |= modules & {
            alias.asname or alias.name for node in nodes for alias in node.names
        }
    assert hidden == set()


def test_the_rooms_at_the_top_are_those_of_the_map() -> None:
    """``visualjudge.__doc__`` is the map: each room stands in it."""
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert len(rooms) <= 14
    assert visualjudge.__doc__ is not None
    assert rooms <= set(visualjudge.__doc__.replace(",", " ").split())
