"""No command writes over what it reads, nor over a part of a dataset, run or data
folder: through the command line.
"""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

import visualjudge as vj
from making import detection, detection_folder, write_records
from runs.made_dataset import make_dataset
from visualjudge.cli.main import run
from visualjudge.core.errors import UsageError
from visualjudge.core.output_files import OutputFile, together


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """``data``, ``ds``, a run ``run`` on it, and tables of people."""
    detection_folder(tmp_path / "data", [1.0])
    write_records(
        tmp_path / "data",
        "object_detection",
        [detection(k, k + 1.0) for k in range(3)],
    )
    (tmp_path / "ds").mkdir()
    make_dataset(tmp_path / "ds")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").write_text(
        json.dumps({"dataset": {"path": str(tmp_path / "ds")}})
    )
    (tmp_path / "run/verdicts.jsonl").write_text("")
    (tmp_path / "labels.csv").write_text("annotation_id,score\n")
    shutil.copytree(tmp_path / "data", tmp_path / "ds/data")
    (tmp_path / "others").mkdir()
    (tmp_path / "others/other_fields.jsonl").write_text("mine")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "kept", "cause"),
    [
        (
            "correct run --labels labels.csv --json labels.csv",
            "labels.csv",
            "is an input file",
        ),
        (
            "agreement labels.csv --json labels.csv",
            "labels.csv",
            "is an input file",
        ),
        (
            "card run --json ds/questions.json",
            "ds/questions.json",
            "is part of a dataset, run",
        ),
        (
            "report run --summary run/verdicts.jsonl",
            "run/verdicts.jsonl",
            "is part of a dataset",
        ),
        (
            "describe data --json data/annotations/object_detection_annotations.json",
            "",
            "is part of a dataset, run",
        ),
        (
            "report run --out run/../run/verdicts.jsonl",
            "",
            "is part of a dataset, run",
        ),
        ("report run --json run/run.json", "", "is part of a dataset, run"),
        (
            "export ds --format trl --out ds/questions.json --force",
            "ds/questions.json",
            "is an input file",
        ),
        (
            "export run --format eee --out run/run.json --force",
            "run/run.json",
            "is part of a dataset, run",
        ),
        (
            "export ds --format json --limit 3 --out ds --force",
            "ds/questions.json",
            "is or holds the input",
        ),
        (
            "build ds/data --out ds --force",
            "ds/dataset.json",
            "is or holds the input",
        ),
        (
            "adopt ds/questions.json --out others",
            "others/other_fields.jsonl",
            "was not written by visualjudge",
        ),
    ],
)
def test_what_a_command_reads_is_kept(
    places: Path,
    command: str,
    kept: str,
    cause: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(places)
    words = command.split()
    target = places / (kept or words[-1])
    before = target.read_bytes()
    monkeypatch.setattr("sys.argv", ["visualjudge", *words])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 2
    assert target.read_bytes() == before
    assert cause in capsys.readouterr().err


def test_a_function_keeps_the_data_that_it_reads(places: Path) -> None:
    """As the command does, where an older dataset holds the data."""
    with pytest.raises(UsageError, match="is or holds the input"):
        vj.build(places / "ds/data", places / "ds", force=True)
    assert (places / "ds/data/annotations").is_dir()


@pytest.mark.parametrize(
    ("name", "is_part"),
    [
        ("run/x.csv", False),
        ("run/a/b/x.csv", False),
        ("run/batches/b/x.csv", True),
        ("ds/media/x.csv", True),
        ("data/images/x.csv", True),
        ("packed/dataset.parquet", True),
    ],
)
def test_a_part_is_what_we_name_so(
    places: Path, name: str, is_part: bool
) -> None:
    """A stray ``run.json`` keeps nothing else below it from ``--force``."""
    target = places / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("mine")
    refusal = (
        pytest.raises(UsageError, match="is part of a dataset, run")
        if is_part
        else nullcontext()
    )
    with refusal, together(force=True):
        OutputFile(target).write("x")
    assert target.read_text() == ("mine" if is_part else "x")


def test_two_outputs_of_a_command_are_two_files(
    places: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(places)
    monkeypatch.setattr(
        "sys.argv",
        [
            "visualjudge",
            "report",
            "run",
            "--out",
            "a.html",
            "--json",
            "./a.html",
        ],
    )
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 2
    assert (
        "a.html is what --out writes; name another file"
        in capsys.readouterr().err
    )
    assert not (places / "a.html").exists()


@pytest.mark.parametrize(
    ("command", "suffixes"),
    [
        (
            "report run --out ds.txt",
            ".html or .htm or .csv or .md or .tex",
        ),
        ("report run --json ds.txt", ".json"),
    ],
)
def test_a_file_of_another_format_is_refused(
    places: Path,
    command: str,
    suffixes: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(places)
    monkeypatch.setattr("sys.argv", ["visualjudge", *command.split()])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 2
    assert f"must end in {suffixes}, got ds.txt" in capsys.readouterr().err
