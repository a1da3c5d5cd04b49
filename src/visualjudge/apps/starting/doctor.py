"""Check what works here and what is missing: the environment, API keys, a server, one
question with an image. What a *folder* has is in ``folder_contents.py``.
"""

import asyncio
import importlib.util
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import aiohttp
import orjson

import visualjudge
from visualjudge.clients.base import Reply, Request, TextPart
from visualjudge.clients.image_parts import image_part
from visualjudge.clients.masked_secrets import public_url
from visualjudge.clients.protocol_fields import follows
from visualjudge.clients.registry import CLIENT_REGISTRY, open_client
from visualjudge.clients.remote_client import RemoteClient, version_problem
from visualjudge.clients.sync_calls import run_sync
from visualjudge.core.errors import VisualJudgeError

Status = Literal["ok", "missing", "failed"]
KEYS = {
    "OPENAI_API_KEY": "api",
    "GOOGLE_API_KEY": "google",
    "GEMINI_API_KEY": "google",
    "ANTHROPIC_API_KEY": "anthropic",
}
EXTRAS = {
    "studio": ("fastapi", "uvicorn"),
    "transformers": ("torch", "transformers"),
    "ray": ("ray",),
}
WAIT = 10.0
"""Seconds to wait for a server's answer."""
COLOURS = {
    "red": (220, 20, 20),
    "green": (20, 160, 40),
    "blue": (20, 40, 220),
    "yellow": (250, 220, 20),
}
SHOWN = ("green", "red", "blue")
_PROMPT = (
    "The image has three vertical stripes. Which colour has each, from left to right? "
    "Reply with JSON."
)
_PLACES = ("left", "middle", "right")
SCHEMA: Mapping[str, Any] = {
    "title": "stripes",
    "type": "object",
    "properties": {
        place: {"type": "string", "enum": sorted(COLOURS)} for place in _PLACES
    },
    "required": list(_PLACES),
    "additionalProperties": False,
}


ADVICE = {
    "HTTP 401": "the server does not take the key: give another with `api_key`",
    "HTTP 403": "the key may not use this model: check the account",
    "HTTP 404": "check `model` and `base_url`",
    "HTTP 429": "wait, or raise the quota; runs wait by themselves",
    "needs a key": "set the variable, or name another server with `base_url`",
}


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check."""

    name: str
    status: Status
    detail: str
    advice: str | None = None
    """Advice, if any."""


def environment() -> Iterator[Check]:
    """Check Python, the package and its extras."""
    yield Check(
        "version",
        "ok",
        f"visualjudge {visualjudge.__version__}, Python {platform.python_version()} on "
        f"{platform.system()} {platform.release()} {platform.machine()}",
    )
    for extra, modules in EXTRAS.items():
        missing = [
            name for name in modules if importlib.util.find_spec(name) is None
        ]
        yield (
            Check(
                f"extra {extra}",
                "missing",
                f"not installed: {', '.join(missing)}",
                f"if you need it: pip install 'visualjudge[{extra}]'",
            )
            if missing
            else Check(f"extra {extra}", "ok", "installed")
        )


def keys() -> Iterator[Check]:
    """Check which API keys are set, without showing them."""
    for name, backend in KEYS.items():
        yield (
            Check(name, "ok", f"set (used by `backend` {backend})")
            if os.environ.get(name)
            else Check(
                name,
                "missing",
                "not set",
                f"needed only for `backend` {backend} without `base_url`",
            )
        )


def server(base_url: str, backend: str = "api") -> Check:
    """Check whether anything answers HTTP at ``base_url``, such as
    ``http://127.0.0.1:8000/v1``; no key is sent.
    """
    displayed = public_url(base_url)
    client = CLIENT_REGISTRY.find(backend)
    path = getattr(client, "models_path", RemoteClient.models_path)
    try:
        status = run_sync(_status(base_url.rstrip("/") + path))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        return Check(
            "server",
            "failed",
            f"{displayed}: no answer ({type(error).__name__})",
            "check that the server runs, the address and port, and a proxy or "
            "firewall on the way",
        )
    if status == 404:
        wrong = version_problem(base_url, getattr(client, "versioned", False))
        return Check(
            "server",
            "ok",
            f"{displayed}: answers, but lists no models"
            + (f"; {wrong}" if wrong else ""),
        )
    return Check("server", "ok", f"{displayed}: answers")


async def _status(url: str) -> int:
    limit = aiohttp.ClientTimeout(total=WAIT)
    async with (
        aiohttp.ClientSession(trust_env=True, timeout=limit) as session,
        session.get(url, allow_redirects=False) as reply,
    ):
        return reply.status


def question(config: Mapping[str, Any]) -> Iterator[Check]:
    """Ask a model one question about one small image, with a JSON schema.

    Parameters
    ----------
    config
        See :func:`visualjudge.clients.registry.open_client`: ``backend``,
        ``model_name``, ``base_url`` …
    """
    try:
        reply = run_sync(_ask(config))
    except VisualJudgeError as error:
        yield Check(
            "question",
            "failed",
            " ".join(str(error).split()),
            _advice(str(error)),
        )
        return
    yield Check("question", "ok", f"a reply came ({reply.finish_reason})")
    yield _schema(reply)
    yield _image(reply)


async def _ask(config: Mapping[str, Any]) -> Reply:
    import numpy as np

    stripes = np.tile(
        np.repeat(
            np.array([COLOURS[name] for name in SHOWN], dtype=np.uint8),
            64,
            axis=0,
        ),
        (192, 1, 1),
    )
    parts = (TextPart(_PROMPT), await asyncio.to_thread(image_part, stripes))
    client = open_client({"attempts": 2, **config}, concurrency=1)
    try:
        return await client.ask(Request(parts, schema=SCHEMA))
    finally:
        await client.aclose()


def _schema(reply: Reply) -> Check:
    notes = [note for note in reply.notes if "schema" in note]
    if notes or not follows(reply.text, SCHEMA):
        return Check(
            "JSON schema",
            "missing",
            "; ".join(notes) or "the reply does not follow it",
            "use `mode=text`; replies are then read as text",
        )
    return Check(
        "JSON schema",
        "ok",
        "the reply follows it: `mode=auto` or json can be used",
    )


def _image(reply: Reply) -> Check:
    message = _message(reply.text)
    if message == list(SHOWN):
        return Check("image", "ok", "the model sees images")
    return Check(
        "image",
        "failed",
        f"stripes of {', '.join(SHOWN)} were read as "
        f"{', '.join(message) or 'no colours'}",
        "use a vision-language model, and a server that hands images on to it",
    )


def _message(text: str) -> list[str]:
    """Return the colours that a reply names: those of its fields, or else the last
    three in its text.
    """
    if follows(text, SCHEMA):
        value = orjson.loads(text)
        return [value[place] for place in _PLACES]
    words = "".join(c if c.isalpha() else " " for c in text.lower()).split()
    return [word for word in words if word in COLOURS][-len(SHOWN) :]


def _advice(message: str) -> str:
    every = (advice for mark, advice in ADVICE.items() if mark in message)
    return next(
        every, "check `backend`, `model` and `base_url`, then the server's log"
    )
