"""Options are declared once: the command and the Python function have the same names
and defaults, and every command that selects questions selects the same ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import visualjudge as vj
from commanding import command
from folding import each
from frontdoor_example import Example, make_example
from visualjudge.cli.main import command_named
from visualjudge.core.errors import UsageError
from visualjudge.options import (
    BuildOptions,
    Caps,
    JudgeOptions,
    MeasureOptions,
    Selection,
    keywords,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return make_example(tmp_path_factory.mktemp("options"))


def options_of(name: str) -> dict[str, Any]:
    first, *below = name.split()
    made = command_named(first)
    for one in below:
        made = made.commands[one]
    return {parameter.name: parameter for parameter in made.params}


@pytest.mark.parametrize(
    ("name", "function", "records"),
    [
        ("judge", vj.judge, (JudgeOptions,)),
        ("build", vj.build, (BuildOptions, Caps)),
        ("report", vj.analyse, (MeasureOptions,)),
        ("card", vj.card, (MeasureOptions,)),
    ],
)
def test_command_and_function_have_the_names_and_defaults_of_the_record(
    name: str, function: Callable[..., Any], records: tuple[type[Any], ...]
) -> None:
    typed, taken = options_of(name), inspect.signature(function).parameters
    for one in (one for record in records for one in fields(record)):
        assert taken[one.name].default == one.default, one.name
        if "help" in one.metadata:
            told = typed[one.name]
            assert told.help == one.metadata["help"]
            if "typed" in one.metadata:
                assert told.default == one.metadata["typed"]
            else:
                assert (told.default or one.default) == one.default


SELECTING = (
    "plan",
    "build",
    "judge",
    "describe",
    "studio people",
    "report",
    "card",
    "accept",
    "export",
)


@each("name", SELECTING)
def test_a_command_that_selects_has_the_same_four_options(name: str) -> None:
    shown = {one.name: one.metadata for one in fields(Selection)}
    for field, told in options_of(name).items():
        if field in shown:
            metadata = shown.pop(field)
            assert told.opts == [f"--{metadata.get('name') or field}"]
            assert (told.help, told.multiple) == (metadata["help"], True)
    assert not shown


def test_a_selection_means_the_same_wherever_it_is_made(
    made: Example, tmp_path: Path
) -> None:
    part = {
        "types": ("pairwise",),
        "encodings": ("0305", "text_xyxy"),
        "where": ("margin>2",),
    }
    whole = vj.load_dataset(made.dataset)
    wanted = {question.id for question in whole.choose(Selection(**part))}
    assert 0 < len(wanted) < len(whole)
    few = vj.build(made.data, tmp_path / "few", **part)
    assert {question.annotation_ids for question in few} == {
        question.annotation_ids for question in whole if question.id in wanted
    }
    assert len(few) == len(wanted) and few.meta["options"]["where"] == [
        "margin>2"
    ]
    asked = vj.judge(
        whole,
        vj.client("baseline", model="first"),
        tmp_path / "run",
        choice=Selection(**part),
    )
    assert {key[0] for key in asked.verdicts} == wanted
    facts = vj.analyse(made.run, **part).metrics["dataset"]
    assert facts["questions"] == len(wanted)
    assert facts["where"] == [
        "encoding=0305 or text_xyxy",
        "type=pairwise",
        "margin>2",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "judge {dataset} --encoding boxes+xyxy --out x",
            "(did you mean 0305?), got 'boxes+xyxy'",
        ),
        ("report {run} --encoding 305", "(did you mean 0305?), got '305'"),
        (
            "build {data} --encoding text_xywz --out x",
            "(did you mean text_xywh?)",
        ),
        (
            "card {run} --task object-detection",
            "--task must be one of object_detection, got",
        ),
        ("describe {dataset} --type pairwis", "(did you mean pairwise?)"),
        (
            "export {dataset} --where souce=a --out x",
            "(did you mean source?), got 'souce'",
        ),
        ("plan {data} --encoding oxyxy", "--encoding must be one of "),
        (
            "report {run} --where task=nothing",
            "no question fits; task must be one of",
        ),
        ("build {data} --task keypiont --out x", "(did you mean keypoint?)"),
    ],
)
def test_a_misspelt_name_is_told_with_the_one_meant(
    words: str, told: str, made: Example, tmp_path: Path
) -> None:
    places = {name: getattr(made, name) for name in ("data", "dataset", "run")}
    done = command(*words.format(**places).split(), folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert told in done.stderr


def test_a_coroutine_is_known_as_one() -> None:
    assert inspect.iscoroutinefunction(vj.judge_async)
    assert not inspect.iscoroutinefunction(vj.judge)


def test_a_number_below_its_bound_is_refused_and_an_unknown_keyword_named() -> (
    None
):
    @keywords(BuildOptions)
    def taken(*, options: BuildOptions) -> BuildOptions:
        return options

    assert taken(judge_pairs=3, caps=Caps(judge_groups=7)).caps == Caps(
        judge_groups=7, judge_pairs=3
    )
    assert taken(
        tasks="keypoint", types=["ranking"], where=None
    ) == BuildOptions(tasks=("keypoint",), types=("ranking",))
    for wrong in ({"judge_pairs": -1}, {"max_side": 0}):
        with pytest.raises(UsageError, match="must be at least"):
            taken(**wrong)
    with pytest.raises(TypeError, match="juge_pairs"):
        taken(juge_pairs=3)
