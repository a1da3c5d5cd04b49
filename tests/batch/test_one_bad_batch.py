"""One bad batch costs one batch: closed with its cause, asked for again on request,
never submitted without end.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import visualjudge as vj
from batch.fake_batches import FakeBatches, Faults
from runs.made_dataset import make_dataset
from visualjudge.clients.batch.batched_client import Settings
from visualjudge.clients.retry import RetryPolicy
from visualjudge.core.errors import RunError

KEY = "sk-batch-0123456789"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(
        tmp_path_factory.mktemp("dataset"), pairwise=6, ranking=0, scoring=0
    )


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    few = RetryPolicy(attempts=2, first_wait_s=0.01)
    monkeypatch.setattr("visualjudge.clients.batch.provider.PATIENCE", few)
    monkeypatch.setattr("visualjudge.runs.batches.PATIENCE", few)
    monkeypatch.setattr("visualjudge.runs.batches._DOWNLOADS", 2)


class Refusing(FakeBatches):
    """Answers with an error status where ``refused`` says so: (method, part of the
    path) -> status.
    """

    def __init__(
        self, refused: dict[tuple[str, str], int] | None = None
    ) -> None:
        super().__init__(Faults(slow_s=0))
        self.refused = refused or {}
        self.refusals = 0

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        for (method, path), status in self.refused.items():
            if request.method == method and path in request.path:
                self.refusals += 1
                return web.json_response(
                    {"error": {"message": "not for you"}}, status=status
                )
        return await super()._handle(request)


def judged(
    fake: FakeBatches,
    dataset: Path,
    out: Path,
    *,
    size: int = 2,
    wait: bool = True,
    **options: Any,
) -> vj.Run:
    settings = Settings(size, 0.02, wait=wait)
    asked = vj.client(
        "api",
        model="m",
        base_url=f"{fake.url}/v1",
        api_key=KEY,
        cache=False,
        batch=settings,
    )
    return vj.judge(
        dataset,
        asked,
        out,
        progress=False,
        mode="text",
        **{"resume": True, **options},
    )


def causes(out: Path) -> Counter[str]:
    lines = [
        json.loads(line)
        for line in (out / "verdicts.jsonl").read_text().splitlines()
    ]
    return Counter(line.get("cause") or line["status"] for line in lines)


def test_a_batch_that_cannot_be_looked_at_is_not_paid_for_again(
    dataset: Path, tmp_path: Path
) -> None:
    with Refusing({("GET", "/batches/batch_2"): 401}) as fake:
        for _ in range(2):
            with pytest.raises(
                RunError, match="batch batch_2: HTTP 401: not for you; continue"
            ):
                judged(fake, dataset, tmp_path, retry_errors=True)
        fake.refused = {}
        judged(fake, dataset, tmp_path)
        assert causes(tmp_path) == {"ok": 6}
        assert set(fake.paid.values()) == {1}
        assert len(fake.batches) == 3


def test_a_batch_that_is_gone_is_submitted_again_on_request(
    dataset: Path, tmp_path: Path
) -> None:
    with Refusing({("GET", "/batches/batch_2"): 404}) as fake:
        for _ in range(2):
            judged(fake, dataset, tmp_path)
            assert causes(tmp_path) == {"ok": 4, "batch lost": 2}
        judged(fake, dataset, tmp_path, retry_errors=True)
        assert causes(tmp_path) == {"ok": 6}
        assert len(fake.batches) == 4


def test_the_replies_that_can_be_had_are_kept(
    dataset: Path, tmp_path: Path
) -> None:
    with Refusing({("GET", "/files/output-batch_1"): 403}) as fake:
        judged(fake, dataset, tmp_path)
        assert causes(tmp_path) == {"ok": 4, "result lost": 2}
        assert len(fake.batches) == 3
        assert fake.refusals == 3  # the first, and two more


def cancelled(dataset: Path, out: Path, fake: FakeBatches) -> None:
    """A run whose batches were cancelled in the provider's console before they ran."""
    fake.faults = Faults(slow_s=3600)
    judged(fake, dataset, out, wait=False)
    for batch in fake.batches.values():
        batch.cancelled, batch.outcomes = (
            True,
            dict.fromkeys(batch.outcomes, "gone"),
        )
    fake.paid.clear()
    fake._openai_line = lambda kind, name, body, outcome: (  # type: ignore[method-assign]
        None
        if outcome == "gone"
        else FakeBatches._openai_line(fake, kind, name, body, outcome)
    )
    fake.faults = Faults(slow_s=0)


def test_what_was_cancelled_is_not_submitted_again_without_being_told_to(
    dataset: Path, tmp_path: Path
) -> None:
    with FakeBatches() as fake:
        cancelled(dataset, tmp_path, fake)
        for _ in range(3):
            judged(fake, dataset, tmp_path)
        assert len(fake.batches) == 3
        assert causes(tmp_path) == {"batch cancelled": 6}
        judged(fake, dataset, tmp_path, retry_errors=True)
        assert causes(tmp_path) == {"ok": 6}
        assert set(fake.paid.values()) == {1}


def test_what_is_refused_as_too_much_is_queued_is_submitted_a_bounded_number_of_times(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "visualjudge.clients.batch.batched_client.MOST_QUEUED", 4
    )
    with FakeBatches(Faults(limited=1.0, slow_s=0)) as fake:
        judged(fake, dataset, tmp_path, size=6)
        assert len(fake.batches) == 4
        assert causes(tmp_path) == {"too much is queued": 6}


def test_a_server_that_makes_no_more_batches_ends_the_run_after_the_others(
    dataset: Path, tmp_path: Path
) -> None:
    with Refusing() as fake:
        made = fake._made

        def poor(*words: Any, **more: Any) -> Any:
            if len(fake.batches) == 1:
                return web.json_response(
                    {"error": {"message": "no credit"}}, status=402
                )
            return made(*words, **more)

        fake._made = poor  # type: ignore[method-assign]
        with pytest.raises(
            RunError,
            match="no batch was made: HTTP 402: no credit; continue with `resume`",
        ):
            judged(fake, dataset, tmp_path, size=1)
        assert causes(tmp_path) == {"ok": 1}
        fake._made = made  # type: ignore[method-assign]
        judged(fake, dataset, tmp_path, size=1)
        assert causes(tmp_path) == {"ok": 6}
        assert set(fake.paid.values()) == {1}
