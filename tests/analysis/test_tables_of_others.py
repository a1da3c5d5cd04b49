"""benchmarks/coverage.py --from: tables that another generator made, beta-binomial images instead
of normal logits.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

from visualjudge.core.errors import DataError

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIMULATIONS = 12


def _table(rng: np.random.Generator, lean: float, images: int = 20) -> pl.DataFrame:
    image = np.repeat(np.arange(images), rng.integers(3, 9, images))
    n = image.size
    chance = rng.beta(6, 2, images)[image]
    scores, count = rng.uniform(0, 10, (n, 2)), rng.integers(0, 9, (n, 2))
    answer = np.where(scores[:, 0] > scores[:, 1], "A", "B")
    more = np.where(count[:, 0] > count[:, 1], "A", "B")
    parts = []
    for judge in ("first", "second"):
        for order in ("AB", "BA"):
            right = np.where(rng.random(n) < chance, answer, np.where(answer == "A", "B", "A"))
            said = np.where(rng.random(n) < (lean if judge == "first" else 0), more, right)
            columns = {
                "id": [f"q{k}" for k in range(n)],
                "image": [f"i{k}" for k in image],
                "answer": answer,
            }
            shown = {"said": said, "score_a": scores[:, 0], "score_b": scores[:, 1]}
            counts = {"count_a": count[:, 0], "count_b": count[:, 1]}
            table = pl.DataFrame({**columns, **shown, **counts})
            parts.append(table.with_columns(judge=pl.lit(judge), order=pl.lit(order)))
    return pl.concat(parts)


def _design(folder: Path, lean: float, truth: dict[str, object]) -> None:
    folder.mkdir(parents=True)
    (folder / "truth.json").write_text(json.dumps(truth))
    for k in range(SIMULATIONS):
        table = _table(np.random.default_rng((k, int(100 * lean))), lean)
        table.write_csv(folder / f"{k}.csv") if k % 2 else table.write_parquet(
            folder / f"{k}.parquet"
        )


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("foreign")


def test_coverage_flags_and_tests_of_another_generator(
    tmp_path: Path, foreign: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    _design(tmp_path / "fair", 0.0, {"accuracy": 0.75, "difference": 0.0, "lean count": 0.0})
    _design(tmp_path / "leaning", 0.5, {"flags": ["count"]})
    foreign.from_folder(tmp_path)
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert set(lines) == {"fair:", "accuracy", "difference", "lean", "leaning:"}
    for figure in ("accuracy", "difference", "lean"):
        assert float(lines[figure].split("covers")[1].split("%")[0]) >= 75
    assert "all leanings found 100.0 %" in lines["leaning:"]
    assert float(lines["fair:"].split("false flags")[1].split("%")[0]) <= 20


@pytest.mark.parametrize(("files", "said"), [
    ({}, "holds no design"),
    ({"d/truth.json": "{}"}, "holds no"),
    ({"d/truth.json": "{}", "d/1.csv": "id,image,answer\nq,i,A\n"}, "column said is missing"),
    ({"d/truth.json": "[]", "d/1.csv": "id\n"}, "must hold an object"),
])  # fmt: skip
def test_folder_of_another_format_is_named(
    tmp_path: Path, foreign: ModuleType, files: dict[str, str], said: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=said):
        foreign.from_folder(tmp_path)


def test_every_column_and_the_truth_are_described(foreign: ModuleType) -> None:
    described = str(foreign.__doc__)
    for name in (*foreign.REQUIRED, *foreign.DEFAULTS, "pair", "source_a", "truth.json", "flags"):
        assert name in described
