"""Files that earlier versions wrote open today, and their point figures are the
same."""

from __future__ import annotations

import itertools
import json
import os
import re
import socket
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest

import visualjudge as vj
from commanding import command
from visualjudge.dataset.validate import problems_of

FROZEN = Path(__file__).parent / "frozen"
VERSIONS = ("0.2", "1.0")


def unpack(version: str, to: Path) -> Path:
    with tarfile.open(FROZEN / f"{version}.tar.gz") as archive:
        # Python 3.11.2, which is Debian's, knows no filter.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(to)
    return to / version


def run(*arguments: object, cwd: Path) -> str:
    done = command(*arguments, folder=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def point_figures(metrics: Path) -> dict[str, Any]:
    judge = json.loads(metrics.read_text("utf-8"))["judges"][0]
    pairs = judge["pairwise"]
    return {
        "accuracy": pairs["accuracy"],
        "n": pairs["n"],
        "swap": pairs["swap"]["consistency"],
        "by_encoding": {
            name: row["pairwise"]["accuracy"]
            for name, row in judge["by_encoding"].items()
        },
        "scores": judge["scoring"]["pearson"],
        "error": judge["scoring"]["mae"],
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_data_dataset_and_run_open_with_the_same_figures(
    version: str, tmp_path: Path
) -> None:
    home = unpack(version, tmp_path)
    assert (
        len(list(vj.open_data(home / "data").annotations("object_detection")))
        == 32
    )
    assert problems_of(vj.load_dataset(home / "dataset")) == []
    verdicts = (home / "run/verdicts.jsonl").read_bytes()
    oracle = (
        "--backend",
        "baseline",
        "--model",
        "oracle:0.8",
        "--swap",
        "--set",
        "seed=1",
    )
    run("judge", "dataset", *oracle, "--out", "run", "--resume", cwd=home)
    assert (
        home / "run/verdicts.jsonl"
    ).read_bytes() == verdicts  # nothing is asked again
    run(
        "report",
        "run",
        "--dataset",
        "dataset",
        "--out",
        "report.html",
        "--json",
        "now.json",
        cwd=home,
    )
    now = point_figures(home / "now.json")
    for name, figure in point_figures(home / "metrics.json").items():
        assert now[name] == pytest.approx(figure, abs=1e-9), name


@pytest.mark.parametrize("version", VERSIONS)
def test_a_data_folder_of_then_builds_today(
    version: str, tmp_path: Path
) -> None:
    home = unpack(version, tmp_path)
    few = {
        "encoding_groups": 1,
        "judge_groups": 1,
        "judge_pairs": 2,
        "ranking_groups": 0,
    }
    words = [
        word
        for name, count in few.items()
        for word in ("--set", f"{name}={count}")
    ]
    run("build", "data", *words, "--out", "again", cwd=home)
    assert len(vj.load_dataset(home / "again").questions) > 0


def test_a_study_of_02_goes_on_today(tmp_path: Path) -> None:
    home = unpack("0.2", tmp_path)
    verdicts = home / "people/verdicts.jsonl"
    before = verdicts.read_bytes()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    words = [
        sys.executable,
        "-m",
        "visualjudge",
        "studio",
        "dataset",
        "--people",
        "people",
        "--port",
        port,
    ]
    words += ["--rater", "anna", "--rater", "ben", "--sample", "12"]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with subprocess.Popen(
        words, cwd=home, env=env, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        token = re.findall(
            r"/people/ben\?token=(\w+)",
            "".join(itertools.islice(server.stdout, 3)),
        )[0]
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}/people/ben/",
            headers={"X-Studio-Token": token},
            transport=httpx.HTTPTransport(retries=8),
        )
        question = client.get("next").json()["question"]
        value = {"pairwise": "A", "ranking": "A", "scoring": 7}[
            question["type"]
        ]
        body = {"slot": question["slot"], "seconds": 1.5, "value": value}
        assert client.post("answer", json=body).status_code == 200
        server.terminate()
    assert verdicts.read_bytes().startswith(before)
    assert verdicts.read_bytes().count(b"\n") == before.count(b"\n") + 1
