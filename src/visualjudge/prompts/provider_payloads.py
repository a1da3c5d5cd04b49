"""Payloads of system text, texts and images in order, for OpenAI, Gemini and Claude:
the prompt adapters. A client has the one that it sends, in ``clients/api.py``,
``clients/google.py`` and ``clients/anthropic.py``; other fields of a request are in
``clients/protocol_fields.py``.

Adapters are pure functions. The bytes of an image are passed through unchanged (or as a
JSON fragment), so nothing is copied or encoded here.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from visualjudge.core.jsons import Json


class ImageContent(Protocol):
    """An image as an adapter sees it."""

    @property
    def mime(self) -> str:
        """MIME type, such as ``image/png``."""

    @property
    def base64(self) -> bytes:
        """The bytes of the file in standard base64, ASCII."""


Content = Sequence[str | ImageContent]
Text = Callable[[ImageContent], str]
"""Function that returns the text in place of an image's base64 form; a transport that
splices bytes writes a mark.
"""


def openai_style(system: str | None, content: Content, data: Text) -> Json:
    """Return ``{"messages": [...]}`` of the OpenAI chat-completions protocol.

    Parameters
    ----------
    system
        Text of a separate system message; None = no such message.
    content
        Texts and images of the user message, in order.
    data
        Returns the base64 of an image.
    """
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {
            "type": "image_url",
            "image_url": {"url": f"data:{part.mime};base64,{data(part)}"},
        }
        for part in content
    ]
    first = [{"role": "system", "content": system}] if system else []
    return {"messages": [*first, {"role": "user", "content": parts}]}


def google_style(system: str | None, content: Content, data: Text) -> Json:
    """Return ``{"contents": [...], "systemInstruction": ...}`` of Gemini's REST
    interface; ``data`` returns the base64.
    """
    parts = [
        {"text": part}
        if isinstance(part, str)
        else {"inlineData": {"mimeType": part.mime, "data": data(part)}}
        for part in content
    ]
    shaped: Json = {"contents": [{"role": "user", "parts": parts}]}
    return shaped | (
        {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
    )


def anthropic_style(system: str | None, content: Content, data: Text) -> Json:
    """Return ``{"messages": [...], "system": ...}`` of the Anthropic messages protocol;
    ``data`` returns an image's base64.
    """
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": part.mime,
                "data": data(part),
            },
        }
        for part in content
    ]
    shaped: Json = {"messages": [{"role": "user", "content": parts}]}
    return shaped | ({"system": system} if system else {})
