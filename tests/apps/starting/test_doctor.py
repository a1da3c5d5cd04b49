"""`visualjudge doctor` against servers on loopback."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from clients.loopback import Loopback, refused, serving
from visualjudge.cli.main import run
from visualjudge.clients.sync_calls import run_sync

KEY = "sk-doctor-0123456789abcdef"
SEES = '{"left": "green", "middle": "red", "right": "blue"}'


@contextmanager
def answering(*answers: Any) -> Iterator[Loopback]:
    context = serving(*answers)
    server = run_sync(context.__aenter__())
    try:
        yield server
    finally:
        run_sync(context.__aexit__(None, None, None))


def doctor(tmp_path: Path, *args: str, **env: str) -> tuple[int, str, str]:
    out, err, status = io.StringIO(), io.StringIO(), 0
    kept = {
        name: value
        for name, value in os.environ.items()
        if "API_KEY" not in name
    }
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patch.setattr(
            os, "environ", {**kept, "XDG_CACHE_HOME": str(tmp_path), **env}
        )
        patch.setattr(sys, "argv", ["visualjudge", "doctor", *args])
        try:
            run()
        except SystemExit as ended:
            status = int(ended.code or 0)
    return status, out.getvalue(), err.getvalue()


def checks(out: str) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(out)}


def ask(
    tmp_path: Path, *answers: Any
) -> tuple[int, dict[str, dict[str, Any]], Loopback]:
    """The first answer is for the look at the server, the rest for the question."""
    with answering("models", *answers) as server:
        args = [
            "--base-url",
            f"{server.url}/v1",
            "--model",
            "m",
            "--json",
            "--set",
            "attempts=1",
        ]
        status, out, _ = doctor(tmp_path, *args)
    return status, checks(out), server


def test_without_a_server_the_environment_and_keys_are_told_and_no_key_is_shown(
    tmp_path: Path,
) -> None:
    status, out, err = doctor(tmp_path, OPENAI_API_KEY=KEY)
    assert status == 0, err
    assert "OPENAI_API_KEY" in out
    assert KEY not in out + err
    _, as_json, _ = doctor(tmp_path, "--json", OPENAI_API_KEY=KEY)
    found = checks(as_json)
    assert found["OPENAI_API_KEY"]["status"] == "ok"
    assert found["ANTHROPIC_API_KEY"]["status"] == "missing"
    assert KEY not in as_json


def test_a_model_that_keeps_to_the_schema_and_sees_passes(
    tmp_path: Path,
) -> None:
    status, found, server = ask(tmp_path, SEES)
    assert status == 0
    assert [
        found[name]["status"]
        for name in ("server", "question", "JSON schema", "image")
    ] == ["ok"] * 4
    [body] = [json.loads(raw) for raw in server.raw if raw]
    assert body["response_format"]["json_schema"]["name"] == "stripes"
    assert "data:image/png;base64," in json.dumps(body)


def test_a_model_that_reads_other_colours_does_not_see(tmp_path: Path) -> None:
    status, found, _ = ask(
        tmp_path, '{"right": "blue", "left": "red", "middle": "green"}'
    )
    assert status == 1
    assert found["image"]["status"] == "failed"
    assert "red, green, blue" in found["image"]["detail"]


def test_text_instead_of_json_is_told_and_still_shows_that_the_model_sees(
    tmp_path: Path,
) -> None:
    status, found, _ = ask(
        tmp_path, "Green is at the left; so it is green, red and blue."
    )
    assert status == 0
    assert found["JSON schema"]["status"] == "missing"
    assert "the reply does not follow it" in found["JSON schema"]["detail"]
    assert found["image"]["status"] == "ok"


@pytest.mark.parametrize(
    ("code", "advice"), [(401, "--api-key-env"), (404, "--model")]
)
def test_a_refusal_says_what_to_do(
    tmp_path: Path, code: int, advice: str
) -> None:
    status, found, _ = ask(tmp_path, refused(code, "no"))
    assert status == 1
    assert found["question"]["status"] == "failed"
    assert advice in found["question"]["advice"]


def test_a_key_that_the_server_repeats_is_masked(tmp_path: Path) -> None:
    with answering("models", refused(401, f"wrong key {KEY}")) as server:
        args = [
            "--base-url",
            f"{server.url}/v1",
            "--model",
            "m",
            "--api-key-env",
            "MINE_API_KEY",
        ]
        status, out, err = doctor(tmp_path, *args, MINE_API_KEY=KEY)
    assert status == 1
    assert KEY not in out + err
    assert "Authorization" not in server.headers[0]


def test_a_server_that_is_down_fails_and_is_asked_nothing(
    tmp_path: Path,
) -> None:
    status, out, _ = doctor(
        tmp_path,
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--model",
        "m",
        "--json",
    )
    assert status == 1
    assert checks(out)["server"]["status"] == "failed"
    assert "question" not in checks(out)


def test_a_password_in_the_address_is_not_shown(tmp_path: Path) -> None:
    _, out, err = doctor(
        tmp_path, "--base-url", "http://me:hunter2@127.0.0.1:9/v1"
    )
    assert "hunter2" not in out + err


@pytest.mark.parametrize(
    "args",
    [
        ["--base-url", "not a url"],
        ["--model", "m", "--api-key-env", "UNSET_API_KEY"],
        ["--nonsense"],
    ],
)
def test_a_wrong_call_is_status_2(tmp_path: Path, args: list[str]) -> None:
    assert doctor(tmp_path, *args)[0] == 2


@pytest.mark.parametrize(
    ("backend", "end", "path", "said"),
    [
        (
            "api",
            "",
            "/models",
            "answers, but lists no models; --base-url may have to end in /v1",
        ),
        (
            "vllm",
            "/",
            "/models",
            "answers, but lists no models; --base-url may have to end in /v1",
        ),
        ("api", "/v1", "/v1/models", "answers, but lists no models"),
        ("google", "", "/v1beta/models", "answers, but lists no models"),
        (
            "google",
            "/v1beta",
            "/v1beta/v1beta/models",
            "must not end in a version, such as /v1",
        ),
        ("anthropic", "", "/v1/models", "answers, but lists no models"),
    ],
)
def test_the_end_of_an_address_is_judged_by_its_backend(
    tmp_path: Path, backend: str, end: str, path: str, said: str
) -> None:
    with answering(refused(404, "Not Found")) as server:
        _, out, _ = doctor(
            tmp_path,
            "--backend",
            backend,
            "--base-url",
            server.url + end,
            "--json",
        )
    assert checks(out)["server"]["detail"].endswith(said)
    assert server.paths == [path]
