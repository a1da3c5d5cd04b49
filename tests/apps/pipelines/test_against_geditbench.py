"""What is sent by the rules of GEditBench, beside the clients of a clone of it."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from clients.loopback import completion, serving
from clones import clone
from visualjudge.clients.base import ImagePart, TextPart
from visualjudge.judges import PairwiseJudge
from visualjudge.prompts.store import PromptTemplate

PRIMITIVES = "autopipeline.components.primitives"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
USER = "Source:<image>\n{{instruction}} A:<image>\nB:<image>\nWhich?"
BLOCKS = ("Source:", PNG, "make it blue A:", PNG, "B:", PNG, "Which?")
GEMINI = {"candidates": [{"content": {"parts": [{"text": "x"}]}}]}


def judge(backend: str, port: int = 9) -> PairwiseJudge:
    template = PromptTemplate("p", "v1", user=USER, system="You judge.")
    place = {"ip_address": "127.0.0.1", "port": port}
    if backend != "vllm":
        path = "/v1" if backend == "api" else ""
        place = {
            "base_url": f"http://127.0.0.1:{port}{path}",
            "api_key": "none",
        }
    config = {
        "backend": backend,
        "model_name": "m",
        "rules": "geditbench",
        **place,
    }
    return PairwiseJudge(template, config)


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The clone's clients and prompt adapters, without the packages beside them, which
    load models."""
    sources = clone("GEditBench_v2") / "src"
    for needed in ("openai", "google.genai", "requests", "json_repair"):
        pytest.importorskip(needed)
    known = set(sys.modules)
    log = ModuleType("common_utils.logging_util")
    quiet = SimpleNamespace(debug=str, info=str, warning=str, error=str)
    log.get_logger = lambda: quiet  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, log.__name__, log)
    monkeypatch.syspath_prepend(str(sources))
    from core.registry import Registry  # type: ignore[import-not-found]

    folder = sources
    for name in PRIMITIVES.split("."):
        folder /= name
        dotted = ".".join(folder.relative_to(sources).parts)
        package = ModuleType(dotted)
        package.__path__ = [str(folder)]
        package.PROMPT_ADAPTER_REGISTRY = Registry("p")  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, dotted, package)
    clients = __import__(f"{PRIMITIVES}.clients", fromlist=["CLIENT_REGISTRY"])
    adapters = __import__(f"{PRIMITIVES}.prompt_adapters", fromlist=["x"])
    wrapper = __import__("core.wrapper", fromlist=["ImageWrapper"])
    yield SimpleNamespace(
        clients=clients.CLIENT_REGISTRY,
        adapters=adapters.PROMPT_ADAPTER_REGISTRY,
        image=wrapper.ImageWrapper,
    )
    for name in set(sys.modules) - known:
        if name.partition(".")[0] in ("core", "common_utils", "autopipeline"):
            del sys.modules[name]


def call(theirs: SimpleNamespace, backend: str, url: str, port: int) -> None:
    """Ask the same question as :func:`judge` by the clone's adapter and client."""
    blocks = [
        {"type": "text", "content": block}
        if isinstance(block, str)
        else {
            "type": "image",
            "content": theirs.image(base64.b64encode(block).decode()),
        }
        for block in BLOCKS
    ]
    template = SimpleNamespace(
        system_prompt="You judge.", render_blocks=lambda **_: blocks
    )
    style = "google_style" if backend == "google" else "openai_style"
    messages = theirs.adapters.get(style)().build_payload(template)
    place = {"ip_address": "127.0.0.1", "port": port}
    if backend == "api":
        place = {"base_url": f"{url}/v1/chat/completions", "api_key": "none"}
    if backend == "google":
        place = {"base_url": url, "api_key": "none"}
    client = theirs.clients.get(backend)("m", retries=1, **place)
    assert client.call_model(messages) == "x"


def joined(value: Any) -> Any:
    """A body whose neighbouring parts of text are one: the original sends a part for
    each line feed between two blocks. Google's package writes the other alphabet of
    Base64 and the other form of a name."""
    if isinstance(value, dict):
        if isinstance(value.get("data"), str):
            value["data"] = value["data"].replace("-", "+").replace("_", "/")
            value["mimeType"] = value.pop("mime_type", value.get("mimeType"))
        return {name: joined(item) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    parts: list[Any] = []
    for item in map(joined, value):
        text = isinstance(item, dict) and item.keys() <= {"type", "text"}
        if text and parts and "text" in parts[-1]:
            parts[-1]["text"] += item["text"]
        else:
            parts.append(item)
    return parts


@pytest.mark.parametrize("backend", ["api", "vllm", "google"])
def test_the_body_on_the_wire_is_that_of_the_clones_client(
    theirs: SimpleNamespace, backend: str
) -> None:
    async def both() -> list[dict[str, Any]]:
        answer = completion("x") if backend != "google" else GEMINI
        async with serving((200, answer, {})) as server:
            port = int(server.url.rpartition(":")[2])
            await asyncio.to_thread(call, theirs, backend, server.url, port)
            ours = judge(backend, port)
            images = [ImagePart(PNG)] * 3
            request = ours.request("make it blue", images[0], images[1:])
            await ours.client.ask(request)
            await ours.client.aclose()
            return server.bodies

    first, last = map(joined, asyncio.run(both()))
    if backend == "api":
        assert first.pop("stream") is False  # the default
    assert last == first


def test_a_system_text_is_no_part_for_other_backends() -> None:
    request = judge("api").request("x", ImagePart(PNG), [ImagePart(PNG)] * 2)
    assert request.system == "You judge."
    first = request.parts[0]
    assert isinstance(first, TextPart) and first.text == "Source:"
