"""Untouched clones of the origins, each imported by one command.

Runs where ``VISUALJUDGE_CLONES`` names a folder with one or more of them, under the
names below::

    git clone https://github.com/TIGER-AI-Lab/GenAI-Bench clones/GenAI-Bench
    VISUALJUDGE_CLONES=clones pytest tests/apps/adopt/test_clones.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clones import clone, needs_clones
from visualjudge.apps.pipelines.config import read_config
from visualjudge.cli.main import app

pytestmark = needs_clones

IMPORTS = {
    "GenAI-Bench": ("adopt", "{}/results", "--benchmark", "genai-bench"),
    "VIEScore": ("adopt", "{}", "--benchmark", "imagenhub"),
    "JudgeBench": ("adopt", "{}/outputs", "--benchmark", "judgebench"),
    "MMRB2": ("adopt", "{}", "--benchmark", "mmrb2"),
    "GEditBench_v2": ("adopt", "{}", "--benchmark", "editscore-bench"),
    "ImageReward": ("adopt", "{}", "--benchmark", "imagereward"),
}
GENAI = {
    "gpt4o": (45.59, 53.54),
    "llava": (37.00, 26.12),
    "idefics2": (42.25, 27.31),
    "llavanext": (22.65, 25.35),
    "cogvlm": (29.34, 0.00),
    "qwenVL": (26.63, 14.91),
}
"""Published accuracy on image generation and image editing, in per cent."""


def run(*words: str) -> str:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", IMPORTS)
def test_a_clone_is_imported_by_one_command(name: str, tmp_path: Path) -> None:
    home = clone(name)
    words = [word.replace("{}", str(home)) for word in IMPORTS[name]]
    told = run(*words, "--out", str(tmp_path / "set"))
    found = re.search(
        r"(?:annotations )?(\d+)(?: questions)?",
        told.partition(str(tmp_path))[2],
    )
    assert found and int(found[1]) > 0


def test_the_scores_of_genai_bench_are_the_published_ones(
    tmp_path: Path,
) -> None:
    home = clone("GenAI-Bench")
    judges = [word for name in GENAI for word in ("--replies", name)]
    run(
        "adopt",
        f"{home}/results",
        "--benchmark",
        "genai-bench",
        "--out",
        str(tmp_path),
        *judges,
    )
    for name, published in GENAI.items():
        run("card", str(tmp_path / name), "--json", str(tmp_path / "card.json"))
        found = _published(
            json.loads((tmp_path / "card.json").read_text("utf-8"))
        )
        parts = ("image_generation", "image_edition")
        assert (
            tuple(found[f"genai-bench/{part}"] for part in parts) == published
        )


def test_the_pipelines_of_geditbench_start_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = clone("GEditBench_v2")
    folders = (
        home / "configs/pipelines" / name
        for name in ("vlm_as_a_judge", "ablation")
    )
    files = [
        path for folder in folders for path in sorted(folder.glob("*.yaml"))
    ]
    assert len(files) == 9
    for path in files:
        for variable in re.findall(r"\$\{env:(\w+)\}", path.read_text("utf-8")):
            monkeypatch.setenv(variable, "http://127.0.0.1:9/v1")
        assert read_config(path)


def _published(value: Any) -> dict[str, float]:
    """The benchmark's own scores, wherever they stand in a card."""
    items = list(value.values()) if isinstance(value, dict) else value
    own = value.get("as_published") if isinstance(value, dict) else None
    rest = (
        [_published(item) for item in items] if isinstance(items, list) else []
    )
    return {
        name: score
        for found in (own or {}, *rest)
        for name, score in found.items()
    }
