"""Every example in the docstrings of the public functions runs."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import visualjudge
from folding import each
from frontdoor_example import Example, make_example
from visualjudge.core.registry import registrations

MODULES = sorted({*visualjudge._HOMES.values(), "visualjudge.vision.score"})
MUST_HAVE = [
    name
    for name in visualjudge.__all__
    if name in visualjudge._HOMES
    and name[0].islower()
    and not name.startswith("register_")
]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return make_example(tmp_path_factory.mktemp("example"))


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module: str, example: Example, tmp_path: Path) -> None:
    place = Example(example.data, example.dataset, example.run, tmp_path)
    before = [row[:2] for row in registrations()]
    failed = 0
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder().find(
        importlib.import_module(module), globs={}
    ):
        test.globs.update(vars(importlib.import_module(module)), example=place)
        failed += runner.run(test).failed
    for table, name, _ in registrations():
        if (table, name) not in before:
            table.remove(name)
    assert failed == 0


@each("name", MUST_HAVE)
def test_every_public_function_has_an_example(name: str) -> None:
    found = getattr(visualjudge, name).__doc__ or ""
    assert ">>> " in found or "::\n" in found
