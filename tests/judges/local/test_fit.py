"""Fitting: antisymmetric, honest on held-out images, nothing learned from shuffled labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from visualjudge.core.errors import DataError
from visualjudge.judges.local.fit import Fitted, Pair, Sample, fit, pairs_of
from visualjudge.judges.local.model import Model, Weights, load, shipped
from visualjudge.judges.local.scoring import fitted, scored


def samples(images: int, *, shuffled: bool = False) -> list[Sample]:
    """Predictions whose score is one feature, beside one of noise."""
    rng = np.random.default_rng(3)
    found = []
    for image in range(images):
        scores = rng.permutation(np.linspace(1, 9, 5))
        shown = rng.permutation(scores) if shuffled else scores
        for value, looks in zip(scores, shown, strict=True):
            features = {"good": float(looks), "noise": float(rng.normal())}
            found.append(Sample(f"image{image}", "group", features, float(value)))
    return found


def right(done: Fitted) -> float:
    return sum(row.hits for row in done.right) / done.pairs


def test_the_telling_feature_is_found_and_the_other_is_not() -> None:
    rows = samples(20)
    done = fit(pairs_of(rows), rows)
    weight = dict(zip(done.weights.names, done.weights.weights, strict=True))
    assert right(done) == 1.0
    assert weight["good"] > 10 * abs(weight["noise"])


def test_shuffled_labels_are_right_half_of_the_time() -> None:
    rows = samples(200, shuffled=True)
    assert right(fit(pairs_of(rows), rows)) == pytest.approx(0.5, abs=0.05)


def test_scores_follow_the_calibration_and_stay_on_the_scale() -> None:
    rows = samples(20)
    weights = fit(pairs_of(rows), rows).weights
    assert weights.score_of({"good": 9.0, "noise": 0.0}) == pytest.approx(9, abs=1)
    assert weights.score_of({"good": -1e9, "noise": 0.0}) >= 0.0
    assert weights.score_of({"good": 1e9, "noise": 0.0}) <= 10.0


def test_a_score_may_follow_what_comparisons_do_not() -> None:
    """Between images ``crowded`` lowers the score; inside one it is the same."""
    rng = np.random.default_rng(7)
    rows = []
    for image in range(40):
        crowded = float(rng.integers(2))
        for value in (0.0, 1.0, 2.0):
            features = {"good": value, "crowded": crowded}
            rows.append(Sample(f"image{image}", "group", features, 3 + value - 3 * crowded))
    weights = fit(pairs_of(rows), rows).weights
    empty, full = (weights.score_of({"good": 1.0, "crowded": k}) for k in (0.0, 1.0))
    assert empty is not None
    assert full is not None
    assert empty - full > 1
    assert weights.log_odds({"good": 1.0, "crowded": 0.0}, {"good": 1.0, "crowded": 1.0}) == 0


def test_a_file_of_version_1_scores_by_the_weights_of_comparisons(tmp_path: Path) -> None:
    row = {"names": ["a"], "scale": [2], "weights": [1], "temperature": 1}
    row |= {"quality": [0, 1], "score": [0, 10]}
    content = {"format": "visualjudge-local", "version": 1, "tasks": {"keypoint": row}}
    (tmp_path / "old.vj").write_text(json.dumps(content))
    assert load(tmp_path / "old.vj").tasks["keypoint"].score_of({"a": 1.0}) == 5


@pytest.mark.parametrize(
    "tree",
    [
        {"names": ["a"], "thresholds": [0], "leaves": [1]},
        {"names": ["a"], "thresholds": [], "leaves": [1, 2]},
        {"names": ["a"], "thresholds": [0], "leaves": [1, 1e999]},
    ],
)
def test_a_tree_of_another_shape_is_refused(tmp_path: Path, tree: dict[str, object]) -> None:
    row = {"names": ["a"], "scale": [2], "weights": [1], "temperature": 1, "trees": [tree]}
    content = {"format": "visualjudge-local", "version": 3, "tasks": {"keypoint": row}}
    (tmp_path / "bad.vj").write_text(json.dumps(content))
    with pytest.raises(DataError, match="is not a model of the local judge"):
        load(tmp_path / "bad.vj")


def test_scores_follow_shares_of_items() -> None:
    """One repeat of two items costs half of the score, one of twenty costs little."""
    features = [
        {"count": float(n), "repeats": float(k)} for n in range(1, 21) for k in range(n + 1)
    ]
    scores = [10 * (1 - row["repeats"] / row["count"]) for row in features]
    first, trees = fitted(features, scores)
    wrong = [
        abs(scored(first, trees, row) - score) for row, score in zip(features, scores, strict=True)
    ]
    assert np.mean(wrong) < 0.3 * np.mean(np.abs(np.array(scores) - np.median(scores)))


def test_scores_of_features_that_tell_nothing_are_near_the_median() -> None:
    rng = np.random.default_rng(0)
    seen, unseen = ([{"a": float(v)} for v in rng.normal(size=300)] for _ in "ab")
    scores = rng.uniform(0, 10, 300)
    first, trees = fitted(seen, list(scores))
    said = np.array([scored(first, trees, row) for row in unseen])
    assert np.abs(said - np.median(scores)).mean() < 1.5


def test_pairs_of_one_image_are_too_few() -> None:
    rows = samples(1)
    with pytest.raises(ValueError, match="2 images"):
        fit(pairs_of(rows), rows)


def test_predictions_of_equal_score_make_no_pair() -> None:
    assert pairs_of([Sample("i", "g", {"a": 1.0}, 5.0), Sample("i", "g", {"a": 2.0}, 5.0)]) == []


def test_a_prior_holds_where_pairs_are_few() -> None:
    prior = Weights(("good",), (1.0,), (5.0,))
    pair = (
        Pair("one", "g", {"good": 0.0}, {"good": 0.1}),
        Pair("two", "g", {"good": 0.0}, {"good": 0.1}),
    )
    assert fit(pair, [], prior).weights.weights[0] > 0


@given(
    st.dictionaries(st.sampled_from(["count", "mean_edge", "repeats"]), st.floats(-1e6, 1e6)),
    st.dictionaries(st.sampled_from(["count", "mean_edge", "repeats"]), st.floats(-1e6, 1e6)),
)
def test_exchanging_the_options_turns_the_log_odds_round(
    one: dict[str, float], two: dict[str, float]
) -> None:
    weights = shipped().tasks["object_detection"]
    assert weights.log_odds(one, two) == -weights.log_odds(two, one)


def test_a_model_is_read_as_it_was_written(tmp_path: object) -> None:
    rows = samples(10)
    path = tmp_path / "model.vj"  # type: ignore[operator]
    Model({"keypoint": fit(pairs_of(rows), rows).weights}, {"trained_on": "a test"}).save(path)
    again = load(path)
    assert again.card["trained_on"] == "a test"
    assert again.tasks["keypoint"] == fit(pairs_of(rows), rows).weights


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": "other", "version": 1, "tasks": {}}',
        '{"format": "visualjudge-local", "version": 1, "tasks": {"keypoint": {}}}',
        '{"format": "visualjudge-local", "version": 1, "tasks": {"keypoint": {"names": ["a"], '
        '"scale": [],'
        ' "weights": [1], "temperature": 1, "quality": [0], "score": [5]}}}',
        '{"format": "visualjudge-local", "version": 1, "tasks": {"keypoint": {"names": ["a"], '
        '"scale": [1],'
        ' "weights": ["x"], "temperature": 1, "quality": [0], "score": [5]}}}',
    ],
)
def test_a_file_that_is_no_model_is_one_line(tmp_path: object, content: str) -> None:
    path = tmp_path / "bad.vj"  # type: ignore[operator]
    path.write_text(content)
    with pytest.raises(DataError, match=r"bad\.vj: is not a model of the local judge"):
        load(path)
