"""Values of another kind in the files of a dataset and of a run: one clear line from
every command that reads them.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from making import make_folder
from visualjudge.cli.main import run
from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.build import build
from visualjudge.options import BuildOptions
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

KINDS = (
    "null",
    "5",
    "-1",
    "1e400",
    '"x"',
    "[]",
    "{}",
    "true",
    "[" * 300 + "]" * 300,
    '[[1],{"a":[null]},-2]',
    '{"a":{"b":3}}',
)
"""What a value is replaced by; JSON texts."""
MARK = "\N{REPLACEMENT CHARACTER}here"
FILES = {
    "dataset.json": 5,
    "questions.json": 5,
    "predictions.jsonl": 3,
    "run.json": 5,
    "verdicts.jsonl": 3,
}
"""Files, and how many mutations are drawn; ``VISUALJUDGE_MUTATIONS`` times as many, by
``VISUALJUDGE_SEED``.
"""


@dataclass(frozen=True)
class Judged:
    """A small dataset with two runs on it, and a place for what the commands write."""

    root: Path

    def path(self, name: str) -> Path:
        """A file that is mutated."""
        return (
            self.root
            / (
                "ds"
                if name
                in ("dataset.json", "questions.json", "predictions.jsonl")
                else "run"
            )
            / name
        )


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    root = tmp_path_factory.mktemp("kinds")
    data = make_folder(
        root / "data",
        tasks=("object_detection",),
        images=2,
        annotations=4,
        size=(24, 32),
    )
    build(data, root / "ds", BuildOptions())
    for name, model in (("run", "oracle:0.8"), ("other", "random")):
        assert (
            command(
                "judge",
                root / "ds",
                "--backend",
                "baseline",
                "--model",
                model,
                "--swap",
                "--out",
                root / name,
            )[0]
            == 0
        )
    (root / "labels.csv").write_text(
        "annotation_id,score\nobject_detection-00000,5\n"
    )
    return Judged(root)


def command(*args: object) -> tuple[int | None, str]:
    """Status and stderr of a command in this process; no status where something else
    escaped."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["visualjudge", *map(str, args)])
        try:
            run()
        except SystemExit as ended:
            status = int(ended.code or 0)
        except Exception:
            return None, traceback.format_exc()
    return status, err.getvalue() or out.getvalue()


def commands(root: Path, name: str) -> Iterator[tuple[object, ...]]:
    """What reads the file of this name."""
    ds, one, two, new = root / "ds", root / "run", root / "other", root / "new"
    model = ("--backend", "baseline", "--model", "oracle:0.8", "--swap")
    if name in ("dataset.json", "questions.json", "predictions.jsonl"):
        yield "describe", ds
        yield from (
            ("export", ds, "--format", form, "--out", new)
            for form in ("parquet", "vlmevalkit", "trl")
        )
        yield "judge", ds, *model, "--out", new
        yield (
            "judge",
            ds,
            "--backend",
            "local",
            "--model",
            "default",
            "--limit",
            4,
            "--out",
            new,
        )
    yield "judge", ds, *model, "--resume", "--out", one
    yield (
        "report",
        one,
        two,
        "--out",
        root / "report.html",
        "--json",
        root / "metrics.json",
    )
    yield "card", one
    yield "correct", one, "--labels", root / "labels.csv"
    yield "label", one, "--n", 3, "--out", root / "next.csv"
    yield "agreement", "--run", one, "--run", two
    yield "accept", one
    yield "gate", "write", one, "--out", root / "judge.lock"


def mutations(text: str) -> Iterator[tuple[str, str]]:
    """Each value, and each value one level below it, replaced by each kind: what was
    replaced, and the new text.
    """
    value = json.loads(text)
    for place in dict.fromkeys(_places(value)):
        changed = json.loads(text)
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        if place:
            inner[place[-1]] = MARK
        else:
            changed = MARK
        for kind in KINDS:
            yield (
                f"{'/'.join(map(str, place))[:60]}={kind[:20]}",
                json.dumps(changed).replace(json.dumps(MARK), kind),
            )


def _places(value: Any, depth: int = 3) -> Iterator[tuple[Any, ...]]:
    """Of an array the first item and of an object of many fields the first few: the
    others are alike.
    """
    yield ()
    if depth and isinstance(value, dict | list):
        keys = (
            range(len(value))[:1] if isinstance(value, list) else [*value][:30]
        )
        for key in keys:
            yield from ((key, *rest) for rest in _places(value[key], depth - 1))


def mutated(name: str, text: str) -> Iterator[tuple[str, str]]:
    """The whole file with one value replaced, in its first record where it has a record
    a line."""
    if not name.endswith("l"):
        yield from mutations(text)
        return
    first, _, rest = text.partition("\n")
    yield from ((what, f"{line}\n{rest}") for what, line in mutations(first))


def studio(root: Path) -> str:
    """What went wrong in a studio over the folders, empty where nothing did."""
    try:
        site = Site(
            find_places([root / "ds", root / "run", root / "other"]),
            root / "new" / "cache",
        )
        client = TestClient(
            create_app(site),
            base_url="http://127.0.0.1:8421",
            raise_server_exceptions=True,
        )
        pages = ["/", *(f"/d/{place.slug}" for place in site.places.datasets)]
        wrong = [
            (page, answer.status_code)
            for page in pages
            if (answer := client.get(page)).status_code >= 500
        ]
        return f"{wrong}" if wrong else ""
    except VisualJudgeError:
        return ""
    except Exception:
        return traceback.format_exc()


def fault(said: tuple[int | None, str]) -> str:
    """What is wrong with how a command ended."""
    status, err = said
    if status is None or "Traceback" in err:
        return err[-1500:]
    last = err.strip().splitlines()[-1:] or [""]
    return (
        f"no line: {err[-300:]}"
        if status not in (0, 1, 2) or (status and not last[0].strip())
        else ""
    )


@pytest.mark.parametrize("name", FILES)
def test_a_value_of_another_kind_is_one_line(
    judged: Judged, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, path = judged.root, judged.path(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    before = {
        file: file.read_bytes()
        for file in (root / "run").iterdir()
        if file.is_file()
    } | {path: path.read_bytes()}
    cases = list(mutated(name, path.read_text()))
    rng = rng_for(int(os.environ.get("VISUALJUDGE_SEED", 0)), name)
    times = int(os.environ.get("VISUALJUDGE_MUTATIONS", 1))
    chosen = [
        cases[k]
        for k in rng.choice(
            len(cases), min(len(cases), FILES[name] * times), replace=False
        )
    ]
    faults: dict[str, list[str]] = {}
    try:
        for what, text in chosen:
            doing: list[tuple[object, ...]] = list(commands(root, name))
            for args in [
                doing[k] for k in rng.choice(len(doing), 2, replace=False)
            ]:
                _again(root, before, path, text)
                if found := fault(command(*args)):
                    faults.setdefault(found, []).append(
                        f"{what}: {' '.join(map(str, args))}"
                    )
            _again(root, before, path, text)
            if found := studio(root):
                faults.setdefault(found, []).append(f"{what}: studio")
    finally:
        _again(root, before, path, before[path].decode())
    assert not faults, "\n".join(
        f"{where[:3]} ({len(where)})\n{found}"
        for found, where in faults.items()
    )


def _again(
    root: Path, before: dict[Path, bytes], path: Path, text: str
) -> None:
    shutil.rmtree(root / "new", ignore_errors=True)
    (root / "new").unlink(missing_ok=True)
    for file, content in before.items():
        file.write_bytes(content)
    path.write_text(text)
