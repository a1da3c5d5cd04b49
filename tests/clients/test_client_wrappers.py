"""Clients that wrap clients: asking again, fewer calls at once, replies on disk,
smaller images."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import pkgutil
import shutil
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folding import each
from scripted_client import ScriptedClient
from visualjudge import clients
from visualjudge.clients import (
    Reply,
    Request,
    RetryPolicy,
    TextPart,
    image_part,
)
from visualjudge.clients.base import (
    Alternative,
    Diagnostics,
    Identity,
    ImagePart,
    Token,
)
from visualjudge.clients.cache import FILE, Cached, cache_key
from visualjudge.clients.concurrency import Limited
from visualjudge.clients.retry import Retrying
from visualjudge.core.errors import ApiError, TransportError

HELLO = Request((TextPart("hello"),))


class Waits:
    """Takes the place of sleep."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


# ---------------------------------------------------------------- asking again


@each("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_asked_again(status: int) -> None:
    inner = ScriptedClient([ApiError(status, "later"), "A"])
    client = Retrying(inner, sleep=Waits())
    assert run(client.ask(HELLO)).text == "A"
    assert client.failures == {f"HTTP {status}": 1}


@each("status", [400, 401, 403, 404, 413, 422])
def test_the_callers_mistake_is_never_asked_again(status: int) -> None:
    inner, waits = ScriptedClient([ApiError(status, "no"), "A"]), Waits()
    with pytest.raises(ApiError):
        run(Retrying(inner, sleep=waits).ask(HELLO))
    assert (len(inner.requests), waits.seconds) == (1, [])


@pytest.mark.parametrize("cause", ["timeout", "connection", "not JSON"])
def test_lost_replies_are_asked_again(cause: str) -> None:
    inner = ScriptedClient([TransportError("lost", cause=cause), "A"])
    client = Retrying(inner, sleep=Waits())
    assert run(client.ask(HELLO)).text == "A"
    assert client.failures == {cause: 1}


def test_waits_double_with_jitter_and_end_with_the_last_failure() -> None:
    inner, waits = ScriptedClient([ApiError(500, "broken")]), Waits()
    policy = RetryPolicy(attempts=5, first_wait_s=1, longest_wait_s=4)
    with pytest.raises(ApiError, match="broken"):
        run(Retrying(inner, policy, sleep=waits).ask(HELLO))
    assert len(inner.requests) == 5
    for wait, full in zip(waits.seconds, (1, 2, 4, 4), strict=True):
        assert full / 2 <= wait < full


def test_two_requests_do_not_wait_alike() -> None:
    waits = Waits()
    client = Retrying(
        ScriptedClient([ApiError(500, "x")]),
        RetryPolicy(attempts=2),
        sleep=waits,
    )
    for _ in range(2):
        with pytest.raises(ApiError):
            run(client.ask(HELLO))
    assert waits.seconds[0] != waits.seconds[1]


def test_retry_after_is_waited_for_in_full() -> None:
    waits = Waits()
    inner = ScriptedClient([ApiError(429, "slow down", retry_after=20.0), "A"])
    run(Retrying(inner, RetryPolicy(first_wait_s=0.5), sleep=waits).ask(HELLO))
    assert 20.0 <= waits.seconds[0] <= 20.5


def test_a_retry_after_beyond_patience_is_reported_at_once() -> None:
    waits = Waits()
    with pytest.raises(
        TransportError, match="tomorrow; it asks to wait 90,000 s"
    ):
        run(
            Retrying(
                ScriptedClient([ApiError(429, "tomorrow", retry_after=9e4)]),
                sleep=waits,
            ).ask(HELLO)
        )
    assert waits.seconds == []


def test_a_judges_own_attempt_is_passed_on() -> None:
    inner = ScriptedClient([ApiError(500, "x"), "A"])
    run(Retrying(inner, sleep=Waits()).ask(HELLO, attempt=3))
    assert inner.attempts == [3, 3]


REFUSED = TransportError("refused", cause="connection", reached=False)


def test_a_server_that_was_never_reached_is_not_waited_for_unless_told_to() -> (
    None
):
    inner, waits = ScriptedClient([REFUSED]), Waits()
    with pytest.raises(TransportError):
        run(Retrying(inner, sleep=waits).ask(HELLO))
    assert (len(inner.requests), waits.seconds) == (1, [])
    with pytest.raises(TransportError):
        run(
            Retrying(inner, RetryPolicy(attempts=4, absent=4), sleep=waits).ask(
                HELLO
            )
        )
    assert (len(inner.requests), len(waits.seconds)) == (5, 3)


@pytest.mark.parametrize(
    "first", ["A", ApiError(400, "no"), TransportError("reset")]
)
def test_a_server_that_was_reached_is_waited_for_by_every_call(
    first: str | ApiError | TransportError,
) -> None:
    inner, waits = ScriptedClient([first, REFUSED]), Waits()
    client = Retrying(inner, RetryPolicy(attempts=3), sleep=waits)
    for _ in range(3):
        with contextlib.suppress(ApiError, TransportError):
            run(client.ask(HELLO))
    assert len(waits.seconds) >= 4


# ---------------------------------------------------------------- fewer at once


class Crowd:
    """Counts how many are inside at once."""

    model = "crowd"
    identity = Identity("crowd", None, "crowd")
    diagnostics = Diagnostics()

    def __init__(
        self, outcome: Callable[[int], Exception | None] = lambda n: None
    ) -> None:
        self.inside = self.most = self.asked = 0
        self.outcome = outcome

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        self.inside += 1
        self.asked += 1
        self.most = max(self.most, self.inside)
        failure = self.outcome(self.asked)
        await asyncio.sleep(0.001)
        self.inside -= 1
        if failure:
            raise failure
        return Reply("A")

    async def aclose(self) -> None: ...


async def _many(client: Limited, number: int) -> None:
    await asyncio.gather(
        *(client.ask(HELLO) for _ in range(number)), return_exceptions=True
    )


def test_no_more_are_under_way_than_allowed() -> None:
    crowd = Crowd()
    run(_many(Limited(crowd, 4), 50))
    assert (crowd.asked, crowd.most) == (50, 4)


@pytest.mark.parametrize(
    ("failure", "allowed"),
    [
        (ApiError(429, "x"), 4),
        (ApiError(503, "x"), 4),
        (TransportError("x", cause="timeout"), 4),
        (ApiError(400, "x"), 8),
    ],
)
def test_overload_halves_once_for_all_that_had_begun(
    failure: Exception, allowed: int
) -> None:
    client = Limited(Crowd(lambda n: failure if n <= 8 else None), 8)
    run(_many(client, 8))
    assert (client.allowed, client.in_flight) == (allowed, 0)


@pytest.mark.parametrize("capacity", [3, 8, 20])
def test_it_finds_and_keeps_to_what_a_server_takes_at_once(
    capacity: int,
) -> None:
    crowd = Crowd()
    crowd.outcome = lambda n: (
        ApiError(429, "x") if crowd.inside > capacity else None
    )
    client, used, refused = Limited(crowd, 32), list[int](), 0

    async def one() -> None:
        nonlocal refused
        while True:
            try:
                await client.ask(HELLO)
            except ApiError:
                refused += 1
            else:
                used.append(min(capacity, int(client.allowed)))
                return

    async def main() -> None:
        await asyncio.gather(*(one() for _ in range(3000)))

    run(main())
    assert refused < 0.05 * 3000
    late = used[1000:]
    assert sum(late) / len(late) > 0.93 * capacity


def test_it_rises_again_to_the_ceiling_and_not_beyond() -> None:
    crowd = Crowd(lambda n: ApiError(429, "x") if n == 1 else None)
    client = Limited(crowd, 8)
    run(_many(client, 400))
    assert client.allowed == 8


def test_no_call_begins_before_a_retry_after_has_passed() -> None:
    times: list[float] = []

    def told(n: int) -> Exception | None:
        times.append(time.monotonic())
        return ApiError(429, "x", retry_after=0.2) if n == 1 else None

    run(_many(Limited(Crowd(told), 1), 3))
    assert times[1] - times[0] >= 0.2


def test_calls_fail_once_none_was_answered_for_the_longest_wait() -> None:
    """Six calls of 300 s each, one question after another, would take days."""
    silent = TransportError("no reply within 9 s", cause="timeout")
    # It answers late, so that calls that wait on end too, but not as they must.
    late = time.monotonic() + 5
    crowd = Crowd(lambda n: silent if time.monotonic() < late else None)
    often = RetryPolicy(attempts=10**6, first_wait_s=0.01, longest_wait_s=0.01)
    client = Retrying(Limited(crowd, 4, 0.1), often)

    async def main() -> tuple[list[Reply | BaseException], Reply]:
        questions = (client.ask(HELLO) for _ in range(40))
        failed = await asyncio.gather(*questions, return_exceptions=True)
        await asyncio.sleep(0.21)
        crowd.outcome = lambda n: None
        return failed, await client.ask(HELLO)

    failed, later = run(main())
    assert {str(error).partition(" for ")[0] for error in failed} == {
        "no reply within 9 s; no call was answered"
    }
    assert later.text == "A"


@each("told_s", [None, 0.1])
def test_waits_between_calls_are_no_rest(told_s: float | None) -> None:
    """Neither those that the server asks for, nor those that grow."""
    crowd = Crowd(lambda n: ApiError(503, "busy", retry_after=told_s))
    policy = RetryPolicy(attempts=20, first_wait_s=0.3, patience_s=0.1)
    client = Retrying(Limited(crowd, 4, 0.1), policy)
    with pytest.raises(TransportError, match="no call was answered"):
        run(client.ask(HELLO))


def test_a_cancelled_waiter_gives_its_turn_on() -> None:
    async def main() -> int:
        crowd = Crowd()
        client = Limited(crowd, 1)
        first = asyncio.create_task(client.ask(HELLO))
        await asyncio.sleep(0)
        second, third = (
            asyncio.create_task(client.ask(HELLO)) for _ in range(2)
        )
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait_for(asyncio.gather(first, third), 1)
        return client.in_flight

    assert run(main()) == 0


# ---------------------------------------------------------------- replies on disk


def test_a_second_asking_costs_nothing_and_says_so(tmp_path: Path) -> None:
    token = Token("A", -0.1, (Alternative("B", -2.0),))
    inner = ScriptedClient(
        [Reply("A", "length", {"prompt_tokens": 3}, (token,), ("note",))]
    )
    cache = tmp_path / "not yet" / "there"
    first = run(Cached(inner, cache).ask(HELLO))
    again = run(Cached(inner, cache).ask(HELLO))
    assert len(inner.requests) == 1
    assert (first.cached, again.cached) == (False, True)
    assert (
        again.text,
        again.finish_reason,
        again.usage,
        again.tokens,
        again.notes,
    ) == (
        "A",
        "length",
        {"prompt_tokens": 3},
        (token,),
        ("note",),
    )


def test_each_attempt_has_an_entry_of_its_own(tmp_path: Path) -> None:
    inner = ScriptedClient(["bad", "good", "never"])

    async def judge() -> list[str]:
        client = Cached(inner, tmp_path)
        return [
            (await client.ask(HELLO, attempt=attempt)).text
            for attempt in (0, 1)
        ]

    assert run(judge()) == run(judge()) == ["bad", "good"]
    assert len(inner.requests) == 2


WHO = Identity("api", "http://h/v1", "m")
IMAGE = image_part(np.zeros((2, 2, 3), np.uint8))
OTHER_IMAGE = image_part(np.ones((2, 2, 3), np.uint8))


@each(
    "other",
    [
        Request((TextPart("hell"),)),
        Request((TextPart("hello"), TextPart(""))),
        Request((TextPart("hello"),), system="x"),
        Request((TextPart("hello"),), temperature=0.0),
        Request((TextPart("hello"),), max_tokens=1),
        Request((TextPart("hello"),), seed=1),
        Request((TextPart("hello"),), schema={"type": "object"}),
        Request((TextPart("hello"),), top_logprobs=2),
        Request((TextPart("hello"),), repeat=1),
        Request((TextPart("hello"), IMAGE)),
    ],
)
def test_everything_that_decides_a_reply_is_in_its_key(other: Request) -> None:
    assert cache_key(WHO, other) != cache_key(WHO, HELLO)


def test_images_are_told_apart_by_their_bytes_and_place() -> None:
    who, text = WHO, TextPart("x")
    assert cache_key(who, Request((IMAGE, text))) != cache_key(
        who, Request((text, IMAGE))
    )
    assert cache_key(who, Request((IMAGE,))) != cache_key(
        who, Request((OTHER_IMAGE,))
    )
    assert cache_key(who, Request((IMAGE,))) == cache_key(
        who, Request((ImagePart(IMAGE.data),))
    )


@pytest.mark.parametrize(
    "who",
    [
        Identity("vllm", "http://h/v1", "m"),
        Identity("api", "http://i/v1", "m"),
        Identity("api", "http://h/v1", "n"),
        Identity("api", "http://h/v1", "m", {"top_p": 0.5}),
    ],
)
def test_another_client_has_other_keys(who: Identity) -> None:
    assert cache_key(who, HELLO) != cache_key(
        Identity("api", "http://h/v1", "m"), HELLO
    )


def test_failures_are_not_kept(tmp_path: Path) -> None:
    inner = ScriptedClient([ApiError(400, "no"), "A"])
    with pytest.raises(ApiError):
        run(Cached(inner, tmp_path).ask(HELLO))
    assert run(Cached(inner, tmp_path).ask(HELLO)).text == "A"


def test_a_cache_that_cannot_be_written_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    client = Cached(ScriptedClient(["A"]), tmp_path / "file")
    for repeat in range(3):
        assert (
            run(client.ask(Request((TextPart("x"),), repeat=repeat))).text
            == "A"
        )
    assert len(caplog.records) == 1


def test_a_copied_cache_works_and_a_damaged_one_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = Cached(ScriptedClient(["A"]), tmp_path / "here")
    run(first.ask(HELLO))
    run(first.aclose())
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    assert (
        run(Cached(ScriptedClient(["B"]), tmp_path / "there").ask(HELLO)).text
        == "A"
    )
    (tmp_path / "here" / FILE).write_bytes(b"no database" * 1000)
    damaged = Cached(ScriptedClient(["B"]), tmp_path / "here")
    assert [run(damaged.ask(HELLO)).text for _ in range(2)] == ["B", "B"]
    assert len(caplog.records) == 1


# ---------------------------------------------------------------- smaller images


def test_every_client_takes_a_first_attempt_where_none_is_named() -> None:
    modules = [
        importlib.import_module(f"visualjudge.clients.{module.name}")
        for module in pkgutil.iter_modules(clients.__path__)
        if not module.ispkg
    ]
    asking = {
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and hasattr(value, "ask")
    }
    stated = {
        inspect.signature(client.ask).parameters["attempt"].default
        for client in asking
    }
    assert len(asking) > 6 and stated == {0}
