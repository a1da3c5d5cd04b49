"""Payload shapes: how OpenAI, Gemini and Claude want a system text, texts and images in order.

An adapter is pure. The bytes of an image are passed through as they are (or as a fragment that is JSON already), so
that nothing is copied or encoded here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class ImageContent(Protocol):
    """An image as an adapter sees it."""

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        ...

    @property
    def mime(self) -> str:
        """Such as ``image/png``."""
        ...

    @property
    def base64(self) -> bytes:
        """``data`` in standard base64, ASCII."""
        ...


Content = Sequence[str | ImageContent]


def data_url(media: ImageContent) -> Any:
    """The image as a ``data:`` URL."""
    return f"data:{media.mime};base64,{media.base64.decode()}"


def openai_style(
    system: str | None, content: Content, *, url: Callable[[ImageContent], Any] = data_url
) -> dict[str, Any]:
    """``{"messages": [...]}`` of the OpenAI chat-completions protocol.

    Parameters
    ----------
    system
        Goes into a system message of its own; None = no such message.
    content
        Texts and images of the user message, in order.
    url
        What to write for an image's URL; a transport that splices bytes passes its own.
    """
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": url(part)}}
        for part in content
    ]
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    return {"messages": [*messages, {"role": "user", "content": parts}]}


def base64_text(media: ImageContent) -> str:
    """The image in base64."""
    return media.base64.decode()


def google_style(
    system: str | None, content: Content, *, data: Callable[[ImageContent], str] = base64_text
) -> dict[str, Any]:
    """``{"contents": [...], "systemInstruction": ...}`` of Gemini's REST interface; ``data`` gives the base64."""
    parts = [
        {"text": part} if isinstance(part, str) else {"inlineData": {"mimeType": part.mime, "data": data(part)}}
        for part in content
    ]
    shaped: dict[str, Any] = {"contents": [{"role": "user", "parts": parts}]}
    return shaped | ({"systemInstruction": {"parts": [{"text": system}]}} if system else {})


def anthropic_style(
    system: str | None, content: Content, *, data: Callable[[ImageContent], str] = base64_text
) -> dict[str, Any]:
    """``{"messages": [...], "system": ...}`` of the Anthropic messages protocol; ``data`` gives an image's base64."""
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {
            "type": "image",
            "source": {"type": "base64", "media_type": part.mime, "data": data(part)},
        }
        for part in content
    ]
    shaped: dict[str, Any] = {"messages": [{"role": "user", "content": parts}]}
    return shaped | ({"system": system} if system else {})
