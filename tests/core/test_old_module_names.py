"""Documented modules of 0.2 import under their old names, and nothing in the repository does so."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from visualjudge.core.old_module_names import MOVED

ROOT = Path(__file__).parents[2]
OLD = re.compile(r"visualjudge\.(" + "|".join(sorted(map(re.escape, MOVED), reverse=True)) + r")\b")


@pytest.mark.parametrize("name", sorted(MOVED))
def test_an_old_name_gives_the_new_module_s_names_and_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.endswith(("verifiers_tasks", "verifiers_endless")):
        pytest.importorskip("verifiers.v1")
    if name.endswith("inspect_tasks"):
        pytest.importorskip("inspect_ai")
    for known in [one for one in sys.modules if one.removeprefix("visualjudge.") in MOVED]:
        monkeypatch.delitem(sys.modules, known)
    with pytest.warns(
        DeprecationWarning, match=rf"visualjudge\.{re.escape(name)} has moved to visualjudge\."
    ):
        old = importlib.import_module(f"visualjudge.{name}")
    new = importlib.import_module(f"visualjudge.{MOVED[name]}")
    assert all(
        getattr(old, key) is getattr(new, key) for key in vars(new) if not key.startswith("__")
    )


def test_the_repository_uses_the_new_names() -> None:
    files = [path for path in ROOT.glob("docs/**/*.md") if path.parent.name != "decisions"]
    for folder in ("src", "tests", "tools", "benchmarks", "examples"):
        files += (ROOT / folder).rglob("*.py")
    files = [
        path
        for path in files
        if path not in (ROOT / "src/visualjudge/core/old_module_names.py", Path(__file__))
    ]
    assert [
        f"{path}: {old[0]}" for path in files for old in OLD.finditer(path.read_text("utf-8"))
    ] == []
