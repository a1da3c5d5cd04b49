"""Options that commands share: one definition each, shown under its heading, and the choice of
questions.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections import Counter
from inspect import signature
from pathlib import Path

import pytest
import typer

from frontdoor_example import write_data
from judged_records import pair, ranking, scoring
from visualjudge.cli import help, main
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Question
from visualjudge.dataset.question_filter import Choice, chosen, condition, margin, sample_positions


def _run(
    *args: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["visualjudge", *map(str, args)])
    status = 0
    try:
        main.run()
    except SystemExit as ended:
        status = int(ended.code or 0)
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.parametrize("command", [["judge"], ["mmbench", "infer"], ["pipeline"]])
def test_commands_show_the_same_options_under_their_headings(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = _run(*command, "--help-all", capsys=capsys, monkeypatch=monkeypatch)
    assert status == 0
    budget = out.partition("Budget:\n")[2].partition("\n\n")[0]
    for option in ("--max-calls", "--max-tokens-total", "--max-cost", "--price-in", "--price-out"):
        assert option in budget
    assert "--cache-dir" in out.partition("Cache:\n")[2]
    if command != ["pipeline"]:  # whose configuration states it
        seconds = signature(RemoteClient).parameters["timeout"].default
        assert f"Timeout of one call, in seconds; default: {seconds:g}." in " ".join(out.split())
    assert "--concurrency" in out.partition("Run:\n")[2].partition("\n\n")[0]


def test_examples_in_help_are_not_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = _run("judge", "--help", capsys=capsys, monkeypatch=monkeypatch)
    example = (
        "visualjudge judge DATASET --backend api --model gpt-4o-mini --api-key-env "
        "OPENAI_API_KEY --out RUN"
    )
    assert f"  {example}\n" in out


def _paths() -> list[tuple[str, ...]]:
    """Every command that has options of its own."""
    found: list[tuple[str, ...]] = []
    for name in main.COMMANDS:
        command = typer.main.get_command(
            importlib.import_module(f"visualjudge.cli.{main.MODULES.get(name, name)}").app
        )
        below = command.list_commands(None) if hasattr(command, "commands") else None
        found += [(name,)] if below is None else [(name, sub) for sub in below]
    return found


@pytest.mark.parametrize("path", _paths(), ids=" ".join)
def test_the_help_of_a_command_fits_a_screen_and_all_options_are_one_step_away(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, short, _ = _run(*path, "--help", capsys=capsys, monkeypatch=monkeypatch)
    _, whole, _ = _run(*path, "--help-all", capsys=capsys, monkeypatch=monkeypatch)
    assert short.count("\n") <= help.LINES
    offered = [set(re.findall(r"^  (--[\w-]+)", text, re.MULTILINE)) for text in (short, whole)]
    assert offered[0] - {help.ALL} <= offered[1]
    assert (help.ALL in offered[0]) == bool(offered[1] - offered[0])
    assert offered[1] - offered[0] <= help.RARE
    assert short.count("[required]") == whole.count("[required]")


def test_the_help_names_every_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = _run("--help", capsys=capsys, monkeypatch=monkeypatch)
    commands = out.partition("Commands:")[2]
    assert [name for name in main.COMMANDS if not re.search(rf"(?<!-)\b{name}\b", commands)] == [
        "view"
    ]
    assert out.count("\n") <= 37


def test_rare_options_exist(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = set()
    for path in _paths():
        _, whole, _ = _run(*path, "--help-all", capsys=capsys, monkeypatch=monkeypatch)
        known |= set(re.findall(r"--[\w-]+", whole))
    assert known >= help.RARE


HELP_OF_ALL = """
import contextlib, io, sys
import visualjudge
from visualjudge.cli.main import COMMANDS, app
heavy = {"numpy", "polars", "pyarrow", "cv2", "scipy", "skimage", "matplotlib", "PIL", "aiohttp",
         "google", "rich.console"}
for words in ([], *([name] for name in COMMANDS)):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app([*words, "--help"], prog_name="visualjudge")
    print(words, sorted(heavy & set(sys.modules)))
"""


def test_no_command_imports_a_heavy_library_for_its_help() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP_OF_ALL], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) > 30
    assert [line for line in lines if not line.endswith("[]")] == []


def _questions() -> list[Question]:
    """Two tasks, one of them with 10 times as many questions, in two encodings."""
    many = [pair(k, (1.0, 3.0), encoding=("text_xyxy", "0305")[k % 2]) for k in range(60)]
    few = [pair(100 + k, (1.0, 9.0), task="keypoint", encoding="pixel_s0_c1_m0") for k in range(6)]
    return [*many, *few, ranking(200, (1.0, 5.0, 4.0)), scoring(300, 4.0)]


def _sample(number: int, seed: int = 42) -> list[Question]:
    questions = _questions()
    return [questions[k] for k in sample_positions(questions, range(len(questions)), number, seed)]


def test_a_sample_is_balanced_over_tasks_and_encodings() -> None:
    drawn = _sample(12)
    assert len(drawn) == 12
    assert Counter(question.task for question in drawn) == {"object_detection": 6, "keypoint": 6}
    assert Counter(q.encoding for q in drawn if q.task == "object_detection") == {
        "text_xyxy": 3,
        "0305": 3,
    }
    places = [_questions().index(question) for question in drawn]
    assert places == sorted(places)


def test_a_larger_sample_holds_the_smaller_one_and_what_lacks_is_made_up_by_others() -> None:
    small, large = (_sample(number) for number in (10, 40))
    assert {q.id for q in small} <= {q.id for q in large}
    assert len(large) == 40
    assert sum(q.task == "keypoint" for q in large) == 6
    assert _sample(10, seed=1) != small
    assert len(_sample(1000)) == len(_questions())


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("task=keypoint", ["q100", "q101", "q102", "q103", "q104", "q105"]),
        ("margin>=8", ["q100", "q101", "q102", "q103", "q104", "q105"]),
        ("type!=pairwise", ["r200", "s300"]),
        ("question_type=ranking", ["r200"]),
        ("margin=null", ["s300"]),
        ("n_options=3", ["r200"]),
        ("id~Q10", ["q10", "q100", "q101", "q102", "q103", "q104", "q105"]),
        ("annotation_ids=a7", ["q7"]),
        ("answer=4", ["s300"]),
        ("class_of_interest!=null", []),
    ],
)
def test_conditions_on_any_field(text: str, ids: list[str]) -> None:
    assert [question.id for question in _questions() if condition(text)(question)] == ids


def test_margin_is_the_least_difference() -> None:
    assert margin(ranking(1, (1.0, 5.0, 4.0))) == 1.0
    assert margin(scoring(1, 4.0)) is None


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Choice(where=("size=3",)), "--where must name one of id, task, .*, got 'size'"),
        (Choice(where=("task",)), "--where must be FIELD=VALUE"),
        (Choice(where=("margin<x",)), "< must be followed by a number, got 'x'"),
        (
            Choice(encodings=("0305", "nope")),
            "--encoding must be one of text_xyxy, 0305, .*, got 'nope'",
        ),
        (
            Choice(types=("multiple",)),
            "--type must be one of pairwise, ranking, scoring, got 'multiple'",
        ),
        (Choice(tasks=("keypoint",), encodings=("0305",)), "no question of the dataset matches"),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(choice: Choice, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chosen(_questions(), choice)


def test_judge_asks_the_chosen_and_build_takes_prompts_in_both_spellings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from visualjudge.apps.frontdoor.opened_run import open_run
    from visualjudge.dataset.folder import load_dataset

    write_data(tmp_path / "data")

    def command(*args: object) -> tuple[int, str, str]:
        return _run(*args, capsys=capsys, monkeypatch=monkeypatch)

    for name, spelling in (("one", ["--prompts", "v2"]), ("two", ["--prompt-version", "v2"])):
        assert (
            command(
                "build", tmp_path / "data", "--out", tmp_path / name, "--workers", 1, *spelling
            )[0]
            == 0
        )
    questions = (tmp_path / "one" / "questions.json").read_bytes()
    assert questions == (tmp_path / "two" / "questions.json").read_bytes()
    assert b"End with: Answer: A or Answer: B" in questions
    asked = [
        "--backend",
        "baseline",
        "--model",
        "oracle:1",
        "--type",
        "pairwise",
        "--where",
        "margin>4",
    ]
    status, out, _ = command(
        "judge", tmp_path / "one", "--out", tmp_path / "run", "--sample", 7, *asked
    )
    assert (status, "7 verdicts: ok 7" in out) == (0, True)
    known = {question.id: question for question in load_dataset(tmp_path / "one")}
    given = [known[identity] for identity, _, _ in open_run(tmp_path / "run").verdicts]
    assert all(q.question_type == "pairwise" and (margin(q) or 0) > 4 for q in given)
    assert len({question.encoding for question in given}) >= 6
