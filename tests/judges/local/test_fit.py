"""Fitting: antisymmetric, honest on held-out images, nothing learned from shuffled
labels."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from visualjudge.core.errors import DataError
from visualjudge.judges.local.judge import Model, load, shipped

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))

from local_training import Fitted, Sample, fit, pairs_of, save  # noqa: E402


def samples(images: int, *, shuffled: bool = False) -> list[Sample]:
    """Predictions whose score is one feature, beside one of noise."""
    rng = np.random.default_rng(3)
    found = []
    for image in range(images):
        scores = rng.permutation(np.linspace(1, 9, 5))
        shown = rng.permutation(scores) if shuffled else scores
        for value, looks in zip(scores, shown, strict=True):
            features = {"good": float(looks), "noise": float(rng.normal())}
            found.append(
                Sample(f"image{image}", "group", features, float(value))
            )
    return found


def right(done: Fitted) -> float:
    return sum(row.hits for row in done.right) / done.pairs


def test_the_telling_feature_is_found_and_the_other_is_not() -> None:
    rows = samples(20)
    done = fit(pairs_of(rows))
    weight = dict(zip(done.weights.names, done.weights.weights, strict=True))
    assert right(done) == 1.0
    assert weight["good"] > 10 * abs(weight["noise"])


def test_shuffled_labels_are_right_half_of_the_time() -> None:
    rows = samples(200, shuffled=True)
    assert right(fit(pairs_of(rows))) == pytest.approx(0.5, abs=0.05)


def test_pairs_of_one_image_are_too_few() -> None:
    with pytest.raises(ValueError, match="2 images"):
        fit(pairs_of(samples(1)))


def test_a_coherent_weight_has_the_sign_of_its_feature_or_none() -> None:
    """A feature that only corrects another has no weight of the opposite sign."""
    rng = np.random.default_rng(4)
    rows = []
    for image in range(30):
        for value in rng.permutation(np.linspace(1, 9, 5)):
            noise = float(rng.normal(0, 3))
            features = {
                "seen": float(value) + noise,
                "noise": float(value) / 4 + noise,
            }
            rows.append(
                Sample(f"image{image}", "group", features, float(value))
            )
    free, coherent = (
        fit(pairs_of(rows), coherent=way).weights for way in (False, True)
    )
    assert dict(zip(free.names, free.weights, strict=True))["noise"] < -1
    assert min(coherent.weights) == 0.0


def test_a_file_of_version_3_is_read_without_its_model_of_scores(
    tmp_path: Path,
) -> None:
    row = {
        "names": ["a"],
        "scale": [2],
        "weights": [1],
        "temperature": 1,
        "first": 5.0,
    }
    row |= {
        "trees": [{"names": ["a"], "thresholds": [0], "leaves": [1, 2]}],
        "quality": [],
    }
    content = {
        "format": "visualjudge-local",
        "version": 3,
        "tasks": {"keypoint": row},
    }
    (tmp_path / "old.vj").write_text(json.dumps(content))
    assert (
        load(tmp_path / "old.vj")
        .tasks["keypoint"]
        .log_odds({"a": 1.0}, {"a": 0.0})
        == 0.5
    )


def test_predictions_of_equal_score_make_no_pair() -> None:
    assert (
        pairs_of(
            [
                Sample("i", "g", {"a": 1.0}, 5.0),
                Sample("i", "g", {"a": 2.0}, 5.0),
            ]
        )
        == []
    )


@given(
    st.dictionaries(
        st.sampled_from(["count", "mean_edge", "repeats"]), st.floats(-1e6, 1e6)
    ),
    st.dictionaries(
        st.sampled_from(["count", "mean_edge", "repeats"]), st.floats(-1e6, 1e6)
    ),
)
def test_exchanging_the_options_turns_the_log_odds_round(
    one: dict[str, float], two: dict[str, float]
) -> None:
    weights = shipped().tasks["object_detection"]
    assert weights.log_odds(one, two) == -weights.log_odds(two, one)


def test_a_model_is_read_as_it_was_written(tmp_path: object) -> None:
    rows = samples(10)
    path = tmp_path / "model.vj"  # type: ignore[operator]
    save(
        Model(
            {"keypoint": fit(pairs_of(rows)).weights}, {"trained_on": "a test"}
        ),
        path,
    )
    again = load(path)
    assert again.card["trained_on"] == "a test"
    assert again.tasks["keypoint"] == fit(pairs_of(rows)).weights


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": "other", "version": 1, "tasks": {}}',
        '{"format": "visualjudge-local", "version": 1, "tasks": {"keypoint": {}}}',
        '{"format": "visualjudge-local", "version": 1, "tasks": {"keypoint": {"names": '
        '["a"], "scale": [], "weights": [1], "temperature": 1, "quality": [0], '
        '"score": [5]}}}',
        '{"format": "visualjudge-local", "version": 1, "tasks": {"keypoint": {"names": '
        '["a"], "scale": [1], "weights": ["x"], "temperature": 1, "quality": [0], '
        '"score": [5]}}}',
    ],
)
def test_a_file_that_is_no_model_is_one_line(
    tmp_path: object, content: str
) -> None:
    path = tmp_path / "bad.vj"  # type: ignore[operator]
    path.write_text(content)
    with pytest.raises(DataError, match=r"bad\.vj: .*; train it again"):
        load(path)
