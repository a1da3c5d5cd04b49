"""One study with every kind of reply, counted by hand: report, card, CSV, studio and
gate agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from fastapi.testclient import TestClient

from judged_records import pair, said, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.apps.gate.lock import accuracy_of, counted
from visualjudge.cli.main import app
from visualjudge.core.records import Question, Verdict
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

TASKS = ("object_detection", "keypoint")
REPLIES = (
    {},
    {"value": "tie"},
    {"status": "refusal"},
    {"status": "truncated"},
    {"status": "refusal", "cause": "declined"},
    {"status": "ok_extracted"},
    {"value": "other"},
)


@dataclass(frozen=True)
class Counts:
    """Verdicts of a part of the study, by hand."""

    n: int
    failed: int
    ties: int
    right: int

    @property
    def accuracy(self) -> float:
        return self.right / self.n


def _asked() -> list[Question]:
    rows = [(task, k) for task in TASKS for k in range(40)]
    return [
        pair(
            k,
            (8.0, 2.0) if k % 3 else (1.0, 6.0),
            id=f"{task}-{k}",
            task=task,
            encoding="text_xyxy" if k % 2 else "pixel_ss1_m0_o0_l1_c1_b1",
            image_id=f"{task}-{k // 2}",
        )
        for task, k in rows
    ]


def _verdicts(questions: Sequence[Question]) -> Iterator[Verdict]:
    """Both orders, each twice; the kind of reply changes from one to the next."""
    turn = 0
    for question in questions:
        for order in ("AB", "BA"):
            for repeat in (0, 1):
                reply = dict(REPLIES[turn % len(REPLIES)]) if turn % 3 else {}
                value = reply.pop("value", question.answer)
                if value == "other":
                    value = "AB"[question.answer == "A"]
                yield said(question, value, order, repeat=repeat, **reply)
                turn += 1


def _counts(
    verdicts: Sequence[Verdict], questions: Sequence[Question]
) -> Counts:
    answers = {question.id: question.answer for question in questions}
    own = [verdict for verdict in verdicts if verdict.id in answers]
    kinds = Counter(
        "failed"
        if verdict.status != "ok"
        else "tie"
        if verdict.value == "tie"
        else "right"
        if verdict.value == answers[verdict.id]
        else "wrong"
        for verdict in own
    )
    return Counts(len(own), kinds["failed"], kinds["tie"], kinds["right"])


@dataclass(frozen=True)
class Study:
    root: Path
    run: Path
    analysis: Analysis
    whole: Counts
    by_task: dict[str, Counts]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root, questions = tmp_path_factory.mktemp("one"), _asked()
    verdicts = list(_verdicts(questions))
    dataset = write_dataset(root / "ds", questions)
    run = write_run(root / "runs/judge", dataset, verdicts)
    by_task = {
        task: _counts(
            verdicts,
            [question for question in questions if question.task == task],
        )
        for task in TASKS
    }
    return Study(
        root, run, analyse([run]), _counts(verdicts, questions), by_task
    )


def test_every_kind_of_reply_is_in_the_study(study: Study) -> None:
    for counts in (study.whole, *study.by_task.values()):
        assert counts.ties > 0 and counts.failed > 0
        assert counts.right < counts.n - counts.ties - counts.failed


def test_metrics_and_the_card_count_as_by_hand(study: Study) -> None:
    judge = study.analysis.metrics["judges"][0]
    pairwise, whole = judge["pairwise"], study.whole
    assert (pairwise["n"], pairwise["failed"]) == (whole.n, whole.failed)
    assert pairwise["accuracy"] == pytest.approx(whole.accuracy)
    cells = {task: cell["pairwise"] for task, cell in judge["by_task"].items()}
    for task, counts in study.by_task.items():
        assert (cells[task]["n"], cells[task]["failed"]) == (
            counts.n,
            counts.failed,
        )
        assert cells[task]["accuracy"] == pytest.approx(counts.accuracy)
    card = card_of(study.analysis).metrics["judges"][0]
    checks = {line["name"]: line["value"] for line in card["checks"]}
    assert checks["failed"] == pytest.approx(whole.failed / whole.n)
    tasks = {
        row["task"]: line["value"]
        for row in card["tasks"]
        for line in row["checks"]
        if line["name"] == "macro_accuracy"
    }
    assert tasks == pytest.approx(
        {task: c.accuracy for task, c in study.by_task.items()}
    )


def test_csv_tables_count_as_by_hand(study: Study, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    done = CliRunner().invoke(
        app, ["report", str(study.run), "--csv", str(tmp_path / "csv")]
    )
    assert done.exit_code == 0, done.output
    table = pl.read_csv(tmp_path / "csv" / "by_task.csv")
    columns = ("cell", "pairwise.n", "pairwise.failed", "pairwise.accuracy")
    for task, n, failed, accuracy in table.select(columns).iter_rows():
        counts = study.by_task[task]
        assert (n, failed, accuracy) == (
            counts.n,
            counts.failed,
            pytest.approx(counts.accuracy),
        )


def test_the_studio_counts_as_by_hand(study: Study, tmp_path: Path) -> None:
    site = Site(find_places([study.root]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:8421")
    slug = site.places.datasets[0].slug
    page = _plain(client.get(f"/d/{slug}/slices?by=task&type=pairwise").text)
    for task, counts in study.by_task.items():
        row = page.split(task.replace("_", " "), 1)[1]
        shares = re.search(r"(\d+\.\d) % ([\d.]+)–([\d.]+) of (\d+)", row)
        assert shares is not None, row[:200]
        assert (
            shares[1] == f"{100 * counts.accuracy:.1f}"
            and int(shares[4]) == counts.n
        )
        cell = study.analysis.metrics["judges"][0]["by_task"][task]["pairwise"]
        assert (shares[2], shares[3]) == tuple(
            f"{100 * end:.1f}" for end in cell["ci95"]
        )


def test_the_gate_counts_as_by_hand(study: Study) -> None:
    table = counted(study.analysis)
    assert accuracy_of(table).value == pytest.approx(
        study.whole.accuracy, abs=1e-4
    )
    for task, counts in study.by_task.items():
        own = accuracy_of(table.filter(pl.col("task") == task))
        assert own.value == pytest.approx(counts.accuracy, abs=1e-4)


def _plain(page: str) -> str:
    """The text of a page."""
    return " ".join(
        re.sub(r"<[^>]+>", " ", page).replace("&nbsp;", " ").split()
    )
