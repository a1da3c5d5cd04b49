"""A loopback server that speaks OpenAI chat completions, gives one reply, and keeps
what it received.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def server(reply: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The base URL, and the bodies of all requests so far."""
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(
                self.rfile.read(int(self.headers["Content-Length"]))
            )
            received.append(body)
            message = {"role": "assistant", "content": reply}
            usage = {
                "prompt_tokens": 1,
                "completion_tokens": 1,
                "total_tokens": 2,
            }
            answer = {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [
                    {"index": 0, "message": message, "finish_reason": "stop"}
                ],
                "usage": usage,
            }
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            return None

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_port}/v1", received
    finally:
        running.shutdown()
        running.server_close()


def images_of(body: dict[str, Any]) -> list[str]:
    """The data URIs of a request."""
    contents = [message["content"] for message in body["messages"]]
    parts = [
        part
        for content in contents
        if isinstance(content, list)
        for part in content
    ]
    return [
        part["image_url"]["url"]
        for part in parts
        if part["type"] == "image_url"
    ]
