"""Download images with limits on time and size and, on request, from public addresses only.

URLs in an untrusted list may point to services that only this machine can reach, such as the local
network or a cloud's metadata server. Each address is therefore checked after name resolution and
again for each redirect, and the connection uses the checked address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from visualjudge.clients.http import chunks_within
from visualjudge.clients.masked_secrets import public_url
from visualjudge.clients.reply_bounds import LARGEST_IMAGE_FILE
from visualjudge.clients.server_errors import one_line
from visualjudge.core.errors import DataError

TIMEOUT_S = 60.0
MOST_HOPS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"User-Agent": "visualjudge", "Accept": "image/*", "Accept-Encoding": "identity"}


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
    shown = _shown(url)
    try:
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
    connector = aiohttp.TCPConnector(
        resolver=_PublicResolver(allow_private), limit=1, force_close=True
    )
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
    ) as session:
        for _ in range(MOST_HOPS + 1):
            found, target = await _hop(session, url, allow_private)
            if target is None:
                return found
            url = urljoin(url, target)
    raise DataError(f"more than {MOST_HOPS} redirects")


async def _hop(
    session: aiohttp.ClientSession, url: str, allow_private: bool
) -> tuple[bytes, str | None]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DataError(
            "the URLs of an image and of its redirects must begin with http:// or https://"
        )
    asked = URL(url)
    # In the form used for the connection, with digits and dots normalised.
    _check_literal(asked.raw_host or "", allow_private)
    async with session.get(
        asked, headers=_HEADERS, allow_redirects=False, proxy=_proxy(parts)
    ) as response:
        if response.status in _REDIRECTS:
            return b"", response.headers.get("Location") or ""
        if response.status != 200:
            raise DataError(f"the server answered HTTP {response.status}")
        chunks = chunks_within(
            LARGEST_IMAGE_FILE, response, lambda limit: DataError(f"larger than {limit >> 20} MiB")
        )
        return b"".join([chunk async for chunk in chunks]), None


def _proxy(parts: Any) -> str | None:
    """Return the environment's proxy for this host, if any. A proxy resolves the host name
    itself.
    """
    return None if proxy_bypass(parts.hostname) else getproxies().get(parts.scheme)


def is_public(address: str) -> bool:
    """Return whether an IP address, or one embedded in an IPv6 address, is on the public
    internet.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        wrapped = (
            found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        )
        if found in _NAT64:
            wrapped = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if wrapped is not None:
            return is_public(str(wrapped))
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_unspecified)


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def _check_literal(host: str, allow_private: bool) -> None:
    """Check a literal address, which needs no name resolution."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return
    if not allow_private and not is_public(host):
        raise _not_public(host)


def _not_public(host: str) -> DataError:
    return DataError(
        f"{one_line(host)[:80]} is not a public address; --allow-private-urls permits it"
    )


class _PublicResolver(AbstractResolver):
    """Resolve names to permitted addresses only."""

    def __init__(self, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._proxies = {urlsplit(url).hostname for url in getproxies().values()}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await aiohttp.ThreadedResolver().resolve(host, port, family)
        if self._allow_private or host in self._proxies:
            return found
        public = [result for result in found if is_public(result["host"])]
        if not public:
            raise _not_public(host)
        return public

    async def close(self) -> None:
        """Do nothing: the resolver holds no resources."""


def _shown(url: str) -> str:
    try:
        return public_url(url)[:200]
    except ValueError:
        return "the URL"
