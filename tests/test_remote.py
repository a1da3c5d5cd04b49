"""Datasets in an object store: read where they are, by every command that reads one; nothing secret is told."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from making import detection_folder
from visualjudge import remote
from visualjudge.confine import confined_path
from visualjudge.dataset.build import build
from visualjudge.dataset.convert import convert
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.validate import validate
from visualjudge.errors import DataError, UsageError
from visualjudge.remote import RemotePath, located


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A store in memory in place of S3."""
    store = fsspec.filesystem("memory")
    monkeypatch.setattr(remote, "_store", lambda scheme: store)
    remote._listed.cache_clear()
    yield store
    store.store.clear()
    remote._listed.cache_clear()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("remote")
    build(detection_folder(home / "data", [1.0, 2.0, 3.0]), home / "dataset")
    convert(home / "dataset", home / "packed", "parquet", media="shards")
    return home


@pytest.mark.parametrize("stated", ["s3://bucket/a/b", "s3:/bucket/a/b", Path("s3://bucket/a/b")])
def test_an_address_stays_one_however_pathlib_writes_it(memory: Any, stated: str | Path) -> None:
    path = located(stated)
    assert (str(path), str(path / "c.json"), path.name) == ("s3://bucket/a/b", "s3://bucket/a/b/c.json", "b")
    assert str((path / "media/c.png").relative_to(path)) == "media/c.png"
    assert located(path) is path
    assert path.resolve() == path


def test_other_paths_stay_paths() -> None:
    for path in ("a/b", "/a", "s3x://a", "c:/a", "http://a/b", "s3:", "s3"):
        assert located(path) == Path(path)


def test_a_dataset_of_files_is_read_where_it_is(memory: Any, built: Path) -> None:
    memory.put(str(built / "dataset"), "/bucket/dataset", recursive=True)
    dataset, near = load_dataset("s3://bucket/dataset"), load_dataset(built / "dataset")
    assert list(dataset) == list(near)
    assert (dataset.digest, dataset.meta) == (near.digest, near.meta)
    name = dataset[0].images[0]
    assert dataset.image(name).read_bytes() == near.image(name).read_bytes()
    assert validate("s3://bucket/dataset")[1] == []
    with pytest.raises(DataError, match="leads out"):
        dataset.image("../other.png")
    with pytest.raises(DataError, match="there is no file"):
        confined_path(dataset.root, "media/none.png")


def test_credentials_in_an_address_are_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="must not hold credentials") as caught:
        located("s3://key:hush@bucket/dataset")
    assert "hush" not in str(caught.value)


def test_errors_of_a_store_are_one_line_without_secrets(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("key hush-hush is not allowed\nand more")

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush-hush")
    monkeypatch.setattr(memory, "cat_file", refuse, raising=False)
    with pytest.raises(DataError, match=r"^s3://b/a: cannot be read: PermissionError: key … is not allowed$"):
        RemotePath("s3:/b/a").read_bytes()


def test_what_must_be_local_says_so(built: Path) -> None:
    for write in (lambda: build(built / "data", "s3://b/x"), lambda: convert("s3://b/x", built / "y", "json")):
        with pytest.raises(UsageError, match="must be a local folder"):
            write()


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match=r"pip install 'visualjudge\[remote\]'"):
        located("s3://bucket/dataset")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server of S3 on this machine."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "hush-hush",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    running = server.ThreadedMotoServer("127.0.0.1", port, verbose=False)
    running.start()
    fsspec.filesystem("s3").clear_instance_cache()
    store = fsspec.filesystem("s3")
    store.makedirs("bucket", exist_ok=True)
    remote._listed.cache_clear()
    yield store
    running.stop()
    store.clear_instance_cache()


def _run(home: Path, *words: object) -> str:
    command = [sys.executable, "-m", "visualjudge", *map(str, words)]
    done = subprocess.run(command, cwd=home, env={**os.environ}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("form", ["dataset", "packed"])
def test_commands_read_a_dataset_on_s3_without_a_copy(s3: Any, built: Path, tmp_path: Path, form: str) -> None:
    s3.put(str(built / form), f"bucket/{form}", recursive=True)
    address = f"s3://bucket/{form}"
    judge = ("--backend", "local", "--model", "default")
    _run(tmp_path, "judge", address, *judge, "--out", "run")
    _run(tmp_path, "judge", built / "dataset", *judge, "--out", "near")
    assert _values(tmp_path / "run") == _values(tmp_path / "near")
    _run(tmp_path, "report", "run", "--out", "report.html")
    assert "data:image/jpeg;base64," in (tmp_path / "report.html").read_text()
    assert "all checksums and rules hold" in _run(tmp_path, "validate", address)
    assert json.loads((tmp_path / "run/run.json").read_text())["dataset"]["path"] == address
    assert not any(b"hush-hush" in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    shutil.rmtree(tmp_path / "near")
    assert not list(tmp_path.rglob("*.png"))


def _values(run: Path) -> dict[str, object]:
    return {v["id"]: v["value"] for v in map(json.loads, (run / "verdicts.jsonl").read_text().splitlines())}
