"""One bad reply costs one question: every fault of a server, by name, at every
backend."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pytest

from faults.chaos import KEY, Chaos, chaos, texts_said
from scripted_client import ScriptedClient
from visualjudge.clients import Request, RetryPolicy, TextPart, build_client
from visualjudge.clients.base import Reply
from visualjudge.clients.cache import Cached
from visualjudge.clients.retry import Retrying
from visualjudge.core.errors import ClientError
from visualjudge.core.records import Question, Verdict
from visualjudge.core.untrusted import BOUNDS, Bound
from visualjudge.judges.base import Ask
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.runs.verdicts import verdict_line

BACKENDS = ["api", "vllm", "google", "anthropic"]
ONCE = RetryPolicy(attempts=1)


def opened(backend: str, server: Chaos, cache: Path, **options: Any) -> Cached:
    url = f"{server.url}/v1" if backend in ("api", "vllm") else server.url
    client = build_client(
        backend,
        model_name="m",
        base_url=url,
        api_key=KEY,
        timeout=1.5,
        **options,
    )
    return Cached(Retrying(client, ONCE), cache)


async def outcome(
    client: Cached, name: str, **more: Any
) -> Reply | ClientError:
    try:
        return await client.ask(Request((TextPart(f"FAULT<{name}>"),), **more))
    except ClientError as error:
        chain, seen = error, ""
        while chain is not None:
            seen += f"{chain!r} {vars(chain)}"
            chain = chain.__cause__ or chain.__context__
        assert KEY not in seen
        return error


async def outcomes_of(
    client: Cached, names: list[str]
) -> dict[str, Reply | ClientError]:
    return dict(
        zip(
            names,
            await asyncio.gather(
                *(outcome(client, n, top_logprobs=2) for n in names)
            ),
            strict=True,
        )
    )


Outcomes = dict[str, tuple[dict[str, Reply | ClientError], Path]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What each fault leads to at each backend, and the folder of the reply cache."""
    caches = {backend: tmp_path_factory.mktemp(backend) for backend in BACKENDS}
    return {
        backend: (asyncio.run(all_outcomes(backend, cache)), cache)
        for backend, cache in caches.items()
    }


async def all_outcomes(
    backend: str, cache: Path
) -> dict[str, Reply | ClientError]:
    async with chaos(backend) as server:
        client = opened(backend, server, cache)
        try:
            found = {}
            names = [
                name for name in server.names if name != "one byte at a time"
            ]
            for batch in [names[k : k + 16] for k in range(0, len(names), 16)]:
                found |= await outcomes_of(client, batch)
            late = [
                name
                for name, one in found.items()
                if getattr(one, "cause", None) == "timeout"
            ]
            found |= await outcomes_of(
                client, late
            )  # a busy machine is not the server's fault
            assert (
                await client.ask(Request((TextPart("good"),)))
            ).text == "Answer: A"
            return found
        finally:
            await client.aclose()


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_fault_is_a_reply_or_a_typed_failure_that_can_be_written(
    backend: str, outcomes: Outcomes
) -> None:
    found, cache = outcomes[backend]
    assert len(found) >= 105
    for name, one in found.items():
        if isinstance(one, Reply):
            line = orjson.dumps([one.text, one.usage, one.notes, one.cause])
            assert isinstance(one.text, str), name
            assert all(0 <= count <= 10**12 for count in one.usage.values()), (
                name
            )
        else:
            line = str(one).encode()
            assert "\n" not in str(one), name
            assert len(line) < 1_500, name
        assert KEY.encode() not in line, name
        assert KEY[:-4].encode() not in line, name
    written = b"".join(path.read_bytes() for path in cache.rglob("*.json"))
    assert KEY.encode() not in written


MALFORMED = [
    "content is number",
    "content is object",
    "content is true",
    "content is bad parts",
    "finish reason is list",
    "choices are null",
    "choices are object",
    "choices are text",
    "error with status 200: text",
    "JSON: list",
    "JSON: deep",
    "JSON: invalid UTF-8",
    "JSON: lone surrogate",
    "gzip bomb",
    "an endless body",
    "a million objects",
    "br",
    "307 to another host",
    "status 99",
    "half a body",
    "300 levels in content",
    "HTTP 400 with deep JSON",
]


@pytest.mark.parametrize("backend", ["api", "google", "anthropic"])
def test_what_is_no_reply_is_a_failure_and_never_an_answer(
    backend: str, outcomes: Outcomes
) -> None:
    found, _ = outcomes[backend]
    assert [
        name for name in MALFORMED if not isinstance(found[name], ClientError)
    ] == []


def test_what_is_a_good_reply_with_a_bad_margin_is_kept(
    outcomes: Outcomes,
) -> None:
    found, _ = outcomes["api"]
    kept = [name for name in found if name.startswith(("usage", "logprobs"))]
    assert [
        name
        for name in kept
        if getattr(found[name], "text", None) != "Answer: A"
    ] == []
    refused = [
        found[f"refusal is {kind}"] for kind in ("list", "object", "true")
    ] + [found["content filter"]]
    assert [one.finish_reason for one in refused if isinstance(one, Reply)] == [
        "refusal"
    ] * 4


@pytest.mark.parametrize("backend", ["api", "google", "anthropic"])
def test_a_bomb_costs_no_more_memory_than_the_limit(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BOUNDS, "body", Bound(2**20, items=9))

    async def main() -> None:
        async with chaos(backend) as server:
            client = opened(backend, server, tmp_path)
            await outcome(client, "good enough")
            tracemalloc.start()
            begun = time.perf_counter()
            assert isinstance(await outcome(client, "gzip bomb"), ClientError)
            endless = await outcome(client, "an endless body")
            assert (vars(endless)["cause"], vars(endless)["retryable"]) == (
                "too large",
                False,
            )
            assert time.perf_counter() - begun < 5
            assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
            tracemalloc.stop()
            await client.aclose()

    asyncio.run(main())


def test_no_redirect_is_followed(tmp_path: Path) -> None:
    async def main(fault: str) -> Any:
        async with chaos("api") as server:
            client = opened("api", server, tmp_path)
            try:
                return await outcome(client, fault)
            finally:
                await client.aclose()

    for fault in ("redirect to '/v1/again'", "307 to another host"):
        error = asyncio.run(main(fault))
        assert isinstance(error, ClientError) and str(error).startswith(
            "HTTP 307"
        )


@pytest.mark.parametrize("kind", ["pairwise", "ranking", "scoring"])
def test_degenerate_texts_are_one_verdict_each_and_stop_no_loop(
    kind: str,
) -> None:
    texts = dict(texts_said())
    client = ScriptedClient(
        lambda request, attempt: texts[request.parts[-1].text]
    )  # type: ignore[union-attr]
    judge = QuestionJudge(client, Path())
    longest = 0.0

    async def main() -> list[Verdict]:
        nonlocal longest
        asks = [Ask(question(kind, name)) for name in texts]
        working = asyncio.gather(*(judge(ask) for ask in asks))
        while not working.done():
            begun = time.perf_counter()
            await asyncio.sleep(0.01)
            longest = max(longest, time.perf_counter() - begun)
        return await working

    found = dict(zip(texts, asyncio.run(main()), strict=True))
    assert all(orjson.dumps(verdict_line(judged)) for judged in found.values())
    assert found["megabytes of prose"].cause == "too long"
    assert longest < 5  # seconds that a signal would wait, on a busy machine


def question(kind: Any, prompt: str) -> Question:
    letters = {"pairwise": "A", "ranking": "AB", "scoring": 5.0}[kind]
    n = 1 if kind == "scoring" else 2
    fixed = {
        "task": "object_detection",
        "encoding": "x",
        "image_id": "i",
        "class_of_interest": None,
        "error_type": None,
    }
    listed = {
        "annotation_ids": ("a", "b")[:n],
        "final_scores": (1.0, 2.0)[:n],
        "sources": (None, None)[:n],
    }
    return Question(
        id=prompt,
        question_type=kind,
        subset=(),
        prompt=prompt,
        images=(),
        answer=letters,
        **fixed,
        **listed,
    )
