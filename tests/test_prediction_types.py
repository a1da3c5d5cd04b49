"""A prediction type is one folder and a row in each table; no other module asks which type it has before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import visualjudge
from visualjudge.apps.demo.data import _FILL
from visualjudge.cli.gallery import _subjects
from visualjudge.prompts.contexts import CONTEXTS
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.vision.encodings import CATALOGUE
from visualjudge.vision.error_types import ERROR_TYPES
from visualjudge.vision.metrics import METRICS
from visualjudge.vision.predictions import TYPES, Prediction
from visualjudge.vision.tasks import TASKS

ROOT = Path(visualjudge.__file__).parent
OWN = ("vision/*/record.py", "vision/base.py", "vision/fields.py", "vision/items.py", "vision/predictions.py")
SOURCES = sorted(set(ROOT.rglob("*.py")) - {path for pattern in OWN for path in ROOT.glob(pattern)})
GIVEN = {"generation"}
"""Types whose scores are given by people or another metric: no metric and no controlled errors."""
RECORDS = {row.record.__name__ for row in TYPES.own.values()} | {"Detection", "Instance", "Person", "Prediction"}


def test_every_type_is_in_every_table() -> None:
    names = set(TYPES.own)
    assert {kind for kind, _ in CATALOGUE.own} == names
    assert set(CONTEXTS.own) == names
    assert {kind for kind, _ in METRICS.own} == names - GIVEN
    assert {kind for kind, _ in ERROR_TYPES.own} == names - GIVEN
    assert set(_FILL) == names
    assert set(_subjects()) == names
    assert {row.type for row in TASKS.own.values()} == names


def test_every_encoding_of_a_type_that_is_drawn_has_a_description() -> None:
    for row in CATALOGUE.own.values():
        if not TYPES[row.type].is_image and row.is_final:
            assert row.stem in PromptAssetStore().get_prompt(f"questions/format/{row.type}").parts


def test_every_record_is_a_prediction() -> None:
    assert all(issubclass(row.record, Prediction) for row in TYPES.own.values())


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_branches_on_a_prediction_type(path: Path) -> None:
    assert list(_branches(ast.parse(path.read_text("utf-8")))) == []


@pytest.mark.parametrize(
    "code",
    [
        "if task.type == 'depth': pass",
        "if task_named(t).type in ('a', 'depth'): pass",
        "if task.family != 'depth': pass",
        "isinstance(x, Masks)",
        "isinstance(x, Detections | Masks)",
        "isinstance(x, (int, DepthMap))",
        "match x:\n case Masks(): pass",
        "match task.type:\n case 'depth': pass",
    ],
)
def test_the_rule_sees_a_branch(code: str) -> None:
    assert list(_branches(ast.parse(code)))


def _branches(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                sides = (node.left, *node.comparators)
                if any(map(_reads_type, sides)) and any(map(_has_text, sides)):
                    yield node.lineno
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                if {name.id for name in ast.walk(kinds) if isinstance(name, ast.Name)} & RECORDS - {"Prediction"}:
                    yield node.lineno
            case ast.Match():
                if _reads_type(node.subject) or any(map(_is_record, ast.walk(node))):
                    yield node.lineno


def _reads_type(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("type", "family")


def _has_text(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Constant) and one.value in TYPES.own for one in ast.walk(node))


def _is_record(node: ast.AST) -> bool:
    return isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name) and node.cls.id in RECORDS
