"""A prediction type is one folder of ``vision/`` with one row; no other module asks
which type it has before it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

from folding import each
from package_sources import ROOT, SOURCES, found_in
from visualjudge.apps.demo.data import _FILL
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.vision.encodings import CATALOGUE
from visualjudge.vision.metrics import METRICS
from visualjudge.vision.predictions import TYPES, Prediction
from visualjudge.vision.tasks import TASKS

sys.path.insert(0, str(ROOT.parents[1] / "tools"))
from gallery import examples

FAMILIES = ("boxes", "depth", "images", "masks", "poses")
OWN = tuple(f"vision/{name}/" for name in FAMILIES)
OTHERS = [
    path
    for path in SOURCES
    if not path.relative_to(ROOT).as_posix().startswith(OWN)
]
MAY_NAME = {
    "apps/starting/folder_contents.py": "a folder's files say which task they are for",
    "apps/starting/known_files.py": "a folder's files say which task they are for",
    "vision/built_in_types.py": "the list of the rows",
    "vision/predictions.py": "the records are public names, which a module of this "
    "name has had "
    "since 0.1",
    "clients/transformers.py": "a failure's cause is called generation",
    "judges/image_metric.py": "PSNR and SSIM compare whole images, whatever the "
    "question's type",
    "apps/adopt/benchmarks/of_images.py": "its authors' only task is called "
    "generation",
}
"""Files outside the types' folders, ``formats/`` and the demo that may name a type or a
task, and why.
"""
GIVEN = {"generation"}
"""Types whose scores are given by people or another metric: no metric and no controlled
errors."""
UNSEEN = {"keypoint"}
"""Types that the local judge does not see."""
RECORDS = {row.record.__name__ for row in TYPES.own.values()} | {
    "Detection",
    "Instance",
    "Person",
    "Prediction",
}


def test_every_type_is_in_every_table() -> None:
    names = set(TYPES.own)
    assert {kind for kind, _ in CATALOGUE.own} == names
    assert {name for name, row in TYPES.own.items() if row.context} == names
    assert {kind for kind, _ in METRICS.own} == names - GIVEN
    assert {
        name for name, row in TYPES.own.items() if row.errors
    } == names - GIVEN
    assert set(_FILL) == names
    assert set(examples()) == names
    assert {row.type for row in TASKS.own.values()} == names
    assert {
        name for name, row in TYPES.own.items() if row.look
    } == names - UNSEEN


def test_what_a_row_holds_bears_its_name() -> None:
    for row in TYPES.own.values():
        held = (*row.tasks, *row.encodings, *row.metrics, *row.errors)
        assert {one.type for one in held} == {row.name}


def test_every_encoding_of_a_type_that_is_drawn_has_a_description() -> None:
    for row in CATALOGUE.own.values():
        if not TYPES[row.type].is_image and row.is_final:
            assert (
                row.stem
                in PromptAssetStore()
                .get_prompt(f"questions/format/{row.type}")
                .parts
            )


def test_every_record_is_a_prediction() -> None:
    assert all(issubclass(row.record, Prediction) for row in TYPES.own.values())


def test_no_module_names_a_type_or_a_task() -> None:
    paths = [
        path
        for path in OTHERS
        if not (inside := path.relative_to(ROOT).as_posix()).startswith(
            ("formats/", "apps/demo/")
        )
        and inside not in MAY_NAME
    ]
    assert found_in(paths, _names) == []


def test_the_exceptions_are_still_needed() -> None:
    assert all(found_in([ROOT / name], _names) for name in MAY_NAME)


@each(
    "code",
    [
        "kinds = {'depth': 1}",
        "task = 'object_detection'",
        "from visualjudge.vision.boxes.score import iou",
        "from visualjudge.vision import masks",
        "from visualjudge.vision.predictions import Detections",
    ],
)
def test_the_rule_sees_a_name(code: str) -> None:
    assert list(_names(ast.walk(ast.parse(code))))


def _names(nodes: Iterable[ast.AST]) -> Iterator[int]:
    for node in nodes:
        match node:
            case ast.Constant(value=str(value)) if (
                value in TYPES.own or value in TASKS.own
            ):
                yield node.lineno
            case ast.ImportFrom(module="visualjudge.vision"):
                yield from (
                    node.lineno for name in node.names if name.name in FAMILIES
                )
            case ast.ImportFrom(module="visualjudge.vision.predictions"):
                yield from (
                    node.lineno
                    for name in node.names
                    if name.name in RECORDS - {"Prediction"}
                )
            case ast.ImportFrom(module=str(module)) if module.startswith(
                "visualjudge.vision."
            ):
                if module.split(".")[2] in FAMILIES:
                    yield node.lineno


def test_no_module_branches_on_a_prediction_type() -> None:
    assert found_in(OTHERS, _branches) == []


@each(
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
    assert list(_branches(ast.walk(ast.parse(code))))


def _branches(nodes: Iterable[ast.AST]) -> Iterator[int]:
    for node in nodes:
        match node:
            case ast.Compare():
                sides = (node.left, *node.comparators)
                if any(map(_reads_type, sides)) and any(map(_has_text, sides)):
                    yield node.lineno
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                if {
                    name.id
                    for name in ast.walk(kinds)
                    if isinstance(name, ast.Name)
                } & RECORDS - {"Prediction"}:
                    yield node.lineno
            case ast.Match():
                if _reads_type(node.subject) or any(
                    map(_is_record, ast.walk(node))
                ):
                    yield node.lineno


def _reads_type(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("type", "family")


def _has_text(node: ast.AST) -> bool:
    return any(
        isinstance(one, ast.Constant) and one.value in TYPES.own
        for one in ast.walk(node)
    )


def _is_record(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.MatchClass)
        and isinstance(node.cls, ast.Name)
        and node.cls.id in RECORDS
    )
