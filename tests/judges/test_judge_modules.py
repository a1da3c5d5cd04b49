"""PairwiseJudge and VIEscorePipe: results exactly as documented, over a scripted
client."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folding import each
from scripted_client import ScriptedClient
from visualjudge.clients import ImagePart, Reply, Request, TextPart
from visualjudge.core.errors import ApiError, DataError, PromptError, UsageError
from visualjudge.judges import (
    PIPE_REGISTRY,
    ClientPipe,
    PairJudgeInput,
    PairwiseJudge,
    VIEscorePipe,
)
from visualjudge.judges.judge_module import object_as_geditbench
from visualjudge.judges.module_schemas import OUTPUTS
from visualjudge.prompts import PromptAssetStore, PromptTemplate

STORE = PromptAssetStore()
DIMENSIONS = ("visual_consistency", "instruction_following", "visual_quality")
SOURCE, A, B = (np.full((6, 7, 3), value, np.uint8) for value in (10, 20, 30))
ROW = {
    "instruction": "make it blue",
    "input_image": SOURCE,
    "edited_images": [A, B],
}
GOOD = '{"winner": "Image B"}'


def pair(
    script: Any, dimension: str = "visual_consistency", **config: Any
) -> tuple[PairwiseJudge, ScriptedClient]:
    client = ScriptedClient(script)
    template = STORE.get_prompt(f"vlm/assessment/{dimension}/pairwise")
    return PairwiseJudge(
        template, {"retries": 1, **config}, client=client
    ), client


def vie(
    script: Any,
    dimension: str = "visual_consistency",
    version: str = "v1",
    **config: Any,
) -> VIEscorePipe:
    template = STORE.get_prompt(f"vlm/assessment/{dimension}/viescore", version)
    return VIEscorePipe(
        template, {"retries": 1, **config}, client=ScriptedClient(script)
    )


def said(score: Any) -> str:
    return json.dumps({"reasoning": "x", "score": score})


# ---------------------------------------------------------------- pairwise


@each(
    ("alias", "winner"),
    [
        *(
            (alias, "Image A")
            for alias in ("image_a", "image a", "a", "A", "IMAGE_A", "Image A")
        ),
        *(
            (alias, "Image B")
            for alias in ("image_b", "image b", "b", "iMaGe B")
        ),
        *(
            (alias, "Tie")
            for alias in ("tie", "equal", "both", "none", "TIE", "None")
        ),
    ],
)
def test_aliases_in_any_case_name_a_winner(alias: str, winner: str) -> None:
    judge, client = pair([json.dumps({"winner": alias})])
    assert judge(ROW) == {
        "type": "pairwise_comparison",
        "value": winner,
        "meta": {"raw_response": json.dumps({"winner": alias})},
    }
    assert len(client.requests) == 1


@each(
    "stranger",
    [
        "Image C",
        " a ",
        "a.",
        "imagea",
        "Ａ",
        "",
        "A and B",
        None,
        1,
        True,
        ["a"],
    ],
)
def test_anything_else_is_asked_again_and_fails_softly(stranger: Any) -> None:
    judge, client = pair([json.dumps({"winner": stranger}), "last words"])
    assert judge(ROW) == {
        "type": "pairwise_comparison",
        "value": "Failed",
        "meta": {"raw_response": "last words"},
    }
    assert len(client.requests) == 2


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_the_budget_is_one_call_and_the_retries(retries: int) -> None:
    judge, client = pair(["no"] * retries + [GOOD], retries=retries)
    assert judge(ROW)["value"] == "Image B"
    assert client.attempts == list(range(retries + 1))
    late, client = pair(["no"] * (retries + 1) + [GOOD], retries=retries)
    assert late(ROW)["value"] == "Failed"
    assert len(client.requests) == retries + 1


def test_a_seed_moves_on_with_each_repeat() -> None:
    judge, client = pair(["no"], retries=2, seed="40")
    judge(ROW)
    assert [asked.seed for asked in client.requests] == [40, 41, 42]


def test_a_model_that_cannot_be_asked_is_an_error_not_a_verdict() -> None:
    judge, _ = pair([ApiError(401, "who are you")])
    with pytest.raises(ApiError):
        judge(ROW)


def test_the_prompt_shows_source_and_edits_in_order_and_the_instruction_word_for_word() -> (
    None
):
    judge, client = pair([GOOD])
    instruction = 'say "<image>" {{instruction}} {x} %s\n$1'
    judge(ROW | {"instruction": instruction})
    request = client.requests[0]
    images = [
        part.data for part in request.parts if isinstance(part, ImagePart)
    ]
    assert images == [part.data for part in _encoded()]
    text = "".join(
        part.text for part in request.parts if isinstance(part, TextPart)
    )
    assert instruction in text
    assert "<image>" not in text.replace(instruction, "")
    assert request.system
    assert "retoucher" in request.system


def _encoded() -> list[ImagePart]:
    from visualjudge.clients import image_part

    return [image_part(image) for image in (SOURCE, A, B)]


@pytest.mark.parametrize(
    ("mode", "fields"),
    [("auto", ["reasoning", "winner"]), ("off", None), (False, None)],
)
def test_the_schema_that_is_asked_for_follows_the_option(
    mode: Any, fields: list[str] | None
) -> None:
    judge, client = pair([GOOD], structured_output=mode)
    judge(ROW)
    schema = client.requests[0].schema
    assert (None if schema is None else list(schema["properties"])) == fields
    if schema is not None:
        assert schema["required"] == fields
        assert schema["additionalProperties"] is False
        assert schema["properties"]["winner"]["enum"] == [
            "Image A",
            "Image B",
            "Tie",
        ]


@each(
    ("change", "named"),
    [
        ({"edited_images": [A]}, "edited_images"),
        ({"edited_images": [A, B, A]}, "edited_images"),
        ({"edited_images": None}, "edited_images"),
        ({"instruction": None}, "instruction"),
        ({"input_image": None}, "input_image"),
    ],
)
def test_an_input_that_does_not_fit_is_named_before_any_call(
    change: dict[str, Any], named: str
) -> None:
    judge, client = pair([GOOD])
    with pytest.raises(ValueError, match=named):
        judge(ROW | change)
    with pytest.raises(ValueError, match="edited_images"):
        judge({"instruction": "x", "input_image": A})
    with pytest.raises(ValueError, match=r"^input: .* dictionary"):
        judge(["x", A, [A, B]])  # type: ignore[arg-type]
    assert client.requests == []


def test_a_image_that_is_not_there_is_named_before_any_call() -> None:
    judge, client = pair([GOOD])
    with pytest.raises(DataError, match="gone-7"):
        judge(ROW | {"input_image": "/nowhere/gone-7.png"})
    assert client.requests == []


def test_further_keys_and_keywords_are_left_alone() -> None:
    judge, _ = pair([GOOD])
    row = ROW | {"key": 1}
    assert judge(row, request_id=7)["value"] == "Image B"
    assert list(row) == [*ROW, "key"]


def test_schemas_check_their_fields() -> None:
    PairJudgeInput(**ROW)
    with pytest.raises(ValueError, match="edited_images"):
        PairJudgeInput(instruction="x", input_image=A, edited_images=[A])


# ---------------------------------------------------------------- viescore


@each("dimension", DIMENSIONS)
@each(("score", "value"), [(7, 7.0), (0, 0.0), ("8.5", 8.5), (10, 10.0)])
def test_v1_takes_one_number(dimension: str, score: Any, value: float) -> None:
    assert vie([said(score)], dimension)(ROW | {"edited_images": [A]}) == {
        "type": "single_score",
        "value": value,
        "meta": {
            "vie_score": [value],
            "raw_response": {"edited_image_0": said(score)},
        },
    }


@each(
    "score", [[7], [], "8/10", "high", None, True, {"a": 1}, "nan", "inf", ""]
)
def test_v1_takes_nothing_else(score: Any) -> None:
    result = vie([said(score)])(ROW | {"edited_images": [A]})
    assert (result["value"], result["meta"]["vie_score"]) == ("Failed", [None])


@each(
    ("dimension", "score", "value"),
    [
        ("instruction_following", [20, 5], 20.0),
        ("visual_quality", [20, 5], 5.0),
        ("visual_consistency", [20, 5], 5.0),
        ("visual_consistency", [5, 20], 20.0),
        ("visual_quality", [9, 4, 2], 2.0),
        ("instruction_following", [20], 20.0),
        ("visual_consistency", [20], None),
        ("visual_quality", [20, "x"], None),
        ("visual_quality", [], None),
        ("visual_quality", 7, None),
        ("instruction_following", "78", None),
    ],
)
def test_v2_picks_by_the_prompts_family(
    dimension: str, score: Any, value: float | None
) -> None:
    result = vie([said(score)], dimension, "v2")(ROW | {"edited_images": [A]})
    assert result["meta"]["vie_score"] == [value]


@each(
    ("version", "score", "original"),
    [
        ("v1", 85, 85.0),
        ("v1", 11, 11.0),
        ("v1", "-1", -1.0),
        ("v2", [30, 40], 30.0),
        ("v2", [3, 26], 3.0),
        ("v2", [-5, 3], -5.0),
    ],
)
def test_a_score_beyond_the_prompts_scale_is_none_but_to_the_original(
    version: str, score: Any, original: float
) -> None:
    for rules, value, cause in (
        ("strict", "Failed", "other scale"),
        ("geditbench", original, None),
    ):
        judge = vie(
            [said(score)], "instruction_following", version, rules=rules
        )
        judged = asyncio.run(judge.judge(ROW | {"edited_images": [A]}))
        assert (judged.result["value"], judged.details.get("cause")) == (
            value,
            cause,
        )


def test_a_score_beyond_the_scale_is_asked_again_and_decides_no_pair() -> None:
    again = asyncio.run(
        vie(by_image([said(85), said(4)], [said(6)])).judge(ROW)
    )
    assert (again.result["value"], len(again.replies), again.details) == (
        "Image B",
        3,
        {},
    )
    lost = asyncio.run(
        vie(by_image([said(6)], [said(85), said(85)])).judge(ROW)
    )
    assert (lost.result["value"], lost.result["meta"]["vie_score"]) == (
        "Failed",
        [6.0, None],
    )
    assert lost.details == {"cause": "other scale"}


def test_a_prompt_without_an_output_schema_has_a_scale_of_its_own() -> None:
    template = PromptTemplate(
        "mine", "v1", user="<image><image>{{instruction}} From 0 to 100."
    )
    judge = VIEscorePipe(template, {}, client=ScriptedClient([said(85)]))
    assert judge(ROW | {"edited_images": [A]})["value"] == 85.0


@each(
    ("reply", "cause"),
    [
        (Reply("no object at all"), "no answer"),
        (Reply("I'm sorry, I can't help with that."), "declined"),
        (Reply("", finish_reason="refusal"), "declined"),
        (Reply('{"reasoning": "the', finish_reason="length"), "cut"),
        (Reply("x" * 2_000_000), "too long"),
    ],
)
def test_a_failure_says_why(reply: Reply, cause: str) -> None:
    judge, _ = pair([reply], retries=0)
    for found in (judge, vie([reply], retries=0)):
        assert asyncio.run(found.judge(ROW)).details == {"cause": cause}


def by_image(for_a: list[str], for_b: list[str]) -> Any:
    """Replies to A and to B in turn, whichever is asked first."""
    encoded = _encoded()

    def line(request: Request, attempt: int) -> str:
        shown = [
            part.data for part in request.parts if isinstance(part, ImagePart)
        ][-1]
        return (for_a if shown == encoded[1].data else for_b)[attempt]

    return line


@each(
    ("a", "b", "value", "scores"),
    [
        ([said(8)], [said(3)], "Image A", [8.0, 3.0]),
        ([said(2)], [said("9")], "Image B", [2.0, 9.0]),
        ([said(0)], [said("0.0")], "Tie", [0.0, 0.0]),
        (["?", "?"], [said(5)], "Failed", [None, 5.0]),
        (["?", said(6)], [said(5)], "Image A", [6.0, 5.0]),
    ],
)
def test_two_edits_are_compared_by_their_scores(
    a: list[str], b: list[str], value: str, scores: list[Any]
) -> None:
    raw = {"edited_image_0": a[-1], "edited_image_1": b[-1]}
    assert vie(by_image(a, b))(ROW) == {
        "type": "pairwise_comparison",
        "value": value,
        "meta": {"vie_score": scores, "raw_response": raw},
    }


@pytest.mark.parametrize("edits", [[], [A, B, A]])
def test_one_or_two_edits_are_due(edits: list[Any]) -> None:
    with pytest.raises(ValueError, match="edited_images"):
        vie([said(1)])(ROW | {"edited_images": edits})


def test_one_input_can_be_scored_by_itself() -> None:
    judge = vie(["?", said(4)])
    source, edit, _ = _encoded()
    assert judge.score_single_input(judge.request("x", source, [edit])) == (
        4.0,
        said(4),
    )


def test_the_notes_of_all_replies_are_told_once() -> None:
    judge, _ = pair([Reply("?", notes=("n",)), Reply(GOOD, notes=("n",))])
    assert asyncio.run(judge.judge(ROW)).notes == ("n",)


# ---------------------------------------------------------------- prompts and
# registries


def test_pipes_are_registered() -> None:
    assert PIPE_REGISTRY["pairwise-judge"] is PairwiseJudge
    assert PIPE_REGISTRY["viescore"] is VIEscorePipe
    assert issubclass(PairwiseJudge, ClientPipe)


@each("dimension", DIMENSIONS)
@each(
    ("kind", "version"),
    [("pairwise", "v1"), ("viescore", "v1"), ("viescore", "v2")],
)
def test_prompts_say_what_to_reply_on_which_scale(
    dimension: str, kind: str, version: str
) -> None:
    prompt = STORE.get_prompt(f"vlm/assessment/{dimension}/{kind}", version)
    due = {
        "pairwise": ['"winner"', "Image A", "Image B", "Tie"],
        "viescore": ['"score"'],
    }[kind]
    assert all(word in prompt.user for word in due)
    assert prompt.user.count("<image>") == (3 if kind == "pairwise" else 2)
    scale = {
        ("viescore", "v1"): "from 0 to 10",
        ("viescore", "v2"): "from 0 to 25",
    }.get((kind, version), "")
    assert scale in prompt.user
    assert "{{instruction}}" in prompt.user


def test_a_prompt_may_leave_the_source_out() -> None:
    template = PromptTemplate(
        "mine", "v1", user="<image> or <image>? {{instruction}}"
    )
    client = ScriptedClient([GOOD])
    PairwiseJudge(template, {}, client=client)(ROW)
    assert [
        part for part in client.requests[0].parts if isinstance(part, ImagePart)
    ] == _encoded()[1:]


@each(
    ("template", "config", "error"),
    [
        (PromptTemplate("mine", "v1", user="<image>"), {}, PromptError),
        (
            PromptTemplate("mine", "v1", user="<image><image>{{other}}"),
            {},
            PromptError,
        ),
        (
            PromptTemplate("mine", "v1", user="x", input_schema="Nope"),
            {},
            PromptError,
        ),
        (
            PromptTemplate("mine", "v1", user="x", output_schema="Nope"),
            {},
            PromptError,
        ),
        (PromptTemplate("mine", "v1", user="x"), {"retries": -1}, UsageError),
        (
            PromptTemplate("mine", "v1", user="x"),
            {"retries": "some"},
            UsageError,
        ),
        (
            PromptTemplate("mine", "v1", user="x"),
            {"structured_output": "maybe"},
            UsageError,
        ),
    ],
)
def test_a_prompt_or_option_that_does_not_fit_is_an_error(
    template: PromptTemplate, config: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        PairwiseJudge(template, config, client=ScriptedClient([GOOD]))(ROW)


# ---------------------------------------------------------------- rules and finish
# reasons


def cut(text: str) -> Reply:
    return Reply(text, finish_reason="length")


@each(
    ("reply", "strict", "original"),
    [
        ('<think>{"winner": "Image A"}', "Failed", "Image A"),
        ('```json\n{"winner": "Image B"}\n```', "Image B", "Image B"),
        ('So: {"winner": "Image B"} as said.', "Image B", "Image B"),
        ("{'winner': 'image_b',}", "Image B", "Image B"),
        ("Image B", "Failed", "Failed"),
    ],
)
def test_the_rules_of_geditbench_read_the_block_as_it_stands(
    reply: str, strict: str, original: str
) -> None:
    for rules, winner in (("strict", strict), ("geditbench", original)):
        judge, _ = pair([reply], retries=0, rules=rules)
        assert judge(ROW)["value"] == winner


@each(
    ("reply", "schema", "read"),
    [
        ('{"a": 1} or {"a": 2}', None, {"a": 1}),
        ('```py\nx\n```\n```json\n{"a": 1}\n```', None, {"a": 1}),
        (
            '{"winner": "Image B", "reasoning": "cut',
            None,
            {"winner": "Image B", "reasoning": "cut"},
        ),
        ('{"score": 7}', "UnicEditVIEScoreOutput", None),
        ('{"score": 7.5, "reason": "r"}', "UnicEditVIEScoreOutput", None),
        (
            '{"score": "8", "reason": "r"}',
            "UnicEditVIEScoreOutput",
            {"score": 8, "reason": "r"},
        ),
        ('{"score": 8, "reasoning": "r"}', "EditScoreVIEScoreOutput", None),
        ('{"winner": "Tie"}', "VLMPairJudgeWithReasonOutput", None),
    ],
)
def test_the_original_reads_the_first_block_that_fits_its_schema(
    reply: str, schema: str | None, read: Any
) -> None:
    assert object_as_geditbench(reply, schema) == read


def test_a_scalar_score_is_none_to_a_v2_prompt() -> None:
    for rules in ("strict", "geditbench"):
        judge = vie([said(7)], version="v2", retries=0, rules=rules)
        assert judge(ROW | {"edited_images": [A]})["value"] == "Failed"


def test_unknown_rules_are_named() -> None:
    with pytest.raises(
        UsageError, match="rules must be strict or geditbench, got 'own'"
    ):
        pair([GOOD], rules="own")


def test_a_reply_that_was_cut_is_an_answer_only_if_its_object_is_whole() -> (
    None
):
    assert (
        pair([cut('<think>{"winner": "Image A"} or')], retries=0)[0](ROW)[
            "value"
        ]
        == "Failed"
    )
    assert (
        pair([cut('{"winner": "Image A", "reasoning": "the')], retries=0)[0](
            ROW
        )["value"]
        == "Failed"
    )
    assert pair([cut(GOOD)], retries=0)[0](ROW)["value"] == "Image B"


# ---------------------------------------------------------------- rubrics


RUBRIC = """
rubric: edits
version: v1
criteria:
  - {id: faces, ask: Which edit changes faces less?, answer: option}
  - {id: sharp, ask: Is it sharp?, answer: yes_no}
"""


def test_a_rubric_is_asked_in_the_same_call_and_changes_no_value(
    tmp_path: Path,
) -> None:
    (tmp_path / "edits.yaml").write_text(RUBRIC)
    criteria = {"faces": "Image A", "sharp": "yes", "winner": "Image A"}
    reply = {"reasoning": "x", "criteria": criteria, "winner": "Image B"}
    plain, asked_plainly = pair([json.dumps({"winner": "Image B"})])
    judge, client = pair([json.dumps(reply)], rubric=tmp_path / "edits.yaml")
    result = judge(ROW)
    assert result.pop("criteria") == {"faces": "A", "sharp": "yes"}
    assert result["value"] == plain(ROW)["value"]
    (request,) = client.requests
    before = asked_plainly.requests[0].parts
    assert request.parts[: len(before)] == before
    assert request.schema is not None
    assert [*request.schema["properties"]] == [
        "reasoning",
        "criteria",
        "winner",
    ]


def test_each_scored_edit_has_its_own_criteria(tmp_path: Path) -> None:
    (tmp_path / "edits.yaml").write_text(RUBRIC)
    replies = [
        json.dumps({"criteria": {"sharp": word, "score": 1}, "score": score})
        for word, score in (("yes", 7), ("maybe", 5))
    ]
    result = vie(replies, rubric=tmp_path / "edits.yaml")(ROW)
    assert result["criteria"] == {
        "edited_image_0": {"sharp": "yes"},
        "edited_image_1": {"sharp": "Failed"},
    }
    assert result["meta"]["vie_score"] == [7, 5]


def test_a_score_may_be_any_half_up_to_ten() -> None:
    scores = OUTPUTS["VIEScoreOutput"].model_json_schema()["properties"]
    assert scores["score"]["enum"] == [half / 2 for half in range(21)]
