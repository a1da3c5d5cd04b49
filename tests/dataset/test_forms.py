"""JSON and Parquet hold the same dataset; a large one is read from disk as it is used, with the
same results.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import orjson
import polars as pl
import pyarrow.parquet as pq
import pytest

from making import detection_folder
from visualjudge.analysis.question_table import find, read_questions
from visualjudge.cli.main import run
from visualjudge.core import image_storage
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import TIES
from visualjudge.dataset import folder, parquet_form
from visualjudge.dataset.build import build
from visualjudge.dataset.convert import convert
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import load_dataset, selected
from visualjudge.dataset.parquet_form import schema
from visualjudge.dataset.question_filter import Choice
from visualjudge.dataset.question_storage import Stored, columns
from visualjudge.dataset.validate import validate


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("forms")
    build(detection_folder(home / "data", [1.0, 2.0, 3.0, 4.5]), home / "dataset")
    return home / "dataset"


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several shards and row groups out of a few questions."""
    monkeypatch.setattr(parquet_form, "ROWS_A_GROUP", 7)
    monkeypatch.setattr(parquet_form, "GROUPS_A_SHARD", 2)


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every dataset is too large to hold."""
    monkeypatch.setattr(folder, "HELD_BYTES", 0)
    monkeypatch.setattr(folder, "HELD_ROWS", 0)
    yield


def _rewrite(root: Path, content: bytes) -> None:
    (root / "questions.json").write_bytes(content)
    meta = json.loads((root / "dataset.json").read_text())
    meta["files"]["questions.json"] = hashlib.sha256(content).hexdigest()
    (root / "dataset.json").write_text(json.dumps(meta))


def _tree(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def _indented(questions: list[dict[str, Any]]) -> bytes:
    return json.dumps(questions, indent=2, ensure_ascii=True).encode()


def _more_fields(questions: list[dict[str, Any]]) -> bytes:
    questions[3]["note"] = {"by": "somebody", "\u00e9": [1, 2.50]}
    questions[5]["final_scores"] = [int(score) for score in questions[5]["final_scores"]]
    questions[6]["features"][0]["count"] = 2.5
    questions[7]["features"][0]["text_chars"] = 2**63
    return b" [" + b" ,\t".join(orjson.dumps(q) for q in questions) + b" ] \n\n"


def _with_ties(questions: list[dict[str, Any]]) -> bytes:
    questions[2]["ties"] = list(TIES[:1])
    return b"[\n" + b",\n".join(orjson.dumps(q) for q in questions) + b"\n]\n"


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("layout", [None, _indented, _more_fields, _with_ties])
def test_a_round_trip_gives_every_byte_back(built: Path, tmp_path: Path, layout: Any) -> None:
    root = tmp_path / "json"
    shutil.copytree(built, root)
    if layout is not None:
        _rewrite(root, layout(json.loads((root / "questions.json").read_text())))
    convert(root, tmp_path / "parquet", "parquet")
    assert not (tmp_path / "parquet/questions.json").exists()
    assert len(list((tmp_path / "parquet/questions").glob("part-*.parquet"))) > 2
    assert load_dataset(tmp_path / "parquet").questions == load_dataset(root).questions
    convert(tmp_path / "parquet", tmp_path / "back", "json")
    assert _tree(tmp_path / "back") == _tree(root)


@pytest.mark.usefixtures("small_groups")
def test_every_reader_sees_the_same_in_both_forms_held_or_on_disk(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert(built, tmp_path / "parquet", "parquet")
    held = load_dataset(built)
    assert isinstance(held.questions, tuple)
    assert load_dataset(tmp_path / "parquet").questions == held.questions
    monkeypatch.setattr(folder, "HELD_BYTES", 0)
    monkeypatch.setattr(folder, "HELD_ROWS", 0)
    table, meta = read_questions(built)
    for root in (built, tmp_path / "parquet"):
        lazy = load_dataset(root)
        assert isinstance(lazy.questions, Stored)
        assert (lazy.digest, lazy.meta, len(lazy)) == (held.digest, held.meta, len(held))
        assert list(lazy) == list(held.questions)
        assert (lazy[0], lazy[17], lazy[-1]) == (held[0], held[17], held[-1])
        assert list(lazy[3:20:2]) == list(held[3:20:2])
        assert list(lazy[::-1]) == list(held[::-1])
        assert list(lazy.filter("margin<2", question_type="pairwise")) == list(
            held.filter("margin<2", question_type="pairwise")
        )
        assert list(lazy.sample(9)) == list(held.sample(9))
        assert list(lazy.filter(question_type="ranking").sample(3)[1:]) == list(
            held.filter(question_type="ranking").sample(3)[1:]
        )
        choice = Choice(types=("pairwise", "scoring"), where=("margin!=1",), sample=8, limit=5)
        assert list(lazy.choose(choice)) == list(held.choose(choice))
        assert list(selected(lazy, ["object_detection"], 4)) == list(held[:4])
        assert validate(root)[1] == []
        other, stated = read_questions(root)
        assert other.equals(table)
        assert stated["questions_sha256"] == meta["questions_sha256"]
        assert find([root], [held[5].id]) == {held[5].id: (held[5], root)}


@pytest.mark.usefixtures("on_disk")
def test_past_the_end_is_an_index_error(built: Path) -> None:
    dataset = load_dataset(built)
    with pytest.raises(IndexError):
        dataset[len(dataset)]
    with pytest.raises(IndexError):
        dataset[:3][3]


@pytest.mark.usefixtures("on_disk")
def test_a_file_that_changes_under_the_reader_is_refused(built: Path, tmp_path: Path) -> None:
    root = tmp_path / "dataset"
    shutil.copytree(built, root)
    dataset = load_dataset(root)
    (root / "questions.json").write_bytes((root / "questions.json").read_bytes() + b"\n")
    with pytest.raises(DataError, match="was changed while it was being read"):
        list(dataset)


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text[:-40], "must be JSON"),
        (lambda text: text.replace(b"},\n", b"}\n", 1), "must be JSON"),
        (lambda text: text.replace(b"},\n", b"},\n7,\n", 1), "must be JSON"),
        (lambda text: text.replace(b'"answer"', b'"anser"', 1), "answer: the field is missing"),
        (lambda text: text + b"[]", "must be JSON"),
    ],
)
def test_a_flaw_is_found_when_a_large_file_is_opened(
    built: Path, tmp_path: Path, change: Any, reason: str
) -> None:
    root = tmp_path / "dataset"
    shutil.copytree(built, root)
    (root / "questions.json").write_bytes(change((root / "questions.json").read_bytes()))
    with pytest.raises(DataError, match=reason):
        load_dataset(root)


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("victim", ["part-00000.parquet", "index.json"])
def test_an_edited_parquet_dataset_is_refused(built: Path, tmp_path: Path, victim: str) -> None:
    convert(built, tmp_path / "parquet", "parquet")
    path = tmp_path / "parquet/questions" / victim
    path.write_bytes(path.read_bytes()[:-8] + b"00000000")
    with pytest.raises(DataError, match=victim):
        load_dataset(tmp_path / "parquet")


def test_a_shard_with_another_answer_is_refused(built: Path, tmp_path: Path) -> None:
    convert(built, tmp_path / "parquet", "parquet")
    path = tmp_path / "parquet/questions/part-00000.parquet"
    rows = pl.read_parquet(path).to_dicts()
    rows[0]["answer"] = {"A": "B", "B": "A"}.get(rows[0]["answer"], "1.25")
    pl.DataFrame(rows, schema=schema()).write_parquet(path)
    with pytest.raises(DataError, match=r"part-00000\.parquet: its SHA-256"):
        load_dataset(tmp_path / "parquet")


def test_pyarrow_reads_the_shards_and_shards_that_it_wrote_are_read(
    built: Path, tmp_path: Path
) -> None:
    """Versions up to 0.1 wrote shards with pyarrow."""
    convert(built, tmp_path / "parquet", "parquet")
    dataset = load_dataset(tmp_path / "parquet")
    path = tmp_path / "parquet/questions/part-00000.parquet"
    table = pq.read_table(path)
    assert table["id"].to_pylist() == [question.id for question in dataset]
    assert table["final_scores"].to_pylist() == [
        list(question.final_scores) for question in dataset
    ]
    pq.write_table(table, path, compression="zstd", row_group_size=7)
    index = json.loads((tmp_path / "parquet/questions/index.json").read_text())
    index["shards"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / "parquet/questions/index.json").write_text(json.dumps(index))
    assert load_dataset(tmp_path / "parquet").questions == dataset.questions
    assert validate(tmp_path / "parquet")[1] == []


def _edited(root: Path, row: int, column: str, value: object) -> None:
    """Write a shard anew with another value, as its index then states it."""
    path = root / "questions/part-00000.parquet"
    rows = pl.read_parquet(path).to_dicts()
    rows[row][column] = value
    pl.DataFrame(rows, schema=schema()).write_parquet(path)
    index = json.loads((root / "questions/index.json").read_text())
    index["shards"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (root / "questions/index.json").write_text(json.dumps(index))


BACKWARDS = {"options": [[5, 9], [2, 4]], "original": None, "final": None}


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("task", None, "task must be text"),
        ("question_type", "essay", "question_type must be one of"),
        ("answer", None, "answer must be"),
        ("images", [None, "media/x.png"], "images must be an array of text"),
        ("subset", None, "has a field of the wrong type"),
        ("final_scores", [float("nan"), 1.0], "final_scores and answer must be finite"),
        ("final_scores", [1.0, None], "final_scores must be an array of a number"),
        ("sources", ["a"], "must have one item for each option"),
        ("features", [None, None], "has a field of the wrong type"),
        ("ties", ["both"], "ties must only contain"),
        ("spans", BACKWARDS, "spans must lie in the prompt in order"),
        (
            "spans",
            {**BACKWARDS, "options": [[0, 1], [10**6, 10**6]]},
            "spans must lie in the prompt in order",
        ),
        ("spans", {**BACKWARDS, "options": [[1, 2, 3]]}, "has a field of the wrong type"),
    ],
)
def test_a_row_that_is_no_question_is_named(
    built: Path, tmp_path: Path, column: str, value: object, reason: str
) -> None:
    convert(built, tmp_path / "parquet", "parquet")
    place = next(
        k for k, question in enumerate(load_dataset(built)) if question.question_type == "pairwise"
    )
    _edited(tmp_path / "parquet", place, column, value)
    dataset = load_dataset(tmp_path / "parquet")
    with pytest.raises(DataError, match=f"{load_dataset(built)[place].id}: .*{reason}"):
        list(dataset)
    if column not in (
        "spans",
        "sources",
        "question_type",
    ):  # those are told by what stands beside them
        with pytest.raises(
            DataError, match=rf"part-00000\.parquet: .*{column}.*convert the dataset again"
        ):
            list(columns(dataset.questions, column))


def test_a_stated_digest_that_is_not_of_the_rows_is_found(built: Path, tmp_path: Path) -> None:
    convert(built, tmp_path / "parquet", "parquet")
    path = tmp_path / "parquet/questions/index.json"
    index = json.loads(path.read_text())
    path.write_text(json.dumps({**index, "questions_sha256": "0" * 64}))
    assert [p.field for p in validate(tmp_path / "parquet")[1]] == ["questions_sha256"]
    with pytest.raises(DataError, match="questions_sha256"):
        convert(tmp_path / "parquet", tmp_path / "back", "json")
    assert not (tmp_path / "back").exists()


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("name", ["../outside.png", "/etc/passwd"])
def test_images_stay_inside_the_dataset_in_both_forms(
    built: Path, tmp_path: Path, name: str
) -> None:
    root = tmp_path / "json"
    shutil.copytree(built, root)
    questions = json.loads((root / "questions.json").read_text())
    questions[0]["images"][0] = name
    _rewrite(root, b"[\n" + b",\n".join(map(orjson.dumps, questions)) + b"\n]\n")
    convert(root, tmp_path / "parquet", "parquet")
    for form in (root, tmp_path / "parquet"):
        dataset = load_dataset(form)
        with pytest.raises(DataError, match="leads out of the dataset"):
            dataset.image_path(dataset[0].images[0])
        assert any(
            "leads out" in p.reason or "is not in media" in p.reason for p in validate(form)[1]
        )


def test_a_shard_name_cannot_lead_out(built: Path, tmp_path: Path) -> None:
    convert(built, tmp_path / "parquet", "parquet")
    path = tmp_path / "parquet/questions/index.json"
    index = json.loads(path.read_text())
    path.write_text(json.dumps({**index, "shards": {"../../elsewhere": "0"}}))
    with pytest.raises(DataError, match="leads out of the dataset"):
        load_dataset(tmp_path / "parquet")


def test_a_linked_file_is_not_carried_along(built: Path, tmp_path: Path) -> None:
    root = tmp_path / "json"
    shutil.copytree(built, root)
    (tmp_path / "secret").write_text("x")
    (root / "media/secret.png").symlink_to(tmp_path / "secret")
    with pytest.raises(DataError, match="leads out of the dataset through a link"):
        convert(root, tmp_path / "parquet", "parquet")


def test_a_field_that_no_column_holds_is_named(built: Path, tmp_path: Path) -> None:
    root = tmp_path / "json"
    shutil.copytree(built, root)
    questions = json.loads((root / "questions.json").read_text())
    questions[0]["image_id"] = 17
    _rewrite(root, orjson.dumps(questions))
    with pytest.raises(DataError, match=r"image_id must be text, got .17."):
        convert(root, tmp_path / "parquet", "parquet")


def test_convert_refuses_what_it_should(built: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is already in the json form"):
        convert(built, tmp_path / "out", "json")
    with pytest.raises(UsageError, match="is not a dataset"):
        convert(tmp_path, tmp_path / "out", "parquet")
    convert(built, tmp_path / "out", "parquet")
    with pytest.raises(UsageError, match="--force"):
        convert(built, tmp_path / "out", "parquet")
    assert convert(built, tmp_path / "out", "parquet", force=True) == len(load_dataset(built))


def _status(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["visualjudge", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        run()
    return int(ended.value.code or 0)


@pytest.mark.usefixtures("on_disk", "small_groups")
def test_judging_either_form_gives_the_same_run(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = tmp_path / "parquet"
    assert _status(monkeypatch, "convert", built, "--to", "parquet", "--out", parquet) == 0
    assert _status(monkeypatch, "validate", parquet) == 0
    verdicts, manifests = [], []
    for form in (built, parquet):
        out = tmp_path / f"run-{form.name}"
        words = ("--backend", "baseline", "--model", "oracle:0.8", "--swap", "--out", out)
        assert _status(monkeypatch, "judge", form, *words) == 0
        lines = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
        verdicts.append({(v["id"], v["order"]): v["value"] for v in lines})
        manifests.append(json.loads((out / "run.json").read_text()))
    assert verdicts[0] == verdicts[1]
    assert manifests[0]["dataset"]["checksum"] == manifests[1]["dataset"]["checksum"]
    assert manifests[0]["asked"] == manifests[1]["asked"] == len(verdicts[0])
    out = tmp_path / "run-dataset"
    words = ("--backend", "baseline", "--model", "oracle:0.8", "--swap", "--out", out, "--resume")
    assert _status(monkeypatch, "judge", parquet, *words) == 0  # a run goes on from the other form
    assert len((out / "verdicts.jsonl").read_text().splitlines()) == len(verdicts[0])


def _folder(tmp_path: Path) -> Path:
    return detection_folder(tmp_path / "data", [1.0, 2.0, 3.0, 4.5])


def test_build_writes_each_form_and_any_number_of_workers_the_same_bytes(
    built: Path, tmp_path: Path
) -> None:
    data = _folder(tmp_path)
    build(data, tmp_path / "one", form="parquet", media="shards")
    build(data, tmp_path / "two", form="parquet", media="shards", workers=2)
    assert _tree(tmp_path / "one") == _tree(tmp_path / "two")
    assert validate(tmp_path / "one")[1] == []
    assert sorted(p.suffix for p in (tmp_path / "one/media").iterdir()) == [".npy", ".tar"]
    convert(tmp_path / "one", tmp_path / "back", "json", media="files")
    assert _tree(tmp_path / "back") == _tree(built)
    convert(built, tmp_path / "parquet", "parquet")
    assert _tree(tmp_path / "parquet/questions") == _tree(tmp_path / "one/questions")


def test_images_go_into_shards_and_back(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_storage, "SHARD_BYTES", 20_000)
    assert convert(built, tmp_path / "packed", media="shards") == len(load_dataset(built))
    assert len(list((tmp_path / "packed/media").glob("*.tar"))) > 1
    assert not list((tmp_path / "packed/media").glob("*.png"))
    assert validate(tmp_path / "packed")[1] == []
    convert(tmp_path / "packed", tmp_path / "back", media="files")
    assert _tree(tmp_path / "back") == _tree(built)
    with pytest.raises(UsageError, match="already stores its images as shards"):
        convert(tmp_path / "packed", tmp_path / "x", media="shards")
    with pytest.raises(UsageError, match="--to or --media must be given"):
        convert(tmp_path / "packed", tmp_path / "x")


def test_a_byte_changed_inside_a_shard_is_found(built: Path, tmp_path: Path) -> None:
    convert(built, tmp_path / "packed", media="shards")
    dataset = load_dataset(tmp_path / "packed")
    part = dataset.image(dataset[0].images[0])
    assert isinstance(part, image_storage.Part)
    with part.shard.open("r+b") as file:
        file.seek(part.start + part.size // 2)
        file.write(b"!!!!")
    assert part.relative in {p.record for p in validate(tmp_path / "packed")[1]}


def test_exports_with_images_inside_read_shards_and_those_with_paths_say_what_to_do(
    built: Path, tmp_path: Path
) -> None:
    convert(built, tmp_path / "packed", media="shards")
    packed, loose = load_dataset(tmp_path / "packed"), load_dataset(built)
    for name, dataset in (("packed", packed), ("loose", loose)):
        export(dataset, "parquet", tmp_path / f"export-{name}")
    assert _tree(tmp_path / "export-packed") == _tree(tmp_path / "export-loose")
    with pytest.raises(
        DataError, match=r"lies in shard-00000\.tar, .*; use visualjudge convert --media files"
    ):
        export(packed, "trl", tmp_path / "a.jsonl")
    assert not (tmp_path / "a.jsonl").exists()


def test_commands_take_the_forms(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "packed"
    words = ("--out", packed, "--media", "shards", "--format", "parquet", "--workers", 1)
    assert _status(monkeypatch, "build", _folder(tmp_path), *words) == 0
    words = ("--backend", "local", "--model", "default")
    assert _status(monkeypatch, "judge", packed, *words, "--out", tmp_path / "run") == 0
    assert (
        _status(
            monkeypatch,
            "report",
            tmp_path / "run",
            "--dataset",
            packed,
            "--out",
            tmp_path / "r.html",
        )
        == 0
    )
    assert "data:image/jpeg;base64," in (tmp_path / "r.html").read_text()
    assert (
        _status(
            monkeypatch,
            "convert",
            packed,
            "--media",
            "files",
            "--to",
            "json",
            "--out",
            tmp_path / "back",
        )
        == 0
    )
    assert _tree(tmp_path / "back") == _tree(built)


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_each_form_gives_its_questions_their_places_and_the_bytes_of_the_file(
    built: Path, tmp_path: Path, form: Literal["json", "parquet"], small_groups: None
) -> None:
    expected = load_dataset(built).questions
    if form == "parquet":
        convert(built, tmp_path / "other", "parquet")
    stored = folder.open_questions(built if form == "json" else tmp_path / "other")
    assert (
        [stored.read(start, stop) for start, stop, _ in stored.scan()]
        == list(stored)
        == list(expected)
    )
    content = b"".join(before + record for before, record in stored.records()) + stored.ending
    assert content == (built / "questions.json").read_bytes()
    assert hashlib.sha256(content).hexdigest() == stored.digest


def test_a_file_that_leaves_the_layout_of_build_half_way_is_read_to_its_end(
    built: Path, on_disk: None
) -> None:
    content = (built / "questions.json").read_bytes()
    lines = content.split(b",\n")
    mixed = b",\n".join(lines[:2]) + b" ,\n\n " + b" , ".join(lines[2:])
    copy = built.parent / "mixed"
    copy.mkdir()
    (copy / "questions.json").write_bytes(mixed)
    (copy / "dataset.json").write_bytes((built / "dataset.json").read_bytes())
    assert list(load_dataset(copy)) == list(load_dataset(built))
