"""The demo's truth lies on its photographs, and its data folder is one that can be
built from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from folding import each
from visualjudge.apps.demo.data import (
    DEGRADATIONS,
    GENERATORS,
    SEVERITIES,
    make_data,
)
from visualjudge.apps.demo.photographs import (
    Photograph,
    photographs,
    stereo_disparity,
)
from visualjudge.cli.demo import demo
from visualjudge.core.errors import UsageError
from visualjudge.core.seeding import rng_for
from visualjudge.data.folder import DataFolder

PHOTOS = photographs()


@each("photo", PHOTOS, ids=lambda photo: photo.name)
def test_segments_cover_every_pixel_once(photo: Photograph) -> None:
    total = sum(item.mask.dense().astype(int) for item in photo.segments)
    assert total.max() == 1
    assert (total == 0).mean() < 0.01


def test_keypoints_lie_on_their_person() -> None:
    people = [(photo, person) for photo in PHOTOS for person in photo.people]
    assert people
    for photo, person in people:
        masks = np.logical_or.reduce(
            [item.mask.dense() for item in photo.objects]
        )
        x, y = person.keypoints[person.present, :2].round().astype(int).T
        assert masks[y, x].mean() >= 0.8


def test_disparity_has_the_size_of_its_photograph() -> None:
    name, disparity = stereo_disparity()
    assert disparity.shape == next(
        photo.size for photo in PHOTOS if photo.name == name
    )
    assert np.isfinite(disparity).all()


@each("task", DEGRADATIONS)
def test_degradation_changes_the_image_the_same_way_each_time(
    task: str,
) -> None:
    clean = PHOTOS[2].pixels
    first, again = (
        DEGRADATIONS[task](clean, rng_for(1, task)) for _ in range(2)
    )
    assert np.array_equal(first, again)
    assert first.shape != clean.shape or not np.array_equal(first, clean)


@each("task", GENERATORS)
def test_generated_outputs_leave_the_right_one_step_by_step(task: str) -> None:
    made = GENERATORS[task](PHOTOS[2])
    right, *wrong = (output.astype(float) for output in made.outputs)
    gaps = [float(np.abs(output - right).mean()) for output in wrong]
    assert len(made.outputs) == len(SEVERITIES)
    assert gaps == sorted(gaps)
    assert gaps[0] > 0


@pytest.mark.parametrize(
    "task", ["keypoint", "generation_t2i", "generation_inpainting_low_level"]
)
def test_every_record_of_the_data_folder_is_valid(
    task: str, tmp_path: Path
) -> None:
    make_data(tmp_path, task, seed=42)
    folder = DataFolder(tmp_path)
    notes = list(folder.annotations(task))
    assert folder.problems == []
    assert len(notes) == len(
        json.loads(
            (tmp_path / "annotations" / f"{task}_annotations.json").read_text()
        )
    )
    assert len(notes) >= 20


def test_demo_never_clears_a_folder_that_it_did_not_write(
    tmp_path: Path,
) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    for force in (False, True):
        with pytest.raises(UsageError):
            demo(tmp_path, force=force)
    assert (tmp_path / "thesis.tex").read_text() == "mine"
