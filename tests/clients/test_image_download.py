"""Images behind URLs: within bounds, and not from where only this machine can reach."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import numpy as np
import pytest

from clients.loopback import serving
from folding import each
from visualjudge.clients import image_download
from visualjudge.clients.image_download import fetch_image, is_public
from visualjudge.core.errors import DataError
from visualjudge.vision.raster.images import png_bytes

PNG = png_bytes(np.zeros((4, 5, 3), np.uint8))


def fetch(
    answers: list[Any],
    *,
    allow_private: bool = True,
    timeout_s: float = 5.0,
    path: str = "/a.png",
) -> bytes:
    async def main() -> bytes:
        async with serving(*answers) as server:
            return await fetch_image(
                server.url + path,
                allow_private=allow_private,
                timeout_s=timeout_s,
            )

    return asyncio.run(main())


def test_bytes_are_fetched_as_they_are() -> None:
    assert (
        fetch([(200, PNG, {"Content-Type": "text/html", "Set-Cookie": "a=b"})])
        == PNG
    )


def test_a_host_that_is_late_again_has_less_time_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(image_download, "_SHORTEST_S", 0.25)

    async def main() -> list[str]:
        told = []
        async with serving(1.0, 1.0, 1.0, (200, PNG, {}), 1.0) as server:
            for _ in range(5):
                try:
                    await fetch_image(
                        server.url, allow_private=True, timeout_s=0.6
                    )
                    told.append("fetched")
                except DataError as error:
                    told.append(str(error).partition("within ")[2])
        return told

    assert asyncio.run(main()) == [
        "0.6 s",
        "0.3 s",
        "0.25 s",
        "fetched",
        "0.6 s",
    ]


def test_a_redirect_is_followed_and_its_target_checked_again() -> None:
    assert fetch([(302, b"", {"Location": "/b.png"}), (200, PNG, {})]) == PNG
    with pytest.raises(DataError, match="cannot be fetched"):
        fetch([(302, b"", {"Location": "file:///etc/passwd"})])
    with pytest.raises(DataError, match="cannot be fetched"):
        fetch([(302, b"", {"Location": "/again"})])


def test_a_public_server_cannot_send_to_a_private_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        image_download, "is_public", lambda address: address == "127.0.0.1"
    )
    with pytest.raises(
        DataError, match=r"169\.254\.169\.254 is not a public address"
    ):
        fetch(
            [(302, b"", {"Location": "http://169.254.169.254/latest"})],
            allow_private=False,
        )


@each(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0.0.0.0",
    ],
)
def test_loopback_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises(
        DataError, match=r"is not a public address|cannot be fetched"
    ):
        asyncio.run(
            fetch_image(
                f"http://{host}:9/a.png", allow_private=False, timeout_s=5
            )
        )


@pytest.mark.parametrize(
    "host",
    [
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
        "[::ffff:127.0.0.1]",
        "a@127.0.0.1",
    ],
)
def test_an_address_is_checked_as_it_is_connected_to(host: str) -> None:
    with pytest.raises(DataError, match="is not a public address"):
        asyncio.run(
            fetch_image(
                f"http://{host}:9/a.png", allow_private=False, timeout_s=5
            )
        )


def test_a_name_that_resolves_to_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.7", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: answer)
    with pytest.raises(DataError, match="is not a public address"):
        asyncio.run(
            fetch_image(
                "http://images.example/a.png", allow_private=False, timeout_s=5
            )
        )


@each(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2001:4860:4860::8888", True),
        ("10.1.2.3", False),
        ("192.168.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("2002:7f00:1::", False),
        ("fec0::1", False),
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    "answer",
    [
        None,
        3.0,
        (404, b"no", {}),
        (200, b"x" * 100, {"Content-Length": "5000"}),
    ],
    ids=str,
)
def test_a_network_fault_is_one_line(answer: Any) -> None:
    with pytest.raises(DataError, match=r"http://127\.0\.0\.1:\d+/a\.png: "):
        fetch([answer], timeout_s=0.5)


@each(
    "url",
    [
        "http://[::1",
        "http://",
        "http://h:99999/",
        "http://" + "a" * 300 + ".example/",
        "http://xn--0.\ud800/",
    ],
)
def test_a_malformed_url_is_one_line(url: str) -> None:
    with pytest.raises(DataError):
        asyncio.run(fetch_image(url, allow_private=True, timeout_s=2))


def test_a_file_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_download, "LARGEST_IMAGE_FILE", 1000)
    with pytest.raises(DataError, match="larger than"):
        fetch([(200, b"x" * 5000, {})])


@pytest.mark.parametrize(
    "url",
    [
        "http://[x/?key=hidden",
        "http://me:hidden@[x/",
        "http://me:hidden@127.0.0.1:1/#hidden",
    ],
)
def test_no_message_has_what_may_be_a_signature(url: str) -> None:
    with pytest.raises(DataError) as caught:
        asyncio.run(fetch_image(url, allow_private=True, timeout_s=2))
    assert "hidden" not in str(caught.value)


def test_no_message_has_the_signature_of_a_redirect() -> None:
    with pytest.raises(
        DataError, match="cannot be fetched: http://h:99999/x - "
    ) as caught:
        fetch([(302, b"", {"Location": "http://h:99999/x?key=hidden"})])
    assert "hidden" not in str(caught.value)
