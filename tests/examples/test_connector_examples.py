"""The example in examples/connectors/ runs where its package is there."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from apps.connectors.server import images_of, server
from runs.made_dataset import make_dataset

HOME = Path(__file__).parents[2] / "examples" / "connectors"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HOME / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_inspect_grades_with_a_grader_that_sees_the_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(
        "inspect_ai", reason="inspect-ai is not installed: pip install visualjudge[inspect]"
    )
    image = next(iter((make_dataset(tmp_path / "set") / "media").iterdir()))
    pytest.importorskip(
        "openai", reason="openai is not installed: pip install visualjudge[inspect]"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with server("Answer: 8") as (url, received):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        example("inspect_grader").main(str(image), "What is it?", "openai/gpt-4o", "openai/gpt-4o")
    assert "mean" in capsys.readouterr().out
    assert [len(images_of(body)) for body in received] == [1, 1]
