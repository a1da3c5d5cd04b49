"""One bad batch costs one batch: lies of a batch server, by name, at each provider."""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest

import visualjudge as vj
from batch.fake_batches import digest_of
from faults.lying_batches import KEY, MARKS, Lie, LyingBatches, lies
from runs.made_dataset import make_dataset
from visualjudge.clients.batch.batched_client import Settings
from visualjudge.clients.retry import RetryPolicy

pytestmark = pytest.mark.filterwarnings("ignore:(?s)Pydantic serializer warnings")
BACKENDS = ("api", "anthropic", "google")
WHOLE = bool(os.environ.get("VISUALJUDGE_SOAK"))
UNREADABLE = ("a number", "a list", "null")
"""Texts that are none: their requests are put again, as in live calls, up to four times."""
MADE_ALL_THE_SAME = {
    "HTTP 400 with text",
    "HTTP 404 with HTML",
    "307 to another host",
    "the id is another batch",
}
"""Lies about a batch that was made: a server that says that it made none is believed."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    few = RetryPolicy(attempts=2, first_wait_s=0.01, longest_wait_s=0.02, patience_s=0.02)
    monkeypatch.setattr("visualjudge.clients.batch.provider.PATIENCE", few)
    monkeypatch.setattr("visualjudge.runs.batch.submitting._BUSY", few)
    monkeypatch.setattr("visualjudge.runs.batch.submitting._LOOKS", 3)
    monkeypatch.setattr("visualjudge.runs.batch.submitting._DOWNLOADS", 2)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def judged(
    fake: LyingBatches, dataset: Path, out: Path, backend: str, **options: Any
) -> str | None:
    """The error that the run ended with."""
    url = f"{fake.url}/v1" if backend == "api" else fake.url
    batch = Settings(size=1, poll_s=0.02)
    asked = vj.client(
        backend, model="m", base_url=url, api_key=KEY, cache=False, batch=batch, timeout=0.5
    )
    try:
        vj.judge(dataset, asked, out, mode="text", progress=False, resume=True, **options)
    except vj.RunError as error:
        return str(error)
    return None


def statuses(out: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (out / "verdicts.jsonl").read_text().splitlines():
        found.setdefault(json.loads(line)["id"], []).append(json.loads(line)["status"])
    return found


def leaks(out: Path, *said: str | None) -> list[str]:
    texts = {
        str(path): path.read_bytes().decode("utf-8", "replace")
        for path in out.rglob("*")
        if path.is_file()
    }
    texts |= {f"message {number}": text or "" for number, text in enumerate(said)}
    return [name for name, text in texts.items() if any(mark in text for mark in MARKS)]


def test_there_are_sixty_lies_or_more() -> None:
    assert len({(lie.step, lie.name) for lie in lies()}) == len(lies()) >= 60


@pytest.mark.parametrize("backend", BACKENDS)
def test_other_batches_replies_all_reach_the_run(
    backend: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="visualjudge")
    told, place = lies(), BACKENDS.index(backend)
    if not WHOLE:
        told = [lie for lie in told if "key" in lie.name][place::3] + told[place::12]
    dataset = make_dataset(tmp_path / "dataset", pairwise=2 * len(told) + 1, ranking=0, scoring=0)
    out = tmp_path / "run"
    with LyingBatches(told) as fake:
        begun = time.monotonic()
        error = judged(fake, dataset, out, backend)
        found = statuses(out)
        lied_about = {f"pairwise{2 * place + 1}" for place in range(len(told))}
        others = {f"pairwise{number}" for number in range(2 * len(told) + 1)} - lied_about
        print(
            f"{backend}: {len(told)} lies, {time.monotonic() - begun:.1f} s, {len(fake.batches)} "
            f"batches, {error}"
        )
        assert {name: found.get(name) for name in others if found.get(name) != ["ok"]} == {}
        assert leaks(tmp_path / "run", error, caplog.text) == []
        assert len(fake.batches) <= len(others) + 4 * len(told), "submitted again without end"
        fake.told = []
        error = judged(fake, dataset, out, backend, retry_errors=True)
        assert leaks(out, error, caplog.text) == []
        assert {
            name for name, all_of_it in statuses(out).items() if all_of_it == ["api_error"]
        } == set()
        again = paid_twice(fake, told)
        assert {name for step, name in again if step == "create"} <= MADE_ALL_THE_SAME
        looked = {
            name for step, name in again if step == "look"
        }  # a server that says that nothing ran is believed
        assert {name for name in looked if not name.startswith("refused")} <= {
            "cancelled in the console"
        }
        assert {name for step, name in again if step == "results"} <= {
            f"the text is {kind}" for kind in UNREADABLE
        }


def paid_twice(fake: LyingBatches, told: list[Lie]) -> set[tuple[str, str]]:
    """The lies about batches of which a request was paid for again."""
    found = set()
    for batch in fake.batches.values():
        if any(fake.paid[digest_of(body)] > 1 for _, body in batch.requests):
            place = fake.parts.index(fake.made[batch.id])
            found.add(
                (told[place // 2].step, told[place // 2].name)
                if place // 2 < len(told)
                else ("later", "")
            )
    return found - {("later", "")}
