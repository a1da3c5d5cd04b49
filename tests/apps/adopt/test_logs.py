"""Logs of other tools: as many verdicts as they hold, with their truth, in their
order."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import visualjudge as vj
from apps.adopt import logs_of_tools as tools
from visualjudge.apps.adopt import files
from visualjudge.apps.adopt.adopt import Adopted
from visualjudge.apps.adopt.logs import LOGS
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError

Write = Callable[[Path], Path]


def verdicts(done: Adopted, run: int = 0) -> list[dict[str, Any]]:
    lines = (done.runs[run] / "verdicts.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def answers(done: Adopted) -> list[Any]:
    return [
        question.answer for question in vj.load_dataset(done.dataset).questions
    ]


@pytest.mark.parametrize(
    ("write", "judge"),
    [
        (tools.inspect, "mockllm_model"),
        (tools.lmms_eval, "judge-7b"),
        (tools.vlmevalkit, "Judge-7B"),
        (lambda path: tools.vlmevalkit(path, "tsv"), "Judge-7B"),
    ],
    ids=["inspect", "lmms-eval", "vlmevalkit-xlsx", "vlmevalkit-tsv"],
)
def test_pairs_that_the_evaluated_model_judged(
    write: Write, judge: str, tmp_path: Path
) -> None:
    done = vj.adopt(write(tmp_path), tmp_path / "out")
    assert [run.name for run in done.runs] == [judge]
    assert answers(done) == list(tools.TRUTH)
    first = [one for one in verdicts(done) if one.get("repeat", 0) == 0]
    assert [one["value"] for one in first] == ["A", "B", "Failed"]
    assert [one["raw_response"] for one in first] == list(tools.REPLIES)
    assert {one["order"] for one in first} == {"AB"}


def test_providers_of_promptfoo_without_a_label_are_judges_of_their_own(
    tmp_path: Path,
) -> None:
    same = [{"type": "equals", "value": "A"}]
    results = [
        {
            "provider": {"id": judge, "label": ""},
            "response": {"output": reply},
            "testCase": {"assert": same},
            "gradingResult": {"componentResults": [{"assertion": same[0]}]},
        }
        for judge, reply in (("gpt", "A"), ("claude", "B"))
    ]
    file = tmp_path / "results.json"
    file.write_text(
        json.dumps({"evalId": "e", "results": {"results": results}}), "utf-8"
    )
    done = vj.adopt(file, tmp_path / "out")
    assert {
        run.name: verdicts(done, k)[0]["value"]
        for k, run in enumerate(done.runs)
    } == {
        "gpt": "A",
        "claude": "B",
    }


def test_a_grade_that_promptfoo_could_not_read_is_no_zero(
    tmp_path: Path,
) -> None:
    """Versions without metadata.graderError say it in the reason alone."""
    log = json.loads(tools.promptfoo(tmp_path).read_text("utf-8"))
    results = log["results"]["results"]
    for number, result in enumerate(results):
        result |= {"vars": {"topic": str(number)}}
    results[0]["gradingResult"]["componentResults"][0] |= {
        "score": 0,
        "reason": "Could not extract JSON from llm-rubric response: Sure!",
    }
    file = tmp_path / "old.json"
    file.write_text(json.dumps(log), "utf-8")
    done = vj.adopt(file, tmp_path / "out")
    assert [v["value"] for v in verdicts(done)] == ["Failed", 3.0, "Failed"]


def test_a_target_of_lmms_eval_may_be_a_list(tmp_path: Path) -> None:
    file = tmp_path / "samples_pairs.jsonl"
    file.write_text(
        json.dumps({"doc_id": 0, "target": ["B"], "filtered_resps": ["A"]}),
        "utf-8",
    )
    assert answers(vj.adopt(file, tmp_path / "out")) == ["B"]


def test_epochs_of_inspect_are_repeats_and_metadata_names_sources(
    tmp_path: Path,
) -> None:
    done = vj.adopt(tools.inspect(tmp_path), tmp_path / "out")
    assert (done.questions, done.verdicts, done.invented) == (3, 6, 0)
    assert [one.get("repeat", 0) for one in verdicts(done)] == [
        0,
        0,
        0,
        1,
        1,
        1,
    ]
    question = vj.load_dataset(done.dataset).questions[0]
    assert (question.sources, question.image_id) == (("x", "y"), "i0")
    assert verdicts(done)[0]["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
    }


def test_letters_of_inspect_s_grader_are_grades(tmp_path: Path) -> None:
    done = vj.adopt(tools.inspect_grades(tmp_path), tmp_path / "out")
    assert [one["value"] for one in verdicts(done)] == [10.0, 0.0, 0.0]
    assert answers(done) == [10.0, 0.0, 10.0]


def test_several_logs_are_several_judges_of_the_same_questions(
    tmp_path: Path,
) -> None:
    first = tools.vlmevalkit(tmp_path, "tsv")
    second = first.with_name("Other_Pairs.tsv")
    second.write_bytes(first.read_bytes())
    run = CliRunner().invoke(
        app, ["adopt", str(first), str(second), "--out", str(tmp_path / "o")]
    )
    assert run.exit_code == 0, run.output
    assert "3 questions" in run.output and "6 verdicts" in run.output
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == [
        "Judge-7B",
        "Other",
        "dataset",
    ]


def test_failed_among_scores_is_no_score_of_zero(tmp_path: Path) -> None:
    rows = [
        {"item": f"{k}", "verdict": value, "truth": 6}
        for k, value in enumerate((7, 8, "failed"))
    ]
    done = vj.adopt(rows, tmp_path / "study")
    values = [one["value"] for one in verdicts(done)]
    assert values == [7, 8, "Failed"]


def test_pass_and_fail_are_grades_and_other_words_can_be(
    tmp_path: Path,
) -> None:
    rows = [
        {"item": "1", "verdict": "passed", "truth": "failed"},
        {"item": "2", "verdict": "failed", "truth": "passed"},
        {"item": "3", "verdict": "error", "truth": "passed"},
    ]
    done = vj.adopt(rows, tmp_path / "out")
    assert [one["value"] for one in verdicts(done)] == [10.0, 0.0, "Failed"]
    assert answers(done) == [0.0, 10.0, 10.0]
    rows = [{"item": "1", "verdict": "safe", "truth": "harmful"}]
    meant = {"safe": "1", "harmful": "0"}
    done = vj.adopt(rows, tmp_path / "words", answers=meant, score_range=(0, 1))
    assert [one["value"] for one in verdicts(done)] == [10.0]


def test_a_reply_s_score_is_one_of_the_table_s_scale(tmp_path: Path) -> None:
    rows = [
        {"item": "1", "verdict": 5, "truth": 1, "reply": "Score: 5"},
        {"item": "2", "verdict": 3, "truth": 3, "reply": "Score: 9"},
    ]
    done = vj.adopt(rows, tmp_path / "out", score_range=(1, 5))
    assert [one["value"] for one in verdicts(done)] == [10.0, "Failed"]


@pytest.mark.parametrize("name", list(LOGS))
def test_a_file_of_another_kind_is_one_clear_line(
    name: str, tmp_path: Path
) -> None:
    for file, content in {
        "a.json": '{"a": 1}',
        "b.eval": "x",
        "c.jsonl": "{}\n[]\n",
    }.items():
        (tmp_path / file).write_text(content, "utf-8")
        with pytest.raises((DataError, UsageError)) as caught:
            vj.adopt(tmp_path / file, tmp_path / "out", format=name)
        assert str(caught.value) and "\n" not in str(caught.value)


def test_a_zip_file_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    file = tools.inspect(tmp_path)
    content = bytearray(file.read_bytes())
    at = content.index(b"PK\1\2") + 24
    content[at : at + 4] = (3).to_bytes(4, "little")
    file.write_bytes(content)
    with pytest.raises(DataError, match="cannot be unpacked: Bad CRC"):
        vj.adopt(file, tmp_path / "out")


def test_without_zstandard_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setattr(
        files, "apart", lambda function, path, kind: function(path)
    )
    with pytest.raises(
        DataError, match=r"run: pip install 'visualjudge\[logs\]'"
    ):
        vj.adopt(tools.inspect(tmp_path), tmp_path / "out")


def failed_sample(target: str | list[str], **more: Any) -> dict[str, Any]:
    sample = tools.inspect_sample(0, 1, {}, "A")
    return (
        sample
        | {"id": "failed", "target": target, "output": {"choices": []}}
        | more
    )


def inspect_json(path: Path, samples: list[dict[str, Any]]) -> Path:
    log = {
        "version": 2,
        "eval": {"task": "t", "model": "m"},
        "samples": samples,
    }
    path.write_text(json.dumps(log), "utf-8")
    return path


def test_a_sample_of_inspect_that_failed_is_a_failed_verdict(
    tmp_path: Path,
) -> None:
    graded = [
        tools.inspect_sample(
            k, 1, {"qa": {"value": {"style": k / 2, "facts": 1.0}}}, "Paris"
        )
        | {"metadata": {"human": 1}}
        for k in range(2)
    ]
    failed = failed_sample(
        "Paris", error={"message": "timeout"}, metadata={"human": 1}
    )
    path = inspect_json(tmp_path / "graded.json", [*graded, failed])
    done = vj.adopt(path, tmp_path / "graded", truth="human")
    values = [one["value"] for one in verdicts(done)]
    assert values == [0.0, 10.0, 5.0, 10.0, "Failed", "Failed"]
    assert {question.task for question in vj.load_dataset(done.dataset)} == {
        "style",
        "facts",
    }
    pairs = [tools.inspect_sample(k, 1, {}, "AB"[k]) for k in range(2)]
    failed = failed_sample(["A"], error={"message": "timeout"})
    done = vj.adopt(
        inspect_json(tmp_path / "pairs.json", [*pairs, failed]),
        tmp_path / "pairs",
    )
    assert [one["value"] for one in verdicts(done)] == ["A", "B", "Failed"]
    assert answers(done) == ["A", "B", "A"]
    for targets, kind in (
        (["A", "Z"], "pairwise"),  # an answer and a letter
        (["Z", "Y"], "scoring"),
        (["A", "7"], "scoring"),
        (["A", "ZY"], "scoring"),
        (["tie", "A"], "pairwise"),
    ):
        path = tmp_path / f"{'-'.join(targets)}.json"
        graded = [
            tools.inspect_sample(k, 1, {"match": {"value": k}}, target)
            | {"metadata": {}}
            for k, target in enumerate(targets)
        ]
        done = vj.adopt(
            inspect_json(path, graded),
            path.with_suffix(""),
            answers={"Z": "B"} if targets == ["A", "Z"] else None,
        )
        read = vj.load_dataset(done.dataset)
        assert {q.question_type for q in read} == {kind}, targets


def test_letters_of_the_user_s_own_count_in_replies_as_in_verdicts(
    tmp_path: Path,
) -> None:
    texts = {"A": "ANSWER: A", "C": "Reasoning first.\nAnswer: C"}
    samples = [
        tools.inspect_sample(0, 1, {}, target)
        | {"id": target, "output": {"completion": text, "choices": []}}
        for target, text in texts.items()
    ]
    path = inspect_json(tmp_path / "abc.json", samples)
    with pytest.raises(DataError, match="`answers` C=MEANING"):
        vj.adopt(path, tmp_path / "out")
    done = vj.adopt(path, tmp_path / "out", answers={"C": "tie"})
    assert (
        [one["value"] for one in verdicts(done)]
        == ["A", "tie"]
        == answers(done)
    )


def test_repeats_of_lmms_eval_and_promptfoo_are_repeats(tmp_path: Path) -> None:
    file = tools.lmms_eval(tmp_path)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    repeated = [
        line | {"resps": [["[[A]]", "[[B]]"]], "filtered_resps": ["[[A]]"]}
        for line in lines
    ]
    file.write_text(
        "".join(json.dumps(line) + "\n" for line in repeated), "utf-8"
    )
    done = vj.adopt(file, tmp_path / "out")
    assert [(v.get("repeat", 0), v["value"]) for v in verdicts(done)][:2] == [
        (0, "A"),
        (1, "B"),
    ]
    log = json.loads(tools.promptfoo(tmp_path).read_text("utf-8"))
    results = log["results"]["results"]
    for number, result in enumerate(results):
        result |= {"vars": {"topic": str(number)}}
    log["results"]["results"] = [
        *results,
        *(r | {"testIdx": r["testIdx"] + 3} for r in results),
    ]
    (tmp_path / "twice.json").write_text(json.dumps(log), "utf-8")
    done = vj.adopt(tmp_path / "twice.json", tmp_path / "twice")
    assert (done.questions, done.verdicts) == (3, 6)


def test_vlmevalkit_s_file_names_are_split_at_the_data_set(
    tmp_path: Path,
) -> None:
    first = tools.vlmevalkit(tmp_path, "tsv")
    names = (
        "GPT4o_20240806_MyPairs",
        "GPT4o_20241120_MyPairs",
        "Claude3-5V_Sonnet_MMBench_V11",
    )
    paths = [first.with_name(f"{name}.tsv") for name in names]
    for path in paths:
        path.write_bytes(first.read_bytes())
    done = vj.adopt(paths, tmp_path / "out")
    judges = ["GPT4o_20240806", "GPT4o_20241120", "Claude3-5V_Sonnet"]
    assert [run.name for run in done.runs] == judges
