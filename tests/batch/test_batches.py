"""Runs over batches: the verdicts of live runs, each request paid once, whatever the
server and the machine do.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import visualjudge as vj
from batch.fake_batches import ALL, FakeBatches, Faults
from folding import each
from runs.made_dataset import make_dataset
from visualjudge.clients.batch.batched_client import Settings
from visualjudge.clients.batch.google import GoogleBatches
from visualjudge.clients.batch.openai import OpenAiBatches
from visualjudge.clients.batch.provider import Look
from visualjudge.clients.retry import RetryPolicy
from visualjudge.core.errors import RunError, UsageError
from visualjudge.runs.batches import BatchJournal, has_batches
from visualjudge.runs.budget import Prices

pytestmark = pytest.mark.filterwarnings(
    "ignore:(?s)Pydantic serializer warnings"
)
BACKENDS = ("api", "anthropic", "google")
KEY = "sk-batch-0123456789"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(
        tmp_path_factory.mktemp("dataset"), pairwise=12, ranking=0, scoring=0
    )


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = RetryPolicy(attempts=8, first_wait_s=0.02)
    monkeypatch.setattr("visualjudge.clients.batch.provider.PATIENCE", patience)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def client(
    fake: FakeBatches, backend: str = "api", *, batch: Any = None, **fields: Any
) -> Any:
    url = f"{fake.url}/v1" if backend == "api" else fake.url
    settings = Settings(size=5, poll_s=0.05) if batch is None else batch
    return vj.client(
        backend,
        model="m",
        base_url=url,
        api_key=KEY,
        cache=False,
        batch=settings,
        **fields,
    )


def judged(
    fake: FakeBatches,
    dataset: Path,
    out: Path,
    backend: str = "api",
    **options: Any,
) -> vj.Run:
    own = {
        name: options.pop(name)
        for name in ("batch", "max_tokens")
        if name in options
    }
    return vj.judge(
        dataset,
        client(fake, backend, **own),
        out,
        progress=False,
        **{"resume": True, **options},
    )


def rows(out: Path) -> list[dict[str, Any]]:
    lines = [
        json.loads(line)
        for line in (out / "verdicts.jsonl").read_text().splitlines()
    ]
    for line in lines:
        line.pop("latency_s")
    return sorted(
        lines,
        key=lambda line: (line["id"], line["order"], line.get("repeat", 0)),
    )


def check_once(fake: FakeBatches, out: Path, questions: int = 12) -> None:
    assert max(fake.paid.values()) == 1
    assert Counter(row["id"] for row in rows(out)) == Counter(
        {f"pairwise{n}": 1 for n in range(questions)}
    )


@pytest.mark.parametrize(
    ("backend", "mode"),
    [("api", "json"), ("anthropic", "text"), ("google", "text")],
)
def test_verdicts_are_those_of_a_live_run_at_half_the_price(
    dataset: Path, tmp_path: Path, backend: str, mode: Any
) -> None:
    prices = Prices(10.0, 100.0)
    with FakeBatches() as fake:
        run = judged(
            fake,
            dataset,
            tmp_path / "batch",
            backend,
            swap=True,
            mode=mode,
            prices=prices,
        )
        assert not fake.live
        live = judged(
            fake,
            dataset,
            tmp_path / "live",
            backend,
            swap=True,
            mode=mode,
            prices=prices,
            batch=False,
        )
    assert rows(tmp_path / "batch") == rows(tmp_path / "live")
    assert run.report is not None and live.report is not None
    assert run.report.progress.budget.cost == pytest.approx(
        live.report.progress.budget.cost / 2
    )
    assert run.report.progress.budget.calls == 24
    assert run.report.progress.budget.tokens == 24 * (
        190 if backend == "google" else 102
    )
    assert max(fake.paid.values()) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_question_has_one_verdict_whatever_the_server_does(
    dataset: Path, tmp_path: Path, backend: str
) -> None:
    for seed in range(2):
        with FakeBatches(ALL, seed) as fake:
            judged(fake, dataset, tmp_path / str(seed), backend)
            check_once(fake, tmp_path / str(seed))


def test_results_that_come_in_halves_are_read_when_they_are_whole(
    dataset: Path, tmp_path: Path
) -> None:
    with FakeBatches(Faults(half=1.0, slow_s=0)) as fake:
        judged(
            fake,
            dataset,
            tmp_path,
            mode="text",
            batch=Settings(5, 0.05, wait=False),
        )
        for whole in ("batch_1", "batch_2"):
            fake.batches[whole].halves = 2
        judged(fake, dataset, tmp_path, mode="text")
        check_once(fake, tmp_path)
    assert {row["status"] for row in rows(tmp_path)} == {"ok"}


class Killed(BaseException):
    """In place of a kill."""


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("backend", ["api", "anthropic"])
def test_a_kill_at_any_step_costs_nothing(
    tmp_path: Path, backend: str, before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(
        tmp_path / "dataset", pairwise=6, ranking=0, scoring=0
    )
    steps = {name: getattr(BatchJournal, name) for name in ("write", "plan")}

    def dying(last: int) -> None:
        numbers = itertools.count()

        def counted(name: str) -> Any:
            def until_dead(
                self: BatchJournal, *values: Any, **fields: Any
            ) -> None:
                dead = next(numbers) == last
                if dead and before:
                    raise Killed
                steps[name](self, *values, **fields)
                if dead:
                    raise Killed

            return until_dead

        for name in steps:
            monkeypatch.setattr(BatchJournal, name, counted(name))

    # After a step differs from before the next only where the next is a call to the
    # server.
    for last in range(8) if before else (1, 3):
        with FakeBatches(Faults(lost=0.3, slow_s=0), last) as fake:
            dying(last)
            with pytest.raises(Killed):
                judged(
                    fake, dataset, tmp_path / str(last), backend, mode="text"
                )
            for name, step in steps.items():
                monkeypatch.setattr(BatchJournal, name, step)
            judged(fake, dataset, tmp_path / str(last), backend, mode="text")
            check_once(fake, tmp_path / str(last), 6)


def test_an_anonymous_batch_of_others_is_not_taken(
    dataset: Path, tmp_path: Path
) -> None:
    with FakeBatches(Faults(lost=1.0, slow_s=0)) as fake:
        keeper = {"size": 12, "poll_s": 0.05}
        judged(
            fake,
            dataset,
            tmp_path / "theirs",
            "anthropic",
            mode="text",
            batch=Settings(**keeper),
            seed=1,
        )
        fake.paid.clear()
        judged(
            fake,
            dataset,
            tmp_path / "ours",
            "anthropic",
            mode="text",
            batch=Settings(**keeper),
            max_tokens=9,
        )
        check_once(fake, tmp_path / "ours")
        assert len(fake.batches) == 2
        assert all(row["status"] == "ok" for row in rows(tmp_path / "ours"))


def test_what_expires_is_asked_again_and_then_fails_until_asked_for(
    dataset: Path, tmp_path: Path
) -> None:
    with FakeBatches(Faults(expired=1.0, slow_s=0)) as fake:
        judged(fake, dataset, tmp_path, mode="text")
        assert {(row["status"], row["cause"]) for row in rows(tmp_path)} == {
            ("api_error", "batch expired")
        }
        assert set(fake.seen.values()) == {4}
        fake.faults = Faults(slow_s=0)
        judged(fake, dataset, tmp_path, mode="text")
        assert set(fake.seen.values()) == {4}, (
            "a resumed run asks for no failure again"
        )
        judged(fake, dataset, tmp_path, mode="text", retry_errors=True)
    assert {row["status"] for row in rows(tmp_path)} == {"ok"}
    check_once(fake, tmp_path)


def test_a_reply_that_is_paid_for_and_not_given_out_is_a_failure(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FakeBatches,
        "_openai_line",
        lambda self, kind, name, body, outcome: None,
    )
    with FakeBatches(Faults(slow_s=0)) as fake:
        judged(fake, dataset, tmp_path, mode="text")
    assert {row["cause"] for row in rows(tmp_path)} == {"result lost"}
    check_once(fake, tmp_path)


def test_a_parameter_that_is_refused_inside_a_batch_is_asked_for_differently(
    dataset: Path, tmp_path: Path
) -> None:
    with FakeBatches(Faults(slow_s=0)) as fake:
        fake.refuse = {
            '"max_tokens"': "Unsupported parameter: use max_completion_tokens instead"
        }
        judged(fake, dataset, tmp_path, mode="text", max_tokens=50)
        assert {row["status"] for row in rows(tmp_path)} == {"ok"}
        assert sum(fake.paid.values()) == 12
        assert all(
            "max_completion_tokens" in row["notes"][0] for row in rows(tmp_path)
        )


def test_a_refused_key_is_an_error_and_nothing_is_lost(
    dataset: Path, tmp_path: Path
) -> None:
    with FakeBatches() as fake, pytest.raises(RunError, match="404"):
        wrong = vj.client(
            "api",
            model="m",
            base_url=f"{fake.url}/nowhere",
            cache=False,
            batch=True,
        )
        vj.judge(dataset, wrong, tmp_path, progress=False)
    assert has_batches(tmp_path)
    with FakeBatches() as fake:
        judged(fake, dataset, tmp_path, accept_changes=True)
        check_once(fake, tmp_path)
    assert not has_batches(tmp_path)


def test_no_file_holds_the_key_and_the_ledger_goes_with_the_folder(
    dataset: Path, tmp_path: Path
) -> None:
    with FakeBatches() as fake:
        run = judged(
            fake,
            dataset,
            tmp_path / "here",
            mode="text",
            batch=Settings(5, 0.05, wait=False),
        )
        assert run.missing == 12
        (tmp_path / "here").rename(tmp_path / "there")
        judged(fake, dataset, tmp_path / "there", mode="text")
        check_once(fake, tmp_path / "there")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in files)


def test_a_server_that_is_away_while_a_batch_runs_is_waited_for(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    row = FakeBatches._openai_row

    def away(self: FakeBatches, batch: Any) -> Any:
        looks.append(1)
        if 12 < len(looks) < 40:
            raise RuntimeError("a server error")
        return row(self, batch)

    monkeypatch.setattr(FakeBatches, "_openai_row", away)
    with FakeBatches() as fake:
        judged(fake, dataset, tmp_path, mode="text")
        check_once(fake, tmp_path)
    assert {row["status"] for row in rows(tmp_path)} == {"ok"}


def test_a_live_run_over_open_batches_is_refused(
    dataset: Path, tmp_path: Path
) -> None:
    with FakeBatches(Faults(slow_s=60)) as fake:
        judged(
            fake,
            dataset,
            tmp_path,
            mode="text",
            batch=Settings(5, 0.05, wait=False),
        )
        with pytest.raises(UsageError, match="batches have not ended"):
            judged(fake, dataset, tmp_path, mode="text", batch=False)


def test_limits_of_a_live_run_cannot_be_kept(
    dataset: Path, tmp_path: Path
) -> None:
    from visualjudge.runs.budget import Limits

    with FakeBatches() as fake, pytest.raises(UsageError, match="`max_cost`"):
        judged(fake, dataset, tmp_path, limits=Limits(max_calls=3))


def test_equal_requests_are_asked_once(tmp_path: Path) -> None:
    dataset = make_dataset(
        tmp_path / "dataset", pairwise=2, ranking=0, scoring=0
    )
    questions = json.loads((dataset / "questions.json").read_text())
    questions[1] |= {name: questions[0][name] for name in ("prompt", "images")}
    (dataset / "questions.json").write_text(json.dumps(questions))
    with FakeBatches(Faults(slow_s=0)) as fake:
        run = judged(fake, dataset, tmp_path / "run", mode="text")
    assert len(rows(tmp_path / "run")) == 2
    assert sum(fake.paid.values()) == 1
    assert run.report is not None and run.report.progress.budget.calls == 1


@each(
    ("look", "cause", "again"),
    [
        (Look("cancelled"), "batch cancelled", False),
        (Look("canceled"), "batch cancelled", False),
        (Look("cancelling", limited=True), "batch cancelled", False),
        (Look("failed", limited=True), "too much is queued", True),
        (Look("failed"), "batch failed", False),
        (Look("expired"), "batch expired", True),
        (Look("ended"), "batch ended", True),
        (Look("completed"), "batch completed", True),
        (Look("succeeded"), "batch succeeded", True),
        # the only reply of two is there, so the other was not paid for
        (Look("completed", succeeded=1), "batch completed", True),
        (Look("completed", succeeded=2), "result lost", False),
        (Look("cancelled", succeeded=2), "result lost", False),
    ],
)
def test_a_request_without_a_result_is_asked_again_unless_it_was_paid_for(
    look: Look, cause: str, again: bool
) -> None:
    url = "http://127.0.0.1:9/v1"
    live = vj.client("api", model="m", base_url=url, api_key=KEY, cache=False)
    provider = OpenAiBatches(live)  # type: ignore[arg-type]
    with (
        TemporaryDirectory() as run,
        BatchJournal(Path(run), provider, None) as journal,
    ):
        for name in ("ask-0", "ask-1"):
            journal.add(name, [b"{}"])
        journal.plan()
        (part,) = journal.open_parts()
        reply = {
            "custom_id": "ask-0",
            "response": {"status_code": 200, "body": {}},
        }
        line = json.dumps(reply).encode()
        assert journal.collect(part, look, [line]) == 1
        there, absent = journal.result("ask-0"), journal.result("ask-1")
    assert there is not None and there.status == 200
    assert absent is not None
    assert (absent.cause, bool(absent.retryable)) == (cause, again)


@each(
    ("done", "state", "status"),
    [
        (True, "BATCH_STATE_RUNNING", "ended"),
        (True, "JOB_STATE_CANCELLED", "cancelled"),
        (None, "BATCH_STATE_RUNNING", "running"),
    ],
)
def test_an_operation_of_google_that_is_done_has_ended_whatever_its_state(
    done: bool | None, state: str, status: str
) -> None:
    body = {"done": done, "metadata": {"state": state}}
    assert GoogleBatches.looked(None, body).status == status  # type: ignore[arg-type]


def test_a_code_of_google_has_the_status_of_its_meaning() -> None:
    statuses = []
    for code in range(1, 17):
        row = {"key": "k", "error": {"code": code}}
        _, result = GoogleBatches.read(None, row)  # type: ignore[arg-type]
        statuses.append(result.status)
    refused = {3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 16: 401}
    assert statuses == [refused.get(code, 500) for code in range(1, 17)]
