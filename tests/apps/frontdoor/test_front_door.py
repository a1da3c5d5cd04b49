"""The functions of ``import visualjudge as vj``, as a script and as a notebook call
them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import visualjudge as vj
from frontdoor_example import Example, make_example, write_data
from scripted_client import ScriptedClient
from visualjudge.clients.cache import Cached
from visualjudge.core.errors import DataError, UsageError
from visualjudge.options import Choice
from visualjudge.runs.budget import Limits, Prices
from visualjudge.runs.job_runner import Stop, run_until_stopped


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return make_example(tmp_path_factory.mktemp("example"))


def test_the_way_from_data_to_report(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    data = vj.open_data(tmp_path / "data")
    dataset = vj.build(data, tmp_path / "dataset", seed=42)
    run = vj.judge(
        dataset,
        vj.client("baseline", model="oracle:1.0"),
        tmp_path / "run",
        swap=True,
        progress=False,
    )
    study = vj.analyse([run])
    assert study.metrics["judges"][0]["pairwise"]["accuracy"] == 1.0
    assert "<html" in study.report(tmp_path / "report.html").read_text()
    assert json.loads(study.report(tmp_path / "metrics.json").read_text())[
        "judges"
    ]
    assert len(run) == run.to_polars().height == run.manifest["asked"]


@pytest.mark.parametrize("asked", [None, "gpt-4o-mini"])
def test_judge_without_a_client_says_how_to_make_one(
    asked: Any, example: Example
) -> None:
    with pytest.raises(
        UsageError, match=r"asked must be a client, such as vj\.client\('api'"
    ):
        vj.judge(example.dataset, asked, example.out / "none", progress=False)


def test_plain_and_awaited_calls_give_the_same_verdicts_inside_a_running_loop(
    example: Example, tmp_path: Path
) -> None:
    """A notebook's loop is running already; a client serves several runs, each in the
    loop that asks.
    """
    dataset = vj.load_dataset(example.dataset)[:4]
    client = ScriptedClient(["A"])

    async def cell() -> tuple[vj.Run, vj.Run]:
        plain = vj.judge(dataset, client, tmp_path / "plain", progress=False)
        return plain, await vj.judge_async(
            dataset, client, tmp_path / "awaited"
        )

    plain, awaited = asyncio.run(cell())
    values = [
        [(v.id, v.value) for v in run.verdicts.values()]
        for run in (plain, awaited)
    ]
    assert values[0] == values[1]
    assert len(values[0]) == 4


def test_a_judge_that_lacks_a_method_is_a_wrong_call(
    example: Example, tmp_path: Path
) -> None:
    with pytest.raises(
        UsageError,
        match="asked: a judge must have describe, aclose, simulated, got <",
    ):
        vj.judge(
            vj.load_dataset(example.dataset), lambda ask: None, tmp_path / "run"
        )  # type: ignore[arg-type, return-value]
    assert not (tmp_path / "run").exists()


def test_an_interrupt_lets_calls_in_flight_finish(
    request: pytest.FixtureRequest,
) -> None:
    """The interrupt comes while the plain call waits, as Jupyter's stop button sends
    it."""
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background jobs ignore it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    seen: list[str | None] = []

    async def work(stop: Stop) -> str:
        threading.Timer(
            0.2, lambda: os.kill(os.getpid(), signal.SIGINT)
        ).start()
        while stop.reason is None:
            await asyncio.sleep(0.01)
        seen.append(stop.reason)
        return "what there is"

    assert run_until_stopped(work) == "what there is"
    assert seen == ["stopped by Ctrl-C"]


def test_a_run_goes_on_where_it_stopped(
    example: Example, tmp_path: Path
) -> None:
    client = ScriptedClient(["A"])
    first = vj.judge(
        example.dataset,
        client,
        tmp_path / "run",
        limits=Limits(max_calls=3),
        progress=False,
    )
    assert len(first) == 3
    assert first.missing == first.manifest["asked"] - 3
    assert "missing" in repr(first)
    with pytest.raises(UsageError, match="`resume`"):
        vj.judge(example.dataset, client, tmp_path / "run", progress=False)
    whole = vj.judge(
        example.dataset, client, tmp_path / "run", resume=True, progress=False
    )
    assert whole.missing == 0


def test_a_dataset_is_indexed_sliced_and_filtered(example: Example) -> None:
    dataset = vj.load_dataset(example.dataset)
    pairs = dataset.filter(question_type="pairwise")
    assert {question.question_type for question in pairs} == {"pairwise"}
    assert len(dataset.filter(question_type=["pairwise", "scoring"])) > len(
        pairs
    )
    near = pairs.filter("margin<3")
    assert 0 < len(near) < len(pairs)
    assert all(abs(q.final_scores[0] - q.final_scores[1]) < 3 for q in near)
    assert [q.id for q in dataset[2:5]] == [
        q.id for q in dataset.questions[2:5]
    ]
    assert dataset[-1] == dataset.questions[-1]
    assert [q.id for q in pairs.filter(lambda q: q.answer == "A")] == [
        q.id for q in pairs if q.answer == "A"
    ]
    assert len(dataset.filter(attrgetter("prompt"))) == len(dataset)
    with pytest.raises(UsageError, match="filter must name one of id, task"):
        dataset.filter(nonsense=1)
    with pytest.raises(UsageError, match="number must be at least 0, got -1"):
        dataset.sample(-1)
    with pytest.raises(UsageError, match="table must be one of headline"):
        vj.analyse([example.run]).to_polars("headlines")


def test_filters_look_at_nothing_before_they_are_asked(
    example: Example,
) -> None:
    seen: list[str] = []

    def look(question: object) -> bool:
        seen.append("one")
        return True

    chosen = vj.load_dataset(example.dataset).filter(look)[:2]
    assert seen == []
    assert len(chosen) == 2
    assert seen


def test_tables_of_a_dataset_have_a_row_a_question(example: Example) -> None:
    dataset = vj.load_dataset(example.dataset)
    table = dataset.to_polars()
    assert table["id"].to_list() == [question.id for question in dataset]


def test_invalid_records_are_warned_of_and_left_out(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    path = (
        tmp_path / "data" / "annotations" / "object_detection_annotations.json"
    )
    notes = json.loads(path.read_text())
    notes[0]["final_score"] = 11
    path.write_text(json.dumps(notes))
    with pytest.warns(
        UserWarning,
        match="1 invalid records were left out: .*photo0-0: final_score",
    ):
        vj.build(tmp_path / "data", tmp_path / "one")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vj.build(tmp_path / "data", tmp_path / "two", skip_invalid=True)


def test_mistakes_are_one_line(example: Example, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a dataset"):
        vj.judge(
            tmp_path, vj.client("baseline", model="first"), tmp_path / "run"
        )
    with pytest.raises(UsageError, match="`model` is missing"):
        vj.client("api")
    with pytest.raises(DataError, match="no such file"):
        vj.open_run(tmp_path)


@pytest.mark.parametrize("make", [vj.analyse, vj.card])
def test_no_runs_are_a_wrong_call(make: Any) -> None:
    with pytest.raises(UsageError, match="at least one run"):
        make([])


def test_a_report_with_another_suffix_is_a_wrong_call(
    example: Example, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="path must end in"):
        vj.analyse(example.run).report(tmp_path / "x.pdf")


def test_an_exception_of_a_judge_names_its_question(
    example: Example, tmp_path: Path
) -> None:
    class Broken:
        simulated = False

        async def __call__(self, ask: Any) -> Any:
            raise KeyError("oops")

        def describe(self) -> dict[str, object]:
            return {
                "backend": "mine",
                "base_url": None,
                "model": "broken",
                "parameters": {},
            }

        async def aclose(self) -> None:
            pass

    dataset = vj.load_dataset(example.dataset)
    with pytest.raises(KeyError) as caught:
        vj.judge(
            dataset, Broken(), tmp_path / "run", progress=False, concurrency=1
        )
    assert caught.value.__notes__ == [
        f"while it was asked question {dataset.questions[0].id}, order AB"
    ]


def test_a_judge_without_questions_is_a_wrong_call(
    example: Example, tmp_path: Path
) -> None:
    none = vj.load_dataset(example.dataset).filter(task="keypont")
    with pytest.raises(UsageError, match="no question is chosen"):
        vj.judge(
            none,
            vj.client("baseline", model="random"),
            tmp_path / "run",
            progress=False,
        )
    assert not (tmp_path / "run").exists()


def test_an_unknown_backend_lists_judges_without_a_server_too() -> None:
    with pytest.raises(
        UsageError,
        match=r"unknown backend 'con'; must be one of api, .*transformers.*baseline, local",
    ):
        vj.client("con", model="m")


def test_replies_are_cached_where_cache_dir_says(tmp_path: Path) -> None:
    client = vj.client(
        "api",
        model="m",
        base_url="http://127.0.0.1:9/v1",
        cache_dir=tmp_path / "replies",
    )
    assert isinstance(client, Cached)
    assert client.path.parent == tmp_path / "replies"


def test_choice_of_questions(example: Example, tmp_path: Path) -> None:
    choice = Choice(types=("pairwise",), sample=5)
    client = vj.client("baseline", model="first")
    run = vj.judge(
        example.dataset, client, tmp_path / "run", choice=choice, progress=False
    )
    assert len(run) == 5


def test_types_of_the_package_are_for_its_users() -> None:
    assert (Path(vj.__file__).parent / "py.typed").is_file()


def test_import_loads_no_other_package() -> None:
    code = (
        "import sys; before = set(sys.modules); import visualjudge; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    loaded = set(
        subprocess.check_output([sys.executable, "-c", code], text=True).split()
    )
    assert loaded - set(sys.stdlib_module_names) == {"visualjudge"}
    slow = {
        "asyncio",
        "concurrent",
        "dataclasses",
        "http",
        "inspect",
        "json",
        "logging",
        "ssl",
    }
    assert not loaded & slow


def test_prices_are_of_one_model(example: Example, tmp_path: Path) -> None:
    def asked(model: str) -> ScriptedClient:
        return ScriptedClient(["Answer: A"], model_name=model)

    more = {"limit": 2, "prices": Prices(1.0, 2.0), "progress": False}
    with pytest.raises(UsageError, match="is another model"):
        vj.judge(
            example.dataset,
            asked("judge"),
            tmp_path / "a",
            extractor=asked("reader"),
            **more,
        )
    run = vj.judge(
        example.dataset,
        asked("judge"),
        tmp_path / "b",
        extractor=asked("judge"),
        **more,
    )
    assert len(run.verdicts) == 2


def test_an_option_that_judge_does_not_have_is_refused_by_its_name(
    tmp_path: Path, example: Example
) -> None:
    with pytest.raises(TypeError, match="'swpa'"):
        vj.judge(
            example.dataset,
            vj.client("baseline", model="first"),
            tmp_path / "run",
            swpa=True,
        )  # type: ignore[call-arg]
    assert not (tmp_path / "run").exists()
