"""Clients that wrap clients: asking again, fewer calls at once, replies on disk, smaller images."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from visualjudge.clients import (
    Reply,
    Request,
    RetryPolicy,
    ScriptedClient,
    TextPart,
    concurrency,
    image_part,
)
from visualjudge.clients.base import Alternative, Diagnostics, Identity, ImagePart, Token
from visualjudge.clients.cache import Cached, cache_key
from visualjudge.clients.concurrency import AdaptiveLimit, Limited
from visualjudge.clients.image_resize import Shrinking
from visualjudge.clients.reply_bounds import LARGEST_BODY
from visualjudge.clients.retry import Retrying
from visualjudge.clients.secret_files import cache_secret
from visualjudge.core.errors import ApiError, TransportError
from visualjudge.vision.raster.images import rgb_of

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


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_asked_again(status: int) -> None:
    inner = ScriptedClient([ApiError(status, "later"), "A"])
    client = Retrying(inner, sleep=Waits())
    assert run(client.ask(HELLO)).text == "A"
    assert client.failures == {f"HTTP {status}": 1}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
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
    client = Retrying(ScriptedClient([ApiError(500, "x")]), RetryPolicy(attempts=2), sleep=waits)
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
    with pytest.raises(ApiError):
        run(
            Retrying(ScriptedClient([ApiError(429, "tomorrow", retry_after=9e4)]), sleep=waits).ask(
                HELLO
            )
        )
    assert waits.seconds == []


def test_a_judges_own_attempt_is_passed_on() -> None:
    inner = ScriptedClient([ApiError(500, "x"), "A"])
    run(Retrying(inner, sleep=Waits()).ask(HELLO, attempt=3))
    assert inner.attempts == [3, 3]


REFUSED = TransportError("refused", cause="connection", reached=False)


def test_a_server_that_was_never_reached_is_waited_for_by_one_call_only() -> None:
    inner, waits = ScriptedClient([*[REFUSED] * 7, "A", REFUSED, "B"]), Waits()
    client = Retrying(inner, sleep=waits)
    for calls in (6, 7):
        with pytest.raises(TransportError):
            run(client.ask(HELLO))
        assert (len(inner.requests), len(waits.seconds)) == (calls, 5)
    assert run(client.ask(HELLO)).text == "A"  # it has started
    assert run(client.ask(HELLO)).text == "B"
    assert waits.seconds[:5] == [0.25, 0.5, 1, 2, 4]
    assert len(waits.seconds) == 6


@pytest.mark.parametrize("first", ["A", ApiError(400, "no"), TransportError("reset")])
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

    def __init__(self, outcome: Callable[[int], Exception | None] = lambda n: None) -> None:
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
    await asyncio.gather(*(client.ask(HELLO) for _ in range(number)), return_exceptions=True)


def test_no_more_are_under_way_than_allowed() -> None:
    crowd = Crowd()
    run(_many(Limited(crowd, 4), 50))
    assert (crowd.asked, crowd.most) == (50, 4)


@pytest.mark.parametrize("failure", [ApiError(503, "x"), TransportError("x", cause="timeout")])
def test_overload_halves_once_for_all_that_had_begun(failure: Exception) -> None:
    limit = AdaptiveLimit(8)
    run(_many(Limited(Crowd(lambda n: failure if n <= 8 else None), limit), 8))
    assert limit.allowed == 4


def test_a_refused_call_takes_its_place_away() -> None:
    limit = AdaptiveLimit(8)
    run(_many(Limited(Crowd(lambda n: ApiError(429, "x") if n <= 3 else None), limit), 4))
    assert 5 <= limit.allowed < 5.1


def test_calls_refused_together_leave_an_eighth() -> None:
    limit = AdaptiveLimit(32)
    run(_many(Limited(Crowd(lambda n: ApiError(429, "x")), limit), 32))
    assert limit.allowed == 4


def test_places_come_back_slowly_up_to_what_was_refused_and_faster_above() -> None:
    limit = AdaptiveLimit(20)
    crowd = Crowd(lambda n: ApiError(429, "x") if n <= 10 else None)
    run(_many(Limited(crowd, limit), 10 + 30))
    assert 10.5 < limit.allowed < 11
    run(_many(Limited(crowd, limit), 20 + 30))
    assert limit.allowed > 12.5


def test_the_last_place_rests_after_a_refused_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "REST_S", 0.05)
    began = time.monotonic()
    run(_many(Limited(Crowd(lambda n: ApiError(429, "x")), 1), 3))
    assert time.monotonic() - began >= 0.15


def test_a_wrong_request_says_nothing_about_load() -> None:
    limit = AdaptiveLimit(8)
    run(_many(Limited(Crowd(lambda n: ApiError(400, "x")), limit), 8))
    assert limit.allowed == 8


def test_it_rises_again_to_the_ceiling_and_not_beyond() -> None:
    limit = AdaptiveLimit(8)
    crowd = Crowd(lambda n: ApiError(429, "x") if n == 1 else None)
    run(_many(Limited(crowd, limit), 200))
    assert limit.allowed == 8
    assert crowd.asked == 200


def test_one_place_always_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "REST_S", 0.0)
    limit = AdaptiveLimit(4)
    run(_many(Limited(Crowd(lambda n: ApiError(429, "x")), limit), 60))
    assert limit.allowed == 1
    assert limit.in_flight == 0


def test_a_cancelled_waiter_gives_its_turn_on() -> None:
    async def main() -> int:
        crowd = Crowd()
        client = Limited(crowd, 1)
        first = asyncio.create_task(client.ask(HELLO))
        await asyncio.sleep(0)
        second, third = (asyncio.create_task(client.ask(HELLO)) for _ in range(2))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait_for(asyncio.gather(first, third), 1)
        return client.limit.in_flight

    assert run(main()) == 0


# ---------------------------------------------------------------- replies on disk


def test_a_second_asking_costs_nothing_and_says_so(tmp_path: Path) -> None:
    token = Token("A", -0.1, (Alternative("B", -2.0),))
    inner = ScriptedClient([Reply("A", "length", {"prompt_tokens": 3}, (token,), ("note",))])
    first = run(Cached(inner, tmp_path).ask(HELLO))
    again = run(Cached(inner, tmp_path).ask(HELLO))
    assert len(inner.requests) == 1
    assert (first.cached, again.cached) == (False, True)
    assert (again.text, again.finish_reason, again.usage, again.tokens, again.notes) == (
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
        return [(await client.ask(HELLO, attempt=attempt)).text for attempt in (0, 1)]

    assert run(judge()) == run(judge()) == ["bad", "good"]
    assert len(inner.requests) == 2


WHO = Identity("api", "http://h/v1", "m")
IMAGE = image_part(np.zeros((2, 2, 3), np.uint8))
OTHER_IMAGE = image_part(np.ones((2, 2, 3), np.uint8))


@pytest.mark.parametrize(
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
    assert cache_key(who, Request((IMAGE, text))) != cache_key(who, Request((text, IMAGE)))
    assert cache_key(who, Request((IMAGE,))) != cache_key(who, Request((OTHER_IMAGE,)))
    assert cache_key(who, Request((IMAGE,))) == cache_key(who, Request((ImagePart(IMAGE.data),)))


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
    assert cache_key(who, HELLO) != cache_key(Identity("api", "http://h/v1", "m"), HELLO)


def test_failures_are_not_kept(tmp_path: Path) -> None:
    inner = ScriptedClient([ApiError(400, "no"), "A"])
    with pytest.raises(ApiError):
        run(Cached(inner, tmp_path).ask(HELLO))
    assert run(Cached(inner, tmp_path).ask(HELLO)).text == "A"


def test_two_equal_requests_at_once_are_asked_once(tmp_path: Path) -> None:
    crowd = Crowd()

    async def main() -> list[bool]:
        client = Cached(crowd, tmp_path)
        return sorted(
            reply.cached for reply in await asyncio.gather(*(client.ask(HELLO) for _ in range(5)))
        )

    assert run(main()) == [False, True, True, True, True]
    assert crowd.asked == 1


@pytest.mark.parametrize("torn", [b"", b'{"text": "A', b"[]", b'{"text": "A"}'])
def test_a_foreign_or_torn_entry_is_written_anew(tmp_path: Path, torn: bytes) -> None:
    client = Cached(ScriptedClient(["A"]), tmp_path)
    place = client.path(HELLO, 0)
    place.parent.mkdir(parents=True)
    place.write_bytes(torn)
    assert not run(client.ask(HELLO)).cached
    assert json.loads(place.read_bytes())["reply"]["text"] == "A"


def test_a_damaged_entry_is_asked_anew(tmp_path: Path) -> None:
    inner = ScriptedClient(["Answer: A"])
    client = Cached(inner, tmp_path)
    run(client.ask(HELLO))
    place = client.path(HELLO, 0)
    place.write_bytes(place.read_bytes().replace(b"Answer: A", b"Answer: B"))
    assert run(client.ask(HELLO)).text == "Answer: A"
    assert len(inner.requests) == 2


def entry(tmp_path: Path, text: str = "A") -> tuple[Cached, Path]:
    """A client whose cache has an entry for one question, and the entry."""
    client = Cached(ScriptedClient([text, "asked again"]), tmp_path / "cache")
    run(client.ask(HELLO))
    return client, client.path(HELLO, 0)


def test_an_entry_of_another_user_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one with a checksum alone, as older versions wrote them."""
    client, place = entry(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert run(client.ask(HELLO)).text == "asked again"
    monkeypatch.undo()
    reply = orjson.dumps(asdict(Reply("forged")))
    digest = hashlib.sha256(reply).hexdigest()
    place.write_bytes(orjson.dumps({"sha256": digest, "reply": orjson.Fragment(reply)}))
    client = Cached(ScriptedClient(["asked"]), client.directory)
    assert run(client.ask(HELLO)).text == "asked"


def test_an_entry_is_not_believed_in_the_place_of_another(tmp_path: Path) -> None:
    client, place = entry(tmp_path)
    other = client.path(Request((TextPart("other"),)), 0)
    other.parent.mkdir(parents=True, exist_ok=True)
    place.rename(other)
    assert run(client.ask(Request((TextPart("other"),)))).text == "asked again"


def test_the_secret_is_of_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    entry(tmp_path)
    key = tmp_path / "home/visualjudge/replies.key"
    assert key.stat().st_mode & 0o777 == 0o600 and len(key.read_bytes()) == 32
    assert cache_secret.__wrapped__(key.parent) == key.read_bytes()


@pytest.mark.parametrize("spoil", ["readable", "short", "link", "folder"])
def test_a_secret_that_others_may_know_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, spoil: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / spoil))
    key = tmp_path / spoil / "visualjudge/replies.key"
    key.parent.mkdir(parents=True)
    key.mkdir() if spoil == "folder" else key.write_bytes(bytes(32 if spoil != "short" else 3))
    key.chmod(0o644 if spoil == "readable" else 0o600)
    if spoil == "link":
        key.rename(tmp_path / "elsewhere")
        key.symlink_to(tmp_path / "elsewhere")
    client, place = entry(tmp_path)
    assert not place.exists() and run(client.ask(HELLO)).text == "asked again"
    assert len(caplog.records) == 1 and "replies.key" in caplog.text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders")
@pytest.mark.parametrize("what", ["fifo", "device", "link", "large", "folder"])
def test_an_entry_that_is_no_small_regular_file_is_asked_again(tmp_path: Path, what: str) -> None:
    client, place = entry(tmp_path)
    place.rename(tmp_path / "true")
    if what == "large":
        with place.open("wb") as file:
            file.truncate(LARGEST_BODY + 1)
    else:
        make = {
            "fifo": lambda: os.mkfifo(place),
            "device": lambda: place.symlink_to("/dev/zero"),
            "link": lambda: place.symlink_to(tmp_path / "true"),
            "folder": place.mkdir,
        }
        make[what]()
    assert run(client.ask(HELLO)).text == "asked again"


def test_nothing_is_written_over_a_link_in_a_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = Cached(ScriptedClient(["A"]), tmp_path / "cache")
    outside, folder = tmp_path / "outside", client.path(HELLO, 0).parent
    outside.mkdir()
    folder.parent.mkdir()
    folder.symlink_to(outside)
    assert run(client.ask(HELLO)).text == "A"
    assert not list(outside.iterdir()) and "must not be a link" in caplog.text


def test_a_cache_that_cannot_be_written_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    client = Cached(ScriptedClient(["A"]), tmp_path / "file")
    for repeat in range(3):
        assert run(client.ask(Request((TextPart("x"),), repeat=repeat))).text == "A"
    assert len(caplog.records) == 1


# ---------------------------------------------------------------- smaller images


def test_images_are_shrunk_by_option_and_each_is_noted() -> None:
    inner = ScriptedClient(["A"])
    big, small = (
        image_part(np.full((40, 80, 3), 7, np.uint8)),
        image_part(np.zeros((5, 5, 3), np.uint8)),
    )
    reply = run(Shrinking(inner, 20).ask(Request((small, TextPart("x"), big))))
    assert reply.notes == ("image 2 resized from 80×40 to 20×10",)
    first, _, third = inner.requests[0].parts
    assert first is small
    assert isinstance(third, ImagePart)
    import io

    from PIL import Image

    pixels = rgb_of(Image.open(io.BytesIO(third.data)))
    assert pixels.shape == (10, 20, 3)
    assert (pixels == 7).all()
