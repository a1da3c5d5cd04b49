"""Published benchmarks: read as their repositories are cloned, scored as their authors
score them.
"""

from __future__ import annotations

import asyncio
import json
import math
import random  # noqa: TID251 - the authors draw from it
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from apps.adopt import copies
from apps.adopt.copies import write
from page_text import page
from scripted_client import ScriptedClient
from stored_figures import stored
from visualjudge.analysis.analysing import analyse
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.apps.adopt.benchmarks import (
    BENCHMARKS,
    Imported,
    adopt_benchmark,
)
from visualjudge.apps.frontdoor.decisions import card
from visualjudge.clients.base import Reply
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import IMAGE_MARK
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.dataset.validate import validate
from visualjudge.judges.base import Ask
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.runs.asks import check_images
from visualjudge.runs.folder import RunFolder

GENAI = [
    ("leftvote", "Model A is better: [[A>B]]", "[[A>B]]", True),
    ("rightvote", "Both are fine. [[A=B=Good]]", "[[A=B=Good]]", False),
    ("tievote", "[[A=B=Good]]", "[[A=B=Good]]", True),
    ("bothbad_vote", "[[A=B=Bad]]", "[[A=B=Bad]]", True),
    ("bothbad_vote", "I would say [[1>B]]", "[[1>B]]", False),
]
CASES: dict[str, tuple[Callable[[Path], Path], str, bool]] = {
    "mllm-as-a-judge": (copies.mllm_judge, "gpt-4o", False),
    "editreward-bench": (
        lambda folder: copies.editreward(folder, images=True),
        "pvc",
        False,
    ),
    "editscore-bench": (
        lambda folder: copies.editscore(folder, rows=True),
        "pvc",
        False,
    ),
    "imagenhub": (copies.imagenhub, "gpt4o", True),
    "imagereward": (copies.imagereward, "mine", False),
    "mmrb2": (copies.mmrb2, "sample", False),
    "genai-bench": (copies.genai_hub, "", False),
}


def imported(
    tmp_path: Path, name: str, folder: Path | None = None, *replies: str
) -> Imported:
    if folder is None:
        make, judge, _ = CASES[name]
        folder, replies = make(tmp_path / "copy"), (judge,) if judge else ()
    return adopt_benchmark(name, folder, tmp_path / "out", replies=replies)


def opened(tmp_path: Path) -> Dataset:
    return load_dataset(tmp_path / "out" / "dataset")


def published(done: Imported) -> dict[str, float | None]:
    return analyse([done.runs[0][0]]).judges[0].stored("as_published")


def scores(*runs: Path) -> list[dict[str, float | None]]:
    return [
        judge.stored("as_published") for judge in analyse(list(runs)).judges
    ]


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
        {
            **row,
            "instruct_prompt": "add a hat",
            "correct": False,
            "model_vote": None,
        }
        for row in rows[:2]
    ]
    write(folder / "image_edition" / "m1" / "pairwise.json", edits)
    return folder


def test_genai_bench_keeps_ties_and_gives_the_score_that_its_authors_count(
    tmp_path: Path,
) -> None:
    done = imported(tmp_path, "genai-bench", genai(tmp_path / "copy"), "m1")
    dataset = opened(tmp_path)
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
    assert scores(run) == [
        {"genai-bench/image_generation": 60.0, "genai-bench/image_edition": 0.0}
    ]
    # By our reading 3 of 5 and 1 of 2: "[[1>B]]" is not read, and a tie against a vote
    # for B is wrong.
    judged = analyse([run]).judges[0][PAIRWISE].accuracy
    assert judged.share.value == pytest.approx(4 / 7)


def test_a_score_of_a_part_of_the_copy_says_so(tmp_path: Path) -> None:
    copy = copies.imagenhub(tmp_path / "copy")
    shutil.rmtree(copy / "results_gpt4o" / "ImagenHub_Text-Guided_IG" / "SDXL")
    run = imported(tmp_path, "imagenhub", copy, "gpt4o").runs[0][0]
    found = analyse([run])
    (judge,) = stored(found)
    part = "5 of 10 questions"
    assert page(found).count(part) == 3  # SC, PQ and both
    assert judge["as_published_of"]["viescore/Text-Guided_IG/SC"] == part
    assert (
        card([run]).judges[0].result.stored("as_published_of")
        == judge["as_published_of"]
    )


def test_a_set_of_labels_alone_cannot_be_judged(tmp_path: Path) -> None:
    imported(tmp_path, "genai-bench", genai(tmp_path / "copy"))
    dataset = opened(tmp_path)
    with pytest.raises(DataError, match="contains only labels"):
        check_images(dataset, dataset.questions)


def test_judgebench_nets_both_orders_and_turns_the_second_back(
    tmp_path: Path,
) -> None:
    decisions = [
        ("A>B", ["A>B", "B>A"]),  # right twice
        ("A>B", ["A>B", "A=B"]),  # right once, a tie
        ("A>B", ["A>B", "A>B"]),  # right and wrong
        ("B>A", ["A=B", "B>A"]),  # a tie, wrong
    ]
    rows = [
        {
            "pair_id": f"p{k}",
            "source": "mmlu-pro-law",
            "label": label,
            "decisions": said,
        }
        for k, (label, said) in enumerate(decisions)
    ]
    write(tmp_path / "copy" / "o1-mini_decisions.jsonl", rows)
    run = imported(tmp_path, "judgebench", tmp_path / "copy", "o1-mini").runs[
        0
    ][0]
    assert scores(run) == [{"judgebench": 50.0, "judgebench/knowledge": 50.0}]


@pytest.mark.parametrize(
    ("judgments", "score"),
    [
        (
            [
                None,
                {
                    "judgment": {"response": "", "scores": [0.1, 0.2]},
                    "decision": "B>A",
                },
            ],
            100.0,
        ),
        ([{"judgment": None, "decision": "A>B"}, None], 100.0),
        (
            [{"judgment": {"response": ""}, "decision": "A>B"}],
            100.0,
        ),  # asked in one order alone
        ([None, None], 0.0),
    ],
)
def test_judgebench_keeps_the_place_of_a_call_that_failed(
    tmp_path: Path, judgments: list[dict[str, Any] | None], score: float
) -> None:
    row = {
        "pair_id": "p",
        "source": "mmlu-pro-law",
        "label": "A>B",
        "judgments": judgments,
    }
    write(
        tmp_path / "copy" / "judge_name=reward_model,judge_model=rm.jsonl",
        [row],
    )
    run = imported(tmp_path, "judgebench", tmp_path / "copy", "rm").runs[0][0]
    assert scores(run) == [{"judgebench": score, "judgebench/knowledge": score}]
    read = [verdict.value for verdict in RunFolder(run).verdicts().values()]
    assert read == ["A" if one else "Failed" for one in judgments]


def test_judgebench_outputs_with_texts_can_be_judged_and_name_their_judge(
    tmp_path: Path,
) -> None:
    row = {
        "pair_id": "p",
        "source": "livebench-math-x",
        "question": "2 + 2?",
        "response_A": "4",
        "response_B": "5",
        "label": "A>B",
        "judgments": [
            {
                "judgment": {"response": "My verdict: [[A>B]]"},
                "decision": "A>B",
            },
            {"judgment": {"response": "[[B>A]]"}, "decision": "B>A"},
        ],
    }
    write(
        tmp_path / "copy" / "judge_name=arena_hard,judge_model=gpt-x.jsonl",
        [row],
    )
    done = imported(tmp_path, "judgebench", tmp_path / "copy", "gpt-x")
    assert not done.labels_only
    question = opened(tmp_path)[0]
    first, second = (
        question.spans.options if question.spans else ((0, 0), (0, 0))
    )
    assert (
        question.prompt[slice(*first)] == "4"
        and question.prompt[slice(*second)] == "5"
    )
    assert scores(done.runs[0][0]) == [
        {"judgebench": 100.0, "judgebench/math": 100.0}
    ]


def test_prompts_that_a_file_lacks_come_from_another_and_never_make_one_cluster(
    tmp_path: Path,
) -> None:
    rows = [
        {
            "idx": k,
            "human_vote": "leftvote",
            "model_vote": "[[A>B]]",
            "correct": True,
        }
        for k in range(3)
    ]
    write(tmp_path / "copy" / "image_edition" / "first" / "pairwise.json", rows)
    imported(tmp_path, "genai-bench", tmp_path / "copy")
    assert len({question.image_id for question in opened(tmp_path)}) == 3
    write(
        tmp_path / "copy" / "image_edition" / "second" / "pairwise.jsonl",
        [{**row, "instruct_prompt": "Add a hat."} for row in rows],
    )
    imported(tmp_path / "both", "genai-bench", tmp_path / "copy")
    dataset = load_dataset(tmp_path / "both" / "out" / "dataset")
    assert (
        len({question.image_id for question in dataset}) == 1
        and "Add a hat." in dataset[0].prompt
    )


def vl_rewardbench(folder: Path, *, images: bool) -> Path:
    rows = []
    for k, (name, ranks) in enumerate(
        [
            ("mathverse_1", [0, 1]),
            ("RLAIF-V-2", [1, 0]),
            ("wildvision-battle-3", [0, 1]),
        ]
    ):
        if images:
            copies.image(folder / "images" / f"{k}.png", 40 * k)
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
        folder / "replies" / "mine.jsonl",
        [{"id": row["id"], "response": "[[A]]"} for row in rows],
    )
    return folder


def test_vl_rewardbench_shows_its_images_and_reads_kept_replies(
    tmp_path: Path,
) -> None:
    done = imported(
        tmp_path,
        "vl-rewardbench",
        vl_rewardbench(tmp_path / "copy", images=True),
        "mine",
    )
    dataset, problems = validate(tmp_path / "out" / "dataset")
    assert problems == [] and not done.labels_only
    assert [question.task for question in dataset] == [
        "reasoning",
        "hallucination",
        "general",
    ]
    assert [question.answer for question in dataset] == ["A", "B", "A"]
    assert all(len(question.images) == 1 for question in dataset)
    assert scores(done.runs[0][0])[0]["vl-rewardbench/overall"] == 66.7


def test_vl_rewardbench_as_its_repository_holds_it(tmp_path: Path) -> None:
    sources = ["reasoning_tasks", "povid", "wildvision-battle"]
    for name in sources:
        copies.image(tmp_path / "copy" / "data" / "images" / name / "1.png", 90)
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
    dataset = opened(tmp_path)
    assert not done.labels_only and [q.task for q in dataset] == [
        "reasoning",
        "hallucination",
        "general",
    ]
    found = scores(done.runs[0][0])[0]  # what was not read is left out
    assert (
        found["vl-rewardbench/overall"] == found["vl-rewardbench/macro"] == 50.0
    )
    assert found["vl-rewardbench/general"] is None


def test_without_its_images_vl_rewardbench_is_labels_only(
    tmp_path: Path,
) -> None:
    assert imported(
        tmp_path,
        "vl-rewardbench",
        vl_rewardbench(tmp_path / "copy", images=False),
    ).labels_only


def test_mmrb2_leaves_out_what_was_not_read(tmp_path: Path) -> None:
    def side(name: str) -> dict[str, Any]:
        return {
            "model_name": name,
            "response_content": [["image", f"{name}.jpg"]],
        }

    pairs = [
        {
            "id": f"p{k}",
            "response_a": side("x"),
            "response_b": side("y"),
            "chosen": "AAB"[k],
        }
        for k in range(3)
    ]
    write(
        tmp_path / "copy" / "benchmark" / "t2i_response_only.json",
        {"pairs": pairs},
    )
    said = {
        "p0": ("A", "B"),
        "p1": ("B", None),
        "p2": ("A", "A"),
        "of another release": ("A", "B"),
    }
    judged = {
        key: {
            "forward": [{"judgement": a}],
            "reverse": [{"judgement": b}] if b else [],
        }
        for key, (a, b) in said.items()
    }
    write(tmp_path / "copy" / "outputs" / "sample_task1_image.json", judged)
    done = imported(tmp_path, "mmrb2", tmp_path / "copy", "sample")
    assert scores(done.runs[0][0]) == [
        {"mmrb2": 60.0, "mmrb2/t2i": 60.0}
    ]  # 3 of the 5 that were read
    assert opened(tmp_path).benchmark["use"] == "evaluation only"


def test_mmrb2_counts_a_judgement_of_neither_letter_as_wrong(
    tmp_path: Path,
) -> None:
    side = {"model_name": "m", "response_content": [["text", "four"]]}
    pairs = [
        {"id": f"p{k}", "response_a": side, "response_b": side, "chosen": "A"}
        for k in range(2)
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
    dataset = opened(tmp_path)
    judge = QuestionJudge(ScriptedClient([Reply("[[tie]]")]), dataset.root)
    verdict = asyncio.run(judge(Ask(dataset[2])))
    assert (verdict.value, verdict.status) == ("tie", "ok")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"human_vote": "left"},
            "record 1: human_vote must be one of leftvote",
        ),
        (
            {"human_vote": ["leftvote"]},
            "record 1: human_vote must be one of leftvote",
        ),
        ({"idx": None}, "record 1: idx is missing"),
    ],
)
def test_a_bad_record_is_named(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    row = {
        "idx": 0,
        "prompt": "p",
        "response": "r",
        "human_vote": "leftvote",
    } | change
    write(tmp_path / "copy" / "image_generation" / "m" / "pairwise.json", [row])
    with pytest.raises(DataError, match=message):
        imported(tmp_path, "genai-bench", tmp_path / "copy")


def test_unknown_judges_and_taken_folders_are_refused(tmp_path: Path) -> None:
    copy = genai(tmp_path / "copy")
    with pytest.raises(
        UsageError, match="holds no replies of 'm2'; it holds: m1"
    ):
        imported(tmp_path, "genai-bench", copy, "m2")
    imported(tmp_path, "genai-bench", copy)
    with pytest.raises(UsageError, match="already exists"):
        imported(tmp_path, "genai-bench", copy)


def test_multimodal_rewardbench_tosses_the_coins_of_its_own_code(
    tmp_path: Path,
) -> None:
    rows = [
        {
            "ID": f"{'PAIRS' if k % 2 else 'toxic'}{k}",
            "Category": "safety",
            "Image": f"{k}.png",
            "Text": "Is it safe?",
        }
        | {
            "Output1": "yes",
            "Output2": "no",
            "Better": "Output1" if k % 3 else "Output2",
        }
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
    done = imported(
        tmp_path, "multimodal-rewardbench", tmp_path / "copy", "gpt"
    )
    coin = random.Random(123)
    chosen = [
        "A" if "[[A]]" in text or coin.random() < 0.5 else "B" for text in said
    ]
    hits = [
        choice == row["Label"]
        for choice, row in zip(chosen, outputs, strict=True)
    ]
    found = scores(done.runs[0][0])[0]
    assert found["multimodal-rewardbench"] == round(100 * sum(hits) / 40, 1)
    assert found["multimodal-rewardbench/safety/bias"] == round(
        100 * sum(hits[1::2]) / 20, 1
    )
    assert done.labels_only


def test_multimodal_rewardbench_outputs_with_a_category_alone(
    tmp_path: Path,
) -> None:
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
    done = imported(
        tmp_path, "multimodal-rewardbench", tmp_path / "copy", "example"
    )
    assert (
        scores(done.runs[0][0])[0]["multimodal-rewardbench"] == 50.0
        and done.labels_only
    )


@pytest.mark.parametrize("name", CASES)
def test_a_copy_is_a_valid_dataset_that_can_be_judged_where_it_has_all_images(
    tmp_path: Path, name: str
) -> None:
    done = imported(tmp_path, name)
    read, problems = validate(tmp_path / "out" / "dataset")
    assert (
        problems == []
        and done.labels_only == CASES[name][2] == read.labels_only
    )
    assert (
        read.benchmark["use"] in ("any", "evaluation only")
        and read.benchmark["licence"]
    )
    for question in read if not done.labels_only else ():
        assert question.prompt.count(IMAGE_MARK) == len(question.images)
        assert question.spans is not None and len(
            question.spans.options
        ) == len(question.annotation_ids)


def test_mllm_as_a_judge_counts_pairs_scores_and_rankings_as_its_authors_do(
    tmp_path: Path,
) -> None:
    found = published(done := imported(tmp_path, "mllm-as-a-judge"))
    assert found["mllm-as-a-judge/pair"] == round(2 / 3, 3)
    assert found["mllm-as-a-judge/pair without ties"] == 0.5
    assert found["mllm-as-a-judge/score"] == round(
        float(stats.pearsonr([1, 4, 5], [1, 3, 5])[0]), 3
    )
    assert found["mllm-as-a-judge/batch"] == round(
        2 / 3, 3
    )  # ACB against BAC: two edits of three letters
    assert [question.answer for question in opened(tmp_path)][:3] == [
        0.0,
        5.0,
        10.0,
    ]
    assert (
        len(done.left_out) == 1
        and "record 4: has no label that can be used" in done.left_out[0]
    )


def test_editreward_leaves_out_what_was_not_read(tmp_path: Path) -> None:
    assert published(imported(tmp_path, "editreward-bench")) == {
        "editreward-bench/visual_quality": 0.5
    }
    question = opened(tmp_path)[0]
    assert "The request is about this image:\n<image>\n" in question.prompt
    assert (
        len(question.images) == 3
        and question.spans is not None
        and question.spans.original is not None
    )


@pytest.mark.parametrize("rows", [True, False])
def test_editscore_takes_its_sides_from_the_map(
    tmp_path: Path, rows: bool
) -> None:
    copy = copies.editscore(tmp_path / "copy", rows=rows)
    done = adopt_benchmark(
        "editscore-bench", copy, tmp_path / "out", replies=["pvc"]
    )
    asked = list(opened(tmp_path))
    assert [question.answer for question in asked] == ["B", "A"]
    assert [("Make it red." in q.prompt) for q in asked] == [rows, rows]
    assert done.labels_only is not rows
    assert published(done)["editscore-bench/consistency"] == 0.5


def test_viescore_is_the_tangent_of_the_mean_rho_of_images_with_both_scores(
    tmp_path: Path,
) -> None:
    found = published(imported(tmp_path, "imagenhub"))
    first = stats.spearmanr([1, 2, 4, 3, 9], range(5))[0]
    # The image without PQ is left out of SC too; 4.5 counts as 4, [3, 9] as 3.
    second = stats.spearmanr([3, 8, 4, 9], [0, 3, 1, 4])[0]
    assert found["viescore/Text-Guided_IG/SC"] == round(
        math.tanh((first + second) / 2), 4
    )
    both = [
        math.sqrt(a * b) for a, b in ((1, 5), (2, 4), (4, 3), (3, 2), (9, 1))
    ]
    people = [math.sqrt(k / 8 * (1 - k / 8)) for k in range(5)]
    first = stats.spearmanr(both, people)[0]
    second = stats.spearmanr([3, 16, 12, 36], [0, 0.75, 0.5, 3])[0]
    assert found["viescore/Text-Guided_IG/O"] == pytest.approx(
        math.tanh((first + second) / 2), abs=1e-4
    )


def test_viescore_s_clone_is_read_where_its_files_lie(tmp_path: Path) -> None:
    """Deeper folders, a prefix, scores beyond the scale: as the notebook counts
    them."""
    task = "ImagenHub_Text-Guided_IG"
    home = tmp_path / "clone"
    people = home / "_human_annotations/ImagenHub_human_eval_results" / task
    shares = [(0, 0.5), (0.5, 0.5), (0.5, 1), (1, 0), (1, 1)]
    for rater in (1, 2, 3):
        rows = [
            {"uid": f"s{k}.jpg", "SD": f"[{a},{b if rater < 3 else 1}]"}
            for k, (a, b) in enumerate(shares)
        ]
        write(people / f"Text-To-Image_rater{rater}.tsv", rows)
    said = {
        "SC": [[30, 2], [25], [7.9, 8], 3.5, [-4]],
        "PQ": [[4], [6], [3], [2], [9]],
    }
    for part, values in said.items():
        held = {f"s{k}.jpg": {"score": value} for k, value in enumerate(values)}
        write(home / "_answers/results_gpt/" / task / f"SD/{part}.json", held)
    done = adopt_benchmark("imagenhub", home, tmp_path / "out", replies=["gpt"])
    counted = [0.2, 1.0, 0.7, 0.35, 0.0]
    truth = [share for share, _ in shares]
    found = published(done)
    expected = stats.spearmanr(counted, truth)[0]
    assert found["viescore/Text-Guided_IG/SC"] == round(math.tanh(expected), 4)
    both = [
        math.sqrt(a * b / 10)
        for a, b in zip(counted, (4, 6, 3, 2, 9), strict=True)
    ]
    overall = [(2 * math.sqrt(a * b) + math.sqrt(a)) / 3 for a, b in shares]
    expected = stats.spearmanr(both, overall)[0]
    assert found["viescore/Text-Guided_IG/O"] == round(math.tanh(expected), 4)
    verdicts = (
        (done.runs[0][0] / "verdicts.jsonl").read_text("utf-8").splitlines()
    )
    values = {
        v["value"] for v in map(json.loads, verdicts) if "published_value" in v
    }
    assert 25.0 not in values and 30.0 not in values and "Failed" in values


def test_an_import_of_no_question_or_of_no_reply_that_matches_fails(
    tmp_path: Path,
) -> None:
    copy = copies.imagenhub(tmp_path / "copy")
    for path in (copy / "results_gpt4o").rglob("*.json"):
        held = json.loads(path.read_text("utf-8"))
        path.write_text(
            json.dumps({f"other-{uid}": said for uid, said in held.items()}),
            "utf-8",
        )
    with pytest.raises(
        DataError, match="replies of gpt4o: no reply belongs to a question"
    ):
        adopt_benchmark("imagenhub", copy, tmp_path / "out", replies=["gpt4o"])
    assert not (tmp_path / "out").exists()
    for path in (copy / "human").rglob("*.tsv"):
        path.write_text("uid\tSD\n", "utf-8")
    with pytest.raises(DataError, match="no usable question was found"):
        adopt_benchmark("imagenhub", copy, tmp_path / "out")


def test_mmrb2_with_its_images_can_be_judged_and_a_steady_judge_scores_the_share_of_its_answer(
    tmp_path: Path,
) -> None:
    assert published(imported(tmp_path, "mmrb2")) == {
        "mmrb2": 75.0,
        "mmrb2/edit": 75.0,
    }
    assert all(len(question.images) == 3 for question in opened(tmp_path))


def test_published_votes_are_those_of_the_tables_of_the_hub(
    tmp_path: Path,
) -> None:
    copy = copies.genai_hub(tmp_path / "copy")
    rows = [
        {
            "idx": k,
            "human_vote": "leftvote",
            "model_vote": "[[A>B]]",
            "correct": True,
        }
        for k in range(2)
    ]
    write(copy / "image_generation" / "gpt" / "pairwise.json", rows[:1])
    done = adopt_benchmark(
        "genai-bench", copy, tmp_path / "out", replies=["gpt"]
    )
    assert (
        published(done)["genai-bench/image_generation"] == 100.0
        and not done.labels_only
    )
    write(copy / "image_generation" / "gpt" / "pairwise.json", rows)
    with pytest.raises(DataError, match="record 2: human_vote differs"):
        adopt_benchmark("genai-bench", copy, tmp_path / "other")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_folder_that_holds_something_else_is_named(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        DataError, match=r"empty: must hold .*; no usable question was found"
    ):
        adopt_benchmark(name, tmp_path / "empty", tmp_path / "out")


def judgements(
    folder: Path, name: str, said: dict[str, tuple[Any, Any]]
) -> None:
    rows = {
        key: {
            way: [{"judgement": one, "evaluator": "e", "metadata": {}}]
            for way, one in zip(("forward", "reverse"), both, strict=True)
        }
        for key, both in said.items()
    }
    write(folder / "evaluate/generate_judgements/outputs" / name, rows)


@pytest.mark.parametrize(
    "names",
    [
        ("sample_task1_image.json", "sample_task2_edit.json"),
        ("task1_sample.json", "task2_sample.json"),
    ],
)
def test_mmrb2_counts_each_task_and_all_as_its_script_does(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    """The same id in two tasks, and twice in one; a pair that is not judged; a
    judgement that was not read.
    """
    copy = tmp_path / "copy"
    side = {"model": "m", "response_content": [["image", "images/1.jpg"]]}
    pair = {
        "response_a": side,
        "response_b": side,
        "prompt_source": "wise",
        "prompt_metadata": {},
    }
    t2i = [
        {"pair_id": name, "human_preference": label, **pair}
        for name, label in zip("abcc", "ABAB", strict=True)
    ]
    edit = [
        {"id": name, "chosen": label, **pair}
        for name, label in zip("axy", "BAA", strict=True)
    ]
    write(copy / "benchmark" / "t2i_response_only.json", {"pairs": t2i})
    write(copy / "benchmark" / "edit_response_only.jsonl", edit)
    judgements(
        copy,
        names[0],
        {
            "a": ("A", "B"),
            "b": ("B", None),
            "c": ("A", "A"),
            "of another release": ("A", "A"),
        },
    )
    judgements(copy, names[1], {"a": ("B", "B"), "x": ("tie", "B")})
    done = adopt_benchmark("mmrb2", copy, tmp_path / "out", replies=["sample"])
    found = analyse([done.runs[0][0]]).judges[0].stored("as_published")
    # t2i: a 2 of 2, b 1 of 1, c 1 of 2 twice; edit: a 1 of 2, x 1 of 2.
    assert found == {"mmrb2": 63.64, "mmrb2/t2i": 71.43, "mmrb2/edit": 50.0}
    assert done.questions == 7 and done.labels_only


def test_a_judge_without_replies_costs_one_line(tmp_path: Path) -> None:
    copy = genai(tmp_path / "copy")
    write(copy / "image_generation" / "m2" / "pairwise.jsonl", [])
    done = adopt_benchmark("genai-bench", copy, tmp_path / "out", replies=None)
    assert [path.name for path, _ in done.runs] == ["m1"]
    assert done.left_out == ("m2: no reply belongs to a question of the copy",)
