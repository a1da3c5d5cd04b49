"""What a stranger's run.json says of its dataset: a private one is neither read into
figures nor shown.
"""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import visualjudge as vj
from judged_records import pair, said, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.core.errors import DataError, VisualJudgeError
from visualjudge.studio.places import find_places

QUESTIONS = [pair(k, (3.0, 1.0)) for k in range(12)]
READERS: dict[str, Callable[[Path, Any], object]] = {
    "report": lambda run, named: analyse([run], dataset=named),
    "card": lambda run, named: vj.card([run], dataset=named),
    "label": lambda run, named: vj.label(run, 3, dataset=named),
}


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return write_dataset(tmp_path / "home/private", QUESTIONS)


@pytest.fixture
def run(private: Path, tmp_path: Path) -> Path:
    """A run of the same ids on questions of somebody else."""
    others = write_dataset(
        tmp_path / "theirs", [pair(k, (3.0, 2.0)) for k in range(12)]
    )
    return write_run(
        tmp_path / "runs/run",
        others,
        [said(question, "A") for question in QUESTIONS],
    )


def stated(run: Path, **dataset: object) -> None:
    """``run.json`` with another ``dataset``."""
    told = json.loads((run / "run.json").read_text())
    told["dataset"] = {
        k: v for k, v in (told["dataset"] | dataset).items() if v is not None
    }
    (run / "run.json").write_text(json.dumps(told))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("checksum", ["of another", None])
def test_a_run_cannot_name_a_dataset_whose_questions_it_does_not_know(
    reader: str, checksum: str | None, run: Path, private: Path
) -> None:
    stated(run, path=str(private), **({} if checksum else {"checksum": None}))
    with pytest.raises(DataError, match="`dataset`") as told:
        READERS[reader](run, None)
    assert "\n" not in str(told.value)


def test_a_dataset_that_the_user_names_is_used_and_the_difference_is_told(
    run: Path, private: Path
) -> None:
    found = analyse([run], dataset=private).judges[0]
    assert "has changed since the run" in found.problems[0]


@pytest.mark.parametrize(
    "far",
    [
        "s3://bucket/set",
        "s3:/bucket/set",
        "gs://b/x",
        "//server/share",
        "\\\\server\\x",
    ],
)
@pytest.mark.parametrize("reader", READERS)
def test_no_other_machine_is_asked_because_a_run_names_it(
    reader: str, far: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_, **__: pytest.fail("asked")
    )
    stated(run, path=far)
    with pytest.raises(
        DataError,
        match=r"dataset\.path must be a folder on this machine.*`dataset`",
    ):
        READERS[reader](run, None)


@pytest.mark.parametrize(
    "path",
    ["a\x1b[31mb", "a\0b", "a\nb", "\udc80", "x" * 5000, "/dev/zero", ""],
)
def test_a_path_that_is_none_is_one_printable_line(
    path: str, run: Path
) -> None:
    stated(run, path=path)
    with pytest.raises((VisualJudgeError, OSError)) as told:
        analyse([run])
    assert str(told.value).isprintable()
    assert len(find_places([run.parent]).runs) == 1


def test_the_studio_shows_a_dataset_beside_a_run_only_where_the_run_knows_its_checksum(
    run: Path, private: Path
) -> None:
    assert [place.name for place in find_places([run.parent]).datasets] == [
        "theirs"
    ]
    stated(run, path=str(private))
    assert find_places([run.parent]).datasets == ()
    stated(run, path=str(private), checksum=None)
    assert find_places([run.parent]).datasets == ()
    shutil.copytree(private, run.parent / "given")
    assert [place.name for place in find_places([run.parent]).datasets] == [
        "given"
    ]
