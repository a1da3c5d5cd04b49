"""Images for servers: from paths, URLs, bytes, PIL images and arrays, without loss.
The fields of
a request that hold them are in ``prompts/provider_payloads.py``; images of a *dataset*
on disk are found in ``core/image_storage.py``.

An 8-bit PNG, JPEG, WebP or GIF file, which servers can read, is sent unchanged.
Anything else is converted to PNG. Images are never resized here.

URLs in an untrusted list may point to services that only this machine can reach, such
as the local network or a cloud's metadata server. So the address of each connection is
checked, redirects included, when its socket is made.
"""

import asyncio
import base64
import errno
import io
import ipaddress
import os
import re
import socket
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import getproxies

import numpy as np
from PIL import Image

from visualjudge.clients.base import ImagePart
from visualjudge.clients.masked_secrets import public_url
from visualjudge.clients.server_errors import one_line
from visualjudge.clients.sync_calls import run_sync
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import bytes_of, image_at
from visualjudge.vision.raster.images import (
    opened,
    pixels_of,
    png_bytes,
    rgb_of,
)

# Maximum size in bytes of an image file that is sent or downloaded.
LARGEST_IMAGE_FILE = 64 * 2**20

_MIMES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "WEBP": "image/webp",
    "GIF": "image/gif",
}
_PLAIN_MODES = frozenset({"1", "L", "P", "RGB", "LA", "PA", "RGBA"})
_ORIENTATION = 0x0112
_PNG_HEAD = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_PNG_END = b"IEND\xaeB`\x82"


def image_part(source: Any) -> ImagePart:
    """Return an image given in any common form.

    Parameters
    ----------
    source
        Path (str or Path), ``http(s)://``, ``file://`` or ``data:`` URL, bytes of an
        image file, PIL image, or array (H×W, H×W×3 or H×W×4; uint8, uint16, bool, or
        float in 0..1). A URL is downloaded here, so that a reply's cache key depends on
        the image itself.

    Raises
    ------
    DataError
        If it is not one of these, cannot be read, or is not an image; the message names
        it.
    """
    if isinstance(source, ImagePart):
        return source
    if isinstance(source, Image.Image):
        return _of_image(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return image_of_bytes(bytes(source), f"{len(source)} bytes")
    if isinstance(source, str | os.PathLike):
        return _of_place(os.fspath(source))
    if hasattr(source, "__array__"):
        return _of_array(np.asarray(source))
    raise DataError(
        "an image must be a path, a URL, bytes, a PIL image or an array, got "
        f"{type(source).__name__}"
    )


def _of_place(place: str | bytes) -> ImagePart:
    text = os.fsdecode(place)
    scheme = text.partition(":")[0].lower()
    if scheme == "data":
        return image_of_bytes(_data_url(text), f"{text[:32]}…")
    if scheme in ("http", "https"):
        content = run_sync(fetch_image(text, allow_private=True))
        return image_of_bytes(content, public_url(text))
    # urlsplit raises an error of its own for some texts
    path = Path(
        unquote(re.sub("^//[^/]*", "", text.partition(":")[2]))
        if scheme == "file"
        else text
    )
    return image_of_bytes(bytes_of(path), str(path))


def _data_url(url: str) -> bytes:
    head, comma, data = url.partition(",")
    try:
        return (
            base64.b64decode(data)
            if head.endswith(";base64")
            else unquote(data).encode("latin-1")
        )
    except ValueError:
        raise DataError(f"{head}{comma}…: must be a valid data URL") from None


def image_of_bytes(data: bytes, name: str) -> ImagePart:
    """Return the bytes of an image file, converted to PNG unless servers read them
    correctly as they are.
    """
    if _plain_png(data):
        return ImagePart(data)
    with opened(io.BytesIO(data), name) as image:
        upright = image.getexif().get(_ORIENTATION, 1) == 1
        if image.format in _MIMES and image.mode in _PLAIN_MODES and upright:
            return ImagePart(data, _MIMES[image.format])
        return _of_image(image)


def _plain_png(data: bytes) -> bool:
    # Return whether the bytes are a complete PNG file with at most 8 bits and no
    # orientation, without decoding it.
    whole = data.startswith(_PNG_HEAD) and data.endswith(_PNG_END)
    return whole and data[24] <= 8 and b"eXIf" not in data


def _of_image(image: Image.Image) -> ImagePart:
    if image.mode in (
        "RGBA",
        "LA",
    ):  # transparency affects how the image looks: keep it
        buffer = io.BytesIO()
        image.save(buffer, "PNG", compress_level=1)
        return ImagePart(buffer.getvalue())
    return ImagePart(png_bytes(rgb_of(image)))


def _of_array(array: np.ndarray[Any, Any]) -> ImagePart:
    if array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 4:
        return _of_image(Image.fromarray(np.ascontiguousarray(array)))
    return ImagePart(png_bytes(pixels_of(array)))


class ImageStore:
    """A least-recently-used cache of read and encoded image files, for folders that do
    not change.

    Parameters
    ----------
    capacity_bytes
        Total size of the files and their base64 forms.
    """

    def __init__(self, capacity_bytes: int = 256 * 2**20) -> None:
        self._capacity = capacity_bytes
        self._held = 0
        self._parts: OrderedDict[tuple[Path | None, str], ImagePart] = (
            OrderedDict()
        )

    def get(self, path: str | Path, *, root: Path | None = None) -> ImagePart:
        """Return the image at ``path``.

        Parameters
        ----------
        root
            Folder that ``path`` is relative to and must stay within, such as a
            dataset's.

        Raises
        ------
        DataError
            If it cannot be read, or leaves ``root``.
        """
        key = root, os.fspath(path)
        if key not in self._parts:
            place = (
                Path(path) if root is None else image_at(root, os.fspath(path))
            )
            self._parts[key] = image_of_bytes(bytes_of(place), str(place))
            self._held += _weight(self._parts[key])
        self._parts.move_to_end(key)
        while self._held > self._capacity and len(self._parts) > 1:
            self._held -= _weight(self._parts.popitem(last=False)[1])
        return self._parts[key]


def _weight(part: ImagePart) -> int:
    return len(part.data) * 7 // 3


# ---------------------------------------------------------------- downloads

_TIMEOUT_S = 20.0
_SHORTEST_S = 1.0
# Downloads from each host that took too long, since the last one that did not.
_LATE: Counter[str] = Counter()
_MOST_HOPS = 5
_HEADERS = {"User-Agent": "visualjudge", "Accept": "image/*"}


async def fetch_image(
    url: str, *, allow_private: bool, timeout_s: float = _TIMEOUT_S
) -> bytes:
    """Return the bytes of an ``http(s)`` URL.

    Parameters
    ----------
    url
        At most five redirects are followed; each is checked like the first URL.
    allow_private
        Whether the host may be loopback, link-local, private or otherwise not on the
        public internet.
    timeout_s
        Seconds for the whole download; a share of it while the host is late, at least a
        second.

    Raises
    ------
    DataError
        If it cannot be fetched, is refused, or is larger than 64 MiB.
    """
    host = url.partition("://")[2].partition("/")[0]
    within = max(timeout_s / (1 + _LATE[host]), min(timeout_s, _SHORTEST_S))
    try:
        content = await _fetched(url, allow_private, within)
        _LATE[host] = 0
        return content
    except TimeoutError:
        _LATE[host] += 1
        reason = f"no answer within {within:.3g} s"
    except (
        Exception
    ) as error:  # failures of sockets, TLS, IDNA, parsers and servers
        reason = one_line(str(error)) or type(error).__name__
    # Redirects have addresses with signatures too.
    reason = re.sub(r"\w+://\S+", lambda match: public_url(match[0]), reason)
    raise DataError(f"{public_url(url)[:200]}: cannot be fetched: {reason}")


async def _fetched(url: str, allow_private: bool, timeout_s: float) -> bytes:
    # Imported here: takes as long as NumPy, and most runs download nothing.
    import aiohttp

    from visualjudge.clients.http import content_within

    # A proxy resolves names itself, and its own address is the user's choice.
    sockets = None if allow_private or getproxies() else _public_socket
    connector = aiohttp.TCPConnector(limit=1, socket_factory=sockets)
    async with (
        asyncio.timeout(timeout_s),
        aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=True,
        ) as session,
        session.get(
            url, headers=_HEADERS, max_redirects=_MOST_HOPS
        ) as response,
    ):
        if response.status != 200:
            raise DataError(f"the server answered HTTP {response.status}")
        return await content_within(LARGEST_IMAGE_FILE, response)


def _public_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, (host, *_) = address
    if not is_public(str(host)):
        raise PermissionError(
            errno.EACCES,
            f"{host} is not a public address; `allow_private_urls` permits it",
        )
    return socket.socket(family, kind, protocol)


def is_public(address: str) -> bool:
    """Return whether an IP address, or one embedded in an IPv6 address, is on the
    public internet.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    ip = (
        getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None) or ip
    )
    return ip.is_global and not (
        ip.is_multicast or ip.is_reserved or getattr(ip, "is_site_local", False)
    )
