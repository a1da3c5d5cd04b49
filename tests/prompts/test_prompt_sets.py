"""Versions and folders of prompt assets, and the spans that a prompt is stored with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, strategies as st

from folding import each
from visualjudge.core.errors import PromptError, UnknownPrompt, UsageError
from visualjudge.core.records import QuestionType, Spans
from visualjudge.prompts.prompt_set import V1, PromptSet, prompt_set
from visualjudge.prompts.question_text import (
    Option,
    QuestionScene,
    question_prompt,
)
from visualjudge.prompts.spans import find_spans
from visualjudge.vision.encode import encodings
from visualjudge.vision.tasks import TASKS

COUNT: dict[QuestionType, int] = {"pairwise": 2, "ranking": 4, "scoring": 1}
V2 = PromptSet("v2")
Texts = st.text(min_size=1, max_size=40).filter(
    lambda text: "<image>" not in text
)


class Made(NamedTuple):
    text: str
    spans: Spans


def _prompt(
    kind: QuestionType, texts: list[str], prompts: PromptSet = V1
) -> Made:
    scene = QuestionScene(
        TASKS["object_detection"], "text_xyxy", (480, 640), True
    )
    options = [Option(None, text) for text in texts]
    return Made(*question_prompt(kind, scene, options, prompts=prompts))


@pytest.mark.parametrize("kind", COUNT)
@given(texts=st.lists(Texts, min_size=5, max_size=5))
def test_spans_cut_out_what_was_put_in_whatever_it_holds(
    kind: QuestionType, texts: list[str]
) -> None:
    shown = texts[: COUNT[kind]]
    made = _prompt(kind, shown)
    found = [made.text[start:end] for start, end in made.spans.options]
    assert found == (
        [f"Prediction (text):\n{shown[0]}"] if kind == "scoring" else shown
    )
    assert made.spans.original is not None
    assert made.text[slice(*made.spans.original)] == "<image>"
    assert made.spans.final is not None
    assert made.spans.final[1] == len(made.text)


@each("row", encodings(), ids=lambda row: f"{row.task}/{row.stem}")
def test_options_of_older_datasets_are_found_where_spans_say_they_are(
    row: object,
) -> None:
    task, stem, shape = row.task, row.stem, row.kind  # type: ignore[attr-defined]
    scene = QuestionScene(
        TASKS[task], stem, (480, 640), True, combo=shape == "combo"
    )
    image, text = shape != "text", None if shape == "pixel" else "[\n1\n]"
    options = [
        Option(
            "x.png" if image else None,
            text,
            f"Legend: {name} = red" if image else None,
            "a cup",
        )
        for name in "ab"
    ]
    made = Made(*question_prompt("pairwise", scene, options))
    found = find_spans(made.text)
    assert [made.text[s:e].strip() for s, e in found.options] == [
        made.text[s:e] for s, e in made.spans.options
    ]
    assert found.final == made.spans.final


def test_version_2_says_in_which_form_to_answer_and_changes_nothing_else() -> (
    None
):
    endings = {
        "pairwise": "End with: Answer: A or Answer: B",
        "ranking": "for example: Answer: BCAD",
        "scoring": "End with: Answer: and a single number from 0 to 10",
    }
    for kind, ending in endings.items():
        one, two = (
            _prompt(kind, ["[1]", "[2]", "[3]", "[4]"][: COUNT[kind]], prompts)
            for prompts in (V1, V2)
        )  # type: ignore[index, arg-type]
        assert two.text.endswith(ending)
        assert one.spans.final is not None
        assert two.text.startswith(one.text[: one.spans.final[0]])


def test_example_of_a_ranking_has_as_many_letters_as_options() -> None:
    assert "Answer: BCA\n" in _prompt("ranking", list("xyz"), V2).text + "\n"


def test_a_version_uses_older_assets_where_it_has_none_of_its_own() -> None:
    used = V2.used()
    assert used["questions/layout"] == "v2"
    assert used["questions/context"] == "v1"


def _layout(folder: Path, version: str, text: str) -> Path:
    path = folder / "questions" / "layout" / f"{version}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"prompt_id: questions/layout\nversion: {version}\n{text}")
    return folder


def test_a_folder_brings_a_version_that_extends_ours(tmp_path: Path) -> None:
    _layout(
        tmp_path,
        "v9",
        'extends: v1\nparts:\n  final_pairwise: "{{question}} One letter."\n',
    )
    chosen = prompt_set(tmp_path, "v9")
    assert _prompt("pairwise", ["[1]", "[2]"], chosen).text.endswith(
        "Which prediction is better? One letter."
    )
    assert list(chosen.digests()) == ["questions/layout"]
    assert V1.digests() == {}


def test_a_layout_may_show_options_in_another_way(tmp_path: Path) -> None:
    _layout(
        tmp_path,
        "v9",
        'extends: v1\nparts:\n  option: "<{{letter}}>{{content}}</{{letter}}>"\n',
    )
    made = _prompt("pairwise", ["[1]", "[2]"], prompt_set(tmp_path, "v9"))
    assert "<A>[1]</A>\n\n<B>[2]</B>" in made.text
    assert [made.text[s:e] for s, e in made.spans.options] == ["[1]", "[2]"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: v9\n", "extends: must be another version"),
        (
            'extends: v1\nparts:\n  option: "{{letter}}"\n',
            "must hold {{content}} exactly once, got 0",
        ),
    ],
)
def test_a_layout_that_cannot_be_used_is_named(
    tmp_path: Path, text: str, message: str
) -> None:
    chosen = prompt_set(_layout(tmp_path, "v9", text), "v9")
    with pytest.raises(PromptError, match=message.replace("{", r"\{")):
        _prompt("pairwise", ["[1]", "[2]"], chosen)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda tmp: prompt_set("v7"),
            UnknownPrompt,
            "`prompts` must be one of v1, v2, got 'v7'",
        ),
        (
            lambda tmp: prompt_set("v2", "v1"),
            UsageError,
            "prompts v2 and prompt_version v1 name two versions",
        ),
        (
            lambda tmp: prompt_set(tmp / "none"),
            UsageError,
            "`prompts` must be a version such as v2 or a folder, got",
        ),
        (lambda tmp: prompt_set(tmp), UsageError, "no asset found"),
    ],
)
def test_wrong_choices_are_refused(
    tmp_path: Path,
    make: Callable[[Path], PromptSet],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        make(tmp_path)


def test_both_spellings_name_the_same_set() -> None:
    assert (
        prompt_set("v2")
        == prompt_set(None, "v2")
        == prompt_set("v2", "v2")
        == replace(V1, version="v2")
    )


def test_a_folder_is_used_in_its_newest_version_and_the_rest_is_named(
    tmp_path: Path,
) -> None:
    for version in ("v2", "v3"):
        text = f'extends: v1\nparts:\n  final_pairwise: "{{{{question}}}} {version}"\n'
        _layout(tmp_path, version, text)
    (tmp_path / "layout").mkdir()
    (tmp_path / "layout" / "v3.yaml").write_text("rubric: mine\n")
    chosen = prompt_set(tmp_path)
    assert _prompt("pairwise", ["[1]", "[2]"], chosen).text.endswith("v3")
    assert chosen.used()["questions/context"] == "v1"
    unused = [
        str(Path(one).relative_to(tmp_path.resolve()))
        for one in chosen.unused()
    ]
    assert unused == ["layout/v3.yaml", "questions/layout/v2.yaml"]
