"""A gate names what changed, finds a worse judge, and ends with the status that CI
reads."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from commanding import command
from judged_records import pair, said, write_dataset, write_run
from judges.test_rubrics_in_runs import RUBRIC, serving, url
from runs.made_dataset import make_dataset
from visualjudge.analysis.analysing import analyse
from visualjudge.analysis.report.card import card_of
from visualjudge.apps.gate.check import Check, check_run, compared
from visualjudge.apps.gate.check_forms import junit, markdown
from visualjudge.apps.gate.lock import Lock, digest_of, lock_of
from visualjudge.apps.gate.score_lock import read_lock
from visualjudge.core.errors import DataError
from visualjudge.core.output_files import OutputFile
from visualjudge.core.records import Question
from visualjudge.dataset.folder import load_dataset

PROMPT = "Which is better? A. <box one> B. <box two> Answer with A or B."


def questions(count: int = 60) -> list[Question]:
    return [
        pair(
            k,
            (7.0, 3.0) if k % 2 else (3.0, 7.0),
            image_id=f"i{k // 2}",
            prompt=PROMPT,
        )
        for k in range(count)
    ]


def run_of(
    root: Path,
    asked: list[Question],
    *,
    wrong: int = 0,
    served: str = "gpt-4o-2026-01-01",
    fingerprint: str = "fp_1",
    **manifest: Any,
) -> Path:
    """A run that answers the first ``wrong`` questions wrongly."""
    dataset = write_dataset(root / "ds", asked)
    verdicts = [
        said(q, q.answer if k >= wrong else {"A": "B", "B": "A"}[str(q.answer)])
        for k, q in enumerate(asked)
    ]
    run = write_run(root / "run", dataset, verdicts, judge="gpt")
    stated = json.loads((run / "run.json").read_text())
    identity = [
        {
            "model": served,
            "fingerprint": fingerprint,
            "provider": None,
            "n": len(asked),
        }
    ]
    stated |= {
        "backend": "api",
        "model": "gpt-4o",
        "parameters": {"mode": "json"},
    }
    stated |= {
        "identity": identity,
        "swap": False,
        "repeats": 1,
        "schema": "followed",
        **manifest,
    }
    (run / "run.json").write_text(json.dumps(stated))
    return run


def locked(run: Path) -> Lock:
    return lock_of(analyse([run]), run, load_dataset(run.parent / "ds"))


def checked(lock: Lock, run: Path, tolerance: float = 0.1) -> Check:
    return check_run(
        lock, analyse([run]), load_dataset(run.parent / "ds"), tolerance
    )


def test_a_lock_is_read_as_it_was_written_and_names_no_path(
    tmp_path: Path,
) -> None:
    lock = locked(run_of(tmp_path, questions(), wrong=6))
    lock.write(OutputFile(tmp_path / "judge.lock"))
    again = read_lock(tmp_path / "judge.lock")
    assert (again.judge, again.right, again.accuracy) == (
        lock.judge,
        lock.right,
        lock.accuracy,
    )
    assert lock.right.count("0") == 6 and lock.accuracy.value == 0.9
    assert again.canaries == lock.canaries and len(lock.canaries) == 60
    assert str(tmp_path) not in (tmp_path / "judge.lock").read_text()
    (tmp_path / "bad.lock").write_text("format: other\n")
    with pytest.raises(
        DataError, match=r"bad\.lock: is not a file of `visualjudge gate write`"
    ):
        read_lock(tmp_path / "bad.lock")


Change = Callable[[Path], Path]
CHANGED: dict[str, tuple[Change, str]] = {
    "alias": (
        lambda root: run_of(root, questions(), model="gpt-4o-mini"),
        'model was "gpt-4o", now "gpt-4o-mini"',
    ),
    "fingerprint": (
        lambda root: run_of(root, questions(), fingerprint="fp_2"),
        'served was "gpt-4o-2026-01-01" "fp_1", now "gpt-4o-2026-01-01" "fp_2"',
    ),
    "prompt": (
        lambda root: run_of(
            root,
            [
                replace(q, prompt=q.prompt.replace("better", "worse"))
                for q in questions()
            ],
        ),
        "the wording of the prompts",
    ),
    "schema": (
        lambda root: run_of(root, questions(), parameters={"mode": "text"}),
        'parameters.mode was "json", now "text"',
    ),
    "encoding": (
        lambda root: run_of(
            root, [replace(q, encoding="text_xywh") for q in questions()]
        ),
        "the encodings",
    ),
    "labels": (
        lambda root: run_of(
            root,
            [
                replace(q, answer="A", final_scores=(7.0, 3.0))
                for q in questions()
            ],
        ),
        "the right answers",
    ),
    "dataset": (
        lambda root: run_of(root, questions(50)),
        "the dataset had 60 questions, has 50",
    ),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_change_is_stale_and_named(tmp_path: Path, change: str) -> None:
    lock = locked(run_of(tmp_path / "before", questions()))
    make, words = CHANGED[change]
    found = checked(lock, make(tmp_path / "after"))
    assert (found.state, found.status) == ("stale", 4)
    assert any(words in reason for reason in found.reasons), found.reasons


def test_another_version_of_the_tool_is_stale(tmp_path: Path) -> None:
    run = run_of(tmp_path, questions())
    found = checked(replace(locked(run), tool="0.9"), run)
    assert (
        found.status == 4 and "the tool was visualjudge 0.9" in found.reasons[0]
    )


def test_a_judge_that_became_worse_breaks_the_gate(tmp_path: Path) -> None:
    lock = locked(run_of(tmp_path / "a", questions(200)))
    assert (
        checked(lock, run_of(tmp_path / "b", questions(200))).state == "holds"
    )
    found = checked(lock, run_of(tmp_path / "c", questions(200), wrong=30))
    assert (found.state, found.change) == ("broken", pytest.approx(-0.15))
    few = locked(run_of(tmp_path / "d", questions(20)))
    assert (
        checked(few, run_of(tmp_path / "e", questions(20), wrong=1)).state
        == "can't tell"
    )


def test_a_run_without_all_verdicts_is_not_compared(tmp_path: Path) -> None:
    lock = locked(run_of(tmp_path / "a", questions()))
    run = run_of(tmp_path / "b", questions())
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, "asked": 60}))
    journal = run / "verdicts.jsonl"
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join(lines[:50]) + "\n")
    found = checked(lock, run)
    assert (
        found.state == "can't tell"
        and "10 of 60 verdicts are missing" in found.reasons[0]
    )
    more = [json.dumps({**json.loads(line), "repeat": 1}) for line in lines]
    journal.write_text("\n".join([*lines, *more]) + "\n")
    found = checked(lock, run)
    assert (
        found.state == "can't tell"
        and "60 questions do not have 1" in found.reasons[0]
    )


def test_a_judge_with_noise_rarely_breaks_the_gate_and_a_worse_one_mostly() -> (
    None
):
    rng = np.random.default_rng(4)

    def state(loss: float) -> str:
        chance = np.where(rng.random(200) < 0.88, 0.97, 0.03)
        before, now = (
            rng.random(200) < chance,
            rng.random(200) < chance - loss * (chance > 0.5),
        )
        image = [str(k // 2) for k in range(200)]
        table = pl.DataFrame(
            {"image": image, "before": before * 1, "right": now * 1}
        )
        return compared(table, 1, 0.1).state

    assert sum(state(0.0) == "broken" for _ in range(150)) <= 5
    assert sum(state(0.12) == "broken" for _ in range(150)) >= 130


def test_repeats_find_a_worse_judge_that_seldom_repeats_its_answers() -> None:
    rng = np.random.default_rng(4)
    image = [str(k // 2) for k in range(200)]

    def state(asks: int, loss: float) -> str:
        chance = np.where(rng.random(200) < 0.8, 0.85, 0.3)
        before, now = (
            rng.binomial(asks, share) for share in (chance, chance - loss)
        )
        table = pl.DataFrame({"image": image, "before": before, "right": now})
        return compared(table, asks, 0.1).state

    found = {
        asks: sum(state(asks, 0.1) == "broken" for _ in range(100))
        for asks in (1, 3)
    }
    assert found[1] < 80 and found[3] >= 95
    assert sum(state(3, 0.0) == "broken" for _ in range(100)) <= 3


@pytest.mark.parametrize(
    ("images", "questions", "lost", "state"),
    [
        # a judge that loses 10 % of 50 answers loses at most 1 in 3 %, 2 in 11 %
        (50, 1, 1, "holds"),
        (50, 1, 2, "can't tell"),
        # and 10 % of 60 whole images at most 1 in 1 %, 3 in 14 %
        (60, 5, 1, "holds"),
        (60, 5, 3, "can't tell"),
    ],
)
def test_few_lost_answers_do_not_exclude_a_loss(
    images: int, questions: int, lost: int, state: str
) -> None:
    rows = {
        "image": [str(k) for k in range(images)] * questions,
        "before": [1] * images * questions,
        "right": ([0] * lost + [1] * (images - lost)) * questions,
    }
    assert compared(pl.DataFrame(rows), 1, 0.1).state == state


def test_the_same_answers_hold_from_ten_images_on() -> None:
    def unchanged(images: int, of: int | None = None) -> Check:
        rows = {
            "image": [str(k) for k in range(images)],
            "before": [1] * images,
        }
        table = pl.DataFrame({**rows, "right": [1] * images})
        return compared(table, 1, 0.1, of)

    assert unchanged(10).state == "holds"
    assert unchanged(7).state == "can't tell"
    # canaries of more questions only if they exclude the loss: P(none of 27) is above 5 %
    assert [unchanged(n, 300).state for n in (20, 27, 29)] == [
        *["can't tell"] * 2,
        "holds",
    ]
    assert unchanged(20, 20).state == "holds"


def test_the_images_that_it_names_exclude_the_loss() -> None:
    def worse(images: int) -> Check:
        lost = round(0.05 * images)
        rows = {
            "image": [str(k) for k in range(images)],
            "before": [1] * images,
            "right": [0] * lost + [1] * (images - lost),
        }
        return compared(pl.DataFrame(rows), 1, 0.1)

    few = worse(40)
    number = re.search(r"about (\d+) images", few.reasons[0])
    assert few.state == "can't tell" and number
    assert worse(int(number[1])).state == "holds"
    assert worse(int(number[1]) // 2).state == "can't tell"


EDITED: dict[str, tuple[Callable[[str], str], str]] = {
    "accuracy": (
        lambda text: text.replace("value: 0.9", "value: 0.95"),
        "edited",
    ),
    "answer": (lambda text: text.replace("answer: ", "answer: X"), "edited"),
    "right": (lambda text: text.replace("'0", "'1", 1), "edited"),
    "canary": (lambda text: text.replace("- A\n", "- B\n", 1), "edited"),
    "task": (
        lambda text: text.replace("  object_detection:", "  depth:"),
        "edited",
    ),
    "digest": (lambda text: text.partition("digest")[0], "edited"),
    "type": (lambda text: text.replace("asks: 1", "asks: one"), "asks"),
    "end": (lambda text: text.partition("canaries")[0], "canaries"),
}


@pytest.mark.parametrize("field", EDITED)
def test_a_lock_that_was_edited_is_refused(tmp_path: Path, field: str) -> None:
    edit, named = EDITED[field]
    path = tmp_path / "judge.lock"
    locked(run_of(tmp_path, questions(), wrong=6)).write(OutputFile(path))
    text = path.read_text()
    assert edit(text) != text
    path.write_text(edit(text))
    with pytest.raises(DataError, match=named):
        read_lock(path)


def test_a_lock_in_another_layout_or_of_another_version_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "judge.lock"
    lock = locked(run_of(tmp_path, questions(), wrong=6))
    lock.write(OutputFile(path))
    content = yaml.safe_load(path.read_text())
    path.write_text(json.dumps(content, indent=4))
    again = read_lock(path)
    assert isinstance(again, Lock) and again.canaries == lock.canaries
    # earlier versions wrote no digest; their locks are stale
    del content["digest"]
    path.write_text(json.dumps({**content, "tool": "1.1.0"}))
    run = tmp_path / "run"
    assert checked(read_lock(path), run).state == "stale"


FORGED: dict[str, Callable[[dict[str, Any]], None]] = {
    "number": lambda lock: lock["questions"].pop("number"),
    "asked": lambda lock: lock["questions"].update(asked="zz"),
    "value": lambda lock: lock["accuracy"].clear(),
    "tasks": lambda lock: lock["tasks"].update(depth={}),
    "canaries": lambda lock: lock.update(canaries=[{}]),
    "asks": lambda lock: lock["judge"].update(repeats=10**9),
    "right": lambda lock: lock.update(right="1"),
}


@pytest.mark.parametrize("field", FORGED)
def test_a_forged_lock_is_refused_by_its_fields(
    tmp_path: Path, field: str
) -> None:
    path = tmp_path / "judge.lock"
    locked(run_of(tmp_path, questions(), wrong=6)).write(OutputFile(path))
    content = yaml.safe_load(path.read_text())
    FORGED[field](content)
    del content["digest"]
    # with a digest of its own, or said to be of a version that wrote none
    plain = {name: content[name] for name in content if name != "format"}
    for changes in ({"digest": digest_of(plain)}, {"tool": "1.1.0"}):
        path.write_text(json.dumps({**content, **changes}))
        with pytest.raises(DataError, match=field):
            read_lock(path)


def test_names_of_strangers_are_no_markup(tmp_path: Path) -> None:
    lock = locked(run_of(tmp_path, questions(), model="x\n### holds <b> \x07"))
    found = Check("broken", ("### holds <b> \x07",))
    assert ElementTree.fromstring(junit(found)) is not None
    page = markdown(found, lock)
    assert "<b>" not in page and "\n### holds" not in page


def test_a_lock_has_the_word_of_the_card(tmp_path: Path) -> None:
    run = run_of(tmp_path, questions(), wrong=6)
    card = card_of(analyse([run])).judges[0]
    lock = locked(run)
    assert lock.answer == card.models.word
    assert {row.answer for row in lock.tasks.values()} == {lock.answer}
    worse = run_of(tmp_path / "worse", questions(), wrong=50)
    for word in ("Yes", "yes"):  # 1.1 wrote it in small letters
        check = checked(replace(lock, answer=word), worse)
        assert "the answer was yes" in check.reasons[0]


def test_results_say_what_was_found(tmp_path: Path) -> None:
    lock = locked(run_of(tmp_path, questions()))
    found = Check("broken", ("right answers changed by -12.0 points & more",))
    case = ElementTree.fromstring(junit(found)).find("testcase")
    assert case is not None and case.find("failure") is not None
    assert "❌ visualjudge gate: broken" in markdown(found, lock)
    assert "(100.00 % of all answers right)" in markdown(found, lock)


def shell(line: str, folder: Path) -> tuple[int, str]:
    done = command(*shlex.split(line)[1:], folder=folder)
    return done.returncode, done.stdout + done.stderr


def test_statuses_in_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    make_dataset(tmp_path / "ds", pairwise=40, ranking=0, scoring=0)
    model = "--backend baseline --model oracle:0.9"
    assert shell(f"visualjudge judge ds {model} --out a", tmp_path)[0] == 0
    assert shell("visualjudge gate write a --out judge.lock", tmp_path)[0] == 0
    status, out = shell(
        "visualjudge gate check a --lock judge.lock --junit g.xml", tmp_path
    )
    assert status == 0 and "gate: holds" in out, out
    assert (tmp_path / "g.xml").is_file() and "gate: holds" in (
        tmp_path / "step.md"
    ).read_text()
    asked = f"visualjudge gate check --dataset ds {model} --lock judge.lock"
    assert shell(asked, tmp_path)[0] == 0
    assert shell(asked.replace("0.9", "0.5"), tmp_path)[0] == 4
    assert (
        shell(f"{asked} --tolerance 0.01", tmp_path)[0] == 0
    )  # the same answers
    assert shell(f"{asked} --max-calls 3", tmp_path)[0] == 2
    text = (tmp_path / "judge.lock").read_text()
    (tmp_path / "edited.lock").write_text(text.replace("asks: 1", "asks: 2"))
    for wrong in ("edited", "missing"):  # 1 says that the judge is worse
        line = f"visualjudge gate check a --lock {wrong}.lock"
        assert shell(line, tmp_path)[0] == 2
    assert shell("visualjudge gate check a", tmp_path)[0] == 2
    journal = tmp_path / "a" / "verdicts.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    turned = [
        {**line, "value": {"A": "B", "B": "A"}[line["value"]]} for line in lines
    ]
    journal.write_text("".join(json.dumps(line) + "\n" for line in turned))
    status, out = shell("visualjudge gate check a --lock judge.lock", tmp_path)
    assert status == 1 and "gate: broken" in out, out


@pytest.mark.parametrize("kind", ["pairwise", "scoring"])
def test_a_selection_of_questions_is_asked_again(
    tmp_path: Path, kind: str
) -> None:
    make_dataset(tmp_path / "ds", pairwise=40, ranking=0, scoring=40)
    model = "--backend baseline --model oracle:0.9"
    chosen = f"--type {kind} --sample 27"
    for line in (
        f"visualjudge judge ds {model} {chosen} --out a",
        "visualjudge gate write a --out judge.lock",
        f"visualjudge gate check --dataset ds {model} --lock judge.lock",
    ):
        status, out = shell(line, tmp_path)
        assert status == 0, out
    assert "27 questions" in out and "holds" in out


def test_lines_are_as_wide_as_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    before = run_of(tmp_path / "a", questions())
    lock = tmp_path / "a.lock"
    written = command(
        "gate", "write", "a/run", "--out", "a.lock", folder=tmp_path
    )
    after = run_of(tmp_path / "b", questions(), wrong=30)
    changed = run_of(tmp_path / "c", questions(), model="gpt 4o mini " * 9)
    done = [
        command("gate", "check", run, "--lock", lock)
        for run in (before, after, changed)
    ]
    assert [one.returncode for one in done] == [0, 1, 4]
    lines = "".join(one.stdout for one in (written, *done)).splitlines()
    assert [
        line for line in lines if len(line) > 60 and "next:" not in line
    ] == []


def test_a_parameter_of_a_wrong_type_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path, questions(), parameters={"seed": "x"})
    locked(run).write(OutputFile(tmp_path / "a.lock"))
    model = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    asked = ("--dataset", tmp_path / "ds", *model)
    done = command("gate", "check", *asked, "--lock", tmp_path / "a.lock")
    assert done.returncode == 2
    assert "seed must be int | None, got 'x'" in done.stderr


def test_a_model_is_asked_now_and_not_the_cache_of_its_replies(
    tmp_path: Path,
) -> None:
    dataset = write_dataset(tmp_path / "ds", questions(20))
    lock = tmp_path / "a.lock"
    with serving() as server:
        model = ("--model", "m", "--base-url", url(server))
        command("judge", dataset, *model, "--out", tmp_path / "run")
        command("gate", "write", tmp_path / "run", "--out", lock)
        before = server.asked
        done = command(
            "gate", "check", "--dataset", dataset, *model, "--lock", lock
        )
        assert server.asked >= before + 20, done.stderr


def test_a_model_is_asked_with_the_rubric_and_the_extractor_of_the_lock(
    tmp_path: Path,
) -> None:
    dataset = write_dataset(tmp_path / "ds", questions(20))
    (tmp_path / "mine.yaml").write_text(RUBRIC)
    lock = tmp_path / "a.lock"
    more = ("--rubric", tmp_path / "mine.yaml", "--extractor-model", "reader")
    with serving() as server:
        model = ("--model", "m", "--base-url", url(server))
        command("judge", dataset, *model, *more, "--out", tmp_path / "run")
        command("gate", "write", tmp_path / "run", "--out", lock)
        (tmp_path / "mine.yaml").unlink()
        done = command(
            "gate", "check", "--dataset", dataset, *model, "--lock", lock
        )
    assert done.returncode == 0, done.stdout + done.stderr


def test_failed_calls_are_no_proof_that_the_judge_became_worse(
    tmp_path: Path,
) -> None:
    lock = locked(run_of(tmp_path / "a", questions(200)))
    run = run_of(tmp_path / "b", questions(200), wrong=30)
    assert checked(lock, run).state == "broken"
    journal = run / "verdicts.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines[:30]:
        line |= {"value": "failed", "status": "api_error"}
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = checked(lock, run)
    assert found.state == "can't tell" and "30 calls failed" in found.reasons[0]
    written = command("gate", "write", run, "--out", tmp_path / "judge.lock")
    assert "30 calls failed" in written.stderr
