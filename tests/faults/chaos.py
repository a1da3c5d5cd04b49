"""A server that answers wrongly in every way that has a name; it speaks raw bytes, so
that nothing is repaired.

``said_faults`` are faults of what is said, in an otherwise right reply of each
protocol; ``wire_faults`` are faults of how it is said, the same for all.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

KEY = "sk-chaos+key/of_a=certain-length-0123"
DEEP = 100_000
Writer = asyncio.StreamWriter
Wire = Callable[[bytes], Iterable[bytes | float]]
"""A good body -> the pieces that are sent; a number waits so many seconds."""


def head(
    status: object = 200,
    body: bytes = b"",
    *,
    length: object = None,
    **headers: str,
) -> bytes:
    lines = [f"HTTP/1.1 {status} X"] + [
        f"{name.replace('_', '-')}: {value}" for name, value in headers.items()
    ]
    if length is not False:
        lines.append(
            f"Content-Length: {len(body) if length is None else length}"
        )
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def answer(
    body: bytes, status: object = 200, **headers: str
) -> list[bytes | float]:
    return [
        head(status, body, Content_Type="application/json", **headers) + body
    ]


# ------------------------------------------------ protocols: a good reply, and its
# parts by name


def openai_reply(text: Any = "Answer: A", **changes: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text} | changes.pop(
        "message", {}
    )
    choice = {
        "index": 0,
        "finish_reason": changes.pop("finish", "stop"),
        "message": message,
    }
    choice |= (
        {"logprobs": changes.pop("logprobs")} if "logprobs" in changes else {}
    )
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    return {
        "choices": changes.pop("choices", [choice]),
        "usage": changes.pop("usage", usage),
    } | changes


def google_reply(text: Any = "Answer: A", **changes: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]} | changes.pop(
        "message", {}
    )
    candidate = {
        "content": content,
        "finishReason": changes.pop("finish", "STOP"),
        "index": 0,
    }
    candidate |= (
        {"logprobsResult": changes.pop("logprobs")}
        if "logprobs" in changes
        else {}
    )
    usage = _counted(
        changes.pop("usage", {"prompt_tokens": 5}), "promptTokenCount"
    )
    return {
        "candidates": changes.pop("choices", [candidate]),
        "usageMetadata": usage,
    } | changes


def anthropic_reply(text: Any = "Answer: A", **changes: Any) -> dict[str, Any]:
    blocks = (
        text if isinstance(text, list) else [{"type": "text", "text": text}]
    )
    usage = _counted(changes.pop("usage", {"prompt_tokens": 5}), "input_tokens")
    fixed = {"id": "x", "type": "message", "role": "assistant", "model": "m"}
    stop, changes = (
        changes.pop("finish", "end_turn"),
        changes | changes.pop("message", {}),
    )
    return (
        fixed
        | {
            "content": changes.pop("choices", blocks),
            "stop_reason": stop,
            "usage": usage,
        }
        | changes
    )


def _counted(usage: Any, name: str) -> Any:
    return (
        {name: usage["prompt_tokens"]}
        if isinstance(usage, dict) and "prompt_tokens" in usage
        else usage
    )


GOOD = {
    "api": openai_reply,
    "vllm": openai_reply,
    "google": google_reply,
    "anthropic": anthropic_reply,
}


# ---------------------------------------------------------------- what is said


def texts_said() -> Iterator[tuple[str, str]]:
    yield "megabytes of prose", "The boxes are tighter in A. " * 80_000
    yield "a coordinate loop", "The box is at " + "(12, 34), " * 3_000
    yield "brackets", "[" * 4_000
    yield "braces", "{" * 4_000
    yield "letters", "A " * 4_000
    yield "options", "Option A " * 2_000
    yield "thoughts", "<think>" * 2_000
    yield "right to left", "\u202e\u200fA" * 500
    yield "NUL and control characters", "A\0\x01\x1b[31m"
    yield "key, plain", f"your key is {KEY}"
    yield "key, base64", base64.b64encode(f"Bearer {KEY}".encode()).decode()
    yield (
        "key, URL-encoded",
        "".join(
            f"%{byte:02X}" if not chr(byte).isalnum() else chr(byte)
            for byte in KEY.encode()
        ),
    )
    yield "key, cut at the end", "your key is " + KEY[:-4]


def _usages() -> Iterator[tuple[str, Any]]:
    for name, value in {
        "1e30": 1e30,
        "30 digits": 10**29,
        "2**64 - 1": 2**64 - 1,
        "negative": -5,
        "text": "many",
        "list": [1],
        "nested": {"a": {"b": 1}},
        "true": True,
    }.items():
        yield f"usage count is {name}", {"prompt_tokens": value}
    yield "usage is text", "lots"
    yield "usage is a list", [1, 2]


def said_faults() -> dict[str, dict[str, Any]]:
    """Changes to a good reply, by name."""
    found: dict[str, dict[str, Any]] = {
        name: {"text": text} for name, text in texts_said()
    }
    found |= {name: {"usage": usage} for name, usage in _usages()}
    for kind, value in {
        "number": 5,
        "object": {"a": 1},
        "null": None,
        "true": True,
        "bad parts": [1, None, "x"],
    }.items():
        found[f"content is {kind}"] = {
            "text": value,
            "message": {"content": value},
        }
    for kind, value in {
        "list": ["no"],
        "object": {"why": "no"},
        "true": True,
    }.items():
        found[f"refusal is {kind}"] = {"message": {"refusal": value}}
    for kind, value in {"list": ["stop"], "number": 7, "object": {}}.items():
        found[f"finish reason is {kind}"] = {"finish": value}
    for kind, value in {
        "empty": [],
        "null": None,
        "object": {},
        "text": "A",
    }.items():
        found[f"choices are {kind}"] = {"choices": value}
    nulls = {
        "content": [{"token": None, "logprob": None, "top_logprobs": None}],
        "chosenCandidates": [{"token": 5}],
    }
    large = [
        {
            "token": "A",
            "logprob": 1e308,
            "top_logprobs": [{"token": "A", "logprob": 1e308}],
        }
    ]
    for kind, value in {
        "text": "none",
        "list": [1],
        "null tokens": nulls,
        "1e308": {
            "content": large,
            "chosenCandidates": [{"token": "A", "logProbability": 1e308}],
        },
    }.items():
        found[f"logprobs are {kind}"] = {"logprobs": value}
    for kind, value in {
        "text": "bad",
        "true": True,
        "code": {"code": 503},
        "text code": {"code": "x", "message": []},
    }.items():
        found[f"error with status 200: {kind}"] = {"error": value}
    nested: Any = "x"
    for _ in range(300):
        nested = {"a": nested}
    found["300 levels in content"] = {
        "text": nested,
        "message": {"content": nested},
    }
    found["300 levels in error"] = {"error": nested}
    return found


# ---------------------------------------------------------------- how it is said


def _gz(raw: bytes) -> bytes:
    return gzip.compress(raw, 1)


BOMB = _gz(bytes(2**20) * 200)
"""200 MiB of zeros in some 900 kB."""


def _endless(body: bytes) -> Iterable[bytes | float]:
    yield head(200, length=False, Content_Type="application/json")
    for _ in range(2_000):
        yield b"[" * 2**16


def _slow(body: bytes) -> Iterable[bytes | float]:
    yield head(200, body)
    for byte in body:
        yield bytes([byte])
        yield 0.2


def _redirect(status: int, target: str) -> Wire:
    return lambda body: answer(b"", f"{status}", Location=target)


def _retry_after(value: str, name: str = "Retry-After") -> Wire:
    return lambda body: answer(
        b'{"error": {"message": "slow down"}}', "429", **{name: value}
    )


def _status(status: object, body: bytes) -> Wire:
    return lambda good: answer(body, status)


def _bodies() -> dict[str, bytes]:
    return {
        "text": b"no",
        "HTML": b"<html><body>502 Bad Gateway</body></html>",
        "empty": b"",
        "deep JSON": b'{"error": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    }


def wire_faults() -> dict[str, Wire]:
    """What goes over the wire in place of a good body, by name."""
    found: dict[str, Wire] = {}
    for status in (400, 401, 403, 404, 408, 413, 422, 429, 451, 500, 503, 529):
        for name, content in _bodies().items():
            found[f"HTTP {status} with {name}"] = _status(status, content)
    for odd in (100, 101, 204, 99, 999, "abc", "-1", "20000000000000000000000"):
        found[f"status {odd}"] = _status(odd, b"")
    for value in (
        "0",
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "301",
        "99999999",
        "nan",
        "inf",
        "-5",
        "1e400",
        "9" * 400,
        "²³",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "1 Jan 99999999999999 1:1:1",
        "",
        "soon",
        "\u0661",
    ):
        found[f"Retry-After {value[:20]!r}"] = _retry_after(value)
    found["retry-after-ms nan"] = _retry_after("nan", "retry-after-ms")
    for status in (301, 302, 303, 307, 308):
        found[f"{status} to another host"] = _redirect(
            status, "http://127.0.0.2:1/v1"
        )
    for target in (
        "http://127.0.0.1:1/",
        "/v1/again",
        "file:///etc/passwd",
        "http://[::1",
        "",
        "http://u:p@127.0.0.1/",
        "\0",
    ):
        found[f"redirect to {target[:12]!r}"] = _redirect(307, target)
    found |= {
        "hang": lambda body: [30.0],
        "one byte at a time": _slow,
        "half a body": lambda body: [head(200, body) + body[: len(body) // 2]],
        "half a header": lambda body: [b"HTTP/1.1 200 OK\r\nContent-"],
        "close": lambda body: [b""],
        "garbage": lambda body: [b"\x16\x03\x01garbage\r\n\r\n"],
        "garbage before the status line": lambda body: [
            b"xx\r\n" + head(200, body) + body
        ],
        "HTTP/0.9": lambda body: [body],
        "a header of a megabyte": lambda body: [
            head(200, body, X="x" * 2**20) + body
        ],
        "100,000 headers": lambda body: [
            head(200, body, **{f"X{k}": "1" for k in range(100_000)}) + body
        ],
        "no length": lambda body: [head(200, length=False) + body],
        "negative length": lambda body: [head(200, length=-5) + body],
        "double length": lambda body: [
            head(200, body, Content_length="3") + body
        ],
        "length is text": lambda body: [head(200, length="many") + body],
        "bad chunks": lambda body: [
            head(200, length=False, Transfer_Encoding="chunked")
            + b"zz\r\n"
            + body
        ],
        "cut chunks": lambda body: [
            head(200, length=False, Transfer_Encoding="chunked")
            + b"ffff\r\n"
            + body
        ],
        "gzip, cut": lambda body: answer(
            _gz(body)[:-12], Content_Encoding="gzip"
        ),
        "gzip, false": lambda body: answer(body, Content_Encoding="gzip"),
        "gzip, nested": lambda body: answer(
            _gz(_gz(body)), Content_Encoding="gzip, gzip"
        ),
        "gzip bomb": lambda body: answer(BOMB, Content_Encoding="gzip"),
        "deflate": lambda body: answer(
            zlib.compress(body), Content_Encoding="deflate"
        ),
        "br": lambda body: answer(body, Content_Encoding="br"),
        "zstd": lambda body: answer(body, Content_Encoding="zstd"),
        "cookies": lambda body: answer(
            body, Set_Cookie="a=b; Domain=.example.com; Max-Age=-1"
        ),
        "an endless body": _endless,
        "a million objects": lambda body: answer(
            body[:-1] + b', "x": [' + b"{}," * 10**6 + b"0]}"
        ),
        "a body of 40 MB": lambda body: [
            head(200, length=40 * 2**20),
            b" " * (40 * 2**20),
        ],
        "a body of 5 MB before the reply": lambda body: answer(
            b" " * 5 * 2**20 + body
        ),
        "text/html": lambda body: [
            head(200, body, Content_Type="text/html") + body
        ],
        "event stream": lambda body: answer(
            b"data: " + body + b"\n\ndata: [DONE]\n\n"
        ),
        "JSON: empty": lambda body: answer(b""),
        "JSON: list": lambda body: answer(b"[1]"),
        "JSON: deep": lambda body: answer(b'{"a":' * DEEP + b"1" + b"}" * DEEP),
        "JSON: deep list": lambda body: answer(b"[" * DEEP + b"]" * DEEP),
        "JSON: double keys": lambda body: answer(
            body[:-1] + b', "usage": {}, "usage": null}'
        ),
        "JSON: invalid UTF-8": lambda body: answer(
            body.replace(b"Answer", b"\xff\xfe")
        ),
        "JSON: lone surrogate": lambda body: answer(
            body.replace(b"Answer", b"\\ud800")
        ),
        "JSON: NUL": lambda body: answer(body.replace(b"Answer", b"\0")),
        "JSON: 1e999": lambda body: answer(
            body.replace(b"7", b"1e999").replace(b"5", b"1e999")
        ),
        "content filter": lambda body: answer(
            b'{"error": {"code": "content_filter", "message": "blocked"}}',
            "400",
        ),
        "the key in an error, cut": lambda body: answer(
            b"x" * 380 + KEY.encode(), "400"
        ),
    }
    return found


class Chaos:
    """Plays the fault that the prompt of a request names; any other request gets a good
    reply."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.url = ""
        self._said, self._wire = said_faults(), wire_faults()

    @property
    def names(self) -> list[str]:
        return [*self._said, *self._wire]

    def pieces(self, name: str | None) -> Iterable[bytes | float]:
        good = GOOD[self.backend]
        if name in self._said:
            return answer(json.dumps(good(**self._said[name])).encode())
        body = json.dumps(good()).encode()
        return self._wire[name](body) if name in self._wire else answer(body)

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            while True:
                raw = await reader.readuntil(b"\r\n\r\n")
                lengths = [
                    line.split(b":")[1]
                    for line in raw.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                ]
                body = (
                    await reader.readexactly(int(lengths[0]))
                    if lengths
                    else b""
                )
                name = _named(body)
                for piece in self.pieces(name):
                    await self._send(piece, writer)
                if name is not None:
                    return
        except (
            ConnectionError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ):
            pass
        finally:
            writer.close()

    async def _send(self, piece: bytes | float, writer: Writer) -> None:
        if isinstance(piece, float):
            await asyncio.sleep(piece)
        else:
            writer.write(piece)
            await writer.drain()


def _named(body: bytes) -> str | None:
    """The fault that stands between <fault> marks somewhere in the body."""
    _, mark, rest = body.partition(b"FAULT<")
    return json.loads(b'"' + rest.partition(b">")[0] + b'"') if mark else None


@asynccontextmanager
async def chaos(backend: str) -> AsyncIterator[Chaos]:
    server = Chaos(backend)
    listening = await asyncio.start_server(
        server.serve, "127.0.0.1", 0, limit=2**26
    )
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()
