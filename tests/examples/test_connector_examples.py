"""The examples in examples/connectors/ run, where their package is there and no server of it is
needed.
"""

from __future__ import annotations

import importlib.util
import json
from base64 import b64decode
from pathlib import Path
from types import ModuleType

import pytest

from apps.connectors.server import images_of, server
from runs.made_dataset import make_dataset
from visualjudge.analysis.analysing import analyse

HOME = Path(__file__).parents[2] / "examples" / "connectors"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HOME / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_people_answer_in_label_studio(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "set")
    module = example("label_studio")
    module.ask(str(root), str(tmp_path / "project"))
    tasks = json.loads((tmp_path / "project" / "tasks.json").read_text())
    assert "<Choices" in (tmp_path / "project" / "config.xml").read_text() and tasks
    done = {
        "completed_by": 1,
        "result": [{"from_name": "answer", "type": "choices", "value": {"choices": ["A"]}}],
    }
    export = tmp_path / "export.json"
    export.write_text(json.dumps([{**task, "annotations": [done]} for task in tasks]))
    module.read(str(root), str(export), str(tmp_path / "people"))
    assert analyse([tmp_path / "people"]).results.judges[0].verdicts == len(tasks)


def test_an_evaluator_sees_the_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = next(iter((make_dataset(tmp_path / "set") / "media").iterdir()))
    with server("Answer: 8") as (url, received):
        example("evaluators").main(url, "m", str(image), "What is it?", "A cat.")
    assert "'score': 0.8" in capsys.readouterr().out
    (uri,) = images_of(received[0])
    assert len(received) == 1 and b64decode(uri.partition(",")[2]) == image.read_bytes()


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


@pytest.mark.parametrize(
    ("name", "package"), [("argilla_pairs", "argilla"), ("fiftyone_view", "fiftyone")]
)
def test_examples_that_need_a_server_import(name: str, package: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed: pip install {package}")
    assert example(name)
