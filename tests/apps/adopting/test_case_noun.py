"""Texts name the independent cases of an adopted table by the column that groups its rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import visualjudge as vj
from visualjudge.analysis import analyse
from visualjudge.analysis.report.exports import write_figures
from visualjudge.apps.planning.plan_inputs import read_target
from visualjudge.cli.main import app
from visualjudge.core.case_noun import cases_named, in_cases, noun_of
from visualjudge.core.seeding import rng_for

Row = dict[str, Any]
IMAGES = re.compile(r"\b(images?|photographs?|pictures?)\b", re.IGNORECASE)


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as they need, as in a file."""
    monkeypatch.delenv("COLUMNS", raising=False)


def chats(group: str | None = None) -> list[Row]:
    """Two judges of pairs of texts in both orders, three pairs a group."""
    rng = rng_for(0, "case noun")
    rows = []
    for i in range(120):
        better = "AB"[int(rng.random() < 0.5)]
        a, b = (str(name) for name in rng.permutation(["x", "y", "z"])[:2])
        for judge, skill in (("first", 0.8), ("second", 0.7)):
            for order in ("AB", "BA"):
                said = better if rng.random() < skill else "AB".replace(better, "")
                row = {"item": f"q{i}", "task": ("chat", "code")[i % 2], "judge": judge}
                row |= {"model_a": a, "model_b": b, "order": order, "verdict": said}
                row |= {"truth": better, "text_a": "so " * (i % 7 + 1), "text_b": "it is"}
                rows.append(row | ({} if group is None else {group: f"g{i // 3}"}))
    return rows


def ratings() -> list[Row]:
    rng = rng_for(1, "case noun")
    return [
        {"item": f"q{i}", "model": "xyz"[i % 3], "judge": judge, "score": int(rng.integers(0, 11)),
         "truth": i % 11}
        for i in range(90)
        for judge in ("first", "second")
    ]  # fmt: skip


def said(*words: str | Path) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


def page_text(path: Path) -> str:
    """What a page shows, with the names of its figures."""
    page = re.sub(r"<(script|style).*?</\1>", " ", path.read_text("utf-8"), flags=re.DOTALL)
    named = re.sub(r'(?:aria-label|title|alt)="([^"]*)"', r">\1<", page)
    return re.sub(r"<[^>]+>", " ", named)


def texts(runs: list[str], out: Path) -> dict[str, str]:
    """Everything that a reader of a study sees, by its place."""
    out.mkdir()
    found = {
        "report": said("report", *runs, "--out", out / "report.html"),
        "card": said("card", *runs, "--out", out / "card.html"),
    }
    said("report", *runs, "--out", out / "report.md")
    said("card", *runs, "--out", out / "card.md")
    write_figures(analyse(runs), out / "figures")
    for path in sorted(out.glob("*.html")):
        found[path.name] = page_text(path)
    for path in sorted(out.rglob("*")):
        if path.suffix in (".md", ".tex") or path.name.startswith("table-"):
            found[path.name] = path.read_text("utf-8")
    return found


@pytest.mark.parametrize(
    ("table", "noun"),
    [(chats("conversation_id"), "conversation"), (chats(), "item"), (ratings(), "item")],
    ids=["grouped", "pairs", "scores"],
)
def test_a_study_of_texts_never_speaks_of_images(
    table: list[Row], noun: str, tmp_path: Path
) -> None:
    done = vj.adopt(table, tmp_path / "study")
    found = texts([str(run) for run in done.runs], tmp_path / "out")
    assert {name: IMAGES.findall(text) for name, text in found.items() if IMAGES.search(text)} == {}
    for name in ("report", "card", "report.html", "card.html", "report.md", "card.md"):
        assert re.search(rf"\b{noun}s?\b", found[name], re.IGNORECASE), name


def test_plans_and_labels_of_texts_never_speak_of_images(tmp_path: Path) -> None:
    done = vj.adopt(chats("conversation_id"), tmp_path / "study")
    first, _second = done.runs
    queue = tmp_path / "next.csv"
    terms = ("--goal", "right", "--task", "chat", "--out", tmp_path / "plan.html")
    plan = said("plan", done.dataset, *terms)
    told = [
        plan,
        page_text(tmp_path / "plan.html"),
        *read_target(first, "chat", (), None, 0).notes,
        said("label", first, "--n", "40", "--out", queue),
    ]
    filled = queue.read_text("utf-8").replace(",,", ",A,")
    queue.write_text(filled, "utf-8")
    told.append(said("correct", first, "--labels", queue))
    assert [IMAGES.findall(text) for text in told] == [[]] * len(told)
    assert "conversations with" in plan


def test_a_column_of_images_is_worded_as_always(tmp_path: Path) -> None:
    """Only the noun differs between a table grouped by images and one by conversations."""
    cards = []
    for column in ("image_id", "conversation_id"):
        done = vj.adopt(chats(column), tmp_path / column)
        cards.append(str(vj.card(done.runs)).split())
    images, conversations = (" ".join(words) for words in cards)
    assert " 40 images" in images
    assert images.replace("Image", "Conversation").replace("image", "conversation") == conversations


def test_results_keep_their_noun_whatever_is_analysed_later(tmp_path: Path) -> None:
    texts = vj.card(vj.adopt(chats("conversation_id"), tmp_path / "texts").runs)
    images = vj.card(vj.adopt(chats("image"), tmp_path / "images").runs)
    assert "40 conversations" in str(texts)
    assert "40 images" in str(images)
    assert "conversations" in texts.judges[0].answer


def test_studies_with_different_cases_speak_of_items(tmp_path: Path) -> None:
    texts = vj.adopt(chats("conversation_id"), tmp_path / "one")
    others = [row | {"item": f"other {row['item']}"} for row in chats("image")]
    images = vj.adopt(others, tmp_path / "other")
    told = str(vj.card([texts.runs[0], images.runs[0]]))
    assert "40 items" in told
    assert IMAGES.search(told) is None


@pytest.mark.parametrize(
    ("column", "noun"),
    [
        ("image", "image"),
        ("image_id", "image"),
        ("conv", "conversation"),
        ("Conversation ID", "conversation"),
        ("story", "story"),
        ("stories", "group"),
        ("user_name", "user"),
        ("class", "class"),
        ("g1", "group"),
        ("<b>x</b>", "group"),
        (None, "item"),
    ],
)
def test_the_noun_of_a_column(column: str | None, noun: str) -> None:
    columns = {"verdict": "v"} | ({} if column is None else {"group": column})
    meta = {"benchmark": {"name": "adopted"}, "options": {"columns": columns}}
    assert noun_of(meta) == noun


def test_articles_and_plurals_fit_the_noun() -> None:
    said = "An image, an image file, images: Images"
    with cases_named("story"):
        assert in_cases(said) == "A story, a story file, stories: Stories"
    with cases_named("item"):
        assert in_cases(said) == "An item, an item file, items: Items"
    with cases_named("class"):
        assert in_cases("5 images") == "5 classes"
    assert in_cases(said) == said
