"""The studio shows a dataset to this machine, and nothing else to anybody."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from commanding import command
from visualjudge.studio.serving import HEADERS


@pytest.mark.parametrize("kind", ["image", "thumb/320"])
@pytest.mark.parametrize(
    "name",
    [
        "../secret.png",
        "..%2Fsecret.png",
        "media/link.png",
        "media/page.svg",
        "media/unnamed.png",
        "questions.json",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "media/../../secret.png",
        "media%2F..%2F..%2Fsecret.png",
        "media/one.png%00.png",
    ],
)
def test_nothing_but_the_images_of_questions_is_served(
    client: TestClient, slug: str, kind: str, name: str
) -> None:
    reply = client.get(f"/d/{slug}/{kind}/{name}")
    assert reply.status_code == 404
    assert b"secret" not in reply.content


@pytest.mark.parametrize(
    "name",
    [
        "app.py",
        "..%2Fapp.py",
        "../templates/base.html.j2",
        "%2e%2e/app.py",
        "none.js",
    ],
)
def test_static_serves_scripts_and_styles_only(
    client: TestClient, name: str
) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_image_is_served_with_its_type(client: TestClient, slug: str) -> None:
    reply = client.get(f"/d/{slug}/image/media/one.png")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "image/png"
    assert reply.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/", "/d/{slug}", "/d/{slug}/cards", "/static/grid.js", "/nowhere"]
)
def test_every_reply_forbids_foreign_content(
    client: TestClient, slug: str, path: str
) -> None:
    reply = client.get(path.format(slug=slug))
    assert (
        reply.headers["content-security-policy"]
        == HEADERS["content-security-policy"]
    )
    assert "unsafe" not in reply.headers["content-security-policy"]
    assert "http" not in reply.headers["content-security-policy"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8421",
        "",
        "[::1",
        "127.0.0.1@evil",
    ],
)
def test_another_host_name_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 400


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8421", "localhost", "localhost:1", "[::1]:8421"]
)
def test_names_of_this_machine_are_served(
    client: TestClient, host: str
) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["cross-site", "same-site"])
def test_other_sites_may_link_to_a_page_and_nothing_else(
    client: TestClient, slug: str, origin: str
) -> None:
    visit = {
        "sec-fetch-site": origin,
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
    }
    assert client.get("/", headers=visit).status_code == 200
    assert (
        client.get(
            "/", headers={**visit, "sec-fetch-dest": "iframe"}
        ).status_code
        == 403
    )
    assert (
        client.get(
            f"/d/{slug}/cards",
            headers={"sec-fetch-site": origin, "sec-fetch-mode": "cors"},
        ).status_code
        == 403
    )
    assert (
        client.get(
            f"/d/{slug}/image/media/one.png", headers={"sec-fetch-site": origin}
        ).status_code
        == 403
    )


def test_no_schema_or_docs_pages(client: TestClient) -> None:
    assert client.get("/docs").status_code == 404
    assert client.get("/openapi.json").status_code == 404


@pytest.mark.parametrize("path", ["/", "/d/{slug}"])
def test_pages_escape_what_a_dataset_says(
    client: TestClient, slug: str, path: str
) -> None:
    text = client.get(path.format(slug=slug)).text
    assert "<script>alert" not in text
    assert "onerror=alert(2)>" not in text


def test_data_for_the_page_is_json_and_not_html(
    client: TestClient, slug: str
) -> None:
    for path in ("cards", "facets"):
        assert (
            client.get(f"/d/{slug}/{path}").headers["content-type"]
            == "application/json"
        )


def test_thumbnails_are_made_in_few_sizes_and_anew_when_the_image_changes(
    client: TestClient, slug: str, folder: Path
) -> None:
    address = f"/d/{slug}/thumb/320/media/one.png"
    assert client.get(address.replace("320", "321")).status_code == 404
    small = client.get(address)
    assert small.status_code == 200
    assert Image.open(io.BytesIO(small.content)).size == (320, 240)
    Image.new("RGB", (64, 32), "blue").save(folder / "ds/media/one.png")
    assert Image.open(io.BytesIO(client.get(address).content)).size == (64, 32)


def test_what_cannot_be_read_is_said_on_the_terminal_alone(
    folder: Path,
    client: TestClient,
    slug: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (folder / "ds" / "media" / "one.png").write_bytes(b"no image")
    for address in ("thumb/320/media/one.png",):
        caplog.clear()
        reply = client.get(f"/d/{slug}/{address}")
        assert reply.status_code == 404
        assert "one.png" not in reply.text
        assert "one.png" in caplog.text


def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "visualjudge.cli.studio.find_spec",
        lambda name: None if name == "uvicorn" else object(),
    )
    done = command("studio", tmp_path)
    assert done.returncode == 2 and "visualjudge[studio]" in done.stderr
