"""A dataset is the same in every form: questions.json with media/, one Parquet file,
and the forms of version 1.0.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import polars as pl
import pytest

from making import detection_folder
from visualjudge.analysis.stored_tables import find, read_questions
from visualjudge.cli.main import run
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Spans
from visualjudge.dataset import parquet_form
from visualjudge.dataset.build import build
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.dataset.json_form import spans_in_order
from visualjudge.dataset.question_storage import Stored
from visualjudge.dataset.validate import problems_of
from visualjudge.options import BuildOptions, Choice

FROZEN = Path(__file__).parents[1] / "frozen/1.0.tar.gz"
SCORES = [1.0, 2.0, 3.0, 4.5]


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same dataset in both forms."""
    home = tmp_path_factory.mktemp("forms")
    data = detection_folder(home / "data", SCORES)
    build(data, home / "json")
    build(data, home / "parquet", BuildOptions(form="parquet"))
    return home / "json", home / "parquet"


def same(one: Dataset, other: Dataset) -> None:
    assert list(one) == list(other)
    assert (one.digest, one.meta) == (other.digest, other.meta)
    names = {name for question in one for name in question.images}
    assert names
    for name in names:
        assert one.image(name).read_bytes() == other.image(name).read_bytes()


def test_the_parquet_form_is_one_file_with_the_same_dataset(
    forms: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_form, "PIECE", 7)
    held, lazy = map(load_dataset, forms)
    assert {path.name for path in forms[1].iterdir()} == {
        "dataset.json",
        "dataset.parquet",
        "predictions.jsonl",
    }
    assert isinstance(lazy.questions, Stored)
    same(held, lazy)
    assert (lazy[0], lazy[17], lazy[-1]) == (held[0], held[17], held[-1])
    assert list(lazy[3:20:2]) == list(held[3:20:2])
    assert list(lazy[::-1]) == list(held[::-1])
    for choose in (
        lambda d: d.filter("margin<2", question_type="pairwise"),
        lambda d: d.sample(9),
        lambda d: d.filter(question_type="ranking").sample(3)[1:],
        lambda d: d.choose(
            Choice(types=("pairwise",), where=("margin!=1",), sample=8, limit=5)
        ),
        lambda d: d.filter(task="object_detection")[:4],
    ):
        assert list(choose(lazy)) == list(choose(held))
    with pytest.raises(IndexError):
        lazy[len(lazy)]
    assert read_questions(forms[0])[0].equals(read_questions(forms[1])[0])
    assert find([forms[1]], [held[5].id])[held[5].id].question == held[5]
    assert problems_of(lazy) == problems_of(held) == []


def test_a_parquet_dataset_is_judged_and_reported_as_the_other(
    forms: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def status(*words: object) -> object:
        monkeypatch.setattr("sys.argv", ["visualjudge", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            run()
        return ended.value.code or 0

    figures = []
    for root in forms:
        out = tmp_path / root.name
        words = ("--backend", "local", "--model", "default", "--out", out)
        assert status("judge", root, *words) == 0
        assert (
            status(
                "report", out, "--json", f"{out}.json", "--out", f"{out}.html"
            )
            == 0
        )
        figures.append(
            json.loads(Path(f"{out}.json").read_text())["judges"][0]["pairwise"]
        )
    assert figures[0] == figures[1]


def test_the_form_follows_the_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("visualjudge.dataset.build.MOST_IN_JSON", 3)
    build(detection_folder(tmp_path / "data", SCORES), tmp_path / "dataset")
    assert (tmp_path / "dataset/dataset.parquet").is_file()


def test_exports_give_the_other_form(
    forms: tuple[Path, Path], tmp_path: Path
) -> None:
    export(load_dataset(forms[0]), "dataset-parquet", tmp_path / "parquet")
    export(load_dataset(tmp_path / "parquet"), "json", tmp_path / "json")
    same(load_dataset(forms[0]), load_dataset(tmp_path / "parquet"))
    for name in ("questions.json", "dataset.json", "predictions.jsonl"):
        assert (tmp_path / "json" / name).read_bytes() == (
            forms[0] / name
        ).read_bytes()


@pytest.fixture(scope="module")
def of_1_0(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("frozen")
    with tarfile.open(FROZEN) as archive:
        # Python 3.11.2, which is Debian's, knows no filter.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(home)
    return home / "1.0"


def test_parquet_and_tar_shards_of_1_0_are_read(of_1_0: Path) -> None:
    sharded = load_dataset(of_1_0 / "sharded")
    same(load_dataset(of_1_0 / "dataset"), sharded)
    assert problems_of(sharded) == []


def test_what_is_wrong_with_a_file_is_said_with_its_name(
    forms: tuple[Path, Path], tmp_path: Path
) -> None:
    meta = (forms[1] / "dataset.json").read_bytes()
    (tmp_path / "dataset.json").write_bytes(meta)
    packed = tmp_path / "dataset.parquet"
    packed.write_bytes((forms[1] / "dataset.parquet").read_bytes()[:-9])
    with pytest.raises(
        DataError, match=r"dataset\.parquet: must be a Parquet file"
    ):
        load_dataset(tmp_path)
    rows = pl.read_parquet(forms[1] / "dataset.parquet")
    broken = pl.col("question").str.replace(
        '"answer":"."', '"answer":7', literal=False
    )
    rows.with_columns(broken).write_parquet(packed)
    with pytest.raises(DataError, match=r"answer: must be text, got '7"):
        list(load_dataset(tmp_path))
    rows.drop("question").write_parquet(packed)
    with pytest.raises(DataError, match=r"dataset\.parquet: .*question"):
        list(load_dataset(tmp_path))
    with pytest.raises(UsageError, match="is not a dataset"):
        load_dataset(tmp_path / "nowhere")


def test_only_names_inside_the_dataset_are_found(
    forms: tuple[Path, Path],
) -> None:
    for name in ("../json/questions.json", "/etc/passwd", "media/none.png", 3):
        with pytest.raises(DataError):
            load_dataset(forms[1]).image(name)  # type: ignore[arg-type]


def test_spans_lie_in_order_within_the_prompt() -> None:
    assert spans_in_order(Spans(((0, 3), (3, 9)), final=(9, 10)), "0123456789")
    for options, final in (
        (((0, 3), (3, 9)), (9, 11)),
        (((-1, 3), (3, 9)), None),
        (((3, 9), (0, 3)), None),
    ):
        assert not spans_in_order(Spans(options, final=final), "0123456789")
