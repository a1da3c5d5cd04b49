"""build, validate, export, prompts as a user meets them: lines, counts and exit
statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from making import detection, detection_folder, write_records
from visualjudge.cli.main import run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return detection_folder(tmp_path / "data", [1.0, 2.0, 3.0])


def _status(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["visualjudge", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        run()
    code = ended.value.code
    assert isinstance(code, int | None)
    return code or 0


def test_clean_data_builds_validates_and_exports(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert (
        _status(monkeypatch, "build", data, "--out", out, "--workers", 1) == 0
    )
    assert _status(monkeypatch, "describe", out) == 0
    assert "all checksums and rules hold" in capsys.readouterr().out
    assert (
        _status(
            monkeypatch,
            "export",
            out,
            "--format",
            "trl",
            "--out",
            tmp_path / "t.jsonl",
        )
        == 0
    )
    assert (
        _status(
            monkeypatch,
            "export",
            out,
            "--format",
            "trl",
            "--out",
            tmp_path / "t.jsonl",
        )
        == 2
    )
    assert "add --force" in capsys.readouterr().err
    assert (
        _status(
            monkeypatch,
            "export",
            out,
            "--format",
            "trl",
            "--out",
            tmp_path / "t.jsonl",
            "--force",
        )
        == 0
    )


@pytest.mark.parametrize(
    ("more", "status"), [((), 1), (("--skip-invalid",), 0)]
)
def test_bad_records_are_told_counted_and_left_out(
    data: Path,
    tmp_path: Path,
    more: tuple[str, ...],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = [detection(k, k + 1.0) for k in range(3)]
    write_records(
        data,
        "object_detection",
        [*records, detection(7, 11.0), detection(8, 1.0, image_id="gone")],
    )
    assert (
        _status(
            monkeypatch,
            "build",
            data,
            "--out",
            tmp_path / "out",
            "--workers",
            1,
            *more,
        )
        == status
    )
    first, second, last = capsys.readouterr().err.splitlines()
    assert first.startswith(
        "object_detection_annotations.json: a07: final_score: "
    )
    assert second.startswith(
        "object_detection_annotations.json: a08: image_id: "
    )
    assert last == "visualjudge: 2 invalid records left out"
    assert (
        json.loads((tmp_path / "out/dataset.json").read_text())[
            "invalid_records"
        ]
        == 2
    )


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--subset", "all"), "got 'all'"),
        (("--task", "flying"), "unknown task 'flying'"),
        (("--task", "keypoint"), "has no annotations of keypoint"),
        (
            ("--engine", "cloud"),
            "--engine must be one of 'local', 'ray', got 'cloud'",
        ),
        (("--workers", "0"), "--workers must be at least 1, got 0"),
        (("--workers", "x"), "--workers must be a whole number, got 'x'"),
        (("--set", "per_group=9"), "per_group must be at most 5, got 9"),
        (
            ("--set", "per_group=true"),
            "--set per_group must be a whole number, got True",
        ),
    ],
)
def test_wrong_option_is_one_line_and_status_2(
    data: Path,
    tmp_path: Path,
    more: tuple[str, ...],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        _status(monkeypatch, "build", data, "--out", tmp_path / "out", *more)
        == 2
    )
    [line] = capsys.readouterr().err.splitlines()
    assert reason in line
    assert not (tmp_path / "out").exists()


def test_tampered_dataset_ends_with_status_1_and_the_file(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    _status(monkeypatch, "build", data, "--out", out, "--workers", 1)
    (out / "media/original_photo.png").unlink()
    assert _status(monkeypatch, "describe", out) == 1
    assert "media/original_photo.png" in capsys.readouterr().err


def test_a_folder_of_images_that_was_renamed_is_a_few_lines(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    _status(monkeypatch, "build", data, "--out", out, "--workers", 1)
    lost = len(list((out / "media").iterdir()))
    (out / "media").rename(out / "pictures")
    capsys.readouterr()
    assert _status(monkeypatch, "describe", out) == 1
    told = capsys.readouterr().err.splitlines()
    assert lost > 3 and len(told) == 2
    assert f" and {lost - 3} more: files: there is no file" in told[0]


def test_build_says_how_much_it_left(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = (
        "build",
        data,
        "--out",
        tmp_path / "out",
        "--workers",
        1,
        "--judge-pairs",
        2,
    )
    assert _status(monkeypatch, *words) == 0
    assert (
        "object_detection: 2 of 3 pairs, 1 of 1 image (--judge-pairs 2; "
        in (capsys.readouterr().out)
    )


def test_scoring_questions_alone_are_not_told_to_lack_pairs(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "scored"
    words = ("build", data, "--type", "scoring", "--out", out)
    assert _status(monkeypatch, *words) == 0
    printed = capsys.readouterr().out
    assert "nothing is compared" not in printed
    assert "pairs" not in printed
