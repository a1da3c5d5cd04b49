"""Published benchmarks: read as their documentation has them, scored as their authors score
them.
"""

from __future__ import annotations

import asyncio
import random  # noqa: TID251 - the authors draw from it
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from apps.published.copies import imagenhub
from visualjudge.analysis.analysing import analyse
from visualjudge.analysis.decisions import card_page
from visualjudge.analysis.decisions.decision_json import card_json
from visualjudge.analysis.report.page import html as report_page
from visualjudge.apps.frontdoor.decisions import card
from visualjudge.apps.published.importing import Imported, import_benchmark
from visualjudge.clients.base import Reply
from visualjudge.clients.scripted import ScriptedClient
from visualjudge.core.errors import DataError, UsageError
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.validate import validate
from visualjudge.judges.base import Ask
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.prompts.spans import swapped
from visualjudge.runs.asks import check_images
from visualjudge.runs.folder import RunFolder
from visualjudge.vision.raster.images import write_png

GENAI = [
    ("leftvote", "Model A is better: [[A>B]]", "[[A>B]]", True),
    ("rightvote", "Both are fine. [[A=B=Good]]", "[[A=B=Good]]", False),
    ("tievote", "[[A=B=Good]]", "[[A=B=Good]]", True),
    ("bothbad_vote", "[[A=B=Bad]]", "[[A=B=Bad]]", True),
    ("bothbad_vote", "I would say [[1>B]]", "[[1>B]]", False),
]


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = isinstance(value, list) and path.suffix == ".jsonl"
    path.write_bytes(
        b"\n".join(orjson.dumps(row) for row in value) if lines else orjson.dumps(value)
    )
    return path


def write_image(path: Path, level: int = 90) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(path, np.full((8, 8, 3), level, np.uint8))


def genai(folder: Path) -> Path:
    rows = [
        {
            "idx": k,
            "prompt": f"a cat {k // 2}",
            "response": said,
            "model_vote": mark,
            "human_vote": vote,
            "correct": hit,
        }
        for k, (vote, said, mark, hit) in enumerate(GENAI)
    ]
    write(folder / "image_generation" / "m1" / "pairwise.json", rows)
    edits = [
        {**row, "instruct_prompt": "add a hat", "correct": False, "model_vote": None}
        for row in rows[:2]
    ]
    write(folder / "image_edition" / "m1" / "pairwise.json", edits)
    return folder


def imported(tmp_path: Path, name: str, folder: Path, *replies: str) -> Imported:
    return import_benchmark(name, folder, tmp_path / "out" / "set", replies=replies)


def scores(*runs: Path) -> list[dict[str, float | None]]:
    return [dict(judge.as_published) for judge in analyse(list(runs)).results.judges]


def test_genai_bench_keeps_ties_and_gives_the_score_that_its_authors_count(tmp_path: Path) -> None:
    done = imported(tmp_path, "genai-bench", genai(tmp_path / "copy"), "m1")
    dataset = load_dataset(tmp_path / "out" / "set")
    assert [question.answer for question in dataset][:5] == [
        "A",
        "B",
        "tie",
        "both_bad",
        "both_bad",
    ]
    assert {question.ties for question in dataset} == {("tie", "both_bad")}
    assert (
        dataset[0].image_id == dataset[1].image_id != dataset[2].image_id
    )  # one prompt, one cluster
    assert validate(dataset.root)[1] == []
    run = done.runs[0][0]
    assert run == (tmp_path / "out" / "m1").resolve()
    assert scores(run) == [{"genai-bench/image_generation": 60.0, "genai-bench/image_edition": 0.0}]
    # By our reading 3 of 5 and 1 of 2: "[[1>B]]" is not read, and a tie against a vote for B is
    # wrong.
    judged = analyse([run]).results.judges[0].pairwise.accuracy
    assert judged.share.value == pytest.approx(4 / 7)


def test_card_and_metrics_carry_the_published_scores(tmp_path: Path) -> None:
    run = imported(tmp_path, "genai-bench", genai(tmp_path / "copy"), "m1").runs[0][0]
    expected = {"genai-bench/image_generation": 60.0, "genai-bench/image_edition": 0.0}
    assert analyse([run]).metrics["judges"][0]["as_published"] == expected
    assert card_json(card([run]))["judges"][0]["as_published"] == expected


def pages(run: Path) -> list[str]:
    """The report and the card, as HTML and as Markdown."""
    analysis = analyse([run])
    found = card([run])
    return [
        report_page(analysis),
        card_page.html(found),
        card_page.markdown(found),
    ]


def test_every_page_shows_the_published_scores_and_no_rule_without_verdicts(tmp_path: Path) -> None:
    run = imported(tmp_path, "genai-bench", genai(tmp_path / "copy"), "m1").runs[0][0]
    for page in pages(run):
        told = re.sub(r"(?:<[^>]+>|[|\s])+", " ", page.replace("<wbr>", ""))
        assert "genai-bench/image_generation 60.00 genai-bench/image_edition 0.00 " in told
        assert (
            "JudgeBench: net" not in told and "MMRB2: both" not in told
        )  # no question was asked in both orders


def test_a_score_of_a_part_of_the_copy_says_so(tmp_path: Path) -> None:
    copy = imagenhub(tmp_path / "copy")
    shutil.rmtree(copy / "results_gpt4o" / "ImagenHub_Text-Guided_IG" / "SDXL")
    run = imported(tmp_path, "imagenhub", copy, "gpt4o").runs[0][0]
    (judge,) = analyse([run]).metrics["judges"]
    part = "5 of 10 questions, 1 of 2 sources"
    assert judge["as_published_of"]["viescore/Text-Guided_IG/SC"] == part
    assert card_json(card([run]))["judges"][0]["as_published_of"] == judge["as_published_of"]
    assert all(f"({part})" in page for page in pages(run))


def test_a_set_of_labels_alone_cannot_be_judged(tmp_path: Path) -> None:
    imported(tmp_path, "genai-bench", genai(tmp_path / "copy"))
    dataset = load_dataset(tmp_path / "out" / "set")
    with pytest.raises(DataError, match="contains only labels"):
        check_images(dataset, dataset.questions)


def test_judgebench_nets_both_orders_and_turns_the_second_back(tmp_path: Path) -> None:
    decisions = [
        ("A>B", ["A>B", "B>A"]),  # right twice
        ("A>B", ["A>B", "A=B"]),  # right once, a tie
        ("A>B", ["A>B", "A>B"]),  # right and wrong
        ("B>A", ["A=B", "B>A"]),  # a tie, wrong
    ]
    rows = [
        {"pair_id": f"p{k}", "source": "mmlu-pro-law", "label": label, "decisions": said}
        for k, (label, said) in enumerate(decisions)
    ]
    write(tmp_path / "copy" / "o1-mini_decisions.jsonl", rows)
    run = imported(tmp_path, "judgebench", tmp_path / "copy", "o1-mini").runs[0][0]
    assert scores(run) == [{"judgebench": 50.0, "judgebench/knowledge": 50.0}]


@pytest.mark.parametrize(
    ("judgments", "score"),
    [
        ([None, {"judgment": {"response": "", "scores": [0.1, 0.2]}, "decision": "B>A"}], 100.0),
        ([{"judgment": None, "decision": "A>B"}, None], 100.0),
        ([{"judgment": {"response": ""}, "decision": "A>B"}], 100.0),  # asked in one order alone
        ([None, None], 0.0),
    ],
)
def test_judgebench_keeps_the_place_of_a_call_that_failed(
    tmp_path: Path, judgments: list[dict[str, Any] | None], score: float
) -> None:
    row = {"pair_id": "p", "source": "mmlu-pro-law", "label": "A>B", "judgments": judgments}
    write(tmp_path / "copy" / "judge_name=reward_model,judge_model=rm.jsonl", [row])
    run = imported(tmp_path, "judgebench", tmp_path / "copy", "rm").runs[0][0]
    assert scores(run) == [{"judgebench": score, "judgebench/knowledge": score}]
    read = [verdict.value for verdict in RunFolder(run).verdicts().values()]
    assert read == ["A" if one else "Failed" for one in judgments]


def test_judgebench_outputs_with_texts_can_be_judged_and_name_their_judge(tmp_path: Path) -> None:
    row = {
        "pair_id": "p",
        "source": "livebench-math-x",
        "question": "2 + 2?",
        "response_A": "4",
        "response_B": "5",
        "label": "A>B",
        "judgments": [
            {"judgment": {"response": "My verdict: [[A>B]]"}, "decision": "A>B"},
            {"judgment": {"response": "[[B>A]]"}, "decision": "B>A"},
        ],
    }
    write(tmp_path / "copy" / "judge_name=arena_hard,judge_model=gpt-x.jsonl", [row])
    done = imported(tmp_path, "judgebench", tmp_path / "copy", "gpt-x")
    assert not done.labels_only
    question = load_dataset(tmp_path / "out" / "set")[0]
    first, second = question.spans.options if question.spans else ((0, 0), (0, 0))
    assert question.prompt[slice(*first)] == "4" and question.prompt[slice(*second)] == "5"
    assert swapped(question).prompt.index("5") < swapped(question).prompt.index("Response B:\n4")
    assert scores(done.runs[0][0]) == [{"judgebench": 100.0, "judgebench/math": 100.0}]


def test_prompts_that_a_file_lacks_come_from_another_and_never_make_one_cluster(
    tmp_path: Path,
) -> None:
    rows = [
        {"idx": k, "human_vote": "leftvote", "model_vote": "[[A>B]]", "correct": True}
        for k in range(3)
    ]
    write(tmp_path / "copy" / "image_edition" / "first" / "pairwise.json", rows)
    imported(tmp_path, "genai-bench", tmp_path / "copy")
    assert len({question.image_id for question in load_dataset(tmp_path / "out" / "set")}) == 3
    write(
        tmp_path / "copy" / "image_edition" / "second" / "pairwise.jsonl",
        [{**row, "instruct_prompt": "Add a hat."} for row in rows],
    )
    imported(tmp_path / "both", "genai-bench", tmp_path / "copy")
    dataset = load_dataset(tmp_path / "both" / "out" / "set")
    assert (
        len({question.image_id for question in dataset}) == 1 and "Add a hat." in dataset[0].prompt
    )


def vl_rewardbench(folder: Path, *, images: bool) -> Path:
    rows = []
    for k, (name, ranks) in enumerate(
        [("mathverse_1", [0, 1]), ("RLAIF-V-2", [1, 0]), ("wildvision-battle-3", [0, 1])]
    ):
        if images:
            write_image(folder / "images" / f"{k}.png", 40 * k)
        rows.append(
            {
                "id": name,
                "query": "<image> What?",
                "response": ["one", "two"],
                "image": f"images/{k}.png",
            }
            | {"human_ranking": ranks, "models": ["x", "y"]}
        )
    write(folder / "data.json", rows)
    write(
        folder / "replies" / "mine.jsonl", [{"id": row["id"], "response": "[[A]]"} for row in rows]
    )
    return folder


def test_vl_rewardbench_shows_its_images_and_reads_kept_replies(tmp_path: Path) -> None:
    done = imported(
        tmp_path, "vl-rewardbench", vl_rewardbench(tmp_path / "copy", images=True), "mine"
    )
    dataset, problems = validate(tmp_path / "out" / "set")
    assert problems == [] and not done.labels_only
    assert [question.task for question in dataset] == ["reasoning", "hallucination", "general"]
    assert [question.answer for question in dataset] == ["A", "B", "A"]
    assert all(len(question.images) == 1 for question in dataset)
    assert scores(done.runs[0][0])[0]["vl-rewardbench/overall"] == 66.7


def test_vl_rewardbench_as_its_repository_holds_it(tmp_path: Path) -> None:
    sources = ["reasoning_tasks", "povid", "wildvision-battle"]
    for name in sources:
        write_image(tmp_path / "copy" / "data" / "images" / name / "1.png")
    rows = [
        {
            "id": "1",
            "query": "What?",
            "response": ["one", "two"],
            "image_path": f"images/{name}/1.png",
            "meta": {},
        }
        | {"human_ranking": [1, 0], "models": ["x", "y"]}
        for name in sources
    ]
    write(tmp_path / "copy" / "data" / "data.jsonl", rows)
    said = [
        {"id": "1", "value": "B"},
        {"id": "1#2", "value": "A"},
        {"id": "1#3", "value": "Failed"},
    ]
    write(tmp_path / "copy" / "replies" / "mine.jsonl", said)
    done = imported(tmp_path, "vl-rewardbench", tmp_path / "copy", "mine")
    dataset = load_dataset(tmp_path / "out" / "set")
    assert not done.labels_only and [q.task for q in dataset] == [
        "reasoning",
        "hallucination",
        "general",
    ]
    found = scores(done.runs[0][0])[0]  # what was not read is left out
    assert found["vl-rewardbench/overall"] == found["vl-rewardbench/macro"] == 50.0
    assert found["vl-rewardbench/general"] is None


def test_without_its_images_vl_rewardbench_is_labels_only(tmp_path: Path) -> None:
    assert imported(
        tmp_path, "vl-rewardbench", vl_rewardbench(tmp_path / "copy", images=False)
    ).labels_only


def test_mmrb2_leaves_out_what_was_not_read(tmp_path: Path) -> None:
    def side(name: str) -> dict[str, Any]:
        return {"model_name": name, "response_content": [["image", f"{name}.jpg"]]}

    pairs = [
        {"id": f"p{k}", "response_a": side("x"), "response_b": side("y"), "chosen": "AAB"[k]}
        for k in range(3)
    ]
    write(tmp_path / "copy" / "benchmark" / "t2i_response_only.json", {"pairs": pairs})
    said = {"p0": ("A", "B"), "p1": ("B", None), "p2": ("A", "A"), "of another release": ("A", "B")}
    judged = {
        key: {"forward": [{"judgement": a}], "reverse": [{"judgement": b}] if b else []}
        for key, (a, b) in said.items()
    }
    write(tmp_path / "copy" / "outputs" / "sample_task1_image.json", judged)
    done = imported(tmp_path, "mmrb2", tmp_path / "copy", "sample")
    assert scores(done.runs[0][0]) == [
        {"mmrb2": 60.0, "mmrb2/t2i": 60.0}
    ]  # 3 of the 5 that were read
    assert load_dataset(tmp_path / "out" / "set").benchmark["use"] == "evaluation only"


def test_mmrb2_counts_a_judgement_of_neither_letter_as_wrong(tmp_path: Path) -> None:
    side = {"model_name": "m", "response_content": [["text", "four"]]}
    pairs = [
        {"id": f"p{k}", "response_a": side, "response_b": side, "chosen": "A"} for k in range(2)
    ]
    write(tmp_path / "copy" / "reasoning_response_only.json", {"pairs": pairs})
    said = {
        "p0": {"forward": [{"judgement": "tie"}]},
        "p1": {"forward": [{"judgement": "A"}], "reverse": []},
    }
    write(tmp_path / "copy" / "sample_task4_reasoning.json", said)
    done = imported(tmp_path, "mmrb2", tmp_path / "copy", "sample")
    assert (
        scores(done.runs[0][0]) == [{"mmrb2": 50.0, "mmrb2/reasoning": 50.0}]
        and done.runs[0][1] == 2
    )


def test_a_question_that_allows_ties_is_answered_by_one(tmp_path: Path) -> None:
    imported(tmp_path, "genai-bench", genai(tmp_path / "copy"))
    dataset = load_dataset(tmp_path / "out" / "set")
    judge = QuestionJudge(ScriptedClient([Reply("[[tie]]")]), dataset.root)
    verdict = asyncio.run(judge(Ask(dataset[2]))).verdict
    assert (verdict.value, verdict.status) == ("tie", "ok")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"human_vote": "left"}, "record 1: human_vote: must be one of leftvote"),
        ({"human_vote": ["leftvote"]}, "record 1: human_vote: must be one of leftvote"),
        ({"idx": None}, "record 1: idx: is missing"),
    ],
)
def test_a_bad_record_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    row = {"idx": 0, "prompt": "p", "response": "r", "human_vote": "leftvote"} | change
    write(tmp_path / "copy" / "image_generation" / "m" / "pairwise.json", [row])
    with pytest.raises(DataError, match=message):
        imported(tmp_path, "genai-bench", tmp_path / "copy")


def test_unknown_judges_and_taken_folders_are_refused(tmp_path: Path) -> None:
    copy = genai(tmp_path / "copy")
    with pytest.raises(UsageError, match="holds no replies of 'm2'; it holds: m1"):
        imported(tmp_path, "genai-bench", copy, "m2")
    imported(tmp_path, "genai-bench", copy)
    with pytest.raises(UsageError, match="already exists"):
        imported(tmp_path, "genai-bench", copy)


def test_multimodal_rewardbench_tosses_the_coins_of_its_own_code(tmp_path: Path) -> None:
    rows = [
        {
            "ID": f"{'PAIRS' if k % 2 else 'toxic'}{k}",
            "Category": "safety",
            "Image": f"{k}.png",
            "Text": "Is it safe?",
        }
        | {"Output1": "yes", "Output2": "no", "Better": "Output1" if k % 3 else "Output2"}
        for k in range(40)
    ]
    said = ["no verdict" if k % 2 else "so [[A]]" for k in range(40)]
    outputs = [
        {
            "ID": row["ID"],
            "Label": "A" if row["Better"] == "Output1" else "B",
            "Meta": row,
            "output": text,
        }
        for row, text in zip(rows, said, strict=True)
    ]
    write(tmp_path / "copy" / "outputs" / "gpt.jsonl", outputs)
    done = imported(tmp_path, "multimodal-rewardbench", tmp_path / "copy", "gpt")
    coin = random.Random(123)
    chosen = ["A" if "[[A]]" in text or coin.random() < 0.5 else "B" for text in said]
    hits = [choice == row["Label"] for choice, row in zip(chosen, outputs, strict=True)]
    found = scores(done.runs[0][0])[0]
    assert found["multimodal-rewardbench"] == round(100 * sum(hits) / 40, 1)
    assert found["multimodal-rewardbench/safety/bias"] == round(100 * sum(hits[1::2]) / 20, 1)
    assert done.labels_only


def test_multimodal_rewardbench_outputs_with_a_category_alone(tmp_path: Path) -> None:
    about = {
        "Meta": {"Category": "open_generation/correctness_task"},
        "Image": "images/1.jpg",
        "Label": "B",
    }
    rows = [
        {**about, "ID": f"nocaps_{k}", "output": f"Final verdict: [[{letter}]]"}
        for k, letter in enumerate("AB")
    ]
    write(tmp_path / "copy" / "outputs" / "example.jsonl", rows)
    done = imported(tmp_path, "multimodal-rewardbench", tmp_path / "copy", "example")
    assert scores(done.runs[0][0])[0]["multimodal-rewardbench"] == 50.0 and done.labels_only
