"""What the tools of a question may see, in both orders; arguments of all kinds."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from judges.made_question import PROMPT, question
from visualjudge.clients.base import ImagePart, TextPart, ToolCall, ToolResult
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Question, Spans
from visualjudge.dataset.folder import CHANGED
from visualjudge.judges import toolbox
from visualjudge.judges.base import Ask
from visualjudge.judges.toolbox import (
    ToolBox,
    Tools,
    checked_arguments,
    tool_names,
)
from visualjudge.vision.raster.images import png_bytes, write_png
from visualjudge.vision.tools import Evidence, Tool, ToolOutput

SECRET = ["b-model", "13.37", "hidden-error"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for level, name in enumerate("oab"):
        write_png(
            tmp_path / "media" / f"{name}.png",
            np.full((20, 30, 3), 30 + 40 * level, np.uint8),
        )
    with (tmp_path / "predictions.jsonl").open("w") as file:
        for name, label in (("name-1", "dog"), ("name-2", "cat")):
            items = [
                {"label": label, "bbox": [1, 2, 11, 12], "score": 0.77},
                {"label": "cow", "bbox": [1, 1, 5, 5]},
            ]
            row = {
                "task": "object_detection",
                "annotation_id": name,
                "prediction": {"detections": items},
            }
            file.write(json.dumps(row) + "\n")
    return tmp_path


def asked(
    order: Any = "AB",
    images: tuple[str, ...] = ("o", "a", "b"),
    prompt: str = PROMPT,
) -> Ask:
    made = question(
        images=tuple(f"media/{name}.png" for name in images), prompt=prompt
    )
    shown = replace(
        made,
        annotation_ids=("name-1", "name-2"),
        class_of_interest=None,
        sources=("a-model", SECRET[0]),
        final_scores=(1.0, 13.37),
        error_type="hidden-error",
    )
    return Ask(shown, order)


def box_of(root: Path, ask: Ask) -> ToolBox:
    return Tools(root, tool_names(["all"]), 6).box(ask)


def run(box: ToolBox, name: str, **arguments: Any) -> ToolResult:
    return asyncio.run(box.run(ToolCall("c", name, json.dumps(arguments))))


def said(result: ToolResult) -> str:
    return " ".join(
        part.text for part in result.parts if isinstance(part, TextPart)
    )


def test_options_are_named_as_they_are_shown(root: Path) -> None:
    for order, labels, levels in (("AB", "dog", 70), ("BA", "cat", 110)):
        box = box_of(root, asked(order))
        assert f"1 {labels}" in said(run(box, "count", option="A"))
        result = run(box, "zoom", image="A", x0=0, y0=0, x1=30, y1=20)
        (image,) = (
            part for part in result.parts if isinstance(part, ImagePart)
        )
        assert image.data == png_bytes(np.full((160, 240, 3), levels, np.uint8))


def test_only_the_class_of_interest_is_seen(root: Path) -> None:
    ask = asked()
    ask = replace(
        ask, question=replace(ask.question, class_of_interest=("cow",))
    )
    assert (
        said(run(box_of(root, ask), "count", option="A")) == "A: 1 items: 1 cow"
    )


def test_nothing_tells_a_score_a_source_or_an_error_type(root: Path) -> None:
    box = box_of(root, asked())
    told = [
        box.introduction(6),
        json.dumps(
            [
                [spec.name, spec.description, spec.parameters]
                for spec in box.specs
            ]
        ),
    ]
    for spec in box.specs:
        for arguments in (
            {"option": "B"},
            {"image": "B", "x0": 0, "y0": 0, "x1": 9, "y1": 9},
            {"option": "B", "x": 3, "y": 4},
            {"option": "B", "item": 1},
        ):
            told.append(said(run(box, spec.name, **arguments)))
    assert not [
        word
        for word in (*SECRET, "0.77", "name-1", "name-2")
        if word in " ".join(told)
    ]


def test_a_question_whose_images_a_probe_changed_has_no_data(
    root: Path,
) -> None:
    write_png(
        root / "media" / f"{CHANGED}a.png", np.zeros((20, 30, 3), np.uint8)
    )
    names = {
        spec.name
        for spec in box_of(root, asked(images=("o", f"{CHANGED}a", "b"))).specs
    }
    assert names == {"zoom", "compare"}


WRONG: list[tuple[str, str, str]] = [
    ("zoom", "", "image: the argument is missing"),
    ("measure", '{"option": "A", "item": 1.5}', "item: must be of type integer"),
    ("zoom", '{"image": "A", "x0": 1e30, "y0": 0, "x1": 3, "y1": 4}', "x0: must be of "
                                                                      "type number"),
    ("zoom", '{"image": "A", "x0": "3", "y0": 0, "x1": 3, "y1": 4}', "x0: must be of "
                                                                     "type number"),
    ("zoom", '{"image": "A", "x0": true, "y0": 0, "x1": 3, "y1": 4}', "x0: must be of "
                                                                      "type number"),
    ("zoom", '{"image": "A", "x0": 5, "y0": 0, "x1": 3, "y1": 4}', "x0 < x1"),
    ("zoom", '{"image": "A", "x0": 50, "y0": 0, "x1": 60, "y1": 4}', "overlap the "
                                                                     "image of 30×20"),
    ("zoom", '{"image": "Z", "x0": 0, "y0": 0, "x1": 3, "y1": 4}', "image: must be one "
                                                                   "of"),
    ("zoom", '{"image": ["A"], "x0": 0, "y0": 0, "x1": 3, "y1": 4}', "image: must be "
                                                                     "of type "
                                                                     "string"),
    ("zoom", '{"image": "A", "x0": 0, "y0": 0, "x1": 3, "y1": 4, "why": 1}', "why: "
                                                                             "unknown "
                                                                             "argument"),
    ("count", '{"option": "C"}', "option: must be one of A, B"),
    ("measure", '{"option": "A", "item": 0}', "item: must be from 1"),
    ("measure", '{"option": "A", "item": 99}', "item: must be from 1 to 2, got 99"),
    ("none", "{}", "the tool must be one of"),
    ("", "{}", "the tool must be one of"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "words"), WRONG)
def test_wrong_calls_are_answered_in_words(
    root: Path, name: str, arguments: str, words: str
) -> None:
    result = asyncio.run(
        box_of(root, asked()).run(ToolCall("c", name, arguments or "{}"))
    )
    assert result.failed
    assert re.search(words, said(result)), said(result)
    assert "Traceback" not in said(result)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=3,
)
RULES = {
    "type": "object",
    "properties": {
        "x": {"type": "number"},
        "n": {"type": "integer", "minimum": 1},
        "s": {"type": "string"},
    },
    "required": ["x", "n"],
    "additionalProperties": False,
}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["x", "n", "s", "z"]), JSON))
def test_arguments_that_pass_keep_to_the_schema(
    arguments: dict[str, Any],
) -> None:
    try:
        kept = checked_arguments(arguments, RULES)
    except DataError:
        return
    assert {"x", "n"} <= set(kept) <= {"x", "n", "s"}
    assert type(kept["n"]) is int
    assert kept["n"] >= 1
    assert isinstance(kept["x"], int | float)
    assert np.isfinite(kept["x"])


def test_arguments_may_be_null_and_integers_written_with_a_point(
    root: Path,
) -> None:
    box = box_of(root, asked())
    assert said(run(box, "count", option="A", label=None)).startswith(
        "A: 2 items"
    )
    whole, point = (run(box, "measure", option="A", item=k) for k in (2, 2.0))
    assert said(point) == said(whole) and not whole.failed


def raises(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda: raises(KeyError("secret")), "the tool failed (KeyError)"),
        (lambda: raises(SystemExit(0)), "the tool failed (SystemExit)"),
        (
            lambda: raises(KeyboardInterrupt()),
            "the tool failed (KeyboardInterrupt)",
        ),
        (
            lambda: raises(asyncio.CancelledError()),
            "the tool failed (CancelledError)",
        ),
        (lambda: raises(StopIteration()), "the tool failed (StopIteration)"),
        (lambda: raises(DataError("\ud800")), "?"),
        (lambda: time.sleep(5), "the tool took more than 0.2 s"),
        (lambda: None, "the tool failed (AttributeError)"),
        (lambda: ToolOutput(7), "the tool failed (TypeError)"),  # type: ignore[arg-type]
        (
            lambda: ToolOutput("x", ("no image",)),
            "the tool failed (AttributeError)",
        ),  # type: ignore[arg-type]
    ],
)
def test_a_fault_of_a_tool_is_told_in_words(
    broken: Callable[[], Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolbox, "MOST_SECONDS", 0.2)
    begun = time.monotonic()
    result = run(
        ToolBox(Evidence(), [Tool("broken", "Break.", lambda _: broken())], {}),
        "broken",
    )
    assert (result.failed, said(result)) == (True, f"Error: {told}")
    assert time.monotonic() - begun < 4


def test_what_a_tool_says_can_be_sent() -> None:
    tool = Tool("talks", "Talk.", lambda _: ToolOutput("\ud800" * 10**6))
    assert said(run(ToolBox(Evidence(), [tool], {}), "talks")) == "?" * 20_000


def test_an_image_that_cannot_be_read_is_told_in_words(root: Path) -> None:
    box = box_of(root, asked())
    kept = (root / "media" / "b.png").read_bytes()
    (root / "media" / "b.png").write_bytes(b"no image")
    wide = {"x0": 0, "y0": 0, "x1": 9, "y1": 9}
    assert said(run(box, "compare", **wide)) == "Error: image B cannot be read"
    (root / "media" / "b.png").write_bytes(kept)
    (root / "predictions.jsonl").write_text("")
    assert (
        said(run(box_of(root, asked()), "count", option="A"))
        == "Error: option A cannot be read"
    )


def test_questions_of_all_kinds_have_tools(root: Path) -> None:
    single: Question = replace(
        question(
            "scoring",
            images=("media/o.png", "media/a.png"),
            n=1,
            prompt="<image><image>Score it.",
        ),
        annotation_ids=("name-1",),
        class_of_interest=None,
        spans=Spans(((7, 14),)),
    )
    names = {spec.name for spec in box_of(root, Ask(single)).specs}
    assert "zoom" in names
    assert "compare" not in names


def test_names_are_checked() -> None:
    assert tool_names(["zoom", "zoom", "count"]) == ("zoom", "count")
    assert tool_names(["all"]) == ("zoom", "compare", "count", "measure")
    with pytest.raises(UsageError, match="got 'zooom'"):
        tool_names(["zooom"])
