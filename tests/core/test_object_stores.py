"""Datasets in an object store: read where they are, by every command that reads one; nothing secret
is told.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from making import detection_folder, make_folder
from visualjudge.core import image_storage, object_stores
from visualjudge.core.confined_paths import confined_path
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.core.object_stores import RemotePath, located
from visualjudge.dataset.build import BuildOptions, build
from visualjudge.dataset.convert import convert
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.staging import staged
from visualjudge.dataset.validate import validate
from visualjudge.vision.raster.images import image_size, read_rgb


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A store in memory in place of S3."""
    store = fsspec.filesystem("memory")
    monkeypatch.setattr(object_stores, "_store", lambda scheme: store)
    object_stores._listed.cache_clear()
    yield store
    store.store.clear()
    store.pseudo_dirs[:] = [""]
    object_stores._listed.cache_clear()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("remote")
    build(detection_folder(home / "data", [1.0, 2.0, 3.0]), home / "dataset")
    convert(home / "dataset", home / "packed", "parquet", media="shards")
    build(home / "data", home / "shards", media="shards")
    return home


@pytest.mark.parametrize("stated", ["s3://bucket/a/b", "s3:/bucket/a/b", Path("s3://bucket/a/b")])
def test_an_address_stays_one_however_pathlib_writes_it(memory: Any, stated: str | Path) -> None:
    path = located(stated)
    assert (str(path), str(path / "c.json"), path.name) == (
        "s3://bucket/a/b",
        "s3://bucket/a/b/c.json",
        "b",
    )
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


@pytest.mark.parametrize("form", ["dataset", "shards"])
def test_validate_fetches_each_image_once_several_at_a_time(
    memory: Any, built: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.put(str(built / form), f"/bucket/{form}", recursive=True)
    fetched: list[list[tuple[str, int]]] = []
    real = memory.cat_ranges

    def cat_ranges(keys: list[str], starts: list[int], ends: list[int], **options: Any) -> Any:
        fetched.append(list(zip(keys, starts, strict=True)))
        return real(keys, starts, ends, **options)

    monkeypatch.setattr(memory, "cat_ranges", cat_ranges, raising=False)
    opened: list[str] = []
    monkeypatch.setattr(RemotePath, "open", _counted(RemotePath.open, opened))
    assert validate(f"s3://bucket/{form}")[1] == []
    images = [stretch for batch in fetched for stretch in batch]
    assert len(images) == len(set(images)) == len(load_dataset(built / "dataset").meta["files"]) - 2
    assert len(fetched) == -(-len(images) // 64)
    assert not any(name.endswith(".png") for name in opened)


def _counted(real: Any, names: list[str]) -> Any:
    def counted(path: RemotePath, *words: Any) -> Any:
        names.append(str(path))
        return real(path, *words)

    return counted


def test_what_is_wrong_with_an_image_in_a_store_is_said(memory: Any, built: Path) -> None:
    memory.put(str(built / "dataset"), "/bucket/dataset", recursive=True)
    first, second = sorted(
        path for path in memory.find("/bucket/dataset") if path.endswith(".png")
    )[:2]
    memory.pipe_file(first, b"no image")
    memory.rm(second)
    object_stores._listed.cache_clear()
    told = [str(problem) for problem in validate("s3://bucket/dataset")[1]]
    assert any("it was changed after the build" in line for line in told)
    assert any("not an image" in line and Path(first).name in line for line in told)
    assert any("the file is missing" in line and Path(second).name in line for line in told)


@pytest.mark.parametrize("form", ["dataset", "shards"])
def test_an_image_that_was_looked_at_is_closed(
    memory: Any, built: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.put(str(built / form), f"/bucket/{form}", recursive=True)
    files: list[io.BytesIO] = []
    for kind in (RemotePath, image_storage.Part):
        real = kind.open

        def kept(self: Any, mode: Any = "rb", real: Any = real) -> Any:
            files.append(io.BytesIO(real(self, mode).read()))
            return files[-1]

        monkeypatch.setattr(kind, "open", kept)
    dataset = load_dataset(f"s3://bucket/{form}")
    place = dataset.image(dataset[0].images[0])
    assert image_size(place) == read_rgb(place).shape[:2]
    assert len(files) == 2 and all(file.closed for file in files)


def test_credentials_in_an_address_are_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="must not hold credentials") as caught:
        located("s3://key:hush@bucket/dataset")
    assert "hush" not in str(caught.value)


def test_errors_of_a_store_are_one_line_without_secrets(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("key hush-hush is not allowed\nand more")

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush-hush")
    monkeypatch.setattr(memory, "cat_file", refuse, raising=False)
    with pytest.raises(
        DataError, match=r"^s3://b/a: cannot be read: PermissionError: key … is not allowed$"
    ):
        RemotePath("s3:/b/a").read_bytes()


def test_what_must_be_local_says_so(memory: Any, built: Path) -> None:
    with pytest.raises(UsageError, match="must be a local folder"):
        convert("s3://b/x", built / "y", "json")


def _tree(store: Any, folder: str) -> dict[str, bytes]:
    return {path.removeprefix(f"{folder}/"): store.cat_file(path) for path in store.find(folder)}


def _local_tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose records name images, masks, controls and files of predictions, and its
    dataset.
    """
    home = tmp_path_factory.mktemp("many")
    tasks = (
        "object_detection",
        "depth_estimation",
        "lowlevel-deblur",
        "generation_inpainting_high_level",
    )
    build(make_folder(home / "data", tasks=tasks), home / "dataset")
    return home


def test_a_data_folder_in_a_store_builds_the_bytes_of_a_local_one(
    memory: Any, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    memory.put(str(many / "data"), "/bucket/data", recursive=True)
    told: list[tuple[str, int, int]] = []
    build("s3://bucket/data", tmp_path / "dataset", progress=lambda *step: told.append(step))
    assert _local_tree(tmp_path / "dataset") == _local_tree(many / "dataset")
    files = len(memory.find("/bucket/data"))
    assert [step[1:] for step in told if step[0] == "fetching files"] == [(files, files)]
    assert not list((tmp_path / "tmp").iterdir())


def test_problems_of_a_data_folder_in_a_store_name_what_its_owner_knows(
    memory: Any, tmp_path: Path
) -> None:
    memory.put(str(detection_folder(tmp_path / "data", [1.0, 1.0])), "/bucket/data", recursive=True)
    with pytest.raises(DataError, match=r"^s3://bucket/data: no question can be asked"):
        build(
            "s3://bucket/data", tmp_path / "dataset", BuildOptions(subsets=("encoding_analysis",))
        )
    with pytest.raises(UsageError, match=r"^s3://bucket/none is not a data folder"):
        build("s3://bucket/none", tmp_path / "dataset")


def test_a_file_of_a_store_whose_name_leads_out_is_not_fetched(
    memory: Any, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        "bucket/data/annotations/depth_estimation_annotations.json",
        "bucket/data/annotations/../../../out.png",
    ]
    monkeypatch.setattr(memory, "find", lambda key: names, raising=False)
    monkeypatch.setattr(memory, "get", lambda *_: pytest.fail("it was fetched"), raising=False)
    with pytest.raises(DataError, match="leads out"):
        build("s3://bucket/data", tmp_path / "dataset")


@pytest.mark.parametrize("form", ["files", "shards"])
def test_a_build_into_a_store_has_the_bytes_of_a_local_one(
    memory: Any, built: Path, tmp_path: Path, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_storage, "SHARD_BYTES", 20_000)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    build(built / "data", tmp_path / "near", media=form, form="parquet")
    build(built / "data", "s3://bucket/far", media=form, form="parquet")
    assert _tree(memory, "/bucket/far") == _local_tree(tmp_path / "near")
    assert not list((tmp_path / "tmp").iterdir())
    assert not (Path.cwd() / "s3:").exists()


def _put_order(store: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the files of each ``put`` from now on, and how many files their folder had."""
    calls: list[list[str]] = []
    real = store.put

    def put(local: list[str], there: list[str]) -> None:
        calls.append([name.removeprefix("bucket/far/") for name in there])
        real(local, there)

    monkeypatch.setattr(store, "put", put, raising=False)
    return calls


def test_shards_leave_when_they_are_whole_and_what_names_the_dataset_goes_last(
    memory: Any, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_storage, "SHARD_BYTES", 20_000)
    calls = _put_order(memory, monkeypatch)
    build(built / "data", "s3://bucket/far", media="shards", form="parquet")
    assert calls[:3] == [[".partial"], ["media/shard-00000.tar"], ["media/shard-00001.tar"]]
    assert calls[-1] == ["dataset.json"]
    assert not any("media/shard" in name for name in calls[-2])
    assert ".partial" not in _tree(memory, "/bucket/far")


def test_a_build_that_fails_leaves_nothing_in_the_store(
    memory: Any, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = memory.put

    def put(local: list[str], there: list[str]) -> None:
        if any(name.endswith("index.json") for name in there):
            raise PermissionError("no room")
        real(local, there)

    monkeypatch.setattr(memory, "put", put, raising=False)
    with pytest.raises(
        RunError, match=r"^s3://bucket/far\S*: cannot be written: PermissionError: no room$"
    ):
        build(built / "data", "s3://bucket/far", form="parquet", media="shards")
    assert not memory.find("/bucket/far")


def test_nothing_in_a_store_is_replaced(memory: Any, built: Path) -> None:
    memory.put(str(built / "dataset"), "/bucket/far", recursive=True)
    before = _tree(memory, "/bucket/far")
    for force, reason in ((False, "already exists"), (True, "--force replaces local folders only")):
        with pytest.raises(UsageError, match=reason):
            build(built / "data", "s3://bucket/far", force=force)
    memory.pipe_file("/bucket/killed/.partial", b"")
    with pytest.raises(UsageError, match="another command is writing there or was killed"):
        build(built / "data", "s3://bucket/killed")
    with pytest.raises(UsageError, match="already exists"), staged(Path("s3://bucket/far")):
        raise AssertionError
    assert _tree(memory, "/bucket/far") == before


def test_a_conversion_goes_into_a_store_too(memory: Any, built: Path) -> None:
    convert(built / "dataset", "s3://bucket/far", "parquet", media="shards")
    assert _tree(memory, "/bucket/far") == _local_tree(built / "packed")


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match=r"pip install 'visualjudge\[remote\]'"):
        located("s3://bucket/dataset")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.fixture
def gs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server of Google Cloud Storage on this machine."""
    gcsfs = pytest.importorskip("gcsfs")
    server = pytest.importorskip("gcp_storage_emulator.server")
    port = _free_port()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    monkeypatch.setenv(
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false"
    )  # it asks the server by another protocol
    running = server.create_server("127.0.0.1", port, in_memory=True, default_bucket="bucket")
    running.start()
    gcsfs.GCSFileSystem.clear_instance_cache()
    object_stores._listed.cache_clear()
    yield fsspec.filesystem("gs")
    running.stop()
    gcsfs.GCSFileSystem.clear_instance_cache()


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server of S3 on this machine."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server")
    port = _free_port()
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
    object_stores._listed.cache_clear()
    yield store
    running.stop()
    store.clear_instance_cache()


def _run(home: Path, *words: object) -> str:
    command = [sys.executable, "-m", "visualjudge", *map(str, words)]
    done = subprocess.run(
        command, cwd=home, env={**os.environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("form", ["dataset", "packed"])
def test_commands_read_a_dataset_on_s3_without_a_copy(
    s3: Any, built: Path, tmp_path: Path, form: str
) -> None:
    s3.put(str(built / form), f"bucket/{form}", recursive=True)
    address = f"s3://bucket/{form}"
    judge = ("--backend", "local", "--model", "default")
    _run(tmp_path, "judge", address, *judge, "--out", "run")
    _run(tmp_path, "judge", built / "dataset", *judge, "--out", "near")
    assert _values(tmp_path / "run") == _values(tmp_path / "near")
    _run(tmp_path, "report", "run", "--dataset", address, "--out", "report.html")
    assert "data:image/jpeg;base64," in (tmp_path / "report.html").read_text()
    assert "all checksums and rules hold" in _run(tmp_path, "validate", address)
    assert json.loads((tmp_path / "run/run.json").read_text())["dataset"]["path"] == address
    assert not any(b"hush-hush" in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    shutil.rmtree(tmp_path / "near")
    assert not list(tmp_path.rglob("*.png"))


def test_a_dataset_is_built_judged_and_reported_on_s3_without_a_copy(
    s3: Any, built: Path, tmp_path: Path
) -> None:
    work, address = tmp_path / "work", "s3://bucket/built"
    work.mkdir()
    told = _run(
        work, "build", built / "data", "--out", address, "--media", "shards", "--format", "parquet"
    )
    assert f"in {address}" in told
    assert _tree(s3, "bucket/built") == _local_tree(built / "packed")
    _run(work, "judge", address, "--backend", "local", "--model", "default", "--out", "run")
    _run(work, "report", "run", "--dataset", address, "--out", "report.html")
    assert {path.name for path in work.rglob("*")} == {
        "run", "run.json", "verdicts.jsonl", ".verdicts.jsonl.lock", "report.html"
    }  # fmt: skip
    with pytest.raises(RunError, match="s3://none/x: cannot be written"):
        build(built / "data", "s3://none/x")


@pytest.mark.parametrize("media_form", ["files", "shards"])
def test_google_cloud_storage_holds_data_and_datasets(
    gs: Any, many: Path, tmp_path: Path, media_form: str
) -> None:
    gs.put(str(many / "data"), "bucket/data", recursive=True)
    address = "gs://bucket/built"
    _run(tmp_path, "build", "gs://bucket/data", "--out", address, "--media", media_form)
    build(many / "data", tmp_path / "near", media=media_form)  # type: ignore[arg-type]
    gs.invalidate_cache()
    assert _tree(gs, "bucket/built") == _local_tree(tmp_path / "near")
    _run(tmp_path, "judge", address, "--backend", "local", "--model", "default", "--out", "run")
    _run(tmp_path, "judge", "near", "--backend", "local", "--model", "default", "--out", "other")
    assert _values(tmp_path / "run") == _values(tmp_path / "other")
    assert "all checksums and rules hold" in _run(tmp_path, "validate", address)
    with pytest.raises(UsageError, match="already exists"):
        build(many / "data", address)


def test_a_data_folder_on_s3_is_built_into_a_dataset_on_s3(
    s3: Any, many: Path, tmp_path: Path
) -> None:
    s3.put(str(many / "data"), "bucket/folder/data", recursive=True)
    _run(
        tmp_path,
        "build",
        "s3://bucket/folder/data",
        "--out",
        "s3://bucket/folder/built",
        "--workers",
        "2",
    )
    s3.invalidate_cache()
    assert _tree(s3, "bucket/folder/built") == _local_tree(many / "dataset")
    assert not list(tmp_path.iterdir())


def _values(run: Path) -> dict[str, object]:
    return {
        v["id"]: v["value"]
        for v in map(json.loads, (run / "verdicts.jsonl").read_text().splitlines())
    }
