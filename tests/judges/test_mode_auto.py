"""``--mode auto`` against servers that keep to a schema, refuse it, or ignore it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from runs.chaotic_server import completion
from runs.made_dataset import make_dataset
from visualjudge.apps.frontdoor.judge import judge_async
from visualjudge.clients.registry import open_client
from visualjudge.runs.job_runner import Progress

QUESTIONS = 9
IN_SCHEMA = '{"reasoning": "Tighter boxes.", "answer": "B"}'
WORDS = {
    "named": "response_format json_schema is not supported",
    "unnamed": "Bad request: unknown field",
}


class Server:
    """Counts requests with and without a schema; ``does`` says what becomes of a
    schema."""

    def __init__(self, does: str, declines: int = 0) -> None:
        self.does, self.declines = does, declines
        self.schemas = self.texts = 0

    async def chat(self, request: web.Request) -> web.StreamResponse:
        asked = "response_format" in await request.json()
        self.schemas += asked
        self.texts += not asked
        await asyncio.sleep(0.02)  # so that requests of one moment overlap
        if asked and self.does in WORDS:
            return web.json_response(
                {"error": {"message": WORDS[self.does]}}, status=400
            )
        if self.does == "no":
            return web.json_response({"error": {"message": "no"}}, status=400)
        if self.schemas + self.texts <= self.declines:
            return web.json_response(
                completion("I'm sorry, I can't help with that.")
            )
        return web.json_response(
            completion(
                IN_SCHEMA if asked and self.does == "followed" else "Answer: B"
            )
        )


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[str]:
    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v1/chat/completions", server.chat)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def run(
    tmp_path: Path, does: str, declines: int = 0, **options: Any
) -> tuple[Server, dict[str, Any], list[dict[str, Any]]]:
    """The server, which declines the first questions, run.json, and the verdicts."""
    dataset, out = (
        make_dataset(tmp_path / "ds", pairwise=QUESTIONS, ranking=0, scoring=0),
        tmp_path / "run",
    )
    server = Server(does, declines)

    async def main() -> None:
        async with serving(server) as url:
            client = open_client(
                {
                    "backend": "api",
                    "model_name": "m",
                    "base_url": url,
                    "attempts": 1,
                }
            )
            await judge_async(dataset, client, out, concurrency=8, **options)

    asyncio.run(main())
    lines = (out / "verdicts.jsonl").read_text("utf-8").splitlines()
    return (
        server,
        json.loads((out / "run.json").read_text("utf-8")),
        [json.loads(line) for line in lines],
    )


@pytest.mark.parametrize("does", ["named", "unnamed", "ignored"])
def test_a_server_without_schemas_is_tried_once_and_then_asked_in_text(
    tmp_path: Path, does: str
) -> None:
    server, manifest, verdicts = run(tmp_path, does)
    outcome = "ignored" if does == "ignored" else "refused"
    assert server.schemas == 1
    assert server.texts == QUESTIONS - (does == "ignored")
    assert [v["value"] for v in verdicts] == ["B"] * QUESTIONS
    assert (manifest["parameters"]["mode"], manifest["schema"]) == (
        "auto",
        outcome,
    )
    assert [note for note in manifest["adjustments"] if "schema" in note] == [
        "the server ignores JSON schemas: the prompt asks for the form of the answer"
        if does == "ignored"
        else "schema refused by the server; asked without"
    ]


def test_a_400_that_is_about_no_parameter_is_not_asked_again(
    tmp_path: Path,
) -> None:
    server, _, verdicts = run(tmp_path, "no")
    assert (server.schemas, server.texts) == (QUESTIONS, 0)
    assert {v["cause"] for v in verdicts} == {"HTTP 400"}


def test_a_server_that_keeps_to_a_schema_is_asked_with_it_throughout(
    tmp_path: Path,
) -> None:
    server, manifest, verdicts = run(tmp_path, "followed")
    assert (server.schemas, server.texts) == (QUESTIONS, 0)
    assert (manifest["schema"], manifest["adjustments"]) == ("followed", [])
    assert {v["rule"] for v in verdicts} == {"JSON"}


def test_text_is_asked_without_a_schema(tmp_path: Path) -> None:
    server, manifest, _ = run(tmp_path, "followed", mode="text")
    assert (server.schemas, server.texts, manifest["schema"]) == (
        0,
        QUESTIONS,
        None,
    )


def test_a_resumed_run_with_nothing_left_keeps_what_is_known_of_schemas(
    tmp_path: Path,
) -> None:
    assert run(tmp_path, "ignored")[1]["schema"] == "ignored"
    assert (
        run(tmp_path, "ignored", resume=True, accept_changes=True)[1]["schema"]
        == "ignored"
    )


def test_a_refusal_does_not_switch_the_schema_off(tmp_path: Path) -> None:
    server, manifest, verdicts = run(tmp_path, "followed", declines=1)
    assert (server.schemas, server.texts, manifest["schema"]) == (
        QUESTIONS,
        0,
        "followed",
    )
    assert sorted(v["status"] for v in verdicts) == ["ok"] * (QUESTIONS - 1) + [
        "refusal"
    ]


def test_a_server_that_declines_at_first_and_ignores_the_schema_is_asked_in_text_then(
    tmp_path: Path,
) -> None:
    server, manifest, _ = run(tmp_path, "ignored", declines=1)
    assert (manifest["schema"], server.texts + server.schemas) == (
        "ignored",
        QUESTIONS,
    )


@pytest.mark.parametrize(
    ("first", "then"),
    [("ignored", "followed"), ("followed", "ignored"), ("named", "followed")],
)
@pytest.mark.parametrize("killed", [False, True])
def test_a_resumed_run_goes_on_in_the_mode_that_it_began_with(
    tmp_path: Path, first: str, then: str, killed: bool
) -> None:
    server = Server(first)

    async def main() -> tuple[int, int]:
        async with serving(server) as url:
            dataset, out = (
                make_dataset(
                    tmp_path / "ds", pairwise=QUESTIONS, ranking=0, scoring=0
                ),
                tmp_path / "run",
            )
            fields = {
                "backend": "api",
                "model_name": "m",
                "base_url": url,
                "attempts": 1,
            }
            states = list[bytes]()

            def keep(progress: Progress) -> None:
                states.extend(
                    [(out / "run.json").read_bytes()] * (progress.done > 0)
                )

            await judge_async(
                dataset,
                open_client(fields),
                out,
                limit=3,
                on_event=keep,
            )
            if killed:
                (out / "run.json").write_bytes(states[0])
            before, server.does = (server.schemas, server.texts), then
            await judge_async(dataset, open_client(fields), out, resume=True)
            return server.schemas - before[0], server.texts - before[1]

    rest = QUESTIONS - 3
    assert asyncio.run(main()) == (
        (rest, 0) if first == "followed" else (0, rest)
    )
    outcome = "refused" if first == "named" else first
    assert (
        json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["schema"]
        == outcome
    )
