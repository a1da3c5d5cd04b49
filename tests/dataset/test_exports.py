"""What other tools read out of an export is what the dataset says."""

from __future__ import annotations

import ast
import csv
import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from making import make_folder
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.core.output_files import together
from visualjudge.dataset.build import build
from visualjudge.dataset.exports import export, parquet
from visualjudge.dataset.exports.vlmevalkit import numbered
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.options import BuildOptions, Caps

TASKS = ("object_detection", "generation_t2i")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    home = tmp_path_factory.mktemp("exports")
    data = make_folder(home / "data", tasks=TASKS, images=2, annotations=4)
    build(data, home / "mine", BuildOptions(caps=Caps(2, 2, 2, 2, 1, 1, 4)))
    return load_dataset(home / "mine")


def test_parquet_loads_offline_with_typed_features_and_images(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    export(dataset, "parquet", tmp_path / "hub")
    loaded = datasets.load_dataset(
        str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache")
    )["test"]
    assert loaded.features["final_scores"] == datasets.List(
        datasets.Value("float64")
    )
    assert loaded.features["images"] == datasets.List(datasets.Image())
    assert len(loaded) == len(dataset.questions)
    for row, question in zip(loaded, dataset.questions, strict=True):
        assert (row["id"], row["prompt"], row["annotation_ids"]) == (
            question.id,
            question.prompt,
            list(question.annotation_ids),
        )
        assert len(row["images"]) == len(question.images)
        if question.question_type == "scoring":
            assert row["answer_score"] == question.answer
            assert float(row["answer"]) == pytest.approx(float(question.answer))
        else:
            assert row["answer"] == question.answer
    assert loaded[0]["images"][0].size == (96, 72)


def _rows(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 27)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_vlmevalkit_names_images_that_are_written_once(
    dataset: Dataset, tmp_path: Path
) -> None:
    files = export(dataset, "vlmevalkit", tmp_path)
    assert {path.name for path in files} == {
        f"mine_{kind}.tsv" for kind in ("pairwise", "ranking", "scoring")
    }
    asked = {question.id: question for question in dataset.questions}
    for kind in ("pairwise", "ranking", "scoring"):
        for row in _rows(tmp_path / f"mine_{kind}.tsv"):
            question = asked[row["question_id"]]
            named = row["image_path"]
            paths = [
                Path(p)
                for p in (
                    ast.literal_eval(named)
                    if named.startswith("[")
                    else [named]
                )
            ]
            assert "image" not in row
            assert f"<image {len(paths)}>" in row["question"]
            assert row["answer"] == question.answer or kind == "scoring"
            assert ("A" in row) == (kind == "pairwise")
            assert all(path.is_absolute() for path in paths)
            expected = [
                dataset.image_path(p).read_bytes() for p in question.images
            ]
            assert [path.read_bytes() for path in paths] == expected
    shown = {path for question in dataset.questions for path in question.images}
    assert len(
        [path for path in (tmp_path / "images").rglob("*") if path.is_file()]
    ) == len(shown)


def test_a_file_that_is_there_is_kept_unless_forced(
    dataset: Dataset, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text("precious")
    with pytest.raises(
        UsageError,
        match=r"mine.jsonl already exists; choose another, or add `force`",
    ):
        export(dataset, "trl", file)
    assert file.read_text() == "precious"
    export(dataset, "trl", file, force=True)
    assert file.read_text() != "precious"
    with pytest.raises(UsageError, match="got the folder"):
        export(dataset, "trl", tmp_path, force=True)


@pytest.mark.parametrize("name", ["parquet", "vlmevalkit"])
def test_a_folder_that_is_not_empty_is_kept_unless_forced(
    dataset: Dataset, tmp_path: Path, name: str
) -> None:
    (tmp_path / "notes.txt").write_text("precious")
    with pytest.raises(UsageError, match="is a folder that is not empty"):
        export(dataset, name, tmp_path)
    export(dataset, name, tmp_path, force=True)
    assert (tmp_path / "notes.txt").read_text() == "precious"
    with pytest.raises(UsageError, match="got the file"):
        export(dataset, name, tmp_path / "notes.txt", force=True)


def test_only_a_task_and_so_many_questions_are_exported(
    dataset: Dataset, tmp_path: Path
) -> None:
    few = dataset.filter(task="generation_t2i")[:3]
    [path] = export(few, "lmms-eval", tmp_path / "few")[:1]
    wanted = [question.id for question in few.questions]
    assert len(wanted) == 3
    assert [
        json.loads(line)["id"] for line in path.read_text().splitlines()
    ] == wanted
    with pytest.raises(DataError, match="no question to export"):
        export(
            dataset.filter(task="depth_estimation"),
            "trl",
            tmp_path / "none.jsonl",
        )


def test_marks_are_numbered_in_order() -> None:
    assert numbered("<image>\nA. <image> B") == "<image 1>\nA. <image 2> B"


@pytest.mark.parametrize("name", ["trl", "lmms-eval", "vlmevalkit"])
def test_a_question_without_a_right_answer_is_not_counted_as_wrong(
    dataset: Dataset, tmp_path: Path, name: str
) -> None:
    first, *others = dataset.filter(type="pairwise").questions
    split = replace(first, answer="unknown", final_scores=(5.0, 5.0))
    some = replace(dataset, questions=(split, *others))
    path = export(some, name, tmp_path / f"{name}.out")[0]
    exported = (
        [row["question_id"] for row in _rows(path)]
        if name == "vlmevalkit"
        else [json.loads(line)["id"] for line in path.read_text().splitlines()]
    )
    assert exported == [q.id for q in others]


def test_questions_of_which_none_has_a_right_answer_are_exported(
    dataset: Dataset, tmp_path: Path
) -> None:
    every = dataset.filter(type="pairwise").questions
    adopted = replace(
        dataset,
        questions=[replace(question, answer="unknown") for question in every],
    )
    [path] = export(adopted, "vlmevalkit", tmp_path)
    assert len(_rows(path)) == len(every)


def test_trl_preferences_put_the_right_answer_before_the_wrong_one(
    dataset: Dataset, tmp_path: Path
) -> None:
    [path] = export(dataset, "trl", tmp_path / "preferences.jsonl")
    asked = {question.id: question for question in dataset.questions}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {asked[line["id"]].question_type for line in lines} == {
        "pairwise",
        "ranking",
    }
    for line in lines:
        question = asked[line["id"]]
        chosen, rejected = (
            line[name][0]["content"][0]["text"]
            for name in ("chosen", "rejected")
        )
        assert chosen == question.answer
        assert (rejected != chosen and sorted(rejected) == sorted(chosen)) or {
            chosen,
            rejected,
        } == {"A", "B"}
        parts = line["prompt"][0]["content"]
        assert (
            [part["type"] for part in parts].count("image")
            == len(line["images"])
            == len(question.images)
        )


def test_unknown_format_and_missing_image_are_told(
    dataset: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(
        UsageError, match=r"`format` must be one of parquet, .*, got 'csv'"
    ):
        export(dataset, "csv", tmp_path)
    moved = Dataset(tmp_path, dataset.questions, dataset.meta)
    with pytest.raises(DataError, match="there is no file"):
        export(moved, "parquet", tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.parquet"))


@pytest.mark.parametrize("name", ["parquet", "vlmevalkit", "lmms-eval"])
def test_no_file_of_an_export_comes_without_the_others(
    dataset: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    write = Path.write_bytes
    room = 0

    def written(path: Path, content: bytes) -> int:
        nonlocal room
        room -= 1
        if room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", written)
    for files in range(100):
        room = files
        out = tmp_path / str(files)
        try:
            with together():
                export(dataset, name, out)
            break
        except RunError:
            assert not [path for path in out.rglob("*") if path.is_file()]
    assert files > 0


@pytest.mark.parametrize("name", ["parquet", "json", "vlmevalkit"])
def test_a_damaged_image_is_not_exported(
    dataset: Dataset, tmp_path: Path, name: str
) -> None:
    shutil.copytree(dataset.root, tmp_path / "copy")
    image = tmp_path / "copy" / dataset.questions[0].images[0]
    image.write_bytes(image.read_bytes()[:-20])
    with pytest.raises(DataError, match=rf"{image.name}: image cannot be"):
        export(load_dataset(tmp_path / "copy"), name, tmp_path / "out")
    assert not [p for p in tmp_path.glob("out/**/*.parquet") if p.is_file()]


def test_a_row_group_holds_as_many_rows_as_its_largest_allows(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = max(
        sum(dataset.image(name).stat().st_size for name in question.images)
        for question in dataset.questions
    )
    monkeypatch.setattr(parquet, "BYTES_A_GROUP", 3 * largest)
    frames: list[int] = []
    monkeypatch.setattr(
        parquet,
        "write_parquet",
        lambda path, parts, *_, **__: frames.extend(map(len, parts)),
    )
    export(dataset, "parquet", tmp_path / "out")
    assert set(frames[:-1]) == {3} and sum(frames) == len(dataset)
