"""A run's verdicts as one Parquet file: the same to every reader, and back byte for byte."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner
from visualjudge.cli.convert import app

from runs.made_dataset import make_dataset
from visualjudge.analysis.analysing import analyse
from visualjudge.analysis.study_table import VERDICT_SCHEMA
from visualjudge.analysis.verdict_table import read_verdicts
from visualjudge.clients import ScriptedClient
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.judges.baseline import baseline_judge
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.runs import compacting, judge_dataset
from visualjudge.runs.budget import Budget, Limits
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.judge_dataset import RunSettings, run_judge
from visualjudge.runs.questions_left import Answered, answered

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.one_of(st.integers(0, 10), st.floats(0, 10), st.just(-0.0))
LINES = st.fixed_dictionaries(
    {
        "id": TEXTS,
        "order": st.sampled_from(["AB", "BA"]),
        "value": st.one_of(st.sampled_from(["A", "BCA", "Failed", "7"]), NUMBERS),
        "status": st.sampled_from(["ok", "unparseable", "api_error"]),
        "raw_response": st.one_of(st.none(), TEXTS),
        "usage": st.one_of(
            st.none(),
            st.dictionaries(TEXTS, st.one_of(st.integers(0, 2**64 - 1), TEXTS), max_size=3),
        ),
        "latency_s": st.one_of(st.none(), NUMBERS),
    },
    optional={
        "repeat": st.integers(0, 3),
        "probability_a": NUMBERS,
        "cause": TEXTS,
        "error": TEXTS,
        "notes": st.just(["a", {"b": None}]),
        "published_value": st.sampled_from(["A", "tie"]),
        "published_right": st.booleans(),
    },
)


def told(known: Answered) -> tuple[Any, ...]:
    return known.hashes.tolist(), known.statuses, known.causes, known.error


def shown(folder: RunFolder) -> pl.DataFrame:
    return read_verdicts(folder.path)[0].drop("offset")


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, max_size=9), st.booleans(), st.integers(1, 4))
def test_every_journal_comes_back_and_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[dict[str, Any]],
    spaced: bool,
    group: int,
) -> None:
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    lines = [orjson.dumps(record) for record in records]
    content = b"".join((line.replace(b":", b": ", 1) if spaced else line) + b"\n" for line in lines)
    folder.journal_path.write_bytes(content)
    verdicts, known, table = folder.verdicts(), told(answered(folder.verdicts_path)), shown(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compacting, "GROUP", group)
        folder.compact()
        assert sorted(path.suffix for path in folder.path.glob("verdicts*")) == [".parquet"]
        assert folder.verdicts() == verdicts
        assert told(answered(folder.verdicts_path)) == known
        found = read_verdicts(folder.path)[0]
        assert found.drop("offset").equals(table, null_equal=True)
        assert found.schema == VERDICT_SCHEMA
        for id_, offset in found.select("id", "offset").iter_rows():
            assert folder.record_at(offset)["id"] == id_
    folder.expand()
    assert folder.journal_path.read_bytes() == content
    assert not folder.compacted_path.exists()


def test_a_line_as_the_tool_writes_it_needs_no_copy_of_itself(tmp_path: Path) -> None:
    folder = judged_folder(tmp_path)
    folder.compact()
    stored = pl.read_parquet(
        folder.compacted_path, columns=["json", "more", "number", "value", "id"]
    )
    assert stored["json"].null_count() == stored["more"].null_count() == stored.height == 13
    scores = stored.filter(pl.col("id").str.starts_with("scoring"))
    assert scores["number"].to_list() == [float(value) for value in scores["value"]]


@pytest.mark.parametrize("line", [b'{"id":"a"', b"\n", b'{"id":"a"}\n', b"[1]\n"])
def test_what_is_no_verdict_stays_in_the_journal(tmp_path: Path, line: bytes) -> None:
    folder = judged_folder(tmp_path)
    content = folder.journal_path.read_bytes() + line
    folder.journal_path.write_bytes(content)
    with pytest.raises(DataError, match=r"verdicts\.jsonl"):
        folder.compact()
    assert folder.journal_path.read_bytes() == content
    assert not folder.compacted_path.exists()


def test_a_file_that_was_edited_is_not_written_back(tmp_path: Path) -> None:
    folder = judged_folder(tmp_path)
    folder.compact()
    table = pl.read_parquet(folder.compacted_path)
    table.slice(1).write_parquet(folder.compacted_path)
    with pytest.raises(DataError, match="differ from the journal"):
        folder.expand()
    assert folder.compacted_path.exists()
    folder.compacted_path.write_bytes(b"PAR1")
    with pytest.raises(DataError, match="must be a Parquet file"):
        folder.verdicts()
    table.select("id").write_parquet(folder.compacted_path)
    with pytest.raises(DataError, match="columns of a run's verdicts"):
        folder.verdicts()


# ---------------------------------------------------------------- runs


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(make_dataset(tmp_path / "ds"))


def judged(dataset: Dataset, judge: Any, out: Path, **options: Any) -> judge_dataset.RunReport:
    return asyncio.run(run_judge(dataset, judge, out, RunSettings(**options)))


def judged_folder(tmp_path: Path) -> RunFolder:
    dataset = load_dataset(make_dataset(tmp_path / "made"))
    judged(dataset, baseline_judge("oracle:0.8", dataset.root), tmp_path / "judged")
    return RunFolder(tmp_path / "judged")


def test_a_finished_run_of_many_verdicts_is_compacted(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_dataset, "COMPACTED_ABOVE", 12)
    judge, folder = baseline_judge("oracle:0.8", dataset.root), RunFolder(tmp_path / "run")
    judged(dataset, judge, folder.path, limit=12)
    assert not folder.is_compacted
    judged(dataset, judge, folder.path, resume=True)
    assert folder.is_compacted
    assert len(folder.verdicts()) == 13
    with pytest.raises(UsageError, match="already contains a run"):
        judged(dataset, judge, folder.path)


def test_a_stopped_run_keeps_its_journal(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_dataset, "COMPACTED_ABOVE", 0)
    judge, budget = QuestionJudge(ScriptedClient(["A"]), dataset.root), Budget(Limits(max_calls=3))
    report = asyncio.run(run_judge(dataset, judge, tmp_path / "run", RunSettings(), budget=budget))
    assert report.missing
    assert not RunFolder(tmp_path / "run").is_compacted


def test_a_compacted_run_is_resumed(dataset: Dataset, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    judged(dataset, QuestionJudge(ScriptedClient(["A"]), dataset.root), folder.path, limit=5)
    before = folder.journal_path.read_bytes()
    folder.compact()
    stamp = folder.compacted_path.stat().st_mtime_ns
    report = judged(
        dataset,
        QuestionJudge(ScriptedClient(["A"]), dataset.root),
        folder.path,
        limit=5,
        resume=True,
    )
    assert (report.progress.done, report.statuses.total()) == (0, 5)
    assert folder.is_compacted
    assert folder.compacted_path.stat().st_mtime_ns == stamp
    client = ScriptedClient(["B"])
    judged(dataset, QuestionJudge(client, dataset.root), folder.path, resume=True)
    assert len(client.requests) == len(dataset.questions) - 5
    assert folder.journal_path.read_bytes().startswith(before)
    assert not folder.compacted_path.exists()


def test_errors_of_a_compacted_run_are_asked_again(dataset: Dataset, tmp_path: Path) -> None:
    folder = judged_folder(tmp_path)
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    failed = {
        **orjson.loads(lines[0]),
        "value": "Failed",
        "status": "api_error",
        "cause": "timeout",
    }
    folder.journal_path.write_bytes(b"".join([orjson.dumps(failed) + b"\n", *lines[1:]]))
    folder.compact()
    made = load_dataset(tmp_path / "made")
    judge = baseline_judge("oracle:0.8", made.root)
    report = judged(made, judge, folder.path, resume=True, retry_errors=True)
    assert report.progress.done == 1
    assert sorted(folder.journal_path.read_bytes().splitlines(keepends=True)) == sorted(lines)


def test_a_kill_before_the_journal_is_removed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    folder = judged_folder(tmp_path)
    content = folder.journal_path.read_bytes()
    folder.compact()
    folder.journal_path.write_bytes(content)
    assert len(list(folder.lines())) == 13
    with folder.open_journal(resume=True) as journal:
        assert len(list(journal.records())) == 13
    assert not folder.compacted_path.exists()


def test_a_run_that_is_being_written_is_not_compacted(tmp_path: Path) -> None:
    folder = judged_folder(tmp_path)
    with folder.open_journal(resume=True), pytest.raises(RunError, match="another process"):
        folder.compact()


def test_a_report_is_the_same(tmp_path: Path) -> None:
    folder = judged_folder(tmp_path)
    before = analyse([folder.path]).metrics
    folder.compact()
    assert orjson.dumps(analyse([folder.path]).metrics) == orjson.dumps(before)


def test_convert_goes_both_ways(tmp_path: Path) -> None:
    folder, runner = judged_folder(tmp_path), CliRunner()
    content = folder.journal_path.read_bytes()
    done = runner.invoke(app, [str(folder.path), "--to", "parquet"], catch_exceptions=False)
    assert done.stdout.splitlines()[0] == str(folder.compacted_path)
    assert not folder.journal_path.exists()
    done = runner.invoke(app, [str(folder.path), "--to", "json"], catch_exceptions=False)
    assert done.stdout.splitlines()[0] == str(folder.journal_path)
    assert folder.journal_path.read_bytes() == content
    with pytest.raises(UsageError, match="--out must not be given to convert a run"):
        runner.invoke(
            app,
            [str(folder.path), "--to", "json", "--out", str(tmp_path / "x")],
            catch_exceptions=False,
        )
    with pytest.raises(UsageError, match="--out must be given to convert a dataset"):
        runner.invoke(app, [str(tmp_path / "made"), "--to", "json"], catch_exceptions=False)
