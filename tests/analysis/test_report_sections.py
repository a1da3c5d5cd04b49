"""Sections of the report: what stands where a question has no figure, and what is said
once."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from PIL import Image

from judged_records import pair, said, write_dataset, write_run
from page_text import page
from visualjudge.analysis import Analysis, analyse
from visualjudge.analysis.figures.section import DASH, Section
from visualjudge.analysis.report.examples import examples
from visualjudge.analysis.report.page import context
from visualjudge.core.records import Fault, Question
from visualjudge.core.text_tables import Table


def study(folder: Path, pairs: list[Question], period: int = 5) -> Analysis:
    """A judge that is wrong at each ``period``-th pair, in both orders."""
    dataset = write_dataset(folder / "ds", pairs)
    verdicts = [
        said(q, "BA"[bool(i % period)], order)
        for order in ("AB", "BA")
        for i, q in enumerate(pairs)
    ]
    return analyse([write_run(folder / "judge", dataset, verdicts)])


def section(analysis: Analysis, anchor: str) -> Section:
    found = context(analysis)
    sections: list[Section] = found["sections"]
    return next(one for one in sections if one.anchor == anchor)


@pytest.fixture
def small(tmp_path: Path) -> Analysis:
    return study(tmp_path, [pair(i, (8.0, 8.0 - i % 7 - 1)) for i in range(40)])


def test_a_section_without_content_is_not_printed(small: Analysis) -> None:
    text = page(small)
    for anchor in ("scores", "errors", "encodings"):
        assert f'"#{anchor}"' not in text and f'id="{anchor}"' not in text
    assert "no scoring question has a known score" in text, (
        "the methods say what is not drawn"
    )


def test_figures_that_no_judge_has_are_no_rows(small: Analysis) -> None:
    titles = [row[0] for row in section(small, "headline").tables[0].rows]
    assert "Accuracy (95 %)" in titles and "Ranking τ-b" not in titles


def test_an_image_is_an_example_once(tmp_path: Path) -> None:
    pairs = [pair(i, (8.0, 8.0 - i % 7 - 1)) for i in range(12)]
    dataset = write_dataset(tmp_path / "ds", pairs)
    verdicts = [said(q, "B", "AB") for q in pairs] + [
        said(q, "?", "BA", status="unparseable") for q in pairs
    ]
    found = examples(
        analyse([write_run(tmp_path / "run", dataset, verdicts)]).study, 0
    )
    images = [entry.image for entry in found]
    assert len(images) == len(set(images)) > 2
    assert {entry.stated == "not read" for entry in found} == {True, False}


def test_what_was_declined_is_no_error(tmp_path: Path) -> None:
    pairs = [pair(i, (8.0, 2.0)) for i in range(8)]
    dataset = write_dataset(tmp_path / "ds", pairs)
    verdicts = [said(q, "A") for q in pairs[:-2]]
    verdicts.append(
        said(
            pairs[-2],
            None,
            status="unparseable",
            cause="unparseable: no answer",
        )
    )
    verdicts.append(said(pairs[-1], None, status="refusal", cause="declined"))
    found = examples(
        analyse([write_run(tmp_path / "run", dataset, verdicts)]).study, 0
    )
    assert [entry.image for entry in found] == [pairs[-2].image_id]


def test_errors_are_of_every_task_and_of_as_many_images_as_there_are(
    tmp_path: Path,
) -> None:
    """Of 40 errors of one task on one image and 2 of another task on others, both
    others show."""
    pairs = [pair(i, (9.0, 1.0), image_id="one") for i in range(40)]
    pairs += [
        pair(40 + i, (6.0, 4.0), image_id=f"i{i}", task="keypoint")
        for i in range(2)
    ]
    dataset = write_dataset(tmp_path / "ds", pairs)
    run = write_run(tmp_path / "run", dataset, [said(q, "B") for q in pairs])
    found = examples(analyse([run]).study, 0)
    assert {entry.image for entry in found} == {"one", "i0", "i1"}


def test_a_dash_is_explained_and_is_not_what_was_not_asked(
    tmp_path: Path,
) -> None:
    tasks = ("object_detection", "keypoint")
    pairs = [
        pair(i, (8.0, 3.0), task=tasks[i % 2], image_id=f"i{i}")
        for i in range(24)
    ]
    dataset = write_dataset(tmp_path / "ds", pairs)
    runs = [
        write_run(
            tmp_path / name, dataset, [said(q, "A") for q in kept], judge=name
        )
        for name, kept in (("both", pairs), ("one", pairs[::2]))
    ]
    analysis = analyse(runs)
    (table,) = section(analysis, "tasks").tables
    assert ("keypoint", "not asked") in [(row[0], row[2]) for row in table.rows]
    for one in context(analysis)["sections"]:
        for table in one.tables:
            dashes = any(
                cell.startswith("–") for row in table.rows for cell in row
            )
            assert (DASH in table.notes) == dashes, one.title
    dashed = Section("a", "b", "", [Table(("x", "y"), (("row", "–"),))])
    assert dashed.tables[0].notes == (DASH,)


def test_a_table_keeps_the_columns_that_identify_a_row() -> None:
    rows = (("a", "b", "1"),)
    assert (
        'class="wide keys"'
        in Table(("First", "Second", "n"), rows, keys=2).html()
    )
    assert 'class="wide"' in Table(("First", "Second", "n"), rows).html()


def test_tables_have_the_judges_that_plots_leave_out(tmp_path: Path) -> None:
    tasks = ("object_detection", "keypoint")
    asked = [
        pair(i, (8.0, 3.0), task=tasks[i % 2], image_id=f"i{i}")
        for i in range(20)
    ]
    dataset = write_dataset(tmp_path / "ds", asked)
    runs = [
        write_run(
            tmp_path / f"j{k}",
            dataset,
            [said(q, "AB"[i < k]) for i, q in enumerate(asked)],
            judge=f"judge {k}",
        )
        for k in range(8)
    ]
    analysis = analyse(runs)
    (table,) = section(analysis, "tasks").tables
    assert {row[0] for row in table.rows} == {f"judge {k}" for k in range(8)}
    assert "Figures show the 6 most accurate of 8 judges." in page(analysis)


def test_an_example_opens_in_the_studio_and_says_what_is_wrong(
    tmp_path: Path,
) -> None:
    faults = (
        (
            Fault("missed", (0, 0, 9, 9), 0.2),
            Fault("missed", (5, 6, 20, 30), 1.0),
        ),
        (),
    )
    legend = (
        "Options:\n\nA. <image>\nLegend: 1 cat = red (#FF0000), dog = blue "
        "(#0000FF)\n\nB. <image>"
    )
    pairs = [
        pair(i, (2.0, 8.0), faults=faults, prompt=legend) for i in range(12)
    ]
    dataset = write_dataset(tmp_path / "ds", pairs)
    run = write_run(
        tmp_path / "judge", dataset, [said(q, "A", "BA") for q in pairs]
    )
    found = examples(analyse([run]).study, 0)[0]
    assert found.legend == (("1 cat", "#FF0000"), ("dog", "#0000FF"))
    assert found.faults[0] == ("Option A", "none"), "as shown, not as stored"
    joined = found.faults[1][1].replace("\u2060", "").replace("\xa0", " ")
    assert joined == "2 × missed; the costliest at x 5–20, y 6–30"
    digest = hashlib.sha256(
        (dataset / "questions.json").read_bytes()
    ).hexdigest()
    assert found.link.endswith(f"/{digest[:16]}/{found.id}")


def test_an_example_says_that_the_other_order_was_right(tmp_path: Path) -> None:
    pairs = [pair(i, (2.0, 8.0)) for i in range(12)]
    dataset = write_dataset(tmp_path / "ds", pairs)
    once, *twice = pairs
    verdicts = [said(once, "B"), said(once, "A", "BA")]
    verdicts += [said(q, "A", order) for q in twice for order in ("AB", "BA")]
    run = write_run(tmp_path / "judge", dataset, verdicts)
    found = examples(analyse([run]).study, 0, 16)
    assert {
        entry.id for entry in found if "right in the other order" in entry.why
    } == {once.id}


def test_an_example_has_what_a_rubric_asked_besides(tmp_path: Path) -> None:
    """Its letters are those that the judge saw, its places in pixels."""
    pairs = [pair(i, (2.0, 8.0), images=("shown.png",)) for i in range(12)]
    dataset = write_dataset(tmp_path / "ds", pairs)
    Image.new("RGB", (200, 100)).save(dataset / "shown.png")
    stated = {"edges": "A", "place": [100, 200, 500, 1000]}
    asked = [
        {"id": "edges", "ask": "Which has better edges?", "answer": "option"},
        {"id": "place", "ask": "Where?", "answer": "place"},
    ]
    run = write_run(
        tmp_path / "judge",
        dataset,
        [said(q, "A", "BA", criteria=stated) for q in pairs],
        parameters={"rubric": {"name": "mine", "criteria": asked}},
    )
    found = examples(analyse([run]).study, 0)[0]
    answers = {
        ask: answer.replace("\u2060", "").replace("\xa0", " ")
        for ask, answer in found.criteria
    }
    assert answers == {
        "Which has better edges?": "B",
        "Where?": "x 20–100, y 20–100",
    }


def test_what_two_figures_say_of_one_question_is_one_section(
    tmp_path: Path,
) -> None:
    pairs = [
        pair(
            i,
            (8.0, 8.0 - i % 7 - 1),
            faults=((), (Fault("missed", (0, 0, 4.0 + i, 4.0 + i), 1.0),)),
        )
        for i in range(40)
    ]
    analysis = study(tmp_path, pairs)
    sections = context(analysis)["sections"]
    anchors = [one.anchor for one in sections]
    assert len(set(anchors)) == len(anchors)
    (one,) = (one for one in sections if one.anchor == "sensitivity")
    drawn = [plot.name for plot in one.plots]
    assert "margin" in drawn and "fault_size" in drawn
