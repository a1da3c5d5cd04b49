"""A data folder that grows: nothing that is there is lost, and nothing half-written is
left."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from folding import each
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Annotation
from visualjudge.data.folder import DataFolder
from visualjudge.data.writer import FolderWriter, slug
from visualjudge.vision.predictions import DepthMap

TASK = "object_detection"


def photo(path: Path, value: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 6), (value, 0, 0)).save(path)
    return path


def note(
    source: str, *, score: float = 5.0, image_id: str = "a", **metadata: str
) -> Annotation:
    shown = {"detections": [{"label": "cat", "bbox": [0.0, 0.1, 2.0, 3.0]}]}
    return Annotation(
        f"{source}:{image_id}",
        image_id,
        TASK,
        shown,
        score,
        source=source,
        metadata=metadata,
    )


def grow(
    root: Path, image: Path, *notes: Annotation, replace: bool = False
) -> None:
    with FolderWriter(root, TASK, replace=replace) as writer:
        for one in notes:
            writer.add_image(one.image_id, image)
            writer.add(one)
        writer.commit()


def read(root: Path) -> dict[str, float]:
    folder = DataFolder(root)
    found = {
        one.annotation_id: one.final_score for one in folder.annotations(TASK)
    }
    assert folder.problems == []
    return found


def test_a_second_source_is_added_to_the_first(tmp_path: Path) -> None:
    image = photo(tmp_path / "p.png")
    grow(tmp_path / "data", image, note("x"))
    grow(tmp_path / "data", image, note("y", score=7))
    assert read(tmp_path / "data") == {"x:a": 5, "y:a": 7}


def test_the_same_again_changes_no_byte(tmp_path: Path) -> None:
    image = photo(tmp_path / "p.png")
    grow(tmp_path / "data", image, note("x"))
    before = {
        path: path.read_bytes()
        for path in (tmp_path / "data").rglob("*")
        if path.is_file()
    }
    grow(tmp_path / "data", image, note("x"))
    assert {
        path: path.read_bytes()
        for path in (tmp_path / "data").rglob("*")
        if path.is_file()
    } == before


def test_scores_of_two_metrics_are_not_put_together(tmp_path: Path) -> None:
    image = photo(tmp_path / "p.png")
    grow(tmp_path / "data", image, note("x", metric="psnr"))
    grow(tmp_path / "data", image, note("y", metric="psnr"))
    with pytest.raises(
        DataError,
        match=r"z:a: metadata\.metric: must be psnr, as for model 'x', got the "
        r"default metric",
    ):
        grow(tmp_path / "data", image, note("z"))
    assert read(tmp_path / "data") == {"x:a": 5, "y:a": 5}


def test_another_score_of_the_same_source_needs_replace(tmp_path: Path) -> None:
    image = photo(tmp_path / "p.png")
    grow(
        tmp_path / "data", image, note("x"), note("x", image_id="b"), note("y")
    )
    with pytest.raises(DataError, match="`replace`"):
        grow(tmp_path / "data", image, note("x", score=1))
    assert read(tmp_path / "data") == {"x:a": 5, "x:b": 5, "y:a": 5}
    grow(tmp_path / "data", image, note("x", score=1), replace=True)
    assert read(tmp_path / "data") == {"x:a": 1, "y:a": 5}


def test_an_image_id_cannot_come_to_mean_another_image(tmp_path: Path) -> None:
    grow(tmp_path / "data", photo(tmp_path / "p.png"), note("x"))
    with pytest.raises(DataError, match="already names another image"):
        grow(tmp_path / "data", photo(tmp_path / "q.png", 200), note("y"))
    assert read(tmp_path / "data") == {"x:a": 5}


def test_fields_that_others_wrote_are_kept(tmp_path: Path) -> None:
    image = photo(tmp_path / "p.png")
    grow(tmp_path / "data", image, note("x"))
    path = tmp_path / "data" / "annotations" / f"{TASK}_annotations.json"
    rows = json.loads(path.read_text())
    rows[0]["mine"] = {"kept": True}
    path.write_text(json.dumps(rows))
    grow(tmp_path / "data", image, note("y"))
    assert json.loads(path.read_text())[0]["mine"] == {"kept": True}


def test_a_folder_whose_records_cannot_be_read_is_not_written_over(
    tmp_path: Path,
) -> None:
    image = photo(tmp_path / "p.png")
    grow(tmp_path / "data", image, note("x"))
    path = tmp_path / "data" / "annotations" / f"{TASK}_annotations.json"
    path.write_text("[{]")
    with pytest.raises(DataError, match="is not JSON"):
        grow(tmp_path / "data", image, note("y"))
    assert path.read_text() == "[{]"


def test_a_file_of_the_same_name_and_another_content_stays(
    tmp_path: Path,
) -> None:
    with FolderWriter(tmp_path / "data", TASK) as writer:
        first = writer.copied(photo(tmp_path / "p.png"), "name")
        second = writer.copied(photo(tmp_path / "q.png", 9), "name")
        assert first == "files/name.png" and second.startswith("files/name-")
        assert writer.copied(tmp_path / "p.png", "name") == first


@each("text", ["a/b", "../a", "ä", "x" * 300, "a:b", "", "."])
def test_any_text_becomes_a_file_name_of_its_own(text: str) -> None:
    name = slug(text)
    assert (
        name
        and "/" not in name
        and not name.startswith(".")
        and len(name) <= 100
    )
    assert slug(text + "!") != name


@pytest.mark.parametrize(
    ("name", "kind"), [("dataset.json", "a dataset"), ("run.json", "a run")]
)
def test_records_are_not_put_into_a_folder_of_another_kind(
    tmp_path: Path, name: str, kind: str
) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(
        UsageError, match=f"must be a data folder or a new folder, got {kind}"
    ):
        FolderWriter(tmp_path, TASK)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def tree(root: Path) -> dict[str, bytes]:
    """All files, and folders as empty bytes; the lock apart."""
    paths = [path for path in root.rglob("*") if path.name != ".lock"]
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        if path.is_file()
        else b""
        for path in paths
    }


@pytest.mark.parametrize(
    "new", [note("y"), note("x", image_id="b", metric="psnr")]
)
def test_a_refused_import_leaves_nothing(
    tmp_path: Path, new: Annotation
) -> None:
    grow(tmp_path / "data", photo(tmp_path / "p.png"), note("x"))
    before = tree(tmp_path / "data")
    with (
        pytest.raises(DataError),
        FolderWriter(tmp_path / "data", TASK) as writer,
    ):
        writer.add_image(new.image_id, photo(tmp_path / "q.png", 200))
        writer.add(new)
        writer.commit()
    assert tree(tmp_path / "data") == before


def test_a_refused_import_does_not_change_a_prediction_that_is_there(
    tmp_path: Path,
) -> None:
    def add(value: float, score: float) -> None:
        with FolderWriter(tmp_path / "data", "depth_estimation") as writer:
            writer.add_image("a", photo(tmp_path / "p.png"))
            payload = writer.payload(DepthMap(np.full((6, 8), value)), "a")
            writer.add(
                Annotation(
                    "x:a", "a", "depth_estimation", payload, score, source="x"
                )
            )
            writer.commit()

    add(1.0, 5.0)
    before = tree(tmp_path / "data")
    with pytest.raises(DataError, match="`replace`"):
        add(2.0, 6.0)
    assert tree(tmp_path / "data") == before


def test_a_folder_that_a_refused_import_made_is_gone_and_one_that_was_there_stays(
    tmp_path: Path,
) -> None:
    (tmp_path / "old").mkdir()
    for name in ("old", "new/deep"):
        with FolderWriter(tmp_path / name, TASK) as writer:
            writer.add_image("a", photo(tmp_path / "p.png"))
    assert not list((tmp_path / "old").iterdir())
    assert not (tmp_path / "new/deep").exists()
