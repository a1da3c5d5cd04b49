"""What a stranger's folder states stays inside it, and costs no more than its kind
may."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.worker_chunks import grown, late, size_of
from visualjudge.core import jsons, untrusted, yamls
from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import (
    BOUNDS,
    Bound,
    apart,
    confined_path,
    confined_target,
    importing,
    read_file,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "dataset"
    (folder / "media").mkdir(parents=True)
    (folder / "media/a.png").write_bytes(b"a")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "dataset-2").mkdir()
    (tmp_path / "dataset-2/b.png").write_bytes(b"b")
    return folder


def test_a_file_inside_is_found_also_over_a_link_that_stays_inside(
    root: Path,
) -> None:
    (root / "media/link.png").symlink_to("a.png")
    assert confined_path(root, "media/a.png") == root / "media/a.png"
    assert confined_path(root, "media/link.png").read_bytes() == b"a"


def test_any_other_name_is_refused(root: Path) -> None:
    for name in (
        "../secret.png",
        "media/../../secret.png",
        "media/../media/a.png",
        "/etc/passwd",
        "C:\\Windows\\win.ini",
        "C:a.png",
        "\\\\host\\share\\a.png",
        "//host/share/a.png",
        "..\\secret.png",
        "../dataset-2/b.png",
        "a\0.png",
        "media/a.png\n",
        "",
        "x" * 5000,
        "\ud800.png",
        "http://127.0.0.1/a.png",
        "file:///etc/passwd",
        "media",
        "nowhere.png",
        None,
        5,
        ["media/a.png"],
    ):
        try:
            path = confined_path(root, name)
        except DataError:
            continue
        pytest.fail(f"{name!r} was taken as {path}")


@pytest.mark.parametrize("kind", ["file", "folder", "loop", "device", "fifo"])
def test_links_out_loops_devices_and_pipes_are_refused(
    root: Path, tmp_path: Path, kind: str
) -> None:
    name = "media/x.png"
    if kind == "file":
        (root / name).symlink_to(tmp_path / "secret.png")
    elif kind == "folder":
        (root / "out").symlink_to(tmp_path)
        name = "out/secret.png"
    elif kind == "loop":
        (root / name).symlink_to("x.png")
    elif kind == "device":
        (root / name).symlink_to("/dev/zero")
    else:
        os.mkfifo(root / name)
    with pytest.raises(DataError):
        confined_path(root, name)


def test_nothing_is_written_over_a_link(root: Path, tmp_path: Path) -> None:
    (root / "out").symlink_to(tmp_path)
    (root / "media/target.png").symlink_to(tmp_path / "secret.png")
    for name in ("out/new.png", "media/target.png", "../new.png"):
        with pytest.raises(DataError):
            confined_target(root, name)
    assert confined_target(root, "media/new.png") == root / "media/new.png"


def test_the_blobs_of_a_hub_snapshot_are_at_home(tmp_path: Path) -> None:
    repo = tmp_path / "datasets--me--data"
    snapshot = repo / "snapshots/abc123"
    (repo / "blobs").mkdir(parents=True)
    (snapshot / "images").mkdir(parents=True)
    (repo / "blobs/0f3a").write_bytes(b"x")
    (tmp_path / "secret.png").write_bytes(b"x")
    (snapshot / "images/a.png").symlink_to("../../../blobs/0f3a")
    (snapshot / "images/b.png").symlink_to(tmp_path / "secret.png")
    (snapshot / "c.png").symlink_to("../../blobs/../../secret.png")
    assert confined_path(snapshot, "images/a.png").read_bytes() == b"x"
    assert confined_path(snapshot / "images", "a.png").read_bytes() == b"x"
    for name in ("images/b.png", "c.png"):
        with pytest.raises(DataError, match="through a link"):
            confined_path(snapshot, name)


def test_an_import_that_is_told_so_reads_files_anywhere_but_no_devices(
    root: Path, tmp_path: Path
) -> None:
    (root / "media/x.png").symlink_to(tmp_path / "secret.png")
    names = (str(tmp_path / "secret.png"), "../secret.png", "media/x.png")
    with importing(outside=True):
        assert [confined_path(root, name).read_bytes() for name in names] == [
            b"secret"
        ] * 3
        for name in ("/dev/zero", "a\0b", "", "/nowhere"):
            with pytest.raises(DataError):
                confined_path(root, name)
    with importing(outside=False):
        for name in names:
            with pytest.raises(DataError, match="`allow_outside` permits it"):
                confined_path(root, name)
    with pytest.raises(DataError) as caught:
        confined_path(root, names[0])
    assert "`allow_outside`" not in str(caught.value)


def test_a_file_over_the_bound_of_its_kind_is_refused_before_it_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = root / "media/large"
    with large.open("wb") as file:
        file.truncate(BOUNDS["manifest"].size + 1)
    with pytest.raises(
        DataError, match=r"large: must have at most 16 MiB, got 16\.00 MiB$"
    ):
        read_file(large, "manifest")
    os.mkfifo(root / "endless")
    monkeypatch.setitem(BOUNDS, "yaml", Bound(4))
    (root / "b.yaml").write_text("a: 12")
    with pytest.raises(DataError, match=r"b\.yaml: must have at most"):
        yamls.read_yaml(root / "b.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 99 + "]" * 99,
        "a: &a [x]\nb: *a",
        "a: '" + "${b}" * 65 + "'",
        "a: !!python/object/apply:os.system [ls]",
        "a: b: c",
    ],
)  # fmt: skip
def test_yaml_that_nests_grows_or_acts_is_refused(
    root: Path, text: str
) -> None:
    (root / "a.yaml").write_text(text)
    with pytest.raises(DataError, match=r"a\.yaml: must be YAML"):
        yamls.read_yaml(root / "a.yaml")


def test_json_that_nests_is_refused(root: Path) -> None:
    (root / "a.json").write_text("[" * 201 + "]" * 201)
    with pytest.raises(DataError, match=r"a\.json: .*is not JSON"):
        jsons.read(root / "a.json", "json")


@pytest.mark.usefixtures("reading_apart")
def test_reading_apart_costs_no_more_than_it_may(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrusted, "SECONDS_APART", 1)
    assert apart(size_of, root / "media/a.png", "image") == 1
    for function in (grown, late):
        with pytest.raises(
            DataError,
            match=r"a\.png: takes more than 512 MiB .* or 1 s to read",
        ):
            apart(function, root / "media/a.png", "image")
    (root / "b.png").touch()
    with pytest.raises(DataError, match=r"^b\.png: must be a$"):
        apart(size_of, root / "b.png", "image")


def test_reading_apart_runs_neither_the_script_nor_what_lies_in_the_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/csv.py").write_text("raise SystemExit")
    (tmp_path / "folder/a").touch()
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\nfrom pathlib import Path\nfrom visualjudge.core.untrusted "
        "import apart\n"
        "print(apart(Path.exists, Path('a'), 'table'))\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path / "folder",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "once\nTrue\n"


def test_the_page_of_security_states_the_bounds() -> None:
    page = (Path(__file__).parents[2] / "docs/security.md").read_text("utf-8")
    assert len(page.split()) <= 900
    for kind, bound in BOUNDS.items():
        [row] = [
            line for line in page.splitlines() if line.startswith(f"| `{kind}`")
        ]
        assert f"| {(bound.size or bound.line) >> 20} MiB |" in row
        further = [
            f" {bound.depth} levels deep" if bound.depth else "",
            f" {bound.line >> 20} MiB a" if bound.size and bound.line else "",
            f"{bound.unpacked >> 20} MiB unpacked" if bound.unpacked else "",
            _in_words(bound.items) if bound.items else "",
        ]
        row = row.replace("as much", f"{bound.size >> 20} MiB")
        assert [words for words in further if words not in row] == []


def _in_words(count: int) -> str:
    millions = f" {count / 1e6:g} million "
    return millions if count >= 1_000_000 else f" {count:,} "
