"""People judge: blind, balanced, one question after another, and nothing that they
answered is lost.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from judged_records import pair, ranking, scoring, write_dataset
from visualjudge.analysis.decisions.label_files import read_labels
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.dataset.folder import load_dataset
from visualjudge.options import Selection
from visualjudge.runs.folder import RunFolder
from visualjudge.studio.people.pages import (
    ADMIN,
    PeoplePages,
    Tokens,
    going_on,
    people_app,
    people_pages,
)
from visualjudge.studio.people.plan import Settings, StudyFiles, plan_of
from visualjudge.studio.people.rating_run import Given, Rater, progress
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

PROMPT = (
    "<image>\n\nJudge <b>well</b>.\n\nOptions:\n\nA. <image>\nleft\n\nB. "
    "<image>\nright\n\nWhich "
    "is better?"
)
NASTY = "<script>alert(1)</script>"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    names = (
        "media/o.png",
        "media/secret_model_one.png",
        "media/secret_model_two.png",
    )
    questions: list[Any] = [
        pair(
            i,
            (float(i % 9), 9.5),
            prompt=PROMPT,
            images=names,
            encoding="pixel_s0_m0",
            image_id=f"i{i}",
        )
        for i in range(24)
    ]
    questions += [ranking(i, (1.0, 5.0, 9.0, 3.0)) for i in range(4)] + [
        scoring(i, float(i)) for i in range(4)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    (root / "media").mkdir()
    for name, color in zip(names, ("red", "green", "blue"), strict=True):
        Image.new("RGB", (8, 6), color).save(root / name)
    return root


class Study:
    """A people's run with a client for it; ``restart`` opens the folder again."""

    def __init__(
        self,
        dataset: Path,
        settings: Settings,
        raters: tuple[str, ...] = ("anna", "ben"),
    ) -> None:
        self.dataset, self.settings, self.raters = dataset, settings, raters
        self.folder = dataset.parent / "people"
        self.site = Site(find_places([dataset]), dataset.parent / "cache")
        self.restart()

    def restart(self) -> None:
        self.pages: PeoplePages = people_pages(
            self.site, self.folder, self.settings, self.raters
        )
        self.client = TestClient(
            people_app(self.pages), base_url="http://127.0.0.1:1"
        )

    def headers(self, rater: str) -> dict[str, str]:
        return {"x-studio-token": self.pages.tokens.token(rater)}

    def next(self, rater: str) -> Any:
        return self.client.get(
            f"/people/{rater}/next", headers=self.headers(rater)
        ).json()

    def answer(self, rater: str, question: Any, **body: Any) -> Any:
        given = {"slot": question["slot"], "seconds": 1.5, **body}
        return self.client.post(
            f"/people/{rater}/answer", headers=self.headers(rater), json=given
        )

    def some(self, question: Any) -> dict[str, Any]:
        letters = "".join(option["letter"] for option in question["options"])
        return {
            "value": {"pairwise": "A", "ranking": letters[::-1], "scoring": 7}[
                question["type"]
            ]
        }

    def all(self, rater: str, most: int = 1000) -> int:
        state, n = self.next(rater), 0
        while state["question"] and n < most:
            state, n = (
                self.answer(
                    rater, state["question"], **self.some(state["question"])
                ).json(),
                n + 1,
            )
        return n

    def lines(self) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for line in (self.folder / "verdicts.jsonl")
            .read_text()
            .splitlines()
        ]


@pytest.fixture
def study(dataset: Path) -> Any:
    made = Study(dataset, Settings())
    yield made
    made.pages.run.close()


def test_what_a_rater_sees_tells_no_score_source_or_file(study: Study) -> None:
    for _ in range(32):
        state = study.next("anna")
        text = json.dumps(state)
        for secret in (
            "secret_model",
            "media/",
            "annotation",
            'score"',
            'one"',
            'two"',
            "missed",
            '"q1',
            '"id"',
        ):
            assert secret not in text, secret
        study.answer("anna", state["question"], **study.some(state["question"]))
    for path in ("/d/ds", "/d/ds/cards", "/r/x/state", "/static/../app.py"):
        assert study.client.get(path).status_code == 404


def test_an_answer_is_a_verdict_in_stored_letters(study: Study) -> None:
    turned = set()
    for _ in range(16):
        state = study.next("anna")["question"]
        study.answer("anna", state, **study.some(state), note="because")
        line = study.lines()[-1]
        turned.add(line["order"])
        assert line["rater"] == "anna"
        assert line["note"] == "because"
        assert line["latency_s"] == 1.5
        if state["type"] == "pairwise":
            assert line["value"] == ("A" if line["order"] == "AB" else "B")
        if state["type"] == "ranking":
            assert line["value"] == line["shown"][::-1]
    assert turned == {"AB", "BA"}
    assert RunFolder(study.folder).manifest()["backend"] == "people"
    assert len(RunFolder(study.folder).verdicts()) == 16


def test_images_follow_the_order_shown(study: Study) -> None:
    while (state := study.next("anna")["question"])["type"] != "pairwise":
        study.answer("anna", state, **study.some(state))
    shown = [
        study.client.get(option["image"]).content for option in state["options"]
    ]
    study.answer("anna", state, value="A")
    line = study.lines()[-1]
    stored = [
        (study.dataset / f"media/secret_model_{n}.png").read_bytes()
        for n in ("one", "two")
    ]
    assert shown == (stored if line["order"] == "AB" else stored[::-1])


def test_orders_are_balanced_at_any_time_and_differ_between_raters(
    study: Study,
) -> None:
    study.all("anna")
    study.all("ben")
    sequences = {}
    for rater in ("anna", "ben"):
        orders = [
            line["order"]
            for line in study.lines()
            if line["rater"] == rater and line["id"].startswith("q")
        ]
        leads = list(
            itertools.accumulate(1 if order == "AB" else -1 for order in orders)
        )
        assert max(map(abs, leads)) <= 1
        sequences[rater] = [
            line["id"] for line in study.lines() if line["rater"] == rater
        ]
    assert sequences["anna"] != sequences["ben"]
    assert sorted(sequences["anna"]) == sorted(sequences["ben"])


def test_cannot_tell_is_its_own_status(study: Study) -> None:
    state = study.next("anna")["question"]
    study.answer("anna", state, cannot_tell=True)
    assert (study.lines()[-1]["value"], study.lines()[-1]["status"]) == (
        "Failed",
        "cannot_tell",
    )
    assert (
        next(iter(RunFolder(study.folder).verdicts().values())).status
        == "cannot_tell"
    )


@pytest.mark.parametrize(
    "value", [None, "C", "AB", "", 11, -1, True, float("inf"), "7", ["A"], {}]
)
def test_an_answer_that_does_not_fit_is_refused_and_not_written(
    study: Study, value: Any
) -> None:
    state = study.next("anna")["question"]
    body = json.dumps({"slot": state["slot"], "seconds": 1, "value": value})
    reply = study.client.post(
        "/people/anna/answer", headers=study.headers("anna"), content=body
    )
    assert reply.status_code == 422
    assert study.lines() == []
    assert study.next("anna")["question"] == state


@pytest.mark.parametrize("seconds", [None, -1, "1", 1e9, True])
def test_time_taken_must_be_a_number(study: Study, seconds: Any) -> None:
    state = study.next("anna")["question"]
    assert (
        study.answer(
            "anna", state, **study.some(state), seconds=seconds
        ).status_code
        == 422
    )


def test_undo_changes_the_answer_and_keeps_what_was_written(
    study: Study,
) -> None:
    for _ in range(3):
        state = study.next("anna")["question"]
        study.answer("anna", state, **study.some(state))
    pending = study.next("anna")["question"]
    back = study.client.get(
        "/people/anna/back?steps=2", headers=study.headers("anna")
    ).json()["question"]
    assert back["given"]["value"] == study.some(back)["value"]
    study.answer("anna", back, cannot_tell=True, revise=True)
    lines = study.lines()
    assert len(lines) == 4
    assert (lines[3]["id"], lines[3]["repeat"], lines[3]["revised"]) == (
        lines[1]["id"],
        lines[1]["repeat"],
        True,
    )
    assert len(RunFolder(study.folder).verdicts()) == 3
    assert study.next("anna")["question"]["slot"] == pending["slot"]
    assert (
        study.client.get(
            "/people/anna/back?steps=9", headers=study.headers("anna")
        ).status_code
        == 404
    )


def test_two_windows_of_one_rater_write_one_answer(study: Study) -> None:
    first, second = (
        study.next("anna")["question"],
        study.next("anna")["question"],
    )
    assert first == second
    assert study.answer("anna", first, **study.some(first)).status_code == 200
    assert study.answer("anna", second, **study.some(second)).status_code == 409
    assert len(study.lines()) == 1


def test_two_raters_at_once_lose_nothing_and_share_no_key(
    dataset: Path,
) -> None:
    study = Study(
        dataset,
        Settings(overlap=0.5, raters_per_question=2),
        ("anna", "ben", "carl"),
    )
    with study.client:
        threads = [
            threading.Thread(target=study.all, args=(name,))
            for name in study.raters
        ]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        study.pages.run.close()
    lines = study.lines()
    keys = Counter(
        (line["id"], line["order"], line["repeat"]) for line in lines
    )
    assert max(keys.values()) == 1
    raters = Counter(line["id"] for line in lines)
    assert Counter(raters.values()) == {2: 16, 1: 16}
    manifest = RunFolder(study.folder).manifest()
    assert manifest["people"]["shared_questions"] == 16
    assert manifest["people"]["raters"] == ["anna", "ben", "carl"]
    assert manifest["finished"]


def test_repeats_and_known_items_are_asked_and_declared(dataset: Path) -> None:
    study = Study(dataset, Settings(repeats=4, known=3))
    assert study.all("anna") == 32 + 4
    lines = study.lines()
    purposes = Counter(line["purpose"] for line in lines)
    assert purposes == {"question": 29, "known": 3, "repeat": 4}
    places = {(line["id"], line["turn"]): k for k, line in enumerate(lines)}
    gaps = [
        k - places[line["id"], 0]
        for k, line in enumerate(lines)
        if line["purpose"] == "repeat"
    ]
    assert min(gaps) > 8
    people = RunFolder(study.folder).manifest()["people"]
    assert len(people["known_items"]) == 3
    text = study.client.get(study.pages.link(ADMIN)).text
    assert "of 3" in text
    assert "of 4" in text
    study.pages.run.close()


def _rated(value: Any, turn: int, at: int) -> dict[str, Any]:
    return {
        "id": "q",
        "value": value,
        "turn": turn,
        "purpose": "repeat" if turn else "question",
        "status": "ok" if value is not None else "cannot_tell",
        "latency_s": 2.0 + turn,
        "answered": f"2026-01-01T00:00:{at:02}+00:00",
    }


@pytest.mark.parametrize(
    ("first", "again", "same"),
    [
        (5, 6, 1),
        (5, 6.01, 0),
        (5, None, 0),
        (None, 5, 0),
        ("A", "A", 1),
        ("A", "B", 0),
    ],
)
def test_a_repeated_answer_is_the_same_within_a_point(
    first: Any, again: Any, same: int
) -> None:
    lines: Any = [_rated(first, 0, 0), _rated(again, 1, 7)]
    row = progress(Rater("anna", lines=lines), 1, lambda _: pair(1, (3.0, 1.0)))
    assert row.repeats == (same, 1)
    assert row.seconds == 2.5
    assert row.last == "2026-01-01T00:00:07+00:00"


def test_a_restart_goes_on_with_the_same_question(study: Study) -> None:
    for _ in range(5):
        state = study.next("anna")["question"]
        study.answer("anna", state, **study.some(state))
    waiting = study.next("anna")
    study.pages.run.close()
    study.restart()
    assert study.next("anna") == waiting


def test_a_page_from_before_a_restart_shows_its_images_and_is_answered(
    study: Study,
) -> None:
    while (state := study.next("anna")["question"])["type"] != "pairwise":
        study.answer("anna", state, **study.some(state))
    addresses = [
        *state["originals"],
        *(option["image"] for option in state["options"]),
    ]
    before = [study.client.get(address).content for address in addresses]
    study.pages.run.close()
    study.restart()
    replies = [study.client.get(address) for address in addresses]
    assert [reply.content for reply in replies] == before
    assert len(set(before)) == 3
    assert study.answer("anna", state, **study.some(state)).status_code == 200
    beyond = addresses[0].rpartition("/")[0]
    for address in (
        f"{beyond}/3",
        "/people-image/anna/nothing/0",
        "/people-image/nobody/nothing/0",
    ):
        assert study.client.get(address).status_code == 404


def test_other_settings_or_another_writer_are_refused(study: Study) -> None:
    with pytest.raises(RunError, match="another process"):
        people_pages(study.site, study.folder, Settings(), ["anna"])
    study.pages.run.close()
    with pytest.raises(UsageError, match="seed was 42, now 7"):
        people_pages(study.site, study.folder, Settings(seed=7), ["anna"])
    study.restart()


@pytest.mark.parametrize("name", ["", " ", "a/b", "x" * 61, "tab\t", "\0admin"])
def test_a_name_that_cannot_be_a_rater_is_refused(
    study: Study, name: str
) -> None:
    with pytest.raises(UsageError, match="`rater`"):
        people_pages(study.site, study.folder / "other", Settings(), [name])


# ---------------------------------------------------------------- who may write


@pytest.mark.parametrize("token", ["", "wrong", "ben's"])
def test_without_the_raters_token_nothing_is_read_or_written(
    study: Study, token: str
) -> None:
    state = study.next("anna")["question"]
    headers = {
        "x-studio-token": study.pages.tokens.token("ben")
        if token == "ben's"
        else token
    }
    body = {"slot": state["slot"], "seconds": 1, "cannot_tell": True}
    assert (
        study.client.post(
            "/people/anna/answer", headers=headers, json=body
        ).status_code
        == 403
    )
    assert (
        study.client.post("/people/anna/answer", json=body).status_code == 403
    )
    assert (
        study.client.get("/people/anna/next", headers=headers).status_code
        == 403
    )
    assert (
        study.client.get("/people/anna/back", headers=headers).status_code
        == 403
    )
    assert study.client.get(f"/people/anna?token={token}").status_code == 403
    assert (
        study.client.get(
            f"/?token={study.pages.tokens.token('anna')}"
        ).status_code
        == 403
    )
    assert (
        study.client.get(
            "/people/nobody/next", headers=study.headers("nobody")
        ).status_code
        == 403
    )
    assert study.lines() == []


@pytest.mark.parametrize(
    "foreign",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://[x"},
        {"origin": "http://127.0.0.1:2"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"host": "evil.example"},
    ],
)
def test_other_sites_cannot_post(study: Study, foreign: dict[str, str]) -> None:
    state = study.next("anna")["question"]
    body = {"slot": state["slot"], "seconds": 1, "cannot_tell": True}
    reply = study.client.post(
        "/people/anna/answer",
        headers={**study.headers("anna"), **foreign},
        json=body,
    )
    assert reply.status_code in (400, 403)
    assert study.lines() == []


def test_large_bodies_and_garbage_are_refused(study: Study) -> None:
    headers = study.headers("anna")
    assert (
        study.client.post(
            "/people/anna/answer", headers=headers, content=b"x" * 70_000
        ).status_code
        == 413
    )
    for body in (b"", b"[]", b"{", b"null", b'{"slot": 1}', b"\xff"):
        assert study.client.post(
            "/people/anna/answer", headers=headers, content=body
        ).status_code in (409, 422)


def test_tokens_stay_out_of_the_run_folder_and_survive_a_restart(
    study: Study,
) -> None:
    token = study.pages.tokens.token("anna")
    assert all(
        token not in path.read_text()
        for path in study.folder.iterdir()
        if path.is_file()
    )
    assert study.pages.tokens.token("anna") == token
    assert study.pages.tokens.token("ben") != token
    if os.name != "nt":
        assert (study.site.home / "secret").stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_a_secret_that_others_can_read_or_that_is_no_secret_is_refused(
    tmp_path: Path,
) -> None:
    token = Tokens(tmp_path / "home", tmp_path).token("anna")
    assert Tokens(tmp_path / "home", tmp_path).token("anna") == token
    (tmp_path / "secret").write_bytes(bytes(32))
    with pytest.raises(
        RunError, match=r"secret: .*must have 32 bytes that you alone can read"
    ):
        Tokens(tmp_path, tmp_path)


def test_a_hostile_name_is_escaped(dataset: Path) -> None:
    study = Study(dataset, Settings(), (NASTY.replace("/", "|"),))
    for path in (study.pages.link(ADMIN), study.pages.link(study.raters[0])):
        assert "<script>alert" not in study.client.get(path).text
    study.pages.run.close()


@pytest.mark.parametrize(
    "field",
    [
        "id",
        "rater",
        "order",
        "shown",
        "purpose",
        "status",
        "turn",
        "value",
        "latency_s",
    ],
)
@pytest.mark.parametrize("value", [None, [], {"a": 1}, "\x1b[31m", 7.5, ...])
def test_a_row_of_a_study_that_no_study_wrote_is_one_line(
    study: Study, field: str, value: Any
) -> None:
    study.answer(
        "anna",
        question := study.next("anna")["question"],
        **study.some(question),
    )
    study.pages.run.close()
    line = study.lines()[0] | {field: value}
    changed = {name: one for name, one in line.items() if one is not ...}
    (study.folder / "verdicts.jsonl").write_text(json.dumps(changed) + "\n")
    try:
        study.restart()
    except DataError as error:
        assert (
            str(error)
            .splitlines()[0]
            .startswith(f"{study.folder}/verdicts.jsonl: the answer on ")
        )
        return
    assert study.client.get(study.pages.link(ADMIN)).status_code == 200
    assert study.client.get(
        "/people/anna/back", headers=study.headers("anna")
    ).status_code in (
        200,
        404,
    )
    assert "question" in study.next("anna")


@pytest.mark.parametrize(
    "name", ["verdicts.jsonl", "run.json", ".verdicts.jsonl.lock"]
)
def test_a_link_in_the_folder_of_a_study_is_refused(
    dataset: Path, name: str
) -> None:
    folder, outside = dataset.parent / "people", dataset.parent / "outside"
    folder.mkdir()
    outside.write_text("{}\n")
    (folder / name).symlink_to(outside)
    with pytest.raises(RunError, match="link"):
        Study(dataset, Settings())
    assert outside.read_text() == "{}\n"


def test_an_answer_that_the_disk_does_not_take_is_said_and_can_be_given_again(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    question = study.next("anna")["question"]
    with monkeypatch.context() as full:
        full.setattr("visualjudge.runs.journal.os.write", no_room)
        refused = study.answer("anna", question, **study.some(question))
    assert (refused.status_code, refused.text) == (
        507,
        "not saved; the terminal of the studio says why",
    )
    assert study.lines() == []
    assert study.next("anna")["question"]["slot"] == question["slot"]
    assert (
        study.answer("anna", question, **study.some(question)).status_code
        == 200
    )
    assert len(study.lines()) == 1


# ---------------------------------------------------------------- a killed server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """``visualjudge studio --people`` as a process of its own."""

    def __init__(self, dataset: Path) -> None:
        self.port = _free_port()
        command = [
            sys.executable,
            "-m",
            "visualjudge",
            "studio",
            str(dataset),
            "--port",
            str(self.port),
        ]
        command += [
            "--people",
            str(dataset.parent / "killed"),
            "--rater",
            "anna",
            "--rater",
            "ben",
        ]
        env = {**os.environ, "XDG_CACHE_HOME": str(dataset.parent / "cache")}
        self.process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        said = "".join(itertools.islice(self.process.stdout, 3))
        self.tokens = dict(re.findall(r"/people/(\w+)\?token=(\w+)", said))
        self._wait()

    def _wait(self) -> None:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def ask(self, rater: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/people/{rater}/{path}",
            None if body is None else json.dumps(body).encode(),
            {
                "X-Studio-Token": self.tokens[rater],
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.load(reply)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_what_was_answered_survives_kill_9(dataset: Path) -> None:
    rng = np.random.default_rng(3)
    confirmed: list[str] = []
    server, folder = Server(dataset), dataset.parent / "killed"
    try:
        state = server.ask("anna", "next")
        while state["question"]:
            slot = state["question"]["slot"]
            body = {"slot": slot, "seconds": 1, "cannot_tell": True}
            if len(confirmed) == 3:
                threading.Timer(
                    float(rng.uniform(0, 0.02)), server.kill
                ).start()
            state = server.ask("anna", "answer", body)
            confirmed.append(slot)
    except (
        OSError,
        HTTPException,
        ValueError,
    ):  # no connection, or a part of a reply
        pass
    server.kill()
    written = [
        json.loads(line)
        for line in (folder / "verdicts.jsonl").read_text().splitlines()
    ]
    # one answer may be written and not confirmed
    assert len(written) - len(confirmed) in (0, 1)
    assert len({(line["id"], line["turn"]) for line in written}) == len(written)
    site = Site(find_places([dataset]), dataset.parent / "cache")
    again = people_pages(
        site, folder, going_on(folder, Settings(), named=False), []
    )
    assert {
        name: rater.counted for name, rater in again.run.raters.items()
    } == {
        "anna": len(written),
        "ben": 0,
    }
    again.run.close()


def test_people_are_asked_the_questions_that_a_judge_would_be_asked(
    dataset: Path,
) -> None:
    site = Site(find_places([dataset]), dataset.parent / "cache")
    shelf = site.shelf(site.places.datasets[0].slug)
    part = Selection(types=("ranking", "scoring"))
    plan = plan_of(shelf, Settings(filter=part.text))
    assert {item.id for item in plan.items} == {
        q.id for q in load_dataset(dataset).choose(part)
    }
    assert (
        len(plan_of(shelf, Settings(filter=part.text, sample=5, known=1)).items)
        == 5
    )
    with pytest.raises(UsageError, match="`tasks` must be one of"):
        plan_of(shelf, Settings(filter=Selection(tasks=("none",)).text))
    with pytest.raises(UsageError, match="does not read"):
        plan_of(shelf, Settings(filter="?type=ranking"))


def test_known_items_are_pairs_with_the_widest_margins_drawn_before_written(
    tmp_path: Path,
) -> None:
    questions = [
        ranking(i + 10, (0.0, 10.0, 5.0, 3.0), image_id=f"r{i}")
        for i in range(3)
    ]
    questions += [
        pair(i, (0.0, 9.0), encoding="text_xyxy", image_id=f"t{i}")
        for i in range(2)
    ]
    questions += [
        pair(i + 2, (float(i), 8.0), encoding="pixel_s0_m0", image_id=f"p{i}")
        for i in range(3)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    site = Site(find_places([root]), tmp_path / "cache")
    shelf = site.shelf(site.places.datasets[0].slug)
    ids = [question.id for question in questions]
    assert plan_of(shelf, Settings(known=2)).known == tuple(ids[5:7])
    assert set(plan_of(shelf, Settings(known=8)).known) == set(ids[3:])


def test_the_items_of_a_label_queue_are_asked_and_answers_are_its_labels(
    dataset: Path, tmp_path: Path
) -> None:
    questions = {q.id: q for q in load_dataset(dataset).questions}
    pairs = [
        name for name, q in questions.items() if q.question_type == "pairwise"
    ][:3]
    queue = tmp_path / "next.csv"
    queue.write_text(
        "question_id,answer,probability\n"
        + "".join(f"{name},,0.25\n" for name in pairs)
    )
    site = Site(find_places([dataset]), tmp_path / "cache")
    pages = people_pages(
        site,
        tmp_path / "run",
        Settings(known=1, repeats=1),
        ["anna", "ben"],
        StudyFiles(queue),
    )
    run = pages.run
    for rater, value in (("anna", "A"), ("ben", "B")):
        while slot := run.next(rater):
            run.write(
                rater, slot.key, Given(value, "ok", None, 1.0), revise=False
            )
    asyncio.run(run.synced())
    run.close()
    labels = read_labels(tmp_path / "run")
    (known,) = run.plan.known
    assert labels.by == "question_id"
    assert set(labels.table.rows()) == {
        (name, "tie", 0.25) for name in pairs if name != known
    }


@pytest.mark.parametrize("named", ["{task}/{annotation}", "{annotation}"])
def test_scores_of_several_raters_are_averaged_for_the_item_that_was_drawn(
    dataset: Path, tmp_path: Path, named: str
) -> None:
    question = next(
        q
        for q in load_dataset(dataset).questions
        if q.question_type == "scoring"
    )
    queue = tmp_path / "next.csv"
    name = named.format(
        task=question.task, annotation=question.annotation_ids[0]
    )
    queue.write_text(f"annotation_id,score,probability\n{name},,0.5\n")
    site = Site(find_places([dataset]), tmp_path / "cache")
    run = people_pages(
        site, tmp_path / "run", Settings(), ["anna", "ben"], StudyFiles(queue)
    ).run
    for rater, value in (("anna", 4.0), ("ben", 7.0)):
        slot = run.next(rater)
        assert slot is not None and slot.id == question.id
        run.write(rater, slot.key, Given(value, "ok", None, 1.0), revise=False)
    run.close()
    assert read_labels(tmp_path / "run").table.rows() == [
        (question.id, "5.5", 0.5)
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("question_id,answer\nq0,A\n", "visualjudge label"),
        (
            "question_id,answer,probability\nnobody,,0.5\n",
            "no question of the dataset asks about nobody",
        ),
        (
            "question_id,answer,probability\nq0,,2\n",
            "probability must be above 0",
        ),
    ],
)
def test_a_file_that_is_no_queue_of_this_dataset_is_refused(
    dataset: Path, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "next.csv").write_text(text)
    site = Site(find_places([dataset]), tmp_path / "cache")
    with pytest.raises(DataError, match=said):
        people_pages(
            site,
            tmp_path / "run",
            Settings(),
            ["anna"],
            StudyFiles(tmp_path / "next.csv"),
        )
