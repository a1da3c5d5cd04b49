"""The address of a study: on this machine, on the local network with TLS, or behind a proxy."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from visualjudge.core.errors import UsageError
from visualjudge.studio.guard import LOOPBACK

HERE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Address:
    """The interface on which the server listens, and the URL that browsers open.

    Attributes
    ----------
    url
        Without a trailing slash.
    elsewhere
        Whether browsers on other machines may open it.
    own_tls
        Whether the server speaks TLS itself.
    """

    host: str
    port: int
    url: str
    elsewhere: bool
    own_tls: bool

    @property
    def name(self) -> str:
        """Return the host name or IP address that browsers open."""
        return str(urlsplit(self.url).hostname)

    @property
    def names(self) -> frozenset[str]:
        """Return the accepted host names of requests."""
        return frozenset({self.name}) if self.elsewhere else LOOPBACK


def address_of(host: str, port: int, url: str | None, *, certified: bool = False) -> Address:
    """Return the address given by the options.

    Parameters
    ----------
    host
        IP address or name to listen on.
    url
        URL that raters open; None = ``host`` itself.
    certified
        Whether a certificate is given.

    Raises
    ------
    UsageError
        If raters could not reach it, or only without TLS.

    Examples
    --------
    >>> address_of("192.0.2.7", 8421, None).url
    'https://192.0.2.7:8421'
    >>> address_of("127.0.0.1", 8421, "https://study.example.org").own_tls
    False
    """
    local = host in LOOPBACK
    if url is not None:
        parts = urlsplit(url)
        if (
            parts.scheme != "https"
            or not parts.hostname
            or parts.path not in ("", "/")
            or parts.query
            or parts.fragment
            or "@" in parts.netloc
        ):
            raise UsageError(f"--url must be https://NAME or https://NAME:PORT, got {url}")
        return Address(host, port, url.rstrip("/"), True, certified or not local)
    if local and not certified:
        return Address(host, port, f"http://{HERE}:{port}", False, False)
    if _is_any(host):
        raise UsageError(f"--host {host} needs --url, the address that raters open")
    shown = f"[{host}]" if ":" in host else host
    return Address(host, port, f"https://{shown}:{port}", True, True)


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
