"""A plug-in's type has what a built-in one has: thresholds, classes, metrics, features,
marks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import visualjudge as vj
from making import photograph
from visualjudge.cli.main import app
from visualjudge.core import registry
from visualjudge.judges.local.features import features_of
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.raster.images import write_png
from visualjudge.vision.view import Features, Given


@dataclass(frozen=True, slots=True)
class Spot:
    label: str
    x: float
    y: float
    score: float | None = None
    iscrowd: bool = False


@dataclass(frozen=True, slots=True)
class Spots(LabelledItems):
    """Labelled points."""

    items: tuple[Spot, ...]

    def marks(self) -> Iterator[vj.Mark]:
        return (
            vj.Mark(
                item.label, (item.x - 1, item.y - 1, item.x + 1, item.y + 1)
            )
            for item in self.items
        )


def _read(payload: Any, _reading: Any) -> Spots:
    return Spots(tuple(Spot(**item) for item in payload["spots"]))


def _write(prediction: Spots, _writing: Any) -> dict[str, Any]:
    return {
        "spots": [
            {"label": i.label, "x": i.x, "y": i.y, "score": i.score}
            for i in prediction.items
        ]
    }


def _near(found: Sequence[Spot], real: Sequence[Spot]) -> np.ndarray:
    return np.array(
        [
            [float(abs(a.x - b.x) + abs(a.y - b.y) < 3) for b in real]
            for a in found
        ]
    ).reshape(len(found), len(real))


def _hit(
    prediction: Spots,
    truth: Spots,
    *,
    class_of_interest: Sequence[str] | None = None,
) -> float:
    wanted = set(class_of_interest or truth.labels)
    found, real = (
        [i for i in side.items if i.label in wanted]
        for side in (prediction, truth)
    )
    hits = int(_near(found, real).max(axis=0).sum()) if found and real else 0
    return 2 * hits / max(1, len(found) + len(real)) if found or real else 1.0


def _count(prediction: Spots, truth: Spots) -> float:
    return min(len(prediction.items), len(truth.items)) / max(
        len(prediction.items), len(truth.items), 1
    )


def _look(found: Spots, given: Given) -> Features:
    return {
        "count": float(len(found.items)),
        "light": float(given.view.lab[..., 0].mean()),
    }


def _around(item: Spot) -> dict[str, Any]:
    return {"bbox": [item.x - 3, item.y - 3, 6.0, 6.0]}


def _example() -> tuple[Any, Spots, None]:
    return np.zeros((20, 30, 3), np.uint8), Spots((Spot("dog", 3, 4),)), None


def _table(
    task: str,
    gt: Path,
    pred: str | None,
    images: str,
    *,
    skipped: Sequence[str] = (),
    renamed: Mapping[str, str] | None = None,
    upper: bool = False,
) -> Iterator[vj.Sample]:
    """Spots of a table.

    Parameters
    ----------
    skipped
        Names of ``images`` to leave out.

        Nothing else of them is read.
    renamed
        OURS=THEIRS.
    upper
        Nothing.
    """
    truth, found = (
        json.loads(Path(name).read_text()) for name in (gt, pred or gt)
    )
    assert isinstance(gt, Path) and not upper
    for ours, theirs in (renamed or {}).items():
        truth[ours] = truth.pop(theirs)
        found[ours] = found.pop(theirs)
    for name, items in truth.items():
        if name in skipped:
            continue
        real = _read({"spots": items}, None)
        yield vj.Sample(
            name,
            Path(images) / f"{name}.png",
            _read({"spots": found[name]}, None),
            real,
            real.labels,
        )


ROW = vj.PredictionType(
    "spot",
    Spots,
    _read,
    _write,
    tasks=(vj.Task("spotting", "spotting", "spot", classed=True),),
    metrics=(
        vj.Metric("spot", "hit", _hit, frozenset({"class_of_interest"})),
        vj.Metric("spot", "count", _count),
    ),
    ranked=vj.Ranked("bbox", _around, 100),
    look=_look,
    example=_example,
)


@pytest.fixture
def spots() -> Iterator[None]:
    before = list(registry._STATE.added)
    vj.register_type(ROW)
    vj.register_importer(vj.Importer("spots", _table, ("spot",), "Points."))
    yield
    for table, key, _ in [
        row for row in registry._STATE.added if row not in before
    ]:
        table.remove(key)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    spots = [
        {"label": "dog", "x": 5, "y": 5},
        {"label": "cat", "x": 20, "y": 9},
    ]
    found = [
        {"label": "dog", "x": 6, "y": 5, "score": 0.9},
        {"label": "cat", "x": 20, "y": 9, "score": 0.8},
        {"label": "dog", "x": 25, "y": 25, "score": 0.2},
    ]
    for name in ("a", "b"):
        write_png(tmp_path / f"{name}.png", photograph(0, (32, 32)))
    (tmp_path / "gt.json").write_text(json.dumps({"a": spots, "b": spots}))
    (tmp_path / "pred.json").write_text(json.dumps({"a": found, "b": found}))
    return tmp_path


def _imported(
    files: Path, *options: str, to: str = "data"
) -> tuple[str, dict[str, float]]:
    out = files / to
    command = [
        "import",
        "spots",
        "--gt",
        f"{files}/gt.json",
        "--pred",
        f"{files}/pred.json",
        "--images",
        str(files),
    ]
    done = CliRunner().invoke(
        app,
        [*command, "--source", "m", "--out", str(out), "--replace", *options],
    )
    assert done.exit_code == 0, done.output
    records = json.loads(
        (out / "annotations/spotting_annotations.json").read_text()
    )
    return done.output, {
        record["annotation_id"]: record["final_score"] for record in records
    }


def test_classes_thresholds_and_metrics_are_options_of_the_import(
    spots: None, files: Path
) -> None:
    told, scores = _imported(files)
    assert set(scores) == {"m:a:dog", "m:a:cat", "m:b:dog", "m:b:cat"}
    assert set(scores.values()) == {10.0}
    assert "AP50 1.000" in told and "threshold of best F1" in told
    _, scores = _imported(files, "--min-score", "0")
    assert scores["m:a:dog"] == pytest.approx(6.6667)
    _, scores = _imported(files, "--top-k", "1", "--class-of-interest", "cat")
    assert scores == {"m:a:cat": 0.0, "m:b:cat": 0.0}
    _, scores = _imported(
        files,
        "--min-score",
        "0",
        "--class-of-interest",
        "all",
        "--metric",
        "count",
        to="counted",
    )
    assert scores["m:a"] == pytest.approx(6.6667)


def test_parameters_of_the_reader_are_options_with_the_help_of_its_docstring(
    spots: None, files: Path
) -> None:
    help = (
        CliRunner()
        .invoke(app, ["import", "spots", "--help"], env={"COLUMNS": "200"})
        .output
    )
    assert all(
        name in help
        for name in ("--gt", "--images", "--renamed", "--upper", "--metric")
    )
    assert "Names of images" in help and "--no-upper" not in help
    assert "hit or count" in help
    (files / "b.png").rename(files / "c.png")
    _, scores = _imported(files, "--skipped", "a", "--renamed", "c=b")
    assert set(scores) == {"m:c:dog", "m:c:cat"}
    command = [
        "import",
        "spots",
        "--gt",
        "x",
        "--images",
        "y",
        "--source",
        "m",
        "--out",
        "z",
    ]
    failed = CliRunner().invoke(app, [*command, "--renamed", "c"])
    assert (
        str(failed.exception)
        == "--renamed must be NAME=VALUE, such as prompt=text, got 'c'"
    )


def test_the_local_judge_has_the_type(spots: None) -> None:
    spots_found = Spots((Spot("dog", 5, 6),))
    given = Given(photograph(0, (32, 32)))
    assert features_of("spotting", spots_found, given)["count"] == 1.0
