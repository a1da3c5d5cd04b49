"""Benchmarks asked in their own words: the prompt, its images, and the reply form that it asks
for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.published import copies
from visualjudge.apps.published.importing import import_benchmark
from visualjudge.apps.published.prompts import python_literal
from visualjudge.clients.base import Reply
from visualjudge.clients.scripted import ScriptedClient
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.validate import validate
from visualjudge.judges.base import Ask
from visualjudge.judges.question_judge import QuestionJudge


def own_prompts(tmp_path: Path, name: str, copy: Path, reply: str) -> list[tuple[str, str | float]]:
    """The own prompt of each question, and what a judge is read to say that gives ``reply``."""
    done = import_benchmark(name, copy, tmp_path / "own", prompt="own")
    read, problems = validate(tmp_path / "own")
    assert problems == [] and not done.labels_only
    for question in read:
        assert question.prompt.count(IMAGE_MARK) == len(question.images)
    verdicts = [
        asyncio.run(
            QuestionJudge(ScriptedClient([Reply(reply)]), read.root)(Ask(one))
        ).verdict.value
        for one in read
    ]
    return list(zip((question.prompt for question in read), verdicts, strict=True))


def test_genai_bench_asks_in_its_own_words_and_replies_in_its_own_form(tmp_path: Path) -> None:
    copy = copies.genai_hub(tmp_path / "copy")
    asked = own_prompts(
        tmp_path,
        "genai-bench",
        copy,
        "3. Tie, relatively the same acceptable quality: [[A=B=Good]]",
    )
    assert {verdict for _, verdict in asked} == {"tie"}
    assert (
        asked[0][0].count(
            "Text prompt: a cat\nModel A Generated Image: <image>\nModel B Generated Image: <image>"
        )
        == 1
    )
    assert "Editing instruction: add a hat\nSource Image: <image>" in asked[2][0]
    questions = load_dataset(tmp_path / "own")
    assert [question.answer for question in questions] == ["A", "both_bad", "A", "both_bad"]
    assert questions[2].sources == ("x", "y")


def test_vl_rewardbench_and_judgebench_ask_in_their_own_words(tmp_path: Path) -> None:
    row = {
        "id": "mmmu_1",
        "query": "<image>\nWhat?",
        "response": ["one", "two"],
        "human_ranking": [1, 0],
    }
    copies.write(tmp_path / "vl" / "data.parquet", [row | {"image": copies.png(40)}])
    ((prompt, verdict),) = own_prompts(
        tmp_path, "vl-rewardbench", tmp_path / "vl", "Overall Judgment: Answer 2 is better."
    )
    assert verdict == "B" and "Question: What?\n\nAnswer 1: one\n\nAnswer 2: two\n" in prompt
    pair = {
        "pair_id": "p",
        "question": "2 + 2?",
        "response_A": "4",
        "response_B": "5",
        "label": "A>B",
    }
    copies.write(tmp_path / "jb" / "data.jsonl", [pair])
    ((prompt, verdict),) = own_prompts(
        tmp_path / "2", "judgebench", tmp_path / "jb", "My final verdict is [[B>>A]]"
    )
    assert verdict == "B" and "Assistant A's Answer|>\n4\n" in prompt


def test_only_a_copy_with_prompts_can_be_asked_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="the copy has no prompt of rewardbench-2; use --prompt ours"
    ):
        import_benchmark(
            "rewardbench-2", copies.rewardbench2(tmp_path / "copy"), tmp_path / "own", prompt="own"
        )
    with pytest.raises(DataError, match=r"must hold prompt_template/prompts_multi_image/\*_multi"):
        import_benchmark(
            "mj-bench", copies.mj_bench(tmp_path / "mj", [0, 1]), tmp_path / "own", prompt="own"
        )


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def mmrb2(folder: Path) -> Path:
    """Texts and images alternate; the rubric is in the script of the copy."""
    for name in ("in", "a", "b"):
        copies.image(folder / "benchmark" / "images" / f"{name}.jpg", len(name) * 60)
    a, b = (
        {
            "model_name": "m",
            "response_content": [
                ["text", f"First {n}"],
                ["image", f"images/{n}.jpg"],
                ["text", "End"],
            ],
        }
        for n in "ab"
    )
    prompt = [["image", "images/in.jpg"], ["text", "Tell a story."]]
    row = {"id": "p", "prompt_content": prompt, "response_a": a, "response_b": b, "chosen": "B"}
    copies.write(folder / "benchmark" / "interleaved.json", {"pairs": [row]})
    script = (
        'def get_interleaved_prompt() -> str:\n    """Doc."""\n    return """Judge, as '
        '{"better_response": "A"}."""\n'
    )
    written(
        folder / "evaluate/generate_judgements/evaluator_apis/llm_judges/evaluation_prompts.py",
        script,
    )
    return folder


def multimodal(folder: Path) -> Path:
    copies.image(folder / "data" / "1.png", 90)
    row = {
        "ID": "x1",
        "Category": "vqa",
        "Image": "1.png",
        "Text": "{answer_a}?",
        "Output1": "one",
        "Output2": "two",
    }
    copies.write(folder / "data" / "all_data.json", [row | {"Better": "Output2"}])
    script = (
        "import json\njudge_prompt = "
        '"""Judge.\n[Q]\\n{question}\\n[A]\\n{answer_a}\\n[B]\\n{answer_b}"""\n'
    )
    written(folder / "scripts/1_run_model_as_judge_gpt4o.py", script)
    return folder


def mj(folder: Path) -> Path:
    copies.mj_bench(folder, [0, 1])
    for name in ("alignment", "artifacts"):
        text = f"Judge {name}.\nBETTER IMAGE: YOUR CHOICE\n```\n{{caption}}\n```\n"
        written(
            folder / f"prompt_template/prompts_multi_image/{name}_multi_number_scale10.txt", text
        )
    return folder


def gedit(folder: Path) -> Path:
    copies.editreward(folder, images=True)
    prompt = """prompt_id: vlm/assessment/visual_quality/pairwise
version: v1
system_prompt: You judge edits.
user_prompt:
  - text: "Source:"
  - image: {source: input_image}
  - text: "Image A:"
  - image: {source: edited_images, index: 0}
  - text: "Image B:"
  - image: {source: edited_images, index: 1}
  - text: "Instruction: {{instruction}}"
"""
    written(folder / "src/prompts/assets/vlm/assessment/visual_quality/pairwise/v1.yaml", prompt)
    return folder


@pytest.mark.parametrize(
    ("name", "make", "reply", "value", "prompt"),
    [
        (
            "mmrb2",
            mmrb2,
            '{"reasoning": {"text": "A is better told"}, "score": 2, "better_response": "B"}',
            "B",
            'Judge, as {"better_response": "A"}.\n[ORIGINAL PROMPT TO MODEL:]\n<image>\nTell a '
            "story.\n[RESPONSE A:]\n"
            "First a\n<image>\nEnd\n[RESPONSE B:]\nFirst b\n<image>\nEnd",
        ),
        (
            "multimodal-rewardbench",
            multimodal,
            "The second is right: [[B]]",
            "B",
            "Judge.\n[Q]\n{answer_a}?\n[A]\none\n[B]\ntwo\n<image>",
        ),
        (
            "mj-bench",
            mj,
            "IMAGE-1 RATING: 5\n\nIMAGE-2 RATING: 5\n\nBETTER IMAGE: 0\n\nANALYSIS OF CHOICE: "
            "Alike.",
            "tie",
            "Judge artifacts.\nBETTER IMAGE: YOUR CHOICE\n```\na cat 0\n```\n<image>\n<image>",
        ),
        (
            "editreward-bench",
            gedit,
            '{"winner": "Image B"}',
            "B",
            "You judge edits.\n\nSource:<image>\nImage A:<image>\nImage B:<image>\nInstruction: "
            "Add a hat.",
        ),
    ],
)
def test_a_prompt_that_may_not_be_passed_on_is_read_from_the_copy(
    tmp_path: Path, name: str, make: Callable[[Path], Path], reply: str, value: str, prompt: str
) -> None:
    asked = own_prompts(tmp_path, name, make(tmp_path / "copy"), reply)
    assert asked[0] == (prompt, value)
    (version,) = load_dataset(tmp_path / "own").meta["prompts"].values()
    assert version == ("v1" if name == "mmrb2" else "copy")


def test_mllm_as_a_judge_asks_for_pairs_and_batches_and_leaves_scores_out(tmp_path: Path) -> None:
    copy = copies.mllm_judge(tmp_path / "copy")
    texts = {"start": "Be fair. ", "setting": {"No COT": "Analyse."}, "notice": "Notice this."}
    tasks = {
        "score": "1 to 5",
        "pair": "Use [[C]] for a tie.\n",
        "batch": "Rank like [[A]], [[B]].",
    }
    written(
        copy / "scripts/prompt.py",
        f"def get_prompt():\n    prompt = {texts | {'tasks': tasks}!r}\n    return prompt\n",
    )
    asked = own_prompts(
        tmp_path, "mllm-as-a-judge", copy, '{"Analysis": "x", "Judgement": "[[C]], [[A]], [[B]]"}'
    )
    assert [verdict for _, verdict in asked] == ["Failed"] * 3 + ["CAB"]
    head = "Be fair. \nEvaluation Steps:\nAnalyse.\nEvaluation Method:\n"
    start = (
        "\nNotice:\nNotice this.\nHere is the input:\n\n[The Start of User Instruction]\nWhat is "
        "it?\n"
    )
    pair = "[The Start of Assistant A’s Answer]\nIt is gpt4.\n[The End of Assistant A’s Answer]\n"
    assert asked[0][0].startswith(
        head + tasks["pair"] + start + "[The End of User Instruction]\n" + pair
    )
    assert asked[3][0].startswith(
        head + tasks["batch"] + start + "[The End of User Instruction]" + pair
    )
    assert asked[3][0].endswith("It is gemini.\n[The End of Assistant C’s Answer]\n<image>")
    done = import_benchmark(
        "mllm-as-a-judge", copy, tmp_path / "run" / "set", prompt="own", replies=["gpt-4o"]
    )
    assert (
        done.runs[0][1] == 4 and sum("no prompt of its own" in line for line in done.left_out) == 3
    )


@pytest.mark.parametrize(
    "text", ["def (", "judge_prompt = open('x').read()", "judge_prompt = " + "(" * 5000, "\0"]
)
def test_a_script_that_holds_no_text_gives_none_and_is_not_executed(
    tmp_path: Path, text: str
) -> None:
    written(tmp_path / "script.py", text)
    assert python_literal(tmp_path / "script.py", "judge_prompt") is None
    assert python_literal(None, "judge_prompt") is None
