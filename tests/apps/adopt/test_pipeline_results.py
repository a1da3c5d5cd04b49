"""Results of a pipeline of edits are verdicts on pairs in both orders, or scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import visualjudge as vj
from visualjudge.apps.pipelines.results import RowResult
from visualjudge.apps.pipelines.run import write_settings
from visualjudge.core.errors import DataError

Json = dict[str, Any]
METRIC = {"client": {"model": "gpt-4o"}}


def written(
    folder: Path, lines: Sequence[RowResult], rows: Sequence[Json] = ()
) -> Path:
    """Results in a folder beside that of their rows, as ``visualjudge pipeline`` writes
    them."""
    (folder / "out").mkdir()
    given = folder / "edits.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    out = folder / "out/results.jsonl"
    out.write_text(
        "".join(json.dumps(line.record()) + "\n" for line in lines), "utf-8"
    )
    write_settings(out, {}, {"consistency": METRIC}, given)
    return out


def compared(winner: str, reply: str | None = None) -> Json:
    said = reply or json.dumps({"reasoning": "r", "winner": winner})
    return {
        "type": "pairwise_comparison",
        "value": winner,
        "meta": {"raw_response": said},
    }


def row(key: str, *edits: str, **more: Any) -> Json:
    named = {
        "key": key,
        "instruction": "make it blue",
        "input_image": "in/cup.png",
    }
    return named | {"edited_images": list(edits)} | more


def verdicts(run: Path) -> list[Json]:
    return [
        json.loads(line)
        for line in (run / "verdicts.jsonl").read_text("utf-8").splitlines()
    ]


def test_a_pair_in_both_orders_is_one_question_of_two_named_sources(
    tmp_path: Path,
) -> None:
    flux, step = "flux/cup.png", "step1x/cup.png"
    lines = [
        RowResult(
            "cup/AB",
            {"consistency": compared("Image A")},
            usage={"prompt_tokens": 9},
        ),
        RowResult("cup/BA", {"consistency": compared("Image B")}),
    ]
    rows = [
        row("cup/AB", flux, step, winner="A"),
        row("cup/BA", step, flux, winner="A"),
    ]
    done = vj.adopt(
        written(tmp_path, lines, rows), tmp_path / "study", truth="winner"
    )
    (question,) = vj.load_dataset(done.dataset).questions
    assert (question.sources, question.image_id) == (
        ("flux", "step1x"),
        "in/cup.png",
    )
    assert (question.task, question.answer) == ("consistency", "A")
    assert "make it blue" in question.prompt
    assert [(v["order"], v["value"]) for v in verdicts(done.runs[0])] == [
        ("AB", "A"),
        ("BA", "A"),
    ]
    assert (done.runs[0].name, done.reread, done.differing) == ("gpt-4o", 2, 0)
    assert done.left_out == 0


def test_criteria_of_a_pipeline_are_those_of_its_pair(tmp_path: Path) -> None:
    said = {"faces": "A", "mood": "B"}
    reply = json.dumps(
        {"criteria": {"winner": "Image A"} | said, "winner": "Image B"}
    )
    result = compared("Image B", reply) | {"criteria": said}
    asked = [
        {"id": "faces", "ask": "x", "answer": "option"},
        {"id": "mood", "ask": "x", "answer": {"choice": ["A", "B"]}},
    ]
    lines = [RowResult(f"cup/{order}", {"m": result}) for order in ("AB", "BA")]
    out = written(
        tmp_path,
        lines,
        [row(f"cup/{order}", "a", "b") for order in ("AB", "BA")],
    )
    settings = METRIC | {"rubric": {"name": "x@v1", "criteria": asked}}
    write_settings(out, {}, {"m": settings}, tmp_path / "edits.jsonl")
    done = vj.adopt(out, tmp_path / "study")
    first, second = verdicts(done.runs[0])
    assert (first["value"], second["value"]) == ("B", "A")
    assert first["criteria"] == {"faces": "A", "mood": "B"}
    assert second["criteria"] == {"faces": "B", "mood": "B"}


@pytest.mark.parametrize(
    "words", [("Image A", "Image B"), ("image_a", "image_b")]
)
def test_words_of_a_truth_name_an_edit_of_their_own_row(
    tmp_path: Path, words: tuple[str, str]
) -> None:
    lines = [
        RowResult("cup/AB", {"consistency": compared("Image A")}),
        RowResult("cup/BA", {"consistency": compared("Image B")}),
        RowResult("dog/BA", {"consistency": compared("Image A")}),
    ]
    rows = [
        row("cup/AB", "flux/cup.png", "step/cup.png", gt_winner=words[0]),
        row("cup/BA", "step/cup.png", "flux/cup.png", gt_winner=words[1]),
        row("dog/BA", "step/dog.png", "flux/dog.png", gt_winner=words[0]),
    ]
    done = vj.adopt(written(tmp_path, lines, rows), tmp_path / "study")
    assert done.columns["truth"] == "gt_winner"
    best = [
        question.sources["AB".index(question.answer)]
        for question in vj.load_dataset(done.dataset).questions
    ]
    assert best == ["flux", "step"]
    assert [one["order"] + one["value"] for one in verdicts(done.runs[0])] == [
        "ABA",
        "BAA",
        "BAB",
    ]
    rows[1]["gt_winner"] = words[0]
    (tmp_path / "odd").mkdir()
    with pytest.raises(DataError, match="must be the same in all rows"):
        vj.adopt(written(tmp_path / "odd", lines, rows), tmp_path / "study2")


def test_what_is_no_winner_and_no_score_is_left_out(tmp_path: Path) -> None:
    list_of = {"type": "criteria", "value": [1, 2], "meta": {}}
    both = {"consistency": compared("Image A"), "own": list_of}
    lines = [
        RowResult("a", both),
        RowResult("b", {}, errors={"own": "HTTP 500"}),
    ]
    rows = [row("a", "x.png", "y.png", task="color")]
    with pytest.warns(UserWarning) as told:
        done = vj.adopt(written(tmp_path, lines, rows), tmp_path / "study")
    assert [str(one.message).partition(": ")[2] for one in told] == [
        "task: is the metric; that of the rows is in metadata.task (`columns` "
        "task=metadata.task)",
        "results: must be winners or scores, got criteria of own, left out",
    ]
    assert (done.verdicts, "metadata.task" in done.unused) == (1, True)
    (tmp_path / "own").mkdir()
    with pytest.raises(
        DataError, match="must be winners or scores, got criteria"
    ):
        vj.adopt(
            written(tmp_path / "own", [RowResult("a", {"own": list_of})]),
            tmp_path / "study2",
        )


def test_rows_without_a_key_are_adopted_by_their_number(tmp_path: Path) -> None:
    rows = [row("", "x.png", "y.png", truth="Image B") for _ in range(2)]
    for one in rows:
        del one["key"]
    lines = [RowResult(k, {"consistency": compared("Image B")}) for k in (1, 2)]
    done = vj.adopt(written(tmp_path, lines, rows), tmp_path / "study")
    answers = [
        question.answer for question in vj.load_dataset(done.dataset).questions
    ]
    assert answers == ["B", "B"]


def test_what_failed_is_a_failure_and_ties_are_ties(tmp_path: Path) -> None:
    lines = [
        RowResult("a", {"consistency": compared("Tie")}),
        RowResult("b", {"consistency": compared("Failed", "cannot say")}),
        RowResult("c", {}, errors={"consistency": "HTTP 500"}),
    ]
    done = vj.adopt(written(tmp_path, lines), tmp_path / "study")
    assert [v["value"] for v in verdicts(done.runs[0])] == [
        "tie",
        "Failed",
        "Failed",
    ]
    assert any(note.startswith("truth: no column") for note in done.notes)


def test_scores_of_single_edits_are_scores(tmp_path: Path) -> None:
    lines = [
        RowResult(
            f"{name}",
            {
                "consistency": {
                    "type": "single_score",
                    "value": value,
                    "meta": {
                        "raw_response": {
                            "edited_image_0": f'{{"score": [{value}]}}'
                        }
                    },
                }
            },
        )
        for name, value in (("cup", 7.0), ("dog", 0.0))
    ]
    done = vj.adopt(written(tmp_path, lines), tmp_path / "study")
    assert [v["value"] for v in verdicts(done.runs[0])] == [7.0, 0.0]
    both = [RowResult("x", {"consistency": compared("Tie")}), *lines]
    (tmp_path / "more").mkdir()
    with pytest.raises(
        DataError, match="must be all of pairs or all of scores"
    ):
        vj.adopt(written(tmp_path / "more", both), tmp_path / "study2")
