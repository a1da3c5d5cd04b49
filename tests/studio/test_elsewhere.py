"""Raters on other machines: links that work once, host names, limits, slow clients, TLS."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi.testclient import TestClient
from PIL import Image
from starlette.responses import PlainTextResponse
from typer.testing import CliRunner

from judged_records import pair, write_dataset
from visualjudge.cli.main import app as command
from visualjudge.core.errors import RunError, UsageError
from visualjudge.studio.people import limits
from visualjudge.studio.people.access import ADMIN
from visualjudge.studio.people.address import address_of
from visualjudge.studio.people.certificate import check_certificate, study_certificate
from visualjudge.studio.people.limits import Bucket, Limits, PatientProtocol
from visualjudge.studio.people.pages import PeoplePages, people_app, people_pages
from visualjudge.studio.people.plan import Settings
from visualjudge.studio.places import find_places
from visualjudge.studio.site import Site

URL = "https://study.example.org"
HTML = {"accept": "text/html"}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    names = ("media/o.png", "media/a.png", "media/b.png")
    prompt = "<image>\n\nOptions:\n\nA. <image>\n\nB. <image>\n\nA or B?"
    questions = [
        pair(i, (1.0, 9.0), prompt=prompt, images=names, encoding="pixel_s0_m0") for i in range(8)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    (root / "media").mkdir()
    for name in names:
        Image.new("RGB", (8, 6), "red").save(root / name)
    return root


class Elsewhere:
    """A study for other machines; each browser is a client with cookies of its own."""

    def __init__(self, dataset: Path) -> None:
        self.dataset = dataset
        self.open()

    def open(self) -> None:
        site = Site(find_places([self.dataset]), self.dataset.parent / "cache")
        people = self.dataset.parent / "people"
        raters = ["anna", "ben"]
        self.pages: PeoplePages = people_pages(site, people, Settings(), raters, elsewhere=True)
        names = frozenset({"study.example.org"})
        self.app = people_app(self.pages, names, limited=True)

    def restart(self) -> None:
        self.pages.run.close()
        self.open()

    def browser(self) -> TestClient:
        return TestClient(self.app, base_url=URL)

    def token(self, name: str) -> str:
        return self.pages.access.link_token(name)

    def begin(self, browser: TestClient, name: str, token: str | None = None) -> Any:
        rater = None if name == ADMIN else name
        body = {"rater": rater, "token": self.token(name) if token is None else token}
        return browser.post("/begin", json=body, headers={"origin": URL})

    def begun(self, name: str) -> tuple[TestClient, dict[str, str]]:
        browser = self.browser()
        assert self.begin(browser, name).status_code == 200
        return browser, headers(browser, "/" if name == ADMIN else f"/people/{name}")


def headers(browser: TestClient, path: str) -> dict[str, str]:
    page = browser.get(path, headers=HTML).text
    return {"x-studio-token": re.findall(r'data-token="(\w+)"', page)[0]}


@pytest.fixture
def study(dataset: Path) -> Iterator[Elsewhere]:
    made = Elsewhere(dataset)
    yield made
    made.pages.run.close()


def test_a_link_works_once_and_binds_the_page_to_a_browser(study: Elsewhere) -> None:
    link = study.pages.link("anna")
    anna, other = study.browser(), study.browser()
    for looked in (anna, other):  # looking at a link does not use it
        assert "<vj-begin" in looked.get(link, headers=HTML).text
    begun = study.begin(anna, "anna")
    cookie = begun.headers["set-cookie"]
    for part in ("__Host-studio-", "HttpOnly", "Secure", "SameSite=strict", "Path=/"):
        assert part in cookie
    assert "vj-rater" in anna.get("/people/anna").text
    assert "vj-rater" in anna.get(link).text
    refused = other.get(link)
    assert (refused.status_code, "another browser" in refused.text) == (403, True)
    assert study.begin(other, "anna").status_code == 403
    assert other.get("/people/anna").status_code == 403
    study.restart()
    anna.app = study.app
    again = TestClient(study.app, base_url=URL, cookies=anna.cookies)
    assert "vj-rater" in again.get("/people/anna").text
    assert study.browser().get(link).status_code == 403


def test_the_cookie_of_one_rater_opens_nothing_of_another(study: Elsewhere) -> None:
    anna, sent = study.begun("anna")
    assert anna.get("/people/anna/next", headers=sent).status_code == 200
    for path in ("/people/ben", "/people/ben/next", "/", "/people/nobody", "/people/%00admin"):
        assert anna.get(path, headers=sent).status_code == 403, path
    ben, _ = study.begun("ben")
    assert ben.get("/people/ben/next", headers=sent).status_code == 403
    assert ben.get("/people/ben/next").status_code == 403


def test_images_need_the_cookie(study: Elsewhere) -> None:
    anna, sent = study.begun("anna")
    question = anna.get("/people/anna/next", headers=sent).json()["question"]
    address = question["originals"][0]
    assert anna.get(address).status_code == 200
    assert study.browser().get(address).status_code == 403
    ben, _ = study.begun("ben")
    assert ben.get(address).status_code == 403


def test_a_new_link_ends_the_old_browser(study: Elsewhere) -> None:
    admin, sent = study.begun(ADMIN)
    anna, of_anna = study.begun("anna")
    assert "New link" in admin.get("/").text
    asked = {"json": {"rater": "anna"}, "headers": {**sent, "origin": URL}}
    link = admin.post("/links", **asked).json()["link"]
    assert anna.get("/people/anna/next", headers=of_anna).status_code == 403
    other = study.browser()
    token = link.partition("token=")[2]
    assert study.begin(other, "anna", token).status_code == 200
    assert "vj-rater" in other.get("/people/anna").text
    assert anna.post("/links", json={"rater": "ben"}, headers=of_anna).status_code == 403
    assert admin.post("/links", json={"rater": "no"}, headers=sent).status_code == 404


@pytest.mark.parametrize("token", ["", "0" * 32, "é", "\x00", "None"])
def test_no_other_token_begins(study: Elsewhere, token: str) -> None:
    browser = study.browser()
    assert study.begin(browser, "anna", token).status_code == 403
    assert study.begin(browser, ADMIN, token).status_code == 403
    assert not browser.cookies


def test_tokens_and_cookies_stand_in_no_file(study: Elsewhere) -> None:
    anna, sent = study.begun("anna")
    secrets = [study.token("anna"), *anna.cookies.values(), *sent.values()]
    for path in study.dataset.parent.rglob("*"):
        if path.is_file() and path.suffix != ".png":
            content = path.read_bytes()
            assert not any(secret.encode() in content for secret in secrets), path


def test_a_list_of_links_that_is_none_is_one_line(study: Elsewhere) -> None:
    study.begun("anna")
    (path,) = (study.dataset.parent / "cache/links").glob("*.json")
    for content in ("[]", '{"anna": 1}', '{"anna": ["0", null]}', "\xff"):
        path.write_text(content)
        study.pages.run.close()
        if content == "[]":
            with pytest.raises(RunError, match="list of used links"):
                study.open()
        else:
            with pytest.raises(RunError):
                study.open()
        study.pages.run.close()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "evil.example", "study.example.org.evil.example", "", "["]
)
def test_other_host_names_are_refused(study: Elsewhere, host: str) -> None:
    reply = study.browser().get(study.pages.link("anna"), headers={"host": host})
    assert reply.status_code == 400


@pytest.mark.parametrize(
    "foreign",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}],
)
def test_other_sites_cannot_use_a_link(study: Elsewhere, foreign: dict[str, str]) -> None:
    body = {"rater": "anna", "token": study.token("anna")}
    assert study.browser().post("/begin", json=body, headers=foreign).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/d/ds",
        "/d/ds/cards",
        "/live",
        "/progress",
        "/r/run",
        "/docs",
        "/openapi.json",
        "/static/../guard.py",
        "/static/..%2fguard.py",
        "/static/%2e%2e/%2e%2e/guard.py",
        "/static/....//guard.py",
        "/static//etc/passwd",
        "/people-image/anna/../../../etc/passwd/0",
        "/people-image/anna/x/-1",
        "/people/..%2f..%2fetc%2fpasswd",
        "/instructions-image/0",
    ],
)
def test_nothing_else_is_served(study: Elsewhere, path: str) -> None:
    anna, sent = study.begun("anna")
    assert anna.get(path, headers=sent).status_code in (403, 404), path


def test_two_tabs_write_one_verdict(study: Elsewhere) -> None:
    anna, first = study.begun("anna")
    second = headers(anna, "/people/anna")
    slots = [
        anna.get("/people/anna/next", headers=h).json()["question"]["slot"] for h in (first, second)
    ]
    assert slots[0] == slots[1]
    body = {"slot": slots[0], "seconds": 1, "value": "A"}
    codes = [
        anna.post("/people/anna/answer", headers=h, json=body).status_code for h in (first, second)
    ]
    assert codes == [200, 409]
    journal = study.dataset.parent / "people/verdicts.jsonl"
    assert len(journal.read_text().splitlines()) == 1


# ---------------------------------------------------------------- limits


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_address_has_so_many_requests_a_minute() -> None:
    clock = Clock()
    bucket = Bucket(60, clock)
    for _ in range(60):
        assert bucket.left("a") >= 1
        bucket.take("a")
    assert bucket.left("a") < 1 <= bucket.left("b")
    clock.now = 1.5
    assert bucket.left("a") == pytest.approx(1.5)
    clock.now = 1000
    assert bucket.left("a") == 60


def _limited(status: int, clock: Clock) -> TestClient:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("said", status)(scope, receive, send)

    return TestClient(Limits(app, clock), base_url=URL)


@pytest.mark.parametrize(
    ("status", "most"), [(200, limits.REQUESTS_A_MINUTE), (403, limits.REFUSED_A_MINUTE)]
)
def test_too_many_requests_are_refused_for_a_while(status: int, most: int) -> None:
    clock = Clock()
    client = _limited(status, clock)
    for _ in range(most):
        assert client.get("/").status_code == status
    assert client.get("/").status_code == 429
    clock.now = 60
    assert client.get("/").status_code == status


def test_tokens_are_not_guessed_faster(study: Elsewhere) -> None:
    browser = study.browser()
    codes = [study.begin(browser, "anna", "0" * 32).status_code for _ in range(25)]
    assert codes.count(403) == limits.REFUSED_A_MINUTE
    assert codes[-1] == 429


@contextmanager
def _served(app: Any) -> Iterator[int]:
    """The application on a port, until the end."""
    port = _free_port("127.0.0.1")
    config = uvicorn.Config(app, port=port, log_level="critical", http=PatientProtocol)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield port
    server.should_exit = True
    thread.join(10)


def _said(port: int, content: bytes) -> bytes:
    """All that the server says to these bytes until it ends the connection."""
    with socket.create_connection(("127.0.0.1", port), 20) as sent:
        sent.sendall(content)
        found = b""
        try:
            while part := sent.recv(65536):
                found += part
        except ConnectionResetError:
            pass
        return found


POST = b"POST /people/anna/answer HTTP/1.1\r\nHost: study.example.org\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHost: study.exam", b""),
        (POST + b"Content-Length: 50\r\n\r\n{", b" 408 "),
        (POST + b"Content-Length: 70000\r\n\r\n" + b"x" * 70_000, b" 413 "),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b" 413 "),
        (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", b" 400 "),
        (b"GET / HTTP/1.1\r\nHost: " + b"x" * 100_000 + b"\r\n\r\n", b" 400 "),
        (b"\x16\x03\x01 no TLS here", b" 400 "),
    ],
)
def test_slow_and_large_requests_end(
    study: Elsewhere, monkeypatch: pytest.MonkeyPatch, content: bytes, said: bytes
) -> None:
    monkeypatch.setattr(limits, "HEADERS_S", 0.3)
    monkeypatch.setattr(limits, "BODY_S", 0.3)
    with _served(study.app) as port:
        reply = _said(port, content)
        assert reply.split(b"\r\n")[0].find(said) >= 0 if said else reply == b""
        fine = (
            b"GET /static/dom.js HTTP/1.1\r\nHost: study.example.org\r\nConnection: close\r\n\r\n"
        )
        assert _said(port, fine).startswith(b"HTTP/1.1 200")


def _is_answered(sent: socket.socket) -> bool:
    """Whether a connection gets a reply, and is not ended."""
    try:
        sent.sendall(b"GET /static/dom.js HTTP/1.1\r\nHost: study.example.org\r\n\r\n")
        return sent.recv(12) == b"HTTP/1.1 200"
    except ConnectionError:
        return False


def test_an_address_has_so_many_connections(
    study: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_CONNECTIONS", 2)
    monkeypatch.setattr(limits, "_LOCAL", ())
    with _served(study.app) as port, ExitStack() as opened:
        first, second, third = (
            opened.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            for _ in range(3)
        )
        assert [_is_answered(one) for one in (first, second, third)] == [True, True, False]
        first.close()
        until = time.monotonic() + 20
        while True:  # the server may count the closed connection for a moment
            with socket.create_connection(("127.0.0.1", port), 20) as again:
                if _is_answered(again):
                    break
            assert time.monotonic() < until
            time.sleep(0.05)


def test_a_client_that_takes_no_reply_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REPLY_S", 0.5)
    ended = threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            for _ in range(500):
                body = {"type": "http.response.body", "body": b"x" * 2**20, "more_body": True}
                await send(body)
        finally:
            ended.set()

    with _served(Limits(app)) as port, socket.create_connection(("127.0.0.1", port), 20) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert ended.wait(15)


# ---------------------------------------------------------------- address and certificate


@pytest.mark.parametrize(
    ("host", "url", "certified", "found"),
    [
        ("127.0.0.1", None, False, ("http://127.0.0.1:1", False, False)),
        ("127.0.0.1", URL, False, (URL, True, False)),
        ("127.0.0.1", None, True, ("https://127.0.0.1:1", True, True)),
        ("192.0.2.7", None, False, ("https://192.0.2.7:1", True, True)),
        ("2001:db8::7", None, False, ("https://[2001:db8::7]:1", True, True)),
        ("0.0.0.0", URL + "/", False, (URL, True, True)),
    ],
)
def test_the_address_that_raters_open(
    host: str, url: str | None, certified: bool, found: tuple[str, bool, bool]
) -> None:
    made = address_of(host, 1, url, certified=certified)
    assert (made.url, made.elsewhere, made.own_tls) == found


@pytest.mark.parametrize(
    ("host", "url", "said"),
    [
        ("0.0.0.0", None, "needs --url"),
        ("::", None, "needs --url"),
        ("0.0.0.0", "http://study.example.org", "must be https"),
        ("0.0.0.0", "https://a.example/path", "must be https"),
        ("0.0.0.0", "https://u:p@a.example", "must be https"),
    ],
)
def test_an_address_that_cannot_be_is_one_line(host: str, url: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        address_of(host, 1, url)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "need --people"),
        (["--people", "run", "--cert", "a.pem"], "must be given together"),
        (["--people", "run", "--host", "0.0.0.0"], "needs --url"),
        (["--people", "run", "--cert", "a.pem", "--key", "b.pem"], "in PEM"),
    ],
)
def test_options_that_do_not_fit_are_one_line(dataset: Path, words: list[str], said: str) -> None:
    result = CliRunner().invoke(command, ["studio", str(dataset), *words])
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)


def test_a_certificate_is_made_once_for_a_name(tmp_path: Path) -> None:
    path, fingerprint = study_certificate(tmp_path / "tls", "192.0.2.7")
    assert study_certificate(tmp_path / "tls", "192.0.2.7") == (path, fingerprint)
    assert study_certificate(tmp_path / "tls", "study.example.org")[1] != fingerprint
    check_certificate(path, path)
    if os.name != "nt":
        assert path.stat().st_mode & 0o077 == 0
    path.write_text("no certificate")
    assert study_certificate(tmp_path / "tls", "192.0.2.7")[1] != fingerprint


@contextmanager
def _command(dataset: Path, *words: str) -> Iterator[dict[str, str]]:
    """``visualjudge studio --people`` as a process: the links that it prints."""
    said = [str(dataset), "--people", str(dataset.parent / "run"), "--rater", "anna", *words]
    process = subprocess.Popen(
        [sys.executable, "-m", "visualjudge", "studio", *said],
        env={**os.environ, "XDG_CACHE_HOME": str(dataset.parent / "cache")},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        printed = "".join(iter(process.stdout.readline, "(Ctrl-C stops it)\n"))
        yield dict(re.findall(r"^(\w+): (https://\S+)", printed, re.MULTILINE))
    finally:
        process.kill()
        process.wait()


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def test_behind_a_proxy_the_links_and_the_host_name_are_those_of_the_proxy(dataset: Path) -> None:
    port = _free_port("127.0.0.1")
    with _command(dataset, "--url", URL, "--port", str(port)) as links:
        assert links["anna"].startswith(f"{URL}/people/anna?token=")
        assert links["progress"].startswith(f"{URL}/?token=")
        path = links["anna"].removeprefix(URL)

        def asked(host: str, **more: str) -> Any:
            address = f"http://127.0.0.1:{port}{path}"
            request = urllib.request.Request(address, headers={"Host": host, **more})
            return urllib.request.urlopen(request, timeout=20)

        forwarded = {"X-Forwarded-For": "192.0.2.9"}
        assert b"<vj-begin" in _fetched(lambda: asked("study.example.org", **forwarded))
        with pytest.raises(urllib.error.HTTPError, match="400"):
            asked(f"127.0.0.1:{port}")
        for _ in range(limits.REFUSED_A_MINUTE):  # of one client of the proxy
            with pytest.raises(urllib.error.HTTPError, match="400"):
                asked("evil.example", **forwarded)
        with pytest.raises(urllib.error.HTTPError, match="429"):
            asked("study.example.org", **forwarded)
        assert asked("study.example.org", **{"X-Forwarded-For": "192.0.2.10"}).status == 200


@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2")
def test_a_browser_that_knows_the_certificate_reaches_the_study(dataset: Path) -> None:
    port = _free_port("127.0.0.2")
    with _command(dataset, "--host", "127.0.0.2", "--port", str(port)) as links:
        link = links["anna"]
        assert link.startswith(f"https://127.0.0.2:{port}/people/anna?token=")
        (pem,) = (dataset.parent / "cache/visualjudge/studio/tls").glob("*.pem")
        context = ssl.create_default_context(cafile=str(pem))
        page = _fetched(lambda: urllib.request.urlopen(link, context=context, timeout=20))
        assert b"<vj-begin" in page
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(link, timeout=20)
        with pytest.raises(OSError):
            urllib.request.urlopen(link.replace("https", "http"), timeout=20)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.load_verify_locations(str(pem))
        with pytest.warns(DeprecationWarning):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(link, context=old, timeout=20)


def _fetched(fetch: Callable[[], Any]) -> bytes:
    for _ in range(200):
        try:
            return bytes(fetch().read())
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.05)
    raise AssertionError("the server does not answer")


def test_the_answers_are_those_of_any_study(study: Elsewhere) -> None:
    anna, sent = study.begun("anna")
    question = anna.get("/people/anna/next", headers=sent).json()["question"]
    body = {"slot": question["slot"], "seconds": 1, "value": "B"}
    assert anna.post("/people/anna/answer", headers=sent, json=body).status_code == 200
    (line,) = (study.dataset.parent / "people/verdicts.jsonl").read_text().splitlines()
    assert (json.loads(line)["rater"], json.loads(line)["status"]) == ("anna", "ok")
