"""A study as it is planned: wording, instructions, practice, ties, viewing time, rules
of exclusion, monitor.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from commanding import command
from judged_records import (
    pair,
    ranking,
    scoring,
    write_dataset,
)
from visualjudge.analysis.decisions.label_files import read_labels
from visualjudge.analysis.load import load_study
from visualjudge.analysis.score_scale import ScoreScale
from visualjudge.core.errors import UsageError
from visualjudge.core.records import TIES, Probe, ProbeDesign
from visualjudge.options import Selection
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.runs.folder import RunFolder
from visualjudge.studio.people.pages import (
    ADMIN,
    ASKED,
    PeoplePages,
    for_people,
    going_on,
    people_app,
    people_pages,
    read_instructions,
)
from visualjudge.studio.people.plan import (
    Settings,
    StudyFiles,
    named_rows,
    plan_of,
)
from visualjudge.studio.places import find_places
from visualjudge.studio.serving import LOOPBACK
from visualjudge.studio.studio_data import Site
from visualjudge.vision.encodings import encodings

PROMPT = "Options:\n\nA. left {}\n\nB. right\n\nWhich one? Please answer with A or B."


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    questions: list[Any] = [
        pair(
            i,
            (9.0, float(i % 8)),
            prompt=PROMPT.format(i),
            image_id=f"i{i}",
            ties=TIES if i % 2 else None,
        )
        for i in range(24)
    ]
    return write_dataset(
        tmp_path / "ds",
        [
            *questions,
            ranking(0, (1.0, 5.0, 9.0)),
            scoring(0, 5.0),
            scoring(1, 7.0),
        ],
    )


class Study:
    def __init__(
        self, dataset: Path, settings: Settings, *raters: str, **files: Path
    ) -> None:
        self.site = Site(find_places([dataset]), dataset.parent / "cache")
        self.folder = dataset.parent / "people"
        self.pages: PeoplePages = people_pages(
            self.site,
            self.folder,
            settings,
            raters or ("anna",),
            StudyFiles(**files),
        )
        self.client = TestClient(
            people_app(self.pages), base_url="http://127.0.0.1:1"
        )

    def headers(self, rater: str) -> dict[str, str]:
        return {"x-studio-token": self.pages.tokens.token(rater)}

    def next(self, rater: str = "anna") -> Any:
        return self.client.get(
            f"/people/{rater}/next", headers=self.headers(rater)
        ).json()

    def answer(self, question: Any, rater: str = "anna", **body: Any) -> Any:
        given = {"slot": question["slot"], "seconds": 1.5, **body}
        return self.client.post(
            f"/people/{rater}/answer", headers=self.headers(rater), json=given
        )

    def all(
        self, choose: Any, rater: str = "anna", seconds: float = 1.5
    ) -> None:
        state = self.next(rater)
        while state["question"]:
            state = self.answer(
                state["question"],
                rater,
                value=choose(state["question"]),
                seconds=seconds,
            ).json()


def _first(question: Any) -> Any:
    letters = "".join(option["letter"] for option in question["options"])
    return {"pairwise": "A", "ranking": letters, "scoring": 5}[question["type"]]


def test_people_are_not_told_what_only_a_model_needs() -> None:
    layout = PromptAssetStore().get_prompt("questions/layout", "v1")
    role = layout.part(
        "role",
        {
            "article": "an",
            "task": "object detection",
            "given": layout.part("given"),
        },
    )
    before, after = for_people(
        f"{role} The class of interest is cat.",
        "Which is better? Please answer with A or B.",
        "pairwise",
        ScoreScale(),
    )
    assert (before, after) == (
        "Task: object detection. The class of interest is cat.",
        "Which is better?",
    )
    final = layout.part("final_ranking")
    assert (
        for_people("", final, "ranking", ScoreScale())[1]
        == "Rank the predictions from best to worst."
    )
    score = for_people(
        role, layout.part("final_scoring"), "scoring", ScoreScale()
    )[1]
    assert (
        score
        == "Score the quality of the prediction from 0 to 10.\n0 = worst, 10 = best "
        "possible."
    )
    assert for_people("Judge well.", "", "pairwise", ScoreScale()) == (
        "Judge well.",
        ASKED["pairwise"],
    )


def test_instructions_are_markdown_without_html_and_with_their_own_images(
    tmp_path: Path, dataset: Path
) -> None:
    Image.new("RGB", (4, 4), "red").save(tmp_path / "ex ample.png")
    text = "# How\n\n<script>alert(1)</script> **look** [x](javascript:alert(1))\n\n"
    text += "![one](ex%20ample.png)\n\n| a |\n|---|\n| b |\n"
    (tmp_path / "how.md").write_text(text)
    study = Study(dataset, Settings(), instructions=tmp_path / "how.md")
    page = study.client.get(study.pages.link("anna")).text
    assert "<h1>How</h1>" in page
    assert "<strong>look</strong>" in page
    assert "<td>b</td>" in page
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    assert 'src="/instructions-image/0"' in page
    assert (
        study.client.get("/instructions-image/0").content
        == (tmp_path / "ex ample.png").read_bytes()
    )
    assert study.client.get("/instructions-image/1").status_code == 404
    study.pages.run.close()
    with pytest.raises(
        UsageError, match="has `instructions`: give the same file again"
    ):
        Study(dataset, Settings())
    for bad in (
        "../ds/questions.json",
        "http://elsewhere/x.png",
        "/etc/passwd.png",
        "none.png",
    ):
        (tmp_path / "how.md").write_text(f"![x]({bad})")
        with pytest.raises(UsageError, match="must be a file in its folder"):
            read_instructions(tmp_path / "how.md", str)


def test_practice_comes_first_has_feedback_and_counts_for_nothing(
    dataset: Path,
) -> None:
    study = Study(dataset, Settings(practice=2, known=2))
    feedback = []
    for _ in range(2):
        question = study.next()["question"]
        assert question["practice"]
        reply = study.answer(question, value="A").json()
        feedback.append(reply["feedback"])
        line = RunFolder(study.folder).journal_path.read_text().splitlines()[-1]
        assert '"purpose":"practice"' in line.replace(" ", "")
        best = "A" if reply["feedback"]["right"] else "B"
        assert reply["feedback"]["answer"] == best
    state = study.next()
    assert not state["question"]["practice"]
    assert (
        study.answer(state["question"], value=_first(state["question"])).json()[
            "feedback"
        ]
        is None
    )
    people = RunFolder(study.folder).manifest()["people"]
    assert len(people["practice_items"]) == 2
    assert not set(people["practice_items"]) & set(people["known_items"])
    study.all(_first)
    study.pages.run.close()
    answered = load_study([study.folder]).answered[0]
    assert not set(people["practice_items"]) & set(answered["id"].to_list())
    assert not set(people["practice_items"]) & set(
        read_labels(study.folder).table["name"]
    )


def test_ties_are_taken_only_where_the_question_allows_them(
    dataset: Path,
) -> None:
    study = Study(dataset, Settings())
    state, seen = study.next(), set()
    while state["question"]:
        question = state["question"]
        if question["type"] == "pairwise":
            seen.add(tuple(question["ties"]))
            status = study.answer(question, value="both_bad").status_code
            assert status == (200 if question["ties"] else 422)
            if question["ties"]:
                back = study.client.get(
                    "/people/anna/back?steps=1", headers=study.headers("anna")
                ).json()["question"]
                assert back["given"]["value"] == "both_bad"
                state = study.answer(back, value="tie", revise=True).json()
                continue
        state = study.answer(question, value=_first(question)).json()
    assert seen == {(), ("tie", "both_bad")}
    study.pages.run.close()
    verdicts = RunFolder(study.folder).verdicts().values()
    assert {v.value for v in verdicts if v.id == "q1"} == {"tie"}
    assert (
        load_study([study.folder]).answered[0].filter(id="q1")["usable"].all()
    )


def test_an_answer_that_came_too_early_is_refused(dataset: Path) -> None:
    study = Study(dataset, Settings(least_seconds=3.0))
    assert 'data-least="3.0"' in study.client.get(study.pages.link("anna")).text
    question = study.next()["question"]
    for seconds, status in ((2.9, 422), (3.0, 200)):
        assert (
            study.answer(
                question, value=_first(question), seconds=seconds
            ).status_code
            == status
        )


def test_only_the_questions_of_a_file_are_asked(
    dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "ids.txt").write_text("q3\nr0\n")
    study = Study(dataset, Settings(), questions=tmp_path / "ids.txt")
    assert set(study.pages.run.plan.by_id) == {"q3", "r0"}
    (tmp_path / "ids.txt").write_text("nobody\n")
    with pytest.raises(UsageError, match="'nobody' is not in the dataset"):
        Study(dataset.parent / "ds", Settings(), questions=tmp_path / "ids.txt")


def test_a_study_goes_on_without_naming_its_settings_again(
    dataset: Path,
) -> None:
    settings = Settings(known=3, sample=9, repeats=1, encoding="text")
    study = Study(dataset, settings)
    assert going_on(study.folder, Settings(), named=False) == settings
    study.pages.run.close()
    with pytest.raises(UsageError, match="known was 3, now 4") as refused:
        Study(dataset, Settings(known=4, sample=9, repeats=1, encoding="text"))
    assert "in another folder" in str(refused.value)
    assert "`accept_changes`" not in str(refused.value)
    assert "`out`" not in str(refused.value)


def test_predictions_as_text_are_asked_only_when_named(tmp_path: Path) -> None:
    questions = [
        pair(i, (9.0, 1.0), encoding="pixel_s0_m0" if i % 3 else "text_xyxy")
        for i in range(9)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    new = tmp_path / "people"
    assert going_on(new, Settings(), named=False).encoding == "drawn"
    assert going_on(new, Settings(), named=True).encoding == ""
    assert (
        going_on(
            new, Settings(filter=Selection(encodings=("b",)).text), named=False
        ).encoding
        == ""
    )
    for encoding, ids, left_out, textual in (
        ("drawn", {1, 2, 4, 5, 7, 8}, 3, 0),
        ("text", {0, 3, 6}, 6, 3),
        ("all", set(range(9)), 0, 3),
    ):
        site = Site(find_places([dataset]), tmp_path / "cache")
        plan = plan_of(
            site.shelf(site.places.datasets[0].slug),
            Settings(encoding=encoding),
        )
        assert set(plan.by_id) == {f"q{i}" for i in ids}
        assert (plan.left_out, plan.textual) == (left_out, textual)


def test_copies_made_by_probes_are_asked_only_where_a_file_names_them(
    tmp_path: Path,
) -> None:
    def probed(design: ProbeDesign, group: int) -> Probe:
        return Probe(design, design, f"g{group}", "", "answer")

    questions = [
        pair(k, (9.0, 1.0), probe=probed("change" if k % 3 else "control", k))
        for k in range(30)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    ids = tmp_path / "ids.txt"
    ids.write_text("q0\nq1\n")
    study = Study(root, Settings(sample=5, known=1, practice=1))
    asked = study.pages.run.plan
    assert len(asked.items) == 5
    assert {int(item.id[1:]) % 3 for item in asked.items} == {0}
    assert asked.copies == 20
    study.pages.run.close()
    shelf = study.pages.shelf
    every = plan_of(shelf, Settings(filter=Selection(types=("pairwise",)).text))
    assert {int(item.id[1:]) % 3 for item in every.items} == {0}
    named = plan_of(shelf, Settings(), named=named_rows(shelf, ids))
    assert set(named.by_id) == {"q0", "q1"}


def test_practice_is_in_no_count(dataset: Path) -> None:
    study = Study(dataset, Settings(practice=2, known=3, sample=10))
    state = study.next()
    for k in range(10):
        assert (state["answered"], state["left"]) == (
            max(0, k - 2),
            8 - max(0, k - 2),
        )
        question = state["question"]
        state = study.answer(question, value=_first(question)).json()
    assert state["question"] is None
    page = study.client.get(study.pages.link(ADMIN)).text
    assert re.search(
        r"anna</th><td><span class=\"right\">done</span></td>.*?<td>8</td>",
        page,
    )


def test_the_same_answer_again_is_no_correction(dataset: Path) -> None:
    study = Study(dataset, Settings())
    question = study.next()["question"]
    value = _first(question)
    study.answer(question, value=value)
    assert study.answer(question, value=value, revise=True).status_code == 200
    assert (
        len(RunFolder(study.folder).journal_path.read_text().splitlines()) == 1
    )
    study.answer(question, value=value, revise=True, note="sure")
    assert (
        len(RunFolder(study.folder).journal_path.read_text().splitlines()) == 2
    )


def test_the_overview_says_when_each_rater_last_answered(dataset: Path) -> None:
    study = Study(
        dataset, Settings(raters_per_question=3), "anna", "ben", "carl"
    )
    for rater in ("anna", "ben"):
        study.all(_first, rater)
    lines = study.pages.run.raters["anna"].lines
    for k, line in enumerate(lines):
        line["answered"] = f"2026-01-01T10:{k:02}:07+00:00"
    page = study.client.get(study.pages.link(ADMIN)).text
    assert "not started" in page
    assert re.search(r"ben</th><td><span class=\"right\">done", page)
    assert f">2026-01-01 10:{len(lines) - 1:02}<" in page


def test_each_item_is_given_to_as_many_raters_as_planned(dataset: Path) -> None:
    raters = ("anna", "ben", "carl", "dora", "eve")
    study = Study(dataset, Settings(raters_per_question=3, known=2), *raters)
    rng, waiting = np.random.default_rng(0), list(raters)
    while waiting:
        rater = waiting[int(rng.integers(len(waiting)))]
        question = study.next(rater)["question"]
        if question is None:
            waiting.remove(rater)
        else:
            study.answer(question, rater, value=_first(question))
    assert study.pages.run.complete() == 25
    page = study.client.get(study.pages.link(ADMIN)).text
    assert "25 of 25 questions have all their answers" in page
    study.pages.run.close()


def test_a_study_of_1_0_with_rules_and_breaks_goes_on(dataset: Path) -> None:
    study = Study(dataset, Settings(sample=5))
    study.answer(study.next()["question"], cannot_tell=True)
    study.pages.run.close()
    manifest = json.loads((study.folder / "run.json").read_text())
    manifest["parameters"] |= {"exclude": ["known<0.8"], "break_every": 3}
    manifest["people"]["excluded"] = ["ben"]
    (study.folder / "run.json").write_text(json.dumps(manifest))
    again = Study(dataset, going_on(study.folder, Settings(), named=False))
    assert again.next()["answered"] == 1
    assert json.loads((again.folder / "run.json").read_text())["people"][
        "excluded"
    ] == ["ben"]
    again.pages.run.close()


def test_a_proxys_name_is_served_and_no_other(dataset: Path) -> None:
    study = Study(dataset, Settings(sample=5))
    app = people_app(study.pages, LOOPBACK | {"study.example.org"})
    link = study.pages.link("anna")
    for host, status in (
        ("study.example.org", 200),
        ("localhost", 200),
        ("evil.example", 400),
    ):
        assert (
            TestClient(app, base_url=f"http://{host}").get(link).status_code
            == status
        )
    study.pages.run.close()


@pytest.mark.parametrize(
    "url",
    ["http://a", "https://", "https://a/path", "https://u@a", "https://[x"],
)
def test_an_address_that_is_no_proxys_is_refused(
    dataset: Path, url: str
) -> None:
    done = command(
        "studio", "people", dataset, "--out", "p", "--rater", "a", "--url", url
    )
    assert done.returncode == 2 and "--url must be https://NAME" in done.stderr


def test_people_is_an_option_for_one_more_release(dataset: Path) -> None:
    old = (
        "studio",
        dataset,
        "--people=p",
        "--rater",
        "a",
        "--url",
        "http://no",
    )
    done = command(*old)
    deprecated, refused = done.stderr.strip().splitlines()
    assert "deprecated; use: studio people FOLDER --out RUN" in deprecated
    assert done.returncode == 2 and "--url must be https://NAME" in refused


def test_without_a_rater_no_study_is_begun_and_a_later_start_works(
    dataset: Path,
) -> None:
    site = Site(find_places([dataset]), dataset.parent / "cache")
    folder = dataset.parent / "people"
    with pytest.raises(UsageError, match="at least one rater"):
        people_pages(site, folder, Settings(), [])
    with pytest.raises(
        UsageError, match="without blanks around them, got 'anna '"
    ):
        people_pages(site, folder, Settings(), ["anna "])
    assert not folder.exists()
    folder.mkdir()
    (folder / "verdicts.jsonl").touch()  # as 1.0 left it
    study = Study(dataset, Settings())
    assert study.next()["question"]
    study.pages.run.close()
    again = people_pages(
        site, folder, going_on(folder, Settings(), named=False), []
    )
    assert list(again.run.raters) == ["anna"]
    again.run.close()


def test_a_study_with_instructions_goes_on_with_the_same_file_only(
    dataset: Path,
) -> None:
    text = dataset.parent / "how.md"
    text.write_text("# Look well")
    study = Study(dataset, Settings(), instructions=text)
    study.pages.run.close()
    settings = going_on(study.folder, Settings(), named=False)
    with pytest.raises(
        UsageError, match="has `instructions`: give the same file again"
    ):
        Study(dataset, settings)
    Study(dataset, settings, instructions=text).pages.run.close()
    text.write_text("# Look twice")
    with pytest.raises(UsageError, match="instructions was"):
        Study(dataset, settings, instructions=text)


def test_images_beside_text_are_asked_only_when_named(tmp_path: Path) -> None:
    known = {row.kind: row.stem for row in encodings("object_detection")}
    questions = [
        pair(i, (9.0, 1.0), encoding=known[kind])
        for i, kind in enumerate(("pixel", "combo", "text"))
    ]
    site = Site(
        find_places([write_dataset(tmp_path / "ds", questions)]),
        tmp_path / "cache",
    )
    shelf = site.shelf(site.places.datasets[0].slug)
    settings = going_on(tmp_path / "people", Settings(), named=False)
    asked = {
        encoding: sorted(
            plan_of(shelf, replace(settings, encoding=encoding)).by_id
        )
        for encoding in (settings.encoding, "text", "all")
    }
    assert asked == {"drawn": ["q0"], "text": ["q2"], "all": ["q0", "q1", "q2"]}
