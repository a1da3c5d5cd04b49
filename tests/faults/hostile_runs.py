"""Run folders from a stranger, by name: each changes a good folder of a run by batches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

Change = Callable[[Path, Path], None]
"""What is done to a run folder; the second folder is another, whose files must stay as they are and
unread.
"""
SECRET = "the-text-of-a-file-outside"
ELSEWHERE = "http://127.0.0.2:9"
OPEN, ENDED = 0, 1
"""Places of two parts in the folder's journal: of the first nothing has come, of the second the
results are here.
"""


def victim(folder: Path) -> Path:
    """A folder that is somebody else's."""
    folder.mkdir()
    (folder / "authorized_keys").write_text(f'{{"id": "{SECRET}"}}\n')
    (folder / "data.jsonl").write_text(f'{{"id": "{SECRET}"}}\n')
    (folder / "run.json").write_text(
        json.dumps({"judge": SECRET, "model": SECRET, "backend": "api"})
    )
    return folder


def part(run: Path, place: int) -> str:
    lines = [json.loads(line) for line in (run / "batches/journal.jsonl").read_text().splitlines()]
    return [line["part"] for line in lines if line["event"] == "planned"][place]


def _link(run: Path, other: Path, *, name: str, to: str, place: int | None = None) -> None:
    path = run / (name if place is None else name.format(part(run, place)))
    if path.is_dir():
        path.rename(run / "moved")
    path.unlink(missing_ok=True)
    path.symlink_to(to if to.startswith("/") else other / to)


def _special(run: Path, other: Path, *, name: str, kind: str) -> None:
    path = run / name
    path.unlink(missing_ok=True)
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.hardlink_to(other / "authorized_keys")


def _line(run: Path, other: Path, *, at_event: str, **fields: Any) -> None:
    """Each line of this event has other fields; ``...`` leaves one out."""
    path = run / "batches/journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    changed = [line | fields if line["event"] == at_event else line for line in lines]
    kept = [{name: value for name, value in line.items() if value is not ...} for line in changed]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))


def _journal(run: Path, other: Path, *, content: bytes) -> None:
    (run / "batches/journal.jsonl").write_bytes(content)


def _manifest(run: Path, other: Path, **fields: Any) -> None:
    path = run / "run.json"
    found = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({name: value for name, value in found.items() if value is not ...}))


def _file(run: Path, other: Path, *, name: str, place: int, content: bytes | None) -> None:
    path = run / "batches" / name.format(part(run, place))
    path.unlink() if content is None else path.write_bytes(content)


def _batches_is_a_file(run: Path, other: Path) -> None:
    (run / "batches").rename(run / "moved")
    (run / "batches").write_text("")


def servers() -> Iterator[tuple[str, Change]]:
    """Folders that name a server, which must not be asked."""
    for name, url in {
        "elsewhere": f"{ELSEWHERE}/v1",
        "elsewhere, with a login": "http://u:p@127.0.0.2:9/v1",
        "elsewhere, control characters": f"{ELSEWHERE}/\x1b[31m\x07v1",
        "like OpenAI's": "http://api.openai.com@127.0.0.2:9/v1",
        "no URL": "http://[::1",
        "a file": "file:///etc/passwd",
    }.items():
        yield f"server {name}", partial(_manifest, base_url=url)
    for backend in ("google", "anthropic", "vllm"):
        yield (
            f"server elsewhere, of {backend}",
            partial(_manifest, backend=backend, base_url=ELSEWHERE),
        )


def folders() -> Iterator[tuple[str, Change]]:
    """Folders that lead out, or hold something else than they should."""
    for name, to in {
        "batches": "",
        "batches/journal.jsonl": "data.jsonl",
        "batches/.journal.jsonl.lock": "authorized_keys",
        "verdicts.jsonl": "authorized_keys",
        ".verdicts.jsonl.lock": "authorized_keys",
        "verdicts.parquet": "data.jsonl",
        "run.json": "run.json",
    }.items():
        yield f"link {name}", partial(_link, name=name, to=to)
    yield "dangling link verdicts.jsonl", partial(_link, name="verdicts.jsonl", to="made")
    yield "link to a device", partial(_link, name="verdicts.jsonl", to="/dev/zero")
    yield "link run.json to a device", partial(_link, name="run.json", to="/dev/zero")
    yield "link in a circle", partial(_link, name="verdicts.jsonl", to="../run/verdicts.jsonl")
    for name, place in {"{}.names": OPEN, "{}.jsonl": OPEN, "{}.results.jsonl": ENDED}.items():
        yield f"link {name}", partial(_link, name=f"batches/{name}", to="data.jsonl", place=place)
    for name in ("verdicts.jsonl", "run.json", "batches/journal.jsonl"):
        yield f"FIFO {name}", partial(_special, name=name, kind="FIFO")
        yield f"folder {name}", partial(_special, name=name, kind="folder")
    yield "hard link verdicts.jsonl", partial(_special, name="verdicts.jsonl", kind="hard link")
    yield "file batches", _batches_is_a_file
    for value in (
        "../../x",
        "/etc/x",
        "..",
        "a/b",
        "x",
        "",
        7,
        None,
        [],
        "0123456789abcdeF",
        "0123456789abcdef\n",
    ):
        for event in ("planned", "begun"):
            yield f"{event}: part {value!r}", partial(_line, at_event=event, part=value)
    for value in (
        "../victim/data",
        "../../v1/files",
        f"{ELSEWHERE}/x",
        "",
        7,
        None,
        [1],
        "a?b",
        "a\nb",
        "/x",
        "é",
    ):
        yield f"submitted: batch {value!r}", partial(_line, at_event="submitted", batch=value)
    for value in ("../../x", "", 7, None):
        yield f"uploaded: file {value!r}", partial(_line, at_event="uploaded", file=value)
    for field, values in {
        "requests": ("x", -1, 10**30, None, ...),
        "learned": ("x", [1], None, ...),
        "trial": ([], 7, ...),
        "settled": ("x", None, ...),
        "event": ("unknown", None, [], ...),
    }.items():
        for value in values:
            yield (
                f"planned: {field} {value!r}",
                partial(_line, at_event="planned", **{field: value}),
            )
    for value in ("yesterday", "2020-01-01", "", 7, None, ...):
        yield f"submitting: at {value!r}", partial(_line, at_event="submitting", at=value)
    for field, value in {"status": [], "replies": "x"}.items():
        yield f"ended: {field} {value!r}", partial(_line, at_event="ended", **{field: value})
    for name, content in {
        "of another program": b'{"a": 1}\n{"b": 2}\n',
        "list": b"[1]\n[2]\n",
        "text": b"not JSON\nat all\n",
        "bytes": bytes(range(256)) * 9,
        "deep": b'{"a":' * 5000 + b"\n" + b'{"event": "ended"}\n',
        "ended before it was planned": b'{"event": "ended", "part": "0123456789abcdef", '
        b'"status": "x", "replies": 0}\n',
    }.items():
        yield f"journal: {name}", partial(_journal, content=content)
    for name, value in {"backend": "transformers", "model": ...}.items():
        yield f"run.json: {name}", partial(_manifest, **{name: value})
    for name in (
        "backend",
        "model",
        "base_url",
        "started",
        "statuses",
        "total",
        "dataset",
        "changes",
    ):
        yield f"run.json: {name} is a number", partial(_manifest, **{name: 7})
    for name, content in {"missing": None, "bytes": b"\xff\xfe"}.items():
        yield f"names: {name}", partial(_file, name="{}.names", place=OPEN, content=content)
    rows = {
        "missing": None,
        "text": b"no results\n",
        "wrong kinds": b'{"name":"x","status":"200","cause":7,"retryable":null}\n',
    }
    for name, content in rows.items():
        yield (
            f"results: {name}",
            partial(_file, name="{}.results.jsonl", place=ENDED, content=content),
        )
