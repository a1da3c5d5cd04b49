"""A fault of a plug-in's function names the plug-in and the row, and costs the records
that it is about.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import visualjudge as vj
from making import detection_folder
from visualjudge.core import registry
from visualjudge.core.errors import DataError, PluginError
from visualjudge.core.registry import guarded, guarded_row
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.vision.boxes import draw
from visualjudge.vision.encodings import CATALOGUE
from visualjudge.vision.metrics import METRICS

BOX = {"detections": [{"label": "dog", "bbox": [1, 1, 5, 5]}]}
AT = ("detection", "text_xyxy")


def divided(prediction: object, truth: object, *, by: int = 0) -> float:
    return 1 / by


def rows(fail: bool) -> Iterator[int]:
    yield 1
    if fail:
        raise KeyError("image")


def refused(_value: int) -> None:
    raise DataError("bbox: must be four numbers")


def failing_for_one(scene, style):  # type: ignore[no-untyped-def]
    if scene.prediction.items[0].xyxy[2] > 31:
        raise ValueError("no room\nleft")
    return draw.boxes_text(scene, style)


def test_a_fault_names_the_row_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry._STATE, "loading", "aerial")
    with pytest.raises(
        PluginError,
        match=r"^plug-in aerial, metric gap: ZeroDivisionError: division by zero$",
    ):
        guarded(divided, "metric gap")(None, None)


def test_an_iterator_is_guarded_as_it_goes_on() -> None:
    found = guarded(rows, "importer counts")(True)
    assert next(found) == 1
    with pytest.raises(
        PluginError, match=r"^script, importer counts: KeyError: 'image'$"
    ):
        next(found)


def test_an_error_of_visualjudge_passes() -> None:
    with pytest.raises(DataError, match=r"^bbox: must be four numbers$"):
        guarded(refused, "type quad")(1)


def test_signature_and_pickle_are_those_of_the_function() -> None:
    one = guarded(divided, "metric gap")
    assert inspect.signature(one) == inspect.signature(divided)
    assert pickle.loads(pickle.dumps(one))(None, None, by=2) == 0.5


def test_a_metric_that_fails_is_named() -> None:
    vj.register_metric("detection", "gap", divided)
    try:
        with pytest.raises(
            PluginError, match=r"^script, metric gap: ZeroDivisionError"
        ):
            vj.score("object_detection", BOX, BOX, metric="gap")
    finally:
        METRICS.remove(("detection", "gap"))


def test_an_encoding_that_fails_costs_the_questions_about_that_annotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = detection_folder(tmp_path / "data", (2.0, 6.0, 9.0))
    whole = build(data, tmp_path / "whole")
    row = CATALOGUE[AT]
    monkeypatch.setitem(
        CATALOGUE._rows,
        AT,
        guarded_row(replace(row, draw=failing_for_one), "encoding text_xyxy"),
    )
    done = build(data, tmp_path / "left")
    told = [str(problem) for problem in done.problems]
    assert told and all(
        "script, encoding text_xyxy: ValueError: no room left" in line
        for line in told
    )
    [lost] = {problem.record for problem in done.problems}
    left = load_dataset(tmp_path / "left").questions
    asked = [
        q
        for q in load_dataset(tmp_path / "whole").questions
        if q.encoding == "text_xyxy"
    ]
    kept = {q.id for q in asked if lost not in q.annotation_ids}
    assert 0 < len(kept) < len(asked)
    assert {q.id for q in left if q.encoding == "text_xyxy"} == kept
    assert done.questions == whole.questions - (len(asked) - len(kept))
