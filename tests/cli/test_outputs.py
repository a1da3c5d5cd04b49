"""Every option that names an output, tried against every file that its command
reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commanding import command
from frontdoor_example import Example, make_example
from visualjudge.cli.main import COMMANDS, command_named
from visualjudge.core.errors import UsageError
from visualjudge.core.output_files import OutputFile, together

# Each command with outputs, and what it is given besides; {…} are files and folders of
# the example.
GIVEN = {
    "report": "{run}",
    "card": "{run}",
    "describe": "{data}",
    "plan": "{data}",
    "correct": "{run} --labels {labels}",
    "label": "{run}",
    "accept": "{run} --apply {run}",
    "agreement": "{ratings}",
    "gate write": "{run}",
    "gate check": "{run} --lock {lock}",
    "mmbench infer": "{table} --model m --base-url http://127.0.0.1:9/v1",
    "mmbench eval": "{replies} --data {table}",
    "mmbench circular": "{table}",
    "pipeline": "{config} --input {rows}",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("places")
    made: Example = make_example(root)
    texts = {
        "labels": "annotation_id,probability,score\nphoto0-0,0.5,9\n",
        "ratings": "item,source,rater,dimension,score\na,m,p,q,1\na,m,judge,q,2\n",
        "table": "index\tquestion\tA\tB\tanswer\timage\n1\tWhat?\tcat\tdog\tA\tx\n",
        "replies": '{"index":1,"prediction":"A"}\n',
        "config": "metric_configs: {}\n",
        "rows": '{"key": "1"}\n',
    }
    suffixes = {
        "table": "tsv",
        "replies": "jsonl",
        "config": "yaml",
        "rows": "jsonl",
    }
    files = {}
    for name, text in texts.items():
        files[name] = root / f"{name}.{suffixes.get(name, 'csv')}"
        files[name].write_text(text)
    lock = root / "judge.lock"
    assert command("gate", "write", made.run, "--out", lock).returncode == 0
    return files | {
        "lock": lock,
        "data": made.data,
        "run": made.run,
        "root": root,
    }


def _options(name: str, one: Any) -> Iterator[tuple[str, str]]:
    for inner in getattr(one, "commands", {}):
        yield from _options(f"{name} {inner}", one.commands[inner])
    for option in getattr(one, "params", ()):
        if option.type_descriptor.annotation is OutputFile:
            yield name, option.opts[0]


OPTIONS = [
    pair for name in COMMANDS if name != "import" for pair in _options(name, command_named(name))
]  # fmt: skip


def test_every_command_with_outputs_is_tried() -> None:
    assert {name for name, _ in OPTIONS} == set(GIVEN)
    assert len(OPTIONS) >= 20


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_no_output_takes_the_place_of_an_input(
    name: str, option: str, places: dict[str, Path]
) -> None:
    files = [path for path in places["root"].rglob("*") if path.is_file()]
    media = {path.parent: path for path in files if path.suffix == ".png"}
    tried = [path for path in files if path.suffix != ".png"] + [
        *media.values()
    ]
    read = [path for path in tried if not path.name.startswith(".")]
    before = {path: path.read_bytes() for path in read}
    given = GIVEN[name].format(**places).split()
    inputs = {Path(word) for word in given}
    for target in read:
        if target not in inputs and not any(
            target.is_relative_to(places["root"] / folder)
            for folder in ("data", "dataset", "run")
        ):
            continue
        for force in ((), ("--force",)):
            done = command(*name.split(), *given, option, target, *force)
            assert done.returncode == 2, (target, done.stdout, done.stderr)
    assert {path: path.read_bytes() for path in read} == before


def test_a_foreign_file_is_replaced_only_by_force_and_ours_is_told(
    places: dict[str, Path], tmp_path: Path
) -> None:
    card = ("card", places["run"], "--json", tmp_path / "card.json")
    (tmp_path / "card.json").write_text("mine")
    done = command(*card)
    assert done.returncode == 2
    assert "was not written by visualjudge" in done.stderr
    assert (tmp_path / "card.json").read_text() == "mine"
    assert "replaced another's file" in command(*card, "--force").stderr
    assert "replaced an earlier output" in command(*card).stderr
    assert json.loads((tmp_path / "card.json").read_text())


def test_outputs_of_a_command_come_together_or_not_at_all(
    tmp_path: Path,
) -> None:
    first, second = (
        OutputFile(tmp_path / name) for name in ("a.json", "b.json")
    )
    first.write("old")
    with (
        pytest.raises(UsageError, match=r"b\.json must be a regular file"),
        together(force=True),
    ):
        first.write("new")
        second.write("new")
        second.path.mkdir()
    assert first.path.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.json",
        "b.json",
    ]
