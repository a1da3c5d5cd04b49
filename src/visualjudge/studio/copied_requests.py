"""The request sent to a judge for one question, to copy as a shell command."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from visualjudge.clients.masked_secrets import public_url
from visualjudge.core.errors import DataError
from visualjudge.studio.question_views import Part
from visualjudge.studio.thumbnails import TYPES

_SENT = ("temperature", "max_tokens", "seed", "top_p")
_LOCAL = "http://127.0.0.1:8000/v1"
_MARK = re.compile(r"(?<=;base64,)@@image(\d{1,4})@@")


def body(parts: Sequence[Part], info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a chat completion, with ``@@imageN@@`` in place of the base64 form of the
    N-th image.
    """
    content: list[dict[str, Any]] = []
    for part in parts:
        if part.image is None:
            content.append({"type": "text", "text": part.text})
        else:
            mime = TYPES.get(Path(part.image).suffix.lower(), "image/png")
            url = f"data:{mime};base64,@@image{part.number}@@"
            content.append({"type": "image_url", "image_url": {"url": url}})
    given = info.get("parameters")
    parameters = (
        {k: given[k] for k in _SENT if given.get(k) is not None} if isinstance(given, dict) else {}
    )
    asked = info.get("backend") not in (None, "baseline", "people")
    model = str(info.get("model")) if asked else "MODEL"
    return {"model": model, **parameters, "messages": [{"role": "user", "content": content}]}


def _endpoint(info: Mapping[str, Any]) -> str:
    url = info.get("base_url")
    url = url if isinstance(url, str) and url else _LOCAL
    try:
        return f"{public_url(url).rstrip('/')}/chat/completions"
    except ValueError as error:
        raise DataError(f"base_url: must be a URL, got {url[:80]!r}: {error}") from None


def _foreign(info: Mapping[str, Any]) -> bool:
    """Return whether the server is named only by the run folder."""
    named = (_LOCAL, os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    return _endpoint(info) not in {_endpoint({"base_url": url}) for url in named}


def _warning(info: Mapping[str, Any]) -> str:
    return (
        "# No key is sent: only the run folder names this server. Add yours if you trust it.\n"
        * _foreign(info)
    )


def as_curl(root: Path, parts: Sequence[Part], info: Mapping[str, Any]) -> str:
    """Return a shell command.

    The key comes from ``OPENAI_API_KEY``, unless the server is named only by the run folder.
    """
    text = json.dumps(body(parts, info), ensure_ascii=False, indent=1)
    for special in ("\\", "$", "`"):
        text = text.replace(special, "\\" + special)
    files = {part.number: root / part.image for part in parts if part.image is not None}

    def encoded(match: re.Match[str]) -> str:
        file = files.get(int(match[1]))
        return match[0] if file is None else f"$(base64 < {shlex.quote(str(file))} | tr -d '\\n')"

    key = "" if _foreign(info) else '-H "Authorization: Bearer $OPENAI_API_KEY" '
    headers = f'{key}-H "Content-Type: application/json"'
    text = _MARK.sub(encoded, text)
    return (
        f"{_warning(info)}curl {shlex.quote(_endpoint(info))} {headers} --data-binary @- "
        f"<<JSON\n{text}\nJSON\n"
    )
