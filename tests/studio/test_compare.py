"""One question: what is shown of it, and where two judges differ."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from visualjudge.core.records import Probe
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.question_views import layers, prompts, reading
from visualjudge.studio.studio_data import Site

HOSTILE = (
    'say "$(touch pwned)" `touch pwned` \\ $HOME\nJSON\ntouch pwned\n@@image1@@ '
    "' </pre>"
)
FINAL = "Which of the two is better, A or B?"
PROMPT = (
    f"<image>\n\n{HOSTILE}\n\nOptions:\n\nA. <image>\nfirst\n\nB. "
    f"<image>\nsecond\n\n{FINAL}"
)
IMAGES = ("media/o.png", "media/a.png", "media/it's b.png")


def test_a_tie_is_read_as_the_judge_read_it() -> None:
    question = pair(0, (5.0, 5.0), answer="tie", ties=("tie",))
    assert (
        reading("[[tie]]", question, "AB")[3]
        == reading("[[tie]]", question, "BA")[3]
        == "tie"
    )
    assert reading("[[A]]", question, "BA")[3] == "B"


@pytest.fixture
def asked(tmp_path: Path) -> TestClient:
    questions = [
        pair(
            0, (1.0, 9.0), prompt=PROMPT, images=IMAGES, encoding="pixel_s0_m0"
        ),
        pair(1, (9.0, 1.0)),
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    (dataset / "media").mkdir()
    for name, color in zip(IMAGES, ("red", "green", "blue"), strict=True):
        Image.new("RGB", (8, 6), color).save(dataset / name)
    right = [said(questions[0], "B", "AB"), said(questions[0], "B", "BA")]
    write_run(
        tmp_path / "runs/r",
        dataset,
        right,
        judge="r",
        backend="api",
        model="m",
        base_url="http://h/v1",
    )
    write_run(
        tmp_path / "runs/s",
        dataset,
        [said(questions[0], "A"), said(questions[1], "A")],
        judge="s",
    )
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    return TestClient(create_app(site), base_url="http://127.0.0.1:1")


def _slug(client: TestClient) -> str:
    return str(client.get("/").text.split('href="/d/')[1].split('"')[0])


def test_layers_and_both_orders() -> None:
    question = pair(
        0, (1.0, 9.0), prompt=PROMPT, images=IMAGES, encoding="pixel_s0_m0"
    )
    assert [
        (layer["key"], layer["name"]) for layer in layers(question)
    ] == list(zip(("o0", "A", "B"), IMAGES, strict=True))
    shown = prompts(question)
    assert [image for _, image in shown["AB"] if image] == list(IMAGES)
    assert [image for _, image in shown["BA"] if image] == [
        IMAGES[0],
        IMAGES[2],
        IMAGES[1],
    ]
    assert list(prompts(ranking(1, (1.0, 2.0, 3.0)))) == ["AB"]


def test_page_shows_the_question_and_its_replies_escaped(
    asked: TestClient,
) -> None:
    slug = _slug(asked)
    text = asked.get(f"/d/{slug}/q/q0").text
    assert "1 of 2" in text
    assert "&lt;/pre&gt;" in text
    assert "B right" in text
    assert "A wrong" in text
    assert asked.get(f"/d/{slug}/q/none").status_code == 404
    assert (
        "not in this selection"
        in asked.get(f"/d/{slug}/q/q0?type=scoring").text
    )


def test_next_stays_within_the_filter(asked: TestClient) -> None:
    slug = _slug(asked)
    assert f"/d/{slug}/q/q1?" in asked.get(f"/d/{slug}/q/q0").text
    narrowed = asked.get(f"/d/{slug}/q/q0?margin=4+and+more&q=Options").text
    assert f"/d/{slug}/q/q1?" not in narrowed


@pytest.mark.parametrize(
    ("question", "value", "status", "expected"),
    [
        (scoring(0, 7.4), 7.0, "ok", "right"),
        (scoring(0, 7.4), 8.5, "ok", "wrong"),
        (scoring(0, 7.4), 0, "refusal", "failed"),
        (scoring(0, 7.4), 0, "cannot_tell", "cannot tell"),
        (
            pair(0, (5.0, 5.0), answer="tie", ties=("tie",)),
            "tie",
            "ok",
            "right",
        ),
        (
            pair(0, (5.0, 4.0)),
            "tie",
            "ok",
            "wrong",
        ),  # a tie is an answer, offered or not
        (pair(0, (5.0, 4.0), answer="unknown"), "A", "ok", "no right answer"),
    ],
)
def test_outcome_of_a_verdict(
    tmp_path: Path, question: Any, value: Any, status: str, expected: str
) -> None:
    dataset = write_dataset(tmp_path / "ds", [question])
    write_run(
        tmp_path / "runs/r", dataset, [said(question, value, status=status)]
    )
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    ((_, run),) = site.shelf(site.places.datasets[0].slug).runs
    assert [outcome for _, outcome in run.of_question(0)] == [expected]


def test_matrix_cells_lead_to_their_questions(asked: TestClient) -> None:
    slug = _slug(asked)
    text = asked.get(f"/d/{slug}/judges").text
    links = [
        part.split('"')[0].replace("&amp;", "&")
        for part in text.split('<a href="')[1:]
    ]
    cells = [
        link
        for link in links
        if "outcome." in link and link.count("outcome.") == 2
    ]
    assert cells
    totals = [
        asked.get(link.replace(f"/d/{slug}?", f"/d/{slug}/facets?")).json()[
            "total"
        ]
        for link in cells
    ]
    assert sum(totals) == 1  # the other one was not asked of both
    assert (
        "The judges differ on <b>1</b> of the 1 questions that both were asked."
        in text
    )
    assert (
        asked.get(f"/d/{slug}/judges?a=nonsense&b=%3Cscript%3E").status_code
        == 200
    )


def test_page_of_a_run_has_its_newest_replies(asked: TestClient) -> None:
    run = next(
        part.split('"')[0]
        for part in asked.get("/").text.split('data-run="')[1:]
    )
    page = asked.get(f"/r/{run}").text
    assert page.count(f'/d/{_slug(asked)}/q/q0">q0</a>') == 2
    assert "2 of" not in page
    assert (
        '<span class="badge" data-state=' in asked.get(f"/r/{run}/state").text
    )
    assert asked.get("/r/none").status_code == 404


def test_the_part_of_a_reply_that_was_read_is_marked(
    tmp_path: Path,
) -> None:
    question = pair(0, (1.0, 9.0), prompt=PROMPT, images=IMAGES)
    root = write_dataset(tmp_path / "ds", [question])
    reply = "A has <i>nice</i> edges. But the boxes of B fit.\n\nAnswer: B"
    write_run(
        tmp_path / "run",
        root,
        [replace(said(question, "B"), raw_response=reply)],
        judge="r",
    )
    client = TestClient(
        create_app(Site(find_places([tmp_path]), tmp_path / "cache")),
        base_url="http://127.0.0.1:1",
    )
    text = client.get(f"/d/{_slug(client)}/q/q0").text
    marked = text.split("<mark>")[1].split("</mark>")[0]
    assert "B" in marked
    assert "A has &lt;i&gt;nice&lt;/i&gt; edges." in text.split("<mark>")[0]
    assert "reads the reply differently" not in text


def test_a_reply_that_is_read_otherwise_now_is_told(tmp_path: Path) -> None:
    question = pair(0, (1.0, 9.0), prompt=PROMPT, images=IMAGES)
    root = write_dataset(tmp_path / "ds", [question])
    write_run(
        tmp_path / "run",
        root,
        [replace(said(question, "A"), raw_response="Answer: B")],
        judge="r",
    )
    client = TestClient(
        create_app(Site(find_places([tmp_path]), tmp_path / "cache")),
        base_url="http://127.0.0.1:1",
    )
    assert (
        "reads the reply differently"
        in client.get(f"/d/{_slug(client)}/q/q0").text
    )


def test_tool_calls_are_listed_and_escaped(tmp_path: Path) -> None:
    question = pair(0, (1.0, 9.0))
    dataset = write_dataset(tmp_path / "ds", [question])
    hostile = "</pre><script>alert(1)</script>"
    trace: list[Any] = [
        {"name": "zoom", "arguments": '{"image": "A"}', "result": hostile},
        {"arguments": 7, "result": None},
        "no object",
    ]
    run = write_run(
        tmp_path / "r",
        dataset,
        [said(question, "B", extra={"tool_calls": trace})],
    )
    journal = run / "verdicts.jsonl"
    journal.write_text(
        json.dumps({**json.loads(journal.read_text()), "tool_calls": trace})
        + "\n"
    )
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    page = client.get(f"/d/{_slug(client)}/q/q0").text
    assert "2 tool calls before the answer" in page
    assert "<b>zoom</b>" in page
    assert "<script>alert(1)" not in page


def test_the_same_pair_in_other_encodings_and_without_the_photograph(
    tmp_path: Path,
) -> None:
    probe = Probe(
        "photograph", "photograph", "g", "the photograph is grey", "answer"
    )
    alike = {"annotation_ids": ("a", "b"), "image_id": "i"}
    questions = [
        pair(0, (1.0, 9.0), **alike),
        pair(1, (1.0, 9.0), encoding="pixel_s0_m0", **alike),
        pair(2, (1.0, 9.0), probe=probe, **alike),
        pair(3, (1.0, 9.0)),
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    write_run(tmp_path / "r", dataset, [said(questions[1], "A")])
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    slug = _slug(client)
    shown = client.get(f"/d/{slug}/q/q0").text.partition(
        "shown otherwise</h2>"
    )[2]
    table = shown.partition("</table>")[0]
    assert re.findall(r'href="[^"]*/q/([^"]*)"', table) == ["q1", "q2"]
    assert ": the photograph is grey</a>" in table
    assert 'title="r: wrong"' in table
    assert "shown otherwise" not in client.get(f"/d/{slug}/q/q3").text


def test_the_way_back_leads_to_the_place_in_the_grid(asked: TestClient) -> None:
    slug = _slug(asked)
    page = html.unescape(asked.get(f"/d/{slug}/q/q1?type=pairwise").text)
    assert (
        f'href="/d/{slug}?type=pairwise&at=1"' in page
    )  # the breadcrumb, which G follows


def test_a_question_of_many_images_is_shown(tmp_path: Path) -> None:
    names = tuple(f"media/{k}.png" for k in range(30))
    prompt = (
        "<image>" * 28
        + "\n\nOptions:\n\nA. <image>\n\nB. <image>\n\nWhich is better?"
    )
    root = write_dataset(
        tmp_path / "ds", [pair(0, (1.0, 9.0), prompt=prompt, images=names)]
    )
    site = Site(find_places([root]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    page = client.get(f"/d/{_slug(client)}/q/q0")
    assert page.status_code == 200
    assert page.text.count("<figcaption>") == 60  # both orders
    assert "Image 20" in page.text


def test_judges_are_compared_on_one_type_and_within_the_filters(
    asked: TestClient,
) -> None:
    slug = _slug(asked)
    text = asked.get(f"/d/{slug}/judges?margin=4+and+more&task=keypoint").text
    assert "Question type: pairwise" in text
    assert "Difference in true score, of 10: 4 and more" in text
    assert "outcome." not in text  # no question of this task


def test_the_pair_of_judges_stays_and_their_outcomes_are_no_filter(
    asked: TestClient,
) -> None:
    slug = _slug(asked)
    runs = re.findall(r'data-run="([^"]*)"', asked.get("/").text)
    first, second = runs[1], runs[0]
    page = html.unescape(
        asked.get(f"/d/{slug}/judges?a={first}&b={second}").text
    )
    cell = re.findall(r'class="heat[^>]*><a href="([^"]*)">', page)[
        0
    ].partition("?")[2]
    again = html.unescape(asked.get(f"/d/{slug}/judges?{cell}").text)
    for page_ in (page, again):
        assert re.findall(r'<option value="([^"]*)" selected>', page_) == [
            first,
            second,
        ]
    assert re.findall(r"<td class=.heat.*?</td>", again) == re.findall(
        r"<td class=.heat.*?</td>", page
    )
    crumb = re.findall(
        r'class="crumbs">.*?href="([^"]*)"', asked.get(f"/d/{slug}/judges").text
    )
    assert crumb == [f"/d/{slug}?"]  # no filter that nobody has set


def test_runs_of_one_name_are_told_apart_by_their_folders(
    tmp_path: Path,
) -> None:
    questions = [pair(0, (1.0, 9.0))]
    root = write_dataset(tmp_path / "ds", questions)
    for folder in ("a/run", "b/run", "other"):
        write_run(
            tmp_path / folder, root, [said(questions[0], "A")], judge="judge"
        )
    other = write_dataset(tmp_path / "ds2", [pair(1, (1.0, 9.0))])
    write_run(
        tmp_path / "elsewhere", other, [], judge="judge"
    )  # the home page shows both
    names = [run.name for run in find_places([tmp_path]).runs]
    ends = ("a/run", "b/run", "elsewhere", "other")
    parts = {
        end: [name for name in names if name.endswith(f"{end})")]
        for end in ends
    }
    assert all(len(found) == 1 for found in parts.values())
