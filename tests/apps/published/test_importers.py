"""Each benchmark's own files, in small: questions, labels, images, replies, and the score that its
authors count.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from scipy import stats
from typer.testing import CliRunner

from apps.published import copies
from visualjudge.analysis.analysing import analyse
from visualjudge.analysis.decisions.decision_json import card_json
from visualjudge.apps.audit import audit
from visualjudge.apps.frontdoor.decisions import card
from visualjudge.apps.published.benchmarks import BENCHMARKS
from visualjudge.apps.published.importing import Imported, import_benchmark
from visualjudge.cli.bench import app
from visualjudge.clients.base import Reply
from visualjudge.clients.scripted import ScriptedClient
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import IMAGE_MARK
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.dataset.validate import validate
from visualjudge.judges.base import Ask
from visualjudge.judges.question_judge import QuestionJudge

CASES: dict[str, tuple[Callable[[Path], Path], str, bool]] = {
    "mllm-as-a-judge": (copies.mllm_judge, "gpt-4o", False),
    "mj-bench": (lambda folder: copies.mj_bench(folder, [0, 1, 0]), "gpt", False),
    "editreward-bench": (lambda folder: copies.editreward(folder, images=True), "pvc", False),
    "editscore-bench": (lambda folder: copies.editscore(folder, rows=True), "pvc", False),
    "imagenhub": (copies.imagenhub, "gpt4o", True),
    "dsg-tifa160": (copies.dsg_tifa160, "mplug_dsg", False),
    "t2vscore": (copies.t2vscore, "T2VScore-A (GPT-4V)", True),
    "mmrb2": (copies.mmrb2, "sample", False),
    "rewardbench-2": (copies.rewardbench2, "", False),
    "vision-judge": (lambda folder: copies.vision_judge(folder, images=True), "", False),
}


def imported(tmp_path: Path, name: str, **options: Any) -> Imported:
    make, judge, _ = CASES[name]
    replies = [judge] if judge else []
    return import_benchmark(
        name, make(tmp_path / "copy"), tmp_path / "out" / "set", replies=replies, **options
    )


def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(tmp_path / "out" / "set")


def published(done: Imported) -> dict[str, float | None]:
    return dict(analyse([done.runs[0][0]]).results.judges[0].as_published)


@pytest.mark.parametrize("models", [5, {"gen": []}, {"gen": 5}])
def test_what_no_check_foresaw_is_said_of_the_copy(tmp_path: Path, models: object) -> None:
    copies.write(tmp_path / "copy" / "t2vscore_alignment_score.json", {"0": {"models": models}})
    with pytest.raises(DataError, match="copy: does not have the layout of t2vscore: "):
        import_benchmark("t2vscore", tmp_path / "copy", tmp_path / "out" / "set")


@pytest.mark.parametrize("name", CASES)
def test_a_copy_is_a_valid_dataset_that_can_be_judged_where_it_has_all_images(
    tmp_path: Path, name: str
) -> None:
    done = imported(tmp_path, name)
    read, problems = validate(tmp_path / "out" / "set")
    assert problems == [] and done.labels_only == CASES[name][2] == read.labels_only
    assert read.benchmark["use"] in ("any", "evaluation only") and read.benchmark["licence"]
    for question in read if not done.labels_only else ():
        assert question.prompt.count(IMAGE_MARK) == len(question.images)
        assert question.spans is not None and len(question.spans.options) == len(
            question.annotation_ids
        )


def test_a_judge_answers_imported_scores_and_rankings_in_our_reply_form(tmp_path: Path) -> None:
    imported(tmp_path, "mllm-as-a-judge")
    read = dataset(tmp_path)
    said = {
        "scoring": ("Answer: 7", 7.0),
        "ranking": ("Answer: CAB", "CAB"),
        "pairwise": ("[[tie]]", "tie"),
    }
    for kind, (text, value) in said.items():
        question = next(one for one in read if one.question_type == kind)
        judge = QuestionJudge(ScriptedClient([Reply(text)]), read.root)
        assert asyncio.run(judge(Ask(question))).verdict.value == value


def test_mllm_as_a_judge_counts_pairs_scores_and_rankings_as_its_authors_do(tmp_path: Path) -> None:
    found = published(done := imported(tmp_path, "mllm-as-a-judge"))
    assert found["mllm-as-a-judge/pair"] == round(2 / 3, 3)
    assert found["mllm-as-a-judge/pair without ties"] == 0.5
    assert found["mllm-as-a-judge/score"] == round(
        float(stats.pearsonr([1, 4, 5], [1, 3, 5])[0]), 3
    )
    assert found["mllm-as-a-judge/batch"] == round(
        2 / 3, 3
    )  # CAB against ACB: two edits of three letters
    assert [question.answer for question in dataset(tmp_path)][:3] == [0.0, 5.0, 10.0]
    assert len(done.left_out) == 1 and "has no label that can be used" in done.left_out[0]


def test_mj_bench_counts_ties_of_the_judge_as_wrong_or_leaves_them_out(tmp_path: Path) -> None:
    found = published(imported(tmp_path, "mj-bench"))
    assert found == {"mj-bench/quality/with tie": 66.7, "mj-bench/quality/without tie": 100.0}
    assert [question.answer for question in dataset(tmp_path)] == ["A", "B", "A"]


def test_a_label_that_is_always_the_first_is_dealt_to_both_sides(tmp_path: Path) -> None:
    copy = copies.mj_bench(tmp_path / "copy", [0] * 30)
    done = import_benchmark("mj-bench", copy, tmp_path / "out" / "set", replies=["gpt"])
    answers = [question.answer for question in dataset(tmp_path)]
    assert 5 < answers.count("A") < 25
    assert published(done)["mj-bench/quality/with tie"] == pytest.approx(
        33.3
    )  # "0" in every third reply
    better = {question.images[0 if question.answer == "A" else 1] for question in dataset(tmp_path)}
    assert len(better) == 1  # the image that the copy prefers, whichever side it stands on


def test_editreward_leaves_out_what_was_not_read(tmp_path: Path) -> None:
    assert published(imported(tmp_path, "editreward-bench")) == {
        "editreward-bench/visual_quality": 0.5
    }
    question = dataset(tmp_path)[0]
    assert (
        len(question.images) == 3
        and question.spans is not None
        and question.spans.original is not None
    )


def test_without_its_images_editreward_is_labels_only(tmp_path: Path) -> None:
    copy = copies.editreward(tmp_path / "copy", images=False)
    assert import_benchmark("editreward-bench", copy, tmp_path / "out" / "set").labels_only


@pytest.mark.parametrize("rows", [True, False])
def test_editscore_takes_its_sides_from_the_map(tmp_path: Path, rows: bool) -> None:
    copy = copies.editscore(tmp_path / "copy", rows=rows)
    done = import_benchmark("editscore-bench", copy, tmp_path / "out" / "set", replies=["pvc"])
    assert [question.answer for question in dataset(tmp_path)] == ["B", "A"]
    assert done.labels_only is not rows
    assert published(done)["editscore-bench/consistency"] == 0.5


def test_viescore_is_the_tangent_of_the_mean_rho_of_images_with_both_scores(tmp_path: Path) -> None:
    found = published(imported(tmp_path, "imagenhub"))
    first = stats.spearmanr([1, 2, 4, 3, 9], range(5))[0]
    # The image without PQ is left out of SC too; 4.5 counts as 4, [3, 9] as 3.
    second = stats.spearmanr([3, 8, 4, 9], [0, 3, 1, 4])[0]
    assert found["viescore/Text-Guided_IG/SC"] == round(math.tanh((first + second) / 2), 4)
    both = [math.sqrt(a * b) for a, b in ((1, 5), (2, 4), (4, 3), (3, 2), (9, 1))]
    people = [math.sqrt(k / 8 * (1 - k / 8)) for k in range(5)]
    first = stats.spearmanr(both, people)[0]
    second = stats.spearmanr([3, 16, 12, 36], [0, 0.75, 0.5, 3])[0]
    assert found["viescore/Text-Guided_IG/O"] == pytest.approx(
        math.tanh((first + second) / 2), abs=1e-4
    )


def test_viescore_s_clone_is_read_where_its_files_lie(tmp_path: Path) -> None:
    """Deeper folders, a prefix, scores beyond the scale: as the notebook counts them."""
    task = "ImagenHub_Text-Guided_IG"
    home = tmp_path / "clone"
    people = home / "_human_annotations/ImagenHub_human_eval_results" / task
    shares = [(0, 0.5), (0.5, 0.5), (0.5, 1), (1, 0), (1, 1)]
    for rater in (1, 2, 3):
        rows = [
            {"uid": f"s{k}.jpg", "SD": f"[{a},{b if rater < 3 else 1}]"}
            for k, (a, b) in enumerate(shares)
        ]
        copies.write(people / f"Text-To-Image_rater{rater}.tsv", rows)
    said = {"SC": [[30, 2], [25], [7.9, 8], 3.5, [-4]], "PQ": [[4], [6], [3], [2], [9]]}
    for part, values in said.items():
        held = {f"s{k}.jpg": {"score": value} for k, value in enumerate(values)}
        copies.write(home / "_answers/results_gpt/" / task / f"SD/{part}.json", held)
    done = import_benchmark("imagenhub", home, tmp_path / "out" / "set", replies=["gpt"])
    counted = [0.2, 1.0, 0.7, 0.35, 0.0]
    truth = [share for share, _ in shares]
    found = published(done)
    expected = stats.spearmanr(counted, truth)[0]
    assert found["viescore/Text-Guided_IG/SC"] == round(math.tanh(expected), 4)
    both = [math.sqrt(a * b / 10) for a, b in zip(counted, (4, 6, 3, 2, 9), strict=True)]
    overall = [(2 * math.sqrt(a * b) + math.sqrt(a)) / 3 for a, b in shares]
    expected = stats.spearmanr(both, overall)[0]
    assert found["viescore/Text-Guided_IG/O"] == round(math.tanh(expected), 4)
    verdicts = (done.runs[0][0] / "verdicts.jsonl").read_text("utf-8").splitlines()
    values = {v["value"] for v in map(json.loads, verdicts) if "published_value" in v}
    assert 25.0 not in values and 30.0 not in values and "Failed" in values


def test_an_import_of_no_question_or_of_no_reply_that_matches_fails(tmp_path: Path) -> None:
    copy = copies.imagenhub(tmp_path / "copy")
    for path in (copy / "results_gpt4o").rglob("*.json"):
        held = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({f"other-{uid}": said for uid, said in held.items()}), "utf-8")
    with pytest.raises(DataError, match="replies of gpt4o: no id belongs to a question"):
        import_benchmark("imagenhub", copy, tmp_path / "out/set", replies=["gpt4o"])
    assert not (tmp_path / "out").exists()
    for path in (copy / "human").rglob("*.tsv"):
        path.write_text("uid\tSD\n", "utf-8")
    with pytest.raises(DataError, match="has no usable question"):
        import_benchmark("imagenhub", copy, tmp_path / "out/set")


def test_dsg_counts_a_question_whose_parent_was_answered_no_as_no(tmp_path: Path) -> None:
    found = published(imported(tmp_path, "dsg-tifa160"))
    people, shares = [1, 2, 4, 5], [0.0, 0.0, 0.5, 1.0]
    assert found["dsg-tifa160/spearman"] == round(float(stats.spearmanr(shares, people)[0]), 3)
    assert found["dsg-tifa160/kendall"] == round(float(stats.kendalltau(shares, people)[0]), 3)
    assert "A cat 2." in dataset(tmp_path)[2].prompt


def test_a_score_of_nought_is_a_score(tmp_path: Path) -> None:
    done = imported(tmp_path, "dsg-tifa160")  # two of the four images are scored 0
    scoring = analyse([done.runs[0][0]]).results.judges[0].scoring
    assert (scoring.n, scoring.failed) == (4, 0)


def test_t2vscore_correlates_a_metric_with_people(tmp_path: Path) -> None:
    found = published(imported(tmp_path, "t2vscore"))
    assert found["t2vscore/alignment/pearson"] == round(
        float(stats.pearsonr([0.2, 0.6, 0.4, 1.0], [1, 4, 2, 5])[0]), 3
    )
    assert found["t2vscore/quality/pearson"] is None


def test_mmrb2_with_its_images_can_be_judged_and_a_steady_judge_scores_the_share_of_its_answer(
    tmp_path: Path,
) -> None:
    assert published(imported(tmp_path, "mmrb2")) == {"mmrb2": 75.0, "mmrb2/edit": 75.0}
    assert all(len(question.images) == 3 for question in dataset(tmp_path))


def test_rewardbench_2_asks_for_all_pairs_of_a_prompt(tmp_path: Path) -> None:
    imported(tmp_path, "rewardbench-2")
    questions = list(dataset(tmp_path))
    assert len(questions) == 9 and {question.image_id for question in questions} == {
        f"Math/p{k}" for k in range(3)
    }
    assert {question.answer for question in questions} == {"A", "B"}
    said = [{"id": f"p{k}/0/{j}", "response": "[[A]]"} for k in range(3) for j in range(3)]
    copies.write(tmp_path / "copy" / "replies" / "always-a.jsonl", said)
    done = import_benchmark(
        "rewardbench-2", tmp_path / "copy", tmp_path / "two" / "set", replies=["always-a"]
    )
    whole = sum(
        all(q.answer == "A" for q in questions if q.image_id == f"Math/p{k}") for k in range(3)
    )
    assert published(done) == {"rewardbench-2/Math": round(100 * whole / 3, 1)}


def test_vision_judge_asks_in_its_own_words_or_ours(tmp_path: Path) -> None:
    imported(tmp_path, "vision-judge", prompt="own")
    own = dataset(tmp_path)[0]
    assert own.prompt.endswith("Please answer with A or B directly.") and len(own.images) == 3
    assert (
        own.spans is not None
        and [own.prompt[a:b] for a, b in own.spans.options] == [IMAGE_MARK] * 2
    )
    imported(tmp_path, "vision-judge", prompt="ours", force=True)
    ours = dataset(tmp_path)[0]
    assert "[[A]] or [[B]]" in ours.prompt and ours.images == own.images
    assert ours.final_scores == (5.0, 7.5) and ours.sources == ("synthetic", "gt")


@pytest.mark.parametrize("images", [True, False])
def test_identical_options_are_found_with_and_without_images(tmp_path: Path, images: bool) -> None:
    copy = copies.vision_judge(tmp_path / "copy", images=images)
    import_benchmark("vision-judge", copy, tmp_path / "out" / "set")
    (found,) = (
        row for row in audit(tmp_path / "out" / "set").findings if row.kind == "identical_options"
    )
    assert found.count == 1


def test_an_audit_finds_every_kind_of_fault_that_is_planted_in_vision_judge(tmp_path: Path) -> None:
    copy = copies.vision_judge_with_faults(tmp_path / "copy")
    import_benchmark("vision-judge", copy, tmp_path / "out" / "set")
    found = {row.kind: row.count for row in audit(tmp_path / "out" / "set").findings}
    assert set(found) == {
        "answer_contradicts_scores",
        "contradictory_metrics",
        "identical_options",
        "imbalance",
        "leak",
        "near_duplicates",
        "unreadable",
    }
    assert (
        found["identical_options"]
        == found["contradictory_metrics"]
        == found["answer_contradicts_scores"]
        == 1
    )


@pytest.mark.parametrize(
    "name",
    [name for name, row in BENCHMARKS.items() if row.use == "evaluation only" and name in CASES],
)
def test_benchmarks_for_evaluation_only_are_refused_as_training_rows(
    tmp_path: Path, name: str
) -> None:
    imported(tmp_path, name)
    with pytest.raises(UsageError, match="may be used for evaluation only"):
        export(dataset(tmp_path), "trl-grpo", tmp_path / "rows")


def test_the_hub_is_asked_only_where_the_user_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def load(name: str, part: str | None) -> datasets.DatasetDict:
        asked.append(name if part is None else f"{name} {part}")
        rows = {
            "id": ["p"],
            "prompt": ["2 + 2?"],
            "chosen": [["4"]],
            "rejected": [["5"]],
            "subset": ["Math"],
        }
        return datasets.DatasetDict({"test": datasets.Dataset.from_dict(rows)})

    monkeypatch.setattr(datasets, "load_dataset", load)
    done = CliRunner().invoke(
        app, ["import", "rewardbench-2", "--hub", "--out", str(tmp_path / "set")]
    )
    assert done.exit_code == 0 and asked == ["allenai/reward-bench-2"]
    assert load_dataset(tmp_path / "set")[0].answer in ("A", "B")
    with pytest.raises(UsageError, match="give either --from FOLDER or --hub"):
        import_benchmark("rewardbench-2", None, tmp_path / "other")
    with pytest.raises(UsageError, match="imagenhub is not on the Hub"):
        import_benchmark("imagenhub", None, tmp_path / "other", hub=True)


def test_genai_bench_from_the_hub_has_its_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str, part: str) -> datasets.DatasetDict:
        splits = copies.genai_splits(part)
        return datasets.DatasetDict(
            {split: datasets.Dataset.from_list(rows) for split, rows in splits.items()}
        )

    monkeypatch.setattr(datasets, "load_dataset", load)
    done = import_benchmark("genai-bench", None, tmp_path / "set", hub=True)
    assert (done.questions, done.labels_only) == (4, False)


def test_published_votes_are_those_of_the_tables_of_the_hub(tmp_path: Path) -> None:
    copy = copies.genai_hub(tmp_path / "copy")
    rows = [
        {"idx": k, "human_vote": "leftvote", "model_vote": "[[A>B]]", "correct": True}
        for k in range(2)
    ]
    copies.write(copy / "image_generation" / "gpt" / "pairwise.json", rows[:1])
    done = import_benchmark("genai-bench", copy, tmp_path / "out" / "set", replies=["gpt"])
    assert published(done)["genai-bench/image_generation"] == 100.0 and not done.labels_only
    copies.write(copy / "image_generation" / "gpt" / "pairwise.json", rows)
    with pytest.raises(DataError, match="record 2: human_vote: differs"):
        import_benchmark("genai-bench", copy, tmp_path / "other")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_folder_that_holds_something_else_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty: must hold .*found"):
        import_benchmark(name, tmp_path / "empty", tmp_path / "out")


def test_a_card_over_several_benchmarks_has_a_row_in_each_and_mixes_none(tmp_path: Path) -> None:
    first = import_benchmark(
        "mj-bench",
        copies.mj_bench(tmp_path / "mj", [0, 1, 0]),
        tmp_path / "a" / "s",
        replies=["gpt"],
    )
    copy = copies.mllm_judge(tmp_path / "mllm")
    second = import_benchmark("mllm-as-a-judge", copy, tmp_path / "b" / "s", replies=["gpt-4o"])
    runs = [first.runs[0][0], second.runs[0][0]]
    told = card_json(card(runs))
    rows = {
        (row["judge"], row["benchmark"], row["question_type"]): row for row in told["benchmarks"]
    }
    assert set(rows) == {("gpt", "mj-bench", "pairwise")} | {
        ("gpt-4o", "mllm-as-a-judge", kind) for kind in ("pairwise", "ranking", "scoring")
    }
    assert rows["gpt", "mj-bench", "pairwise"]["guessing"] == 0.5
    assert rows["gpt-4o", "mllm-as-a-judge", "pairwise"]["guessing"] == pytest.approx(1 / 3)
    known = [
        {name for name, value in judge["as_published"].items() if value is not None}
        for judge in told["judges"]
    ]
    assert {name.partition("/")[0] for name in known[0]} == {"mj-bench"}
    assert {name.partition("/")[0] for name in known[1]} == {"mllm-as-a-judge"}
    assert "Benchmarks" in str(card(runs)) and told["benchmarks"][0]["measure"] == "accuracy"
