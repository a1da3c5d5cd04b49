"""Options that commands share: one definition each, shown under its heading, and the
choice of questions.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from folding import each
from frontdoor_example import write_data
from judged_records import pair, ranking, scoring
from package_sources import SOURCES, nodes
from visualjudge.cli import main
from visualjudge.cli.console import FIELD, OPTIONS, Checked, say
from visualjudge.cli.main import COMMANDS, Commands, command_named
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Question
from visualjudge.dataset.question_filter import (
    chosen,
    condition,
    margin,
    sample_positions,
)
from visualjudge.options import Choice


def _run(
    *args: object,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["visualjudge", *map(str, args)])
    status = 0
    try:
        main.run()
    except SystemExit as ended:
        status = int(ended.code or 0)
    said = capsys.readouterr()
    return status, said.out, said.err


def _questions() -> list[Question]:
    """Two tasks, one of them with 10 times as many questions, in two encodings."""
    many = [
        pair(k, (1.0, 3.0), encoding=("text_xyxy", "0305")[k % 2])
        for k in range(60)
    ]
    few = [
        pair(100 + k, (1.0, 9.0), task="keypoint", encoding="pixel_s0_c1_m0")
        for k in range(6)
    ]
    return [*many, *few, ranking(200, (1.0, 5.0, 4.0)), scoring(300, 4.0)]


def _sample(number: int, seed: int = 42) -> list[Question]:
    questions = _questions()
    return [
        questions[k]
        for k in sample_positions(
            questions, range(len(questions)), number, seed
        )
    ]


def test_a_sample_is_balanced_over_tasks_and_encodings() -> None:
    drawn = _sample(12)
    assert len(drawn) == 12
    assert Counter(question.task for question in drawn) == {
        "object_detection": 6,
        "keypoint": 6,
    }
    assert Counter(
        q.encoding for q in drawn if q.task == "object_detection"
    ) == {
        "text_xyxy": 3,
        "0305": 3,
    }
    places = [_questions().index(question) for question in drawn]
    assert places == sorted(places)


def test_a_larger_sample_holds_the_smaller_one_and_what_lacks_is_made_up_by_others() -> (
    None
):
    small, large = (_sample(number) for number in (10, 40))
    assert {q.id for q in small} <= {q.id for q in large}
    assert len(large) == 40
    assert sum(q.task == "keypoint" for q in large) == 6
    assert _sample(10, seed=1) != small
    assert len(_sample(1000)) == len(_questions())


@each(
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
    assert [
        question.id for question in _questions() if condition(text)(question)
    ] == ids


def test_margin_is_the_least_difference() -> None:
    assert margin(ranking(1, (1.0, 5.0, 4.0))) == 1.0
    assert margin(scoring(1, 4.0)) is None


@each(
    ("choice", "message"),
    [
        (
            Choice(where=("size=3",)),
            "`where` must name one of id, task, .*, got 'size'",
        ),
        (Choice(where=("task",)), "`where` must be FIELD=VALUE"),
        (
            Choice(where=("margin<x",)),
            "< must be followed by a number, got 'x'",
        ),
        (
            Choice(encodings=("0305", "nope")),
            "`encodings` must be one of text_xyxy, 0305, .*, got 'nope'",
        ),
        (
            Choice(types=("multiple",)),
            "`types` must be one of pairwise, ranking, scoring, got 'multiple'",
        ),
        (
            Choice(tasks=("keypoint",), encodings=("0305",)),
            "no question of the dataset matches",
        ),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(
    choice: Choice, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        chosen(_questions(), choice)


def test_judge_asks_the_chosen_and_build_takes_prompts_in_both_spellings(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from visualjudge.apps.frontdoor.opened_run import open_run
    from visualjudge.dataset.folder import load_dataset

    write_data(tmp_path / "data")

    def command(*args: object) -> tuple[int, str, str]:
        return _run(*args, capsys=capsys, monkeypatch=monkeypatch)

    for name, spelling in (("one", ["--prompts", "v2"]),):
        assert (
            command(
                "build",
                tmp_path / "data",
                "--out",
                tmp_path / name,
                "--workers",
                1,
                *spelling,
            )[0]
            == 0
        )
    questions = (tmp_path / "one" / "questions.json").read_bytes()
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
        "judge",
        tmp_path / "one",
        "--out",
        tmp_path / "run",
        "--sample",
        7,
        *asked,
    )
    assert (status, "7 verdicts: ok 7" in out) == (0, True)
    known = {
        question.id: question for question in load_dataset(tmp_path / "one")
    }
    given = [
        known[identity]
        for identity, _, _ in open_run(tmp_path / "run").verdicts
    ]
    assert all(
        q.question_type == "pairwise" and (margin(q) or 0) > 4 for q in given
    )
    assert len({question.encoding for question in given}) >= 6


def _options_of(command: Any) -> set[str]:
    if isinstance(command, Commands):
        names = command.list_commands(None)
        return set().union(*(_options_of(command.made(n)) for n in names))
    below = getattr(command, "commands", {}).values()
    own = {str(option.name) for option in command.params}
    return own.union(*map(_options_of, below))


def test_each_field_that_a_message_names_is_an_option() -> None:
    known = {*OPTIONS}.union(*(_options_of(command_named(n)) for n in COMMANDS))
    marked = set()
    for path in SOURCES:
        docstrings = {
            id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)
        }
        for node in nodes(path):
            if isinstance(node, ast.Constant) and id(node) not in docstrings:
                marked |= {name for name, _ in FIELD.findall(str(node.value))}
    helps = {"build", "correct", "import", "label"}
    assert len(marked) > 60 and marked <= known | helps


def test_a_message_names_the_option_of_the_command_that_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Checked, "options", {"tasks": "--task"})
    say(
        "`tasks` must be 1 of `repeats=2`, `judge` or `out`, got `words of others`"
    )
    assert capsys.readouterr().err == (
        "visualjudge: --task must be 1 of --set repeats=2, `judge` or --out, got "
        "`words of others`\n"
    )
