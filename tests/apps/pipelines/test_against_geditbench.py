"""What is sent by the rules of GEditBench, beside the clients of a clone of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import orjson

from clones import clone, functions_of
from visualjudge.clients.base import ImagePart, TextPart
from visualjudge.clients.request_body import completed
from visualjudge.judges import PairwiseJudge
from visualjudge.prompts.store import PromptTemplate

CLIENTS = "src/autopipeline/components/primitives/clients"
PNG = bytes.fromhex("89504e470d0a1a0a")


def judge(backend: str) -> PairwiseJudge:
    user = "Source: <image> {{instruction}} A: <image> B: <image> Which?"
    template = PromptTemplate("p", "v1", user=user, system="You judge.")
    place = {"ip_address": "127.0.0.1", "port": 9}
    if backend != "vllm":
        place = {"base_url": "http://127.0.0.1:9", "api_key": "none"}
    config = {"backend": backend, "model_name": "m", "rules": "geditbench", **place}
    return PairwiseJudge(template, config)


def sent(backend: str) -> dict[str, Any]:
    one = judge(backend)
    image = ImagePart(PNG)
    request = one.request("make it blue", image, [image, image])
    client: Any = one.client
    while hasattr(client, "inner"):
        client = client.inner
    full = replace(completed(request, client.defaults))
    body: dict[str, Any] = orjson.loads(b"".join(client._pieces(full)))
    asyncio.run(client.aclose())
    return body


def test_parameters_are_those_of_each_client() -> None:
    home = clone("GEditBench_v2") / CLIENTS
    bodies: list[dict[str, Any]] = []
    answer = {"choices": [{"message": {"content": "x"}}]}

    def post(_url: str, **more: Any) -> Any:
        bodies.append(more["json"])
        return SimpleNamespace(raise_for_status=lambda: None, json=lambda: answer)

    def create(**body: Any) -> Any:
        bodies.append(body)
        message = SimpleNamespace(message=SimpleNamespace(content="x"))
        return SimpleNamespace(choices=[message])

    completions = SimpleNamespace(completions=SimpleNamespace(create=create))
    own = {"model_name": "m", "retries": 3, "max_tokens": 2048, "timeout": 9}
    own |= {"temperature": 0.7, "base_url": "u", "api_key": "k", "extra_body": {}}
    them = SimpleNamespace(**own, client=SimpleNamespace(chat=completions))
    log = SimpleNamespace(debug=print, info=print)
    known = {"requests": SimpleNamespace(post=post, exceptions=None), "logger": log}
    for name in ("openai", "vllm"):
        call = functions_of(home / f"{name}_client.py", ["call_model"], **known)
        call["call_model"](them, [])
    for theirs, backend in zip(bodies, ("api", "vllm"), strict=True):
        ours = sent(backend)
        names = (theirs.keys() | ours.keys()) - {"messages", "stream"}
        assert {k: ours.get(k) for k in names} == {k: theirs.get(k) for k in names}
    # Their client of Gemini gives a number of tokens and nothing else.
    text = (home / "google_client.py").read_text("utf-8")
    config = text.partition("GenerateContentConfig(")[2].partition(")")[0]
    assert config.split() == ["max_output_tokens=self.max_tokens"]
    assert sent("google")["generationConfig"] == {"maxOutputTokens": 2048}


def test_gemini_gets_the_system_text_before_the_first_text() -> None:
    path = clone("GEditBench_v2") / "src/autopipeline/components/primitives"
    source = (path / "prompt_adapters.py").read_text("utf-8")
    assert "f\"{system_prompt}\\n\\n{block['content']}\"" in source
    body = sent("google")
    assert "systemInstruction" not in body
    texts = [part["text"] for part in body["contents"][0]["parts"] if "text" in part]
    assert texts[0] == "You judge.\n\nSource: "


def test_a_system_text_is_no_part_for_other_backends() -> None:
    request = judge("api").request("x", ImagePart(PNG), [ImagePart(PNG)] * 2)
    assert request.system == "You judge."
    first = request.parts[0]
    assert isinstance(first, TextPart) and first.text == "Source: "
