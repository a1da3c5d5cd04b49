"""A run that no server answers leaves nothing, waits for nothing, and stores no key."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest

import visualjudge as vj
from runs.made_dataset import make_dataset
from scripted_client import ScriptedClient
from visualjudge.clients.base import Request, TextPart
from visualjudge.clients.concurrency import Limited
from visualjudge.clients.retry import Retrying, RetryPolicy
from visualjudge.core.errors import (
    ApiError,
    RunError,
    TransportError,
    UsageError,
)
from visualjudge.dataset.folder import Dataset

KEY = "sk-proj-abcdefghijkl1234567890"
HELLO = Request((TextPart("hello"),))


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    (tmp_path / "ds").mkdir()
    return make_dataset(tmp_path / "ds")


def test_a_closed_port_leaves_no_run(dataset: Dataset, tmp_path: Path) -> None:
    client = vj.client(
        "api", model="m", base_url="http://127.0.0.1:9/v1", cache=False
    )
    with pytest.raises(RunError, match="refused"):
        vj.judge(dataset, client, tmp_path / "run", progress=False)
    assert not [*tmp_path.glob("run/[!.]*")]


def test_a_backend_without_its_extra_leaves_no_run(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    client = vj.client("transformers", model="some/model", cache=False)
    with pytest.raises(UsageError, match="needs: pip install"):
        vj.judge(dataset, client, tmp_path / "run", progress=False)
    assert not [*tmp_path.glob("run/[!.]*")]


def test_no_key_is_stored_as_a_name_or_in_a_path(
    dataset: Dataset, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:9/{KEY}/v1"
    client = vj.client("api", model=KEY, base_url=url, cache=False)
    assert KEY not in repr(client.identity)
    baseline = vj.client("baseline", model="oracle:1.0")
    vj.judge(dataset, baseline, tmp_path / "run", progress=False, name=KEY)
    assert KEY.encode() not in (tmp_path / "run" / "run.json").read_bytes()


def test_names_of_models_are_no_keys() -> None:
    for name in ("skywork-vl-reward-7b", "Keye-VL-8B-Preview"):
        client = vj.client("vllm", model=name, cache=False)
        assert client.identity.model == name


@pytest.mark.parametrize("wait_s", [86_400.0, 2.5e11])
def test_a_wait_of_a_day_fails_its_call_and_delays_no_other(
    wait_s: float,
) -> None:
    refusal = ApiError(429, "quota of today is used up", retry_after=wait_s)
    inner = ScriptedClient([refusal, "A"])
    client = Retrying(Limited(inner, 4, 60.0), RetryPolicy(patience_s=60.0))

    async def both() -> str:
        with pytest.raises(
            TransportError, match="quota of today is used up; it asks"
        ):
            await client.ask(HELLO)
        return (await client.ask(HELLO)).text

    began = time.monotonic()
    assert asyncio.run(both()) == "A"
    assert time.monotonic() - began < 5


def test_a_run_ends_when_the_first_call_would_wait_for_a_day(
    dataset: Dataset, tmp_path: Path
) -> None:
    refusal = ApiError(429, "quota of today is used up", retry_after=86_400.0)
    client = Retrying(ScriptedClient([refusal]))
    with pytest.raises(
        RunError, match=r"quota of today.*longest_wait=300.*`resume`"
    ):
        vj.judge(dataset, client, tmp_path / "run", progress=False)
