"""Images of a row that are behind URLs: fetched once for all metrics, under the rules for foreign URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from visualjudge.clients.download import fetch_image
from visualjudge.clients.payload import image_of_bytes


async def with_images(given: Mapping[str, Any], private_urls: bool) -> dict[str, Any]:
    """A judge module's input with the images behind ``http(s)`` URLs in place of their URLs.

    Raises
    ------
    DataError
        If one cannot be fetched, is at an address that is not allowed, or is no image.
    """
    images = [given["input_image"], *given["edited_images"]]
    first, *rest = [await _image(image, private_urls) for image in images]
    return {**given, "input_image": first, "edited_images": rest}


async def _image(source: Any, private_urls: bool) -> Any:
    if not isinstance(source, str) or not source.lower().startswith(("http://", "https://")):
        return source
    content = await fetch_image(source, allow_private=private_urls)
    return await asyncio.to_thread(image_of_bytes, content, source)
