"""A build end to end: the same bytes however it is done, whole or not there, and true
to its data.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import visualjudge
from making import (
    detection,
    detection_folder,
    make_folder,
    photograph,
    write_records,
)
from visualjudge.core.errors import DataError, UsageError
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.render import file_name
from visualjudge.dataset.validate import validate
from visualjudge.dataset.write_dataset import staged
from visualjudge.options import BuildOptions, Caps
from visualjudge.vision.encode import encodings
from visualjudge.vision.raster.images import read_rgb, write_png
from visualjudge.vision.tasks import TASKS

RUN = "from visualjudge.cli.main import run; run()"
SMALL = BuildOptions(caps=Caps(2, 2, 2, 2, 1, 1, 3))


def _bytes(root: Path) -> dict[str, bytes]:
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in root.rglob("*")
        if p.is_file()
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(
        tmp_path_factory.mktemp("all") / "data", images=2, annotations=3
    )


@pytest.fixture(scope="module")
def dataset(data: Path) -> Path:
    build(data, data.parent / "dataset", SMALL)
    return data.parent / "dataset"


def test_all_tasks_and_encodings_are_asked_about(dataset: Path) -> None:
    questions = load_dataset(dataset).questions
    asked = {(q.task, q.encoding) for q in questions}
    assert asked == {
        (task, row.stem)
        for task in TASKS
        for row in encodings(task)
        if row.is_final
    }
    assert set(Counter(q.question_type for q in questions)) == {
        "pairwise",
        "ranking",
        "scoring",
    }


def test_public_name_reads_what_was_built(dataset: Path) -> None:
    read = visualjudge.load_dataset(dataset)
    assert read.meta["version"] == "2.1"
    assert read.checksum == read.meta["files"]["questions.json"]
    assert all(
        read.image_path(path).is_file()
        for q in read.questions
        for path in q.images
    )


def test_everything_holds(dataset: Path) -> None:
    assert validate(dataset)[1] == []


def test_workers_order_of_records_and_place_do_not_change_a_byte(
    data: Path, dataset: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere"
    make_folder(moved, images=2, annotations=3)
    for path in (moved / "annotations").iterdir():
        path.write_text(json.dumps(json.loads(path.read_text())[::-1]))
    caps = [
        "encoding-groups",
        "encoding-pairs",
        "judge-groups",
        "judge-pairs",
        "scoring-groups",
        "ranking-groups",
    ]
    numbers = [2, 2, 2, 2, 1, 1]
    words = [
        word
        for name, count in zip(caps, numbers, strict=True)
        for word in ("--set", f"{name.replace('-', '_')}={count}")
    ]
    command = [
        sys.executable,
        "-c",
        RUN,
        "build",
        str(moved),
        "--out",
        str(tmp_path / "out"),
        "--set",
        "per_group=3",
    ]
    another = {**os.environ, "PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo"}
    subprocess.run(
        [*command, *words, "--workers", "2"],
        check=True,
        env=another,
        stdout=subprocess.DEVNULL,
    )
    assert _bytes(tmp_path / "out") == _bytes(dataset)


def test_same_question_has_the_same_id_in_a_build_of_one_task(
    data: Path, dataset: Path, tmp_path: Path
) -> None:
    build(
        data,
        tmp_path / "out",
        BuildOptions(tasks=("keypoint",), caps=SMALL.caps),
    )
    whole = {
        q.id: q for q in load_dataset(dataset).questions if q.task == "keypoint"
    }
    alone = {q.id: q for q in load_dataset(tmp_path / "out").questions}
    assert whole == alone


def test_original_is_the_photograph_and_first(
    data: Path, dataset: Path
) -> None:
    for question in load_dataset(dataset).questions:
        if question.task == "keypoint":
            assert (
                question.images[0] == f"media/original_{question.image_id}.png"
            )
    photo = read_rgb(data / "photos/photo-0000.png")
    np.testing.assert_array_equal(
        read_rgb(dataset / "media/original_photo-0000.png"), photo
    )


def test_inpainting_original_shows_the_masked_region_and_nothing_else(
    data: Path, dataset: Path
) -> None:
    name = "inpainting_high_level-0000"
    shown = read_rgb(dataset / f"media/original_{name}.png")
    changed = (shown != read_rgb(data / f"photos/{name}.png")).any(axis=2)
    mask = read_rgb(data / f"photos/{name}-mask.png")[:, :, 0] > 0
    assert changed[mask].mean() > 0.95
    assert not changed[~mask].any()


def test_features_of_an_option_are_those_of_its_file_and_prediction(
    tmp_path: Path,
) -> None:
    data = detection_folder(
        tmp_path / "data", [1.0, 2.0], metadata={"severity": 0.5}
    )
    build(data, tmp_path / "out", SMALL)
    for question in load_dataset(tmp_path / "out").questions:
        assert question.features is not None
        for option, path in zip(
            question.features, question.images[1:], strict=False
        ):
            assert option.severity == 0.5
            assert option.count == 1
            assert option.area == pytest.approx(25 * 34 / (48 * 64), abs=1e-4)
            assert option.png_bytes == (tmp_path / "out" / path).stat().st_size
        if (
            question.encoding == "text_xyxy"
            and question.question_type == "pairwise"
        ):
            text = question.prompt.partition("A. ")[2].partition("\n\nB. ")[0]
            assert (
                question.features[0].text_chars,
                question.features[0].png_bytes,
            ) == (
                len(text),
                None,
            )


def test_colours_agree_between_all_options_of_an_image(dataset: Path) -> None:
    colours: dict[tuple[str, str, str], set[str]] = {}
    for question in load_dataset(dataset).questions:
        if (
            question.task == "instance_segmentation"
            and question.encoding == "pixel_ss1_m0_o0_l1_c0_b1"
        ):
            for line in question.prompt.splitlines():
                for part in (
                    line.removeprefix("Legend: ").split(", ")
                    if line.startswith("Legend:")
                    else ()
                ):
                    label, colour = part.split(" = ")
                    colours.setdefault(
                        (question.image_id, label, ""), set()
                    ).add(colour)
    assert colours
    assert all(len(found) == 1 for found in colours.values())


def test_bad_record_changes_nothing_but_the_count(tmp_path: Path) -> None:
    good = [detection(k, k + 1.0) for k in range(3)]
    for name, records in (
        ("clean", good),
        (
            "dirty",
            [detection(9, 50.0), *good, detection(8, 3.0, image_id="gone")],
        ),
    ):
        detection_folder(tmp_path / name, [1.0])
        write_records(tmp_path / name, "object_detection", records)
    clean, dirty = (
        build(tmp_path / name, tmp_path / f"{name}-out")
        for name in ("clean", "dirty")
    )
    assert (len(clean.problems), len(dirty.problems)) == (0, 2)
    questions = [
        (tmp_path / f"{name}-out/questions.json").read_bytes()
        for name in ("clean", "dirty")
    ]
    assert questions[0] == questions[1]


def test_image_id_with_another_image_in_another_task_is_told(
    tmp_path: Path,
) -> None:
    data = make_folder(
        tmp_path / "data", tasks=["object_detection", "keypoint"], images=1
    )
    write_png(data / "other.png", photograph(3, (72, 96)))
    (data / "images/keypoint.json").write_text(
        '{"photo-0000": {"file": "other.png"}}'
    )
    built = build(data, tmp_path / "out", SMALL)
    assert {problem.file for problem in built.problems} == {
        "keypoint_annotations.json"
    }
    assert (
        "another image or mask in images/object_detection.json"
        in built.problems[0].reason
    )


def test_copy_of_the_same_image_under_another_name_is_no_clash(
    tmp_path: Path,
) -> None:
    data = make_folder(
        tmp_path / "data", tasks=["object_detection", "keypoint"], images=1
    )
    cv2.imwrite(
        str(data / "copy.png"), cv2.imread(str(data / "photos/photo-0000.png"))
    )
    (data / "images/keypoint.json").write_text(
        '{"photo-0000": {"file": "copy.png"}}'
    )
    assert build(data, tmp_path / "out", SMALL).problems == ()


def test_taken_folder_is_refused_and_replaced_only_where_it_is_a_dataset(
    tmp_path: Path,
) -> None:
    data = detection_folder(tmp_path / "data", [1.0, 2.0])
    build(data, tmp_path / "out", SMALL)
    with pytest.raises(UsageError, match="`force`"):
        build(data, tmp_path / "out", SMALL)
    build(data, tmp_path / "out", BuildOptions(seed=1, force=True))
    assert load_dataset(tmp_path / "out").meta["seed"] == 1
    with pytest.raises(UsageError, match="is not a dataset"):
        build(data, data, BuildOptions(force=True))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "out"]


def test_nothing_to_ask_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    data = detection_folder(tmp_path / "data", [])
    with pytest.raises(DataError, match="no question can be asked"):
        build(data, tmp_path / "out", SMALL)
    assert [p.name for p in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    "wrong", [{"subsets": ("all",)}, {"tasks": ("nothing",)}]
)
def test_unknown_subset_or_task_is_wrong_usage(
    wrong: dict[str, tuple[str, ...]], data: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"unknown task|must be one of"):
        build(data, tmp_path / "out", BuildOptions(**wrong))  # type: ignore[arg-type]


def test_failed_stage_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), staged(tmp_path / "out") as stage:
        (stage / "half").write_text("x")
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def test_killed_build_leaves_nothing_under_the_name_and_the_next_one_completes(
    tmp_path: Path,
) -> None:
    data = make_folder(
        tmp_path / "data",
        tasks=["instance_segmentation"],
        images=12,
        annotations=5,
        size=(240, 320),
    )
    words = [
        sys.executable,
        "-c",
        RUN,
        "build",
        str(data),
        "--out",
        str(tmp_path / "out"),
        "--workers",
        "1",
    ]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while (
        not list(tmp_path.glob(".out.partial/media/*"))
        and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.glob(".out.partial"))
    build(data, tmp_path / "out")
    assert validate(tmp_path / "out")[1] == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "out"]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("original_a/b%c",), "original_a%2Fb%25c"),
        (("task", "id", "stem"), "task__id__stem"),
        (("Straße 1.png",), "Straße 1.png"),
    ],
)
def test_file_names_keep_the_id_readable(
    parts: tuple[str, ...], expected: str
) -> None:
    assert file_name(*parts) == expected


def test_file_name_that_would_be_too_long_ends_in_a_digest() -> None:
    names = {file_name("task", "ü" * 170 + end, "stem") for end in "ab"}
    assert len(names) == 2
    assert all(len(name.encode()) <= 200 for name in names)


def test_images_are_shown_at_most_so_large_and_predictions_with_them(
    data: Path, dataset: Path, tmp_path: Path
) -> None:
    build(data, tmp_path / "out", replace(SMALL, max_side=48))
    made = load_dataset(tmp_path / "out")
    assert made.meta["options"]["max_side"] == 48
    sizes = {
        read_rgb(path).shape[:2]
        for path in (tmp_path / "out/media").glob("*.png")
    }
    assert max(max(size) for size in sizes) == 48
    first = {
        q.annotation_ids: q
        for q in load_dataset(dataset).questions
        if q.encoding == "text_xyxy"
    }
    for question in made.questions:
        if (
            question.encoding == "text_xyxy"
            and question.question_type == "scoring"
        ):
            full, small = (json.loads(q.prompt[slice(*q.spans.options[0])].partition("\n")[2])
                           for q in (first[question.annotation_ids], question))  # fmt: skip
            for one, other in zip(full, small, strict=True):
                assert np.allclose(
                    np.array(one["bbox"]) / 2, other["bbox"], atol=1
                )
    assert validate(tmp_path / "out")[1] == []


def test_scores_of_a_stated_range_become_0_to_10(
    data: Path, tmp_path: Path
) -> None:
    """The range is stated in dataset.json; nothing is where none was."""
    wide = replace(SMALL, tasks=("object_detection",), score_range=(0.0, 20.0))
    scores = []
    for name, options in (
        ("plain", replace(wide, score_range=None)),
        ("wide", wide),
    ):
        build(data, tmp_path / name, options)
        made = load_dataset(tmp_path / name)
        scores.append(
            {
                q.annotation_ids: q.final_scores
                for q in made
                if len(q.final_scores) == 1
            }
        )
        stated = json.loads((tmp_path / name / "dataset.json").read_bytes())[
            "options"
        ]
        assert stated.get("score_range") == (
            None if name == "plain" else [0.0, 20.0]
        )
    plain, halved = scores
    shared = plain.keys() & halved.keys()
    assert shared and all(
        halved[key][0] == pytest.approx(plain[key][0] / 2) for key in shared
    )
