"""A request as a command and as a script that anybody can run: no key in it, images read from the dataset."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from visualjudge.clients.secrets import public_url
from visualjudge.studio.compare import Part
from visualjudge.studio.thumbnails import TYPES

_SENT = ("temperature", "max_tokens", "seed", "top_p")
_LOCAL = "http://127.0.0.1:8000/v1"
_MARK = re.compile(r"(?<=;base64,)@@image(\d{1,4})@@")


def body(parts: Sequence[Part], info: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a chat completion, with ``@@imageN@@`` for the base64 form of the N-th image."""
    content: list[dict[str, Any]] = []
    for part in parts:
        if part.image is None:
            content.append({"type": "text", "text": part.text})
        else:
            mime = TYPES.get(Path(part.image).suffix.lower(), "image/png")
            url = f"data:{mime};base64,@@image{part.number}@@"
            content.append({"type": "image_url", "image_url": {"url": url}})
    given = info.get("parameters")
    parameters = {k: given[k] for k in _SENT if given.get(k) is not None} if isinstance(given, dict) else {}
    asked = info.get("backend") not in (None, "baseline", "people")
    model = str(info.get("model")) if asked else "MODEL"
    return {"model": model, **parameters, "messages": [{"role": "user", "content": content}]}


def _endpoint(info: Mapping[str, Any]) -> str:
    url = info.get("base_url")
    return f"{public_url(url if isinstance(url, str) and url else _LOCAL).rstrip('/')}/chat/completions"


def as_curl(root: Path, parts: Sequence[Part], info: Mapping[str, Any]) -> str:
    """A shell command; the key comes from ``OPENAI_API_KEY``."""
    text = json.dumps(body(parts, info), ensure_ascii=False, indent=1)
    for special in ("\\", "$", "`"):
        text = text.replace(special, "\\" + special)
    files = {part.number: root / part.image for part in parts if part.image is not None}

    def encoded(match: re.Match[str]) -> str:
        file = files.get(int(match[1]))
        return match[0] if file is None else f"$(base64 < {shlex.quote(str(file))} | tr -d '\\n')"

    headers = '-H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json"'
    text = _MARK.sub(encoded, text)
    return f"curl {shlex.quote(_endpoint(info))} {headers} --data-binary @- <<JSON\n{text}\nJSON\n"


def as_python(root: Path, parts: Sequence[Part], info: Mapping[str, Any]) -> str:
    """A script of the standard library; the key comes from ``OPENAI_API_KEY``."""
    files = {str(part.number): str(root / part.image) for part in parts if part.image is not None}
    return f"""import base64, json, os, re, urllib.request

images = {json.dumps(files, indent=4)}
body = json.loads({json.dumps(body(parts, info), ensure_ascii=True)!r})
for part in body["messages"][0]["content"]:
    if part["type"] == "image_url":
        number = re.search(r"@@image(\\d+)@@$", part["image_url"]["url"])[1]
        data = base64.b64encode(open(images[number], "rb").read()).decode()
        part["image_url"]["url"] = part["image_url"]["url"].replace(f"@@image{{number}}@@", data)

request = urllib.request.Request(
    {json.dumps(_endpoint(info))},
    json.dumps(body).encode(),
    {{"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "")}},
)
reply = json.load(urllib.request.urlopen(request))
print(reply["choices"][0]["message"]["content"])
"""
