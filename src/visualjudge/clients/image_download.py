"""Download images. What is done with their bytes is in ``image_parts.py``.

URLs in an untrusted list may point to services that only this machine can reach, such
as the local network or a cloud's metadata server. So the address of each connection is
checked, redirects included, when its socket is made.
"""

import asyncio
import errno
import ipaddress
import re
import socket
from collections import Counter
from typing import Any
from urllib.request import getproxies

from visualjudge.clients.masked_secrets import public_url
from visualjudge.clients.server_errors import one_line
from visualjudge.core.errors import DataError

# Maximum size in bytes of an image file that is downloaded.
LARGEST_IMAGE_FILE = 64 * 2**20
_SHORTEST_S = 1.0
# Downloads from each host that took too long, since the last one that did not.
_LATE: Counter[str] = Counter()
_MOST_HOPS = 5
_HEADERS = {"User-Agent": "visualjudge", "Accept": "image/*"}


async def fetch_image(
    url: str, *, allow_private: bool, timeout_s: float = 20.0
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
