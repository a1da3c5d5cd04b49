"""Download images with limits on time and size and, on request, from public addresses only.

URLs in an untrusted list may point to services that only this machine can reach, such as the local
network or a cloud's metadata server. So the address of each connection is checked, redirects
included, when its socket is made.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from typing import Any
from urllib.request import getproxies

import aiohttp

from visualjudge.clients.http import chunks_within
from visualjudge.clients.masked_secrets import public_url
from visualjudge.clients.reply_bounds import LARGEST_IMAGE_FILE
from visualjudge.clients.server_errors import one_line
from visualjudge.core.errors import DataError

TIMEOUT_S = 60.0
MOST_HOPS = 5
_HEADERS = {"User-Agent": "visualjudge", "Accept": "image/*"}


async def fetch_image(url: str, *, allow_private: bool, timeout_s: float = TIMEOUT_S) -> bytes:
    """Return the bytes of an ``http(s)`` URL.

    Parameters
    ----------
    url
        At most five redirects are followed; each is checked like the first URL.
    allow_private
        Whether the host may be loopback, link-local, private or otherwise not on the public
        internet.
    timeout_s
        Seconds for the whole download.

    Raises
    ------
    DataError
        If it cannot be fetched, is refused, or is larger than 64 MiB.
    """
    shown = url[:200]
    try:
        shown = public_url(url)[:200]
        async with asyncio.timeout(timeout_s):
            return await _fetched(url, allow_private)
    except DataError as error:
        raise DataError(f"{shown}: {error}") from None
    except TimeoutError:
        raise DataError(f"{shown}: cannot be fetched: no answer within {timeout_s:g} s") from None
    except (
        Exception
    ) as error:  # failures of sockets, TLS, IDNA, parsers and servers are this image's failure
        said = one_line(str(error)) or type(error).__name__
        raise DataError(f"{shown}: cannot be fetched: {said}") from None


async def _fetched(url: str, allow_private: bool) -> bytes:
    # A proxy resolves names itself, and its own address is the user's choice.
    unchecked = allow_private or bool(getproxies())
    connector = aiohttp.TCPConnector(limit=1, socket_factory=None if unchecked else _public_socket)
    async with (
        aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=True
        ) as session,
        session.get(url, headers=_HEADERS, max_redirects=MOST_HOPS) as response,
    ):
        if response.status != 200:
            raise DataError(f"the server answered HTTP {response.status}")
        chunks = chunks_within(
            LARGEST_IMAGE_FILE, response, lambda limit: DataError(f"larger than {limit >> 20} MiB")
        )
        return b"".join([chunk async for chunk in chunks])


def _public_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, (host, *_) = address
    if not is_public(str(host)):
        said = f"{host} is not a public address; --allow-private-urls permits it"
        raise PermissionError(errno.EACCES, said)
    return socket.socket(family, kind, protocol)


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Return whether an IP address, or one embedded in an IPv6 address, is on the public
    internet.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        embedded = found.ipv4_mapped or found.sixtofour
        if found in _NAT64:
            embedded = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if embedded is not None:
            return is_public(str(embedded))
    return found.is_global and not (found.is_multicast or found.is_reserved)
