"""The scenes that the weights of the package are trained on: the same each time, with
truth that fits the image.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from making import make_folder
from visualjudge.judges.local.judge import load

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))

from local_scenes import degraded, scene  # noqa: E402
from train_local import main, scene_samples  # noqa: E402


def test_a_scene_is_the_same_each_time_and_another_number_another() -> None:
    one, again, other = (scene(number, people=1).photo for number in (3, 3, 4))
    assert np.array_equal(one.pixels, again.pixels)
    assert not np.array_equal(one.pixels, other.pixels)
    assert all(item.mask.size == one.size for item in one.objects)
    assert len(one.people) == 1


def test_a_degraded_scene_is_worse_but_the_same_each_time() -> None:
    clean = scene(3).photo.pixels
    rain, again = (
        degraded(clean, "lowlevel-derain", np.random.default_rng(1))
        for _ in range(2)
    )
    assert np.array_equal(rain, again)
    assert np.abs(rain.astype(int) - clean).mean() > 0.5


def test_samples_fall_in_score_with_their_errors() -> None:
    samples = scene_samples(scene(3))
    first = [next(samples) for _ in range(3)]
    assert {task for task, _ in first} == {"object_detection"}
    scores = [sample.score for _, sample in first]
    assert scores == sorted(scores, reverse=True)
    assert all(
        np.isfinite(list(sample.features.values())).all() for _, sample in first
    )


def test_the_script_trains_on_a_data_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_folder(tmp_path / "data", tasks=("object_detection",))
    out = tmp_path / "model.vj"
    monkeypatch.setattr(
        sys,
        "argv",
        ["train_local", "--data", str(tmp_path / "data"), "--out", str(out)],
    )
    main()
    assert "object_detection: " in capsys.readouterr().out
    assert set(load(out).tasks) == {"object_detection"}
