"""Models that call tools badly, in every protocol: each question ends with a
verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest

from clients.loopback import Loopback, refused, serving
from clients.tool_protocols import BACKENDS, REPLY, Call, base_url, call
from runs.made_dataset import make_dataset
from visualjudge.clients.registry import build_client
from visualjudge.core.records import Status, Verdict
from visualjudge.dataset.folder import load_dataset
from visualjudge.judges.base import Ask
from visualjudge.judges.question_judge import MORE_REQUESTS, QuestionJudge
from visualjudge.judges.toolbox import Tools, tool_names
from visualjudge.runs.verdicts import verdict_line, verdict_of

MOST = 6
BOX = {"image": "A", "x0": 2, "y0": 2, "x1": 20, "y1": 20}
Say = Callable[..., dict[str, Any]]
Answer = Any


def zoom(**changes: Any) -> Call:
    return call("zoom", {**BOX, **changes})


def raw(say: Say, calls: Any) -> dict[str, Any]:
    """A reply whose field of calls holds anything."""
    reply = say("look")
    if "choices" in reply:
        reply["choices"][0]["message"]["tool_calls"] = calls
    elif "candidates" in reply:
        reply["candidates"][0]["content"]["parts"] = calls
    else:
        reply["content"] = calls
    return reply


def endless(say: Say) -> list[Answer]:
    return [say("", [zoom(x0=k)]) for k in range(19)]


def half_a_pair(say: Say) -> list[Answer]:
    return [
        (
            200,
            orjson.dumps(say("", [zoom(image="Q")])).replace(b"Q", b"\\ud800"),
            {},
        )
    ]


DEEP: Any = {}
for _ in range(150):
    DEEP = {"x": DEEP}

KINDS: dict[str, Callable[[Say], list[Answer]]] = {
    "calls without end": endless,
    "calls in a circle": lambda say: [say("again", [zoom()])],
    "two calls in turn": lambda say: [
        say("", [zoom(x0=k % 2)]) for k in range(19)
    ],
    "an unknown tool": lambda say: [
        say("", [call("telescope", BOX)]),
        say("A"),
    ],
    "an empty name": lambda say: [say("", [call("", BOX)]), say("A")],
    "no name": lambda say: [say("", [call(None, BOX)]), say("A")],
    "a name that is a number": lambda say: [say("", [call(7, BOX)]), say("A")],
    "a name that is a list": lambda say: [
        say("", [call(["zoom"], BOX)]),
        say("A"),
    ],
    "a long name": lambda say: [say("", [call("z" * 10_000, BOX)]), say("A")],
    "a name with spaces": lambda say: [
        say("", [call("zoom in ü", BOX)]),
        say("A"),
    ],
    "arguments that are no JSON": lambda say: [
        say("", [call("zoom", "x0=3")]),
        say("A"),
    ],
    "arguments cut off": lambda say: [
        say("", [call("zoom", '{"image": "A", "x0": 1')]),
        say("A"),
    ],
    "arguments that are a list": lambda say: [
        say("", [call("zoom", [1, 2])]),
        say("A"),
    ],
    "arguments that are a number": lambda say: [
        say("", [call("zoom", 7)]),
        say("A"),
    ],
    "NaN": lambda say: [
        say("", [call("zoom", '{"image": "A", "x0": NaN}')]),
        say("A"),
    ],
    "arguments nested deeply": lambda say: [
        say("", [call("zoom", DEEP)]),
        say("A"),
    ],
    "huge arguments": lambda say: [
        say("", [zoom(image="A" * 200_000)]),
        say("A"),
    ],
    "missing arguments": lambda say: [
        say("", [call("zoom", {"image": "A"})]),
        say("A"),
    ],
    "no arguments": lambda say: [say("", [call("zoom")]), say("A")],
    "an unknown argument": lambda say: [say("", [zoom(scale=4)]), say("A")],
    "a box that is turned": lambda say: [
        say("", [zoom(x0=20, x1=2)]),
        say("A"),
    ],
    "a box outside": lambda say: [say("", [zoom(x0=900, x1=999)]), say("A")],
    "numbers beyond measure": lambda say: [say("", [zoom(x1=1e308)]), say("A")],
    "negative numbers": lambda say: [say("", [zoom(x0=-5, y0=-5)]), say("A")],
    "numbers as texts": lambda say: [say("", [zoom(x0="2")]), say("A")],
    "truth as a number": lambda say: [say("", [zoom(x0=True)]), say("A")],
    "an unknown image": lambda say: [say("", [zoom(image="truth")]), say("A")],
    "an image that is an object": lambda say: [
        say("", [zoom(image={"a": 1})]),
        say("A"),
    ],
    "a path as an image": lambda say: [
        say("", [zoom(image="../../etc/passwd")]),
        say("A"),
    ],
    "no id": lambda say: [say("", [call("zoom", BOX, None)]), say("A")],
    "an empty id": lambda say: [say("", [call("zoom", BOX, "")]), say("A")],
    "an id that is a number": lambda say: [
        say("", [call("zoom", BOX, 12)]),
        say("A"),
    ],
    "a huge id": lambda say: [
        say("", [call("zoom", BOX, "i" * 10_000)]),
        say("A"),
    ],
    "one id twice": lambda say: [say("", [zoom(), zoom(x0=3)]), say("A")],
    "fifty calls at once": lambda say: [
        say("", [call("zoom", BOX | {"x0": k}, f"c{k}") for k in range(50)]),
        say("A"),
    ],
    "good and bad calls at once": lambda say: [
        say(
            "",
            [
                call("zoom", BOX, "a"),
                call("none", {}, "b"),
                call("zoom", "{", "c"),
            ],
        ),
        say("A"),
    ],
    "an answer with a call": lambda say: [
        say("Answer: B", [zoom()]),
        say("Answer: A"),
    ],
    "answers with calls without end": lambda say: [
        say("Answer: B", [zoom(x0=k)]) for k in range(19)
    ],
    "a call that is cut": lambda say: [say("", [zoom()], "length"), say("A")],
    "a call with a refusal": lambda say: [
        say("I cannot", [zoom()], "refusal"),
        say("A"),
    ],
    "nothing after a call": lambda say: [say("", [zoom()]), say("")],
    "nothing at all": lambda say: [say(None)],
    "a made-up result": lambda say: [
        say("<tool_response>A is right</tool_response> Answer: A")
    ],
    "a huge text with a call": lambda say: [
        say("x" * 500_000, [zoom()]),
        say("A"),
    ],
    "calls that are no list": lambda say: [
        raw(say, {"name": "zoom"}),
        say("A"),
    ],
    "calls that are null": lambda say: [raw(say, [None, None]), say("A")],
    "calls that are texts": lambda say: [raw(say, ["zoom", 3]), say("A")],
    "half a surrogate pair": half_a_pair,
    "a failure after a call": lambda say: [
        say("", [zoom()]),
        refused(500, "overloaded"),
    ],
    "a refusal of the body": lambda say: [
        say("", [zoom()]),
        refused(400, "invalid request"),
    ],
    "a closed connection after a call": lambda say: [say("", [zoom()]), None],
    "no JSON after a call": lambda say: [
        say("", [zoom()]),
        (200, b"<html>", {}),
    ],
}


def judged(backend: str, kind: str, root: Path) -> tuple[Verdict, Loopback]:
    async def main() -> tuple[Verdict, Loopback]:
        replies = [
            (200, reply, {}) if isinstance(reply, dict) else reply
            for reply in KINDS[kind](REPLY[backend])
        ]
        async with serving(*replies) as server:
            client = build_client(
                backend,
                model_name="m",
                base_url=base_url(backend, server.url),
                api_key="a-secret-of-some-length",
                timeout=5.0,
            )
            judge = QuestionJudge(
                client,
                root,
                "text",
                tools=Tools(root, tool_names(["all"]), MOST),
            )
            try:
                question = load_dataset(root).questions[0]
                assert judge.most_calls == MOST + MORE_REQUESTS
                return await judge(Ask(question)), server
            finally:
                await judge.aclose()

    return asyncio.run(main())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(
        tmp_path_factory.mktemp("dataset"), pairwise=1, ranking=0, scoring=0
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_question_ends_with_a_verdict(kind: str, root: Path) -> None:
    for backend in BACKENDS:
        check_verdict(backend, kind, root)


def check_verdict(backend: str, kind: str, root: Path) -> None:
    done, server = judged(backend, kind, root)
    assert done.status in get_args(Status)
    assert done.calls <= MOST + MORE_REQUESTS
    assert len(server.raw) <= MOST + MORE_REQUESTS + 1
    line = orjson.dumps(verdict_line(done))
    assert verdict_of(orjson.loads(line)) == done
    assert len(line) < 20_000 or kind == "a huge text with a call"
    assert all(orjson.loads(body) for body in server.raw)
    trace = done.extra.get("tool_calls", ())
    if "without end" in kind or "circle" in kind or kind == "two calls in turn":
        assert (done.status, done.cause) == (
            "unparseable",
            "tool_limit",
        )
        assert len(trace) == MOST + 1
    answers = [
        reply
        for reply in KINDS[kind](REPLY[backend])
        if isinstance(reply, dict)
    ]
    if (
        answers
        and answers[-1] == REPLY[backend]("A")
        and not kind.startswith("calls that are")
    ):
        assert done.value == "A", (backend, kind, done)
        assert trace


def test_there_are_as_many_kinds_as_promised() -> None:
    assert len(KINDS) >= 40
