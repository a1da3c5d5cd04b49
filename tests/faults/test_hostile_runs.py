"""A stranger's run folder: nothing outside it is read, written or sent to, and each is told in one
line.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import visualjudge as vj
from batch.fake_batches import FakeBatches, Faults
from faults.hostile_runs import ELSEWHERE, SECRET, folders, part, servers, victim
from runs.made_dataset import make_dataset
from visualjudge.cli.main import run as run_command
from visualjudge.clients.batch.batched_client import Settings
from visualjudge.clients.retry import RetryPolicy
from visualjudge.runs.batch.ledger import parts_of

KEY = "sk-hostile-0123456789"
Said = tuple[int, str]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    few = RetryPolicy(attempts=2, first_wait_s=0.01)
    monkeypatch.setattr("visualjudge.clients.batch.provider.PATIENCE", few)


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeBatches]:
    with FakeBatches(Faults(slow_s=0)) as server:
        yield server


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("dataset"), pairwise=4, ranking=0, scoring=0)


@pytest.fixture(scope="module")
def good(fake: FakeBatches, dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two batches, of which the second has been fetched, and one verdict."""
    run = tmp_path_factory.mktemp("good") / "run"
    settings = Settings(2, 0.1, wait=False)
    asked = vj.client(
        "api", model="m", base_url=f"{fake.url}/v1", api_key=KEY, cache=False, batch=settings
    )
    vj.judge(dataset, asked, run, mode="text", progress=False)
    fake.batches["batch_1"].ready = float("inf")
    assert commanded("batch", "fetch", run, "--base-url", f"{fake.url}/v1")[0] == 0
    assert [one.open for one in parts_of(run).values()] == [True, False]
    fake.batches["batch_1"].ready = 0.0
    return run


def commanded(*words: object) -> Said:
    """Exit status and stderr of a command, run here."""
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    said, argv = StringIO(), sys.argv
    sys.argv = ["visualjudge", *map(str, words)]
    try:
        with redirect_stderr(said), redirect_stdout(said):
            run_command()
    except SystemExit as end:
        return int(end.code or 0), said.getvalue()
    finally:
        sys.argv = argv
    return 0, said.getvalue()


def state(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Of every file: its bytes, its names, when it was written."""
    found = {}
    for path in sorted(folder.rglob("*")):
        at = path.stat()
        found[str(path)] = (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            at.st_mtime_ns,
            at.st_size,
        )
    return found


def commands(run: Path, dataset: Path, url: str) -> list[tuple[object, ...]]:
    batch = [("batch", name, run, "--base-url", url) for name in ("status", "fetch", "cancel")]
    asked = (
        "judge",
        dataset,
        "--model",
        "m",
        "--base-url",
        url,
        "--set",
        "cache=false",
        "--set",
        "mode=text",
        "--out",
        run,
    )
    batched = (*asked, "--batch", "--poll", "0.1")
    dropped = ("batch", "drop", run, "batch_1")
    return [
        *batch,
        (*asked, "--resume"),
        (*batched, "--resume"),
        (*batched, "--set", "retry_errors=true"),
        dropped,
    ]


def check_told(said: list[Said]) -> None:
    assert any(status != 0 for status, _ in said), said
    for status, text in said:
        assert status in (0, 1, 2), text
        assert "Traceback" not in text
        assert SECRET not in text
        if status:
            told = [line for line in text.splitlines() if line.startswith("visualjudge: ")]
            assert 1 <= len(told) <= 4, text
            assert all(line.isprintable() and len(line) < 1000 for line in told), told


NAMES = [name for name, _ in folders()]
WORST = [
    "link batches",
    "link verdicts.jsonl",
    "submitted: batch '../victim/data'",
    "planned: part '../../x'",
]
WORST += [
    "hard link verdicts.jsonl",
    "FIFO run.json",
    "journal: of another program",
    "link .verdicts.jsonl.lock",
]
CHOSEN = (
    NAMES if os.environ.get("VISUALJUDGE_SOAK") else sorted({*WORST, *NAMES[::24]}, key=NAMES.index)
)


def test_there_are_forty_hostile_folders_or_more() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 40


@pytest.mark.parametrize("name", CHOSEN)
def test_nothing_outside_a_hostile_folder_is_read_or_written(
    name: str, good: Path, fake: FakeBatches, dataset: Path, tmp_path: Path
) -> None:
    run, other = tmp_path / "run", victim(tmp_path / "victim")
    shutil.copytree(good, run)
    dict(folders())[name](run, other)
    before, said = state(other), []
    for words in commands(run, dataset, f"{fake.url}/v1"):
        said.append(commanded(*words))
        assert state(other) == before, words
    check_told(said)
    inside = [
        path
        for path in run.rglob("*")
        if path.is_file() and not path.is_symlink() and path.stat().st_nlink == 1
    ]
    assert not any(SECRET.encode() in path.read_bytes() for path in inside)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "victim"]


@pytest.mark.parametrize("name", [name for name, _ in servers()])
def test_no_key_goes_to_a_server_that_only_a_folder_names(
    name: str, good: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(good, run)
    dict(servers())[name](run, tmp_path)
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.2", 0))
        server.listen()
        server.settimeout(0.05)
        told = (
            (run / "run.json")
            .read_text()
            .replace("127.0.0.2:9", f"127.0.0.2:{server.getsockname()[1]}")
        )
        (run / "run.json").write_text(told)
        for command in ("status", "fetch", "cancel"):
            status, text = commanded("batch", command, run, "--api-key-env", "OPENAI_API_KEY")
            assert status == 2
            assert len(text.splitlines()) == 1
            assert text.rstrip("\n").isprintable()
            assert KEY not in text
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_server_that_the_user_names_or_trusts_is_asked(
    good: Path, fake: FakeBatches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(good, run)
    refused = commanded("batch", "status", run)
    assert refused[0] == 2
    assert f"--base-url {fake.url}/v1 or --trust" in refused[1]
    assert commanded("batch", "status", run, "--base-url", f"{fake.url}/v1")[0] == 0
    status, text = commanded("batch", "status", run, "--trust")
    assert status == 0
    assert f"asking {fake.url}/v1" in text
    monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.url}/v1/")
    assert commanded("batch", "status", run)[0] == 0


def test_the_servers_of_the_makers_need_no_confirmation(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from visualjudge.runs.batch.fetch_and_cancel import Keeper

    run = tmp_path / "run"
    shutil.copytree(good, run)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{ELSEWHERE}/v1")
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(manifest | {"base_url": "https://api.openai.com/v1"}))
    keeper = Keeper.of(run, base_url=None, api_key=None, folder=None)
    assert keeper.server == "https://api.openai.com/v1"


def test_the_run_folder_itself_may_be_a_link(
    good: Path, fake: FakeBatches, dataset: Path, tmp_path: Path
) -> None:
    shutil.copytree(good, tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    assert commanded(*commands(tmp_path / "link", dataset, f"{fake.url}/v1")[4])[0] == 0
    assert (tmp_path / "link").is_symlink()


def test_only_files_of_the_runs_own_parts_are_removed(
    good: Path, fake: FakeBatches, dataset: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(good, run)
    others = [
        "notes.txt",
        "0123456789abcdef.jsonl",
        "0123456789abcdef.names",
        f"{part(run, 0)}.txt",
    ]
    for name in others:
        (run / "batches" / name).write_text("mine")
    assert commanded(*commands(run, dataset, f"{fake.url}/v1")[4])[0] == 0
    assert [name for name in others if not (run / "batches" / name).is_file()] == []
    assert not (run / "batches" / f"{part(run, 0)}.jsonl").exists()


@pytest.mark.parametrize("batch", ["../victim/data", "data", "0123456789abcdef"])
def test_a_batch_folder_keeps_what_no_part_of_the_run_made(
    batch: str, good: Path, tmp_path: Path
) -> None:
    run, other = tmp_path / "run", victim(tmp_path / "victim")
    (tmp_path / "files").mkdir()
    (tmp_path / "files/0123456789abcdef.output.jsonl").symlink_to(other / "made")
    shutil.copytree(good, run)
    dict(folders())["submitted: batch 7"](run, other)
    journal = run / "batches/journal.jsonl"
    journal.write_text(journal.read_text().replace('"batch": 7', f'"batch": "{batch}"'))
    before = state(other)
    for command in ("status", "fetch", "cancel"):
        place = other if batch == "data" else tmp_path / "files"
        commanded("batch", command, run, "--batch-folder", place, "--base-url", f"{ELSEWHERE}/v1")
        assert state(other) == before


def test_a_full_or_read_only_place_is_one_line_and_no_half_file(
    good: Path, fake: FakeBatches, dataset: Path, tmp_path: Path
) -> None:
    """`ulimit -f` of half a kilobyte for what judge --batch writes; /proc takes no folder."""
    url = f"{fake.url}/v1"
    words = commands(tmp_path / "run", dataset, url)[4]
    program = [sys.executable, "-m", "visualjudge", *map(str, words)]
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -f 1; exec "$@"', "-", *program], capture_output=True, text=True
    )
    print(limited.stderr)
    assert limited.returncode == 1
    assert "Traceback" not in limited.stderr
    assert [line for line in limited.stderr.splitlines() if line.startswith("visualjudge: ")]
    status, text = commanded(*words)
    assert status == 0, text
    status, text = commanded(*commands(Path("/proc/visualjudge"), dataset, url)[4])
    assert status == 1
    assert len(text.splitlines()) == 1
