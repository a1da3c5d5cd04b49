"""The public sets of verdicts of the atlas: where each is, and its rows for
``visualjudge.adopt``.

Each reader takes the folder of a clone and returns one row a verdict. Nothing of a set
is in this project; the atlas keeps figures that it computed from them.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl

Row = dict[str, Any]
Rows = list[Row]


@dataclass(frozen=True)
class Source:
    """A public repository: its address on GitHub, the commit that was read, and its
    licence as the repository states it.
    """

    repository: str
    commit: str
    licence: str

    @property
    def folder(self) -> str:
        """Name of its clone."""
        return self.repository.partition("/")[2]


@dataclass(frozen=True)
class VerdictSet:
    """Verdicts of judges on one set of questions with truth.

    ``years`` has the year in which the model of each judge was released,
    ``score_range`` is None for pairs, and ``shown`` is the name of the questions in
    tables.
    """

    name: str
    shown: str
    sources: tuple[str, ...]
    rows: Callable[..., Rows]
    years: Mapping[str, int] = field(default_factory=dict)
    score_range: tuple[float, float] | None = (0, 10)


UNCERTAINTY = "VLM-Judge-Uncertainty"
EDITS = "MLLM-as-a-Judge"
ARENA = "OpenING"
T2I = "gpt4v-t2i-evals"
GRAPHS = "T2IScoreScore"
QUALITY = "Q-Bench"
GENAI = "GenAI-Bench"
DRIVING = "VLMJudge"

SOURCES = {
    source.folder: source
    for source in (
        Source("divake/VLM-Judge-Uncertainty", "6d09bc8", "MIT"),
        Source(
            "mllmasajudge-anonymous/MLLM-as-a-Judge", "575d908", "none stated"
        ),
        Source("LanceZPF/OpenING", "56b663b", "none stated"),
        Source("emilyjiayaoli/gpt4v-t2i-evals", "0fd5f98", "none stated"),
        Source("j-min/DSG", "7330119", "Apache-2.0"),
        Source("michaelsaxon/T2IScoreScore", "93ebf89", "none stated"),
        Source("Q-Future/Q-Bench", "f19783e", "S-Lab 1.0"),
        Source("TIGER-AI-Lab/GenAI-Bench", "f0b0334", "MIT"),
        Source("vita-epfl/VLMJudge", "f34b84c", "none stated"),
    )
}

DRIVERS = {
    "gpt-5.4-mini": ("GPT-5.4-mini", 2026),
    "gemini-3-flash": ("Gemini", 2025),
    "qwen3-vl-30b": ("Qwen3VL", 2025),
    "qwen3-vl-30b, tools": ("v4o", 2025),
    "qwen3-vl-30b, tools+CoT": ("v4p", 2025),
    "qwen3-omni-30b": ("Qwen_omni", 2025),
    "internvl3.5-30b": ("InternVL3_5-30B", 2025),
    "internvl3.5-8b": ("InternVL3_5-8B", 2025),
    "llava-onevision-7b": ("llava_onevision", 2024),
}
"""Judges of generated drives: their files, and the years of their models."""
DRIVER_YEARS = {judge: year for judge, (_, year) in DRIVERS.items()}
RESULTS = {
    "llava-critic-7b": "v2",
    "phi-4-reasoning-vision": "v2_phi4",
    "gemini-2.5-flash": "v2_gemini",
}
CAPTIONS = {
    "llava-critic-7b": "v2_polaris",
    "phi-4-reasoning-vision": "v2_polaris_phi4",
}
FACTORS = {
    "texture_detail": "texture_and_detail",
    "color_lighting": "color_and_lighting",
}
"""Names of two criteria in the ratings of people, and in the replies of judges."""
PROMPTS = {
    "gpt-5-mini, all factors": "all_main",
    "gpt-5-mini, by category": "all_category_wise",
    "gpt-5-mini, rubrics": "all_factor_level_rubrics",
    "gemini-2.5-pro, rubrics": "all_factor_level_rubrics_gemini",
}
PAINTERS = {
    "mini-dalle": "mini_dalle",
    "sd1dot1": "stable_diffusion_v1_1",
    "sd1dot5": "stable_diffusion_v1_5",
    "sd2dot1": "stable_diffusion_v2_1",
    "vq-diffusion": "vq_diffusion",
}
FORMS = {
    "gpt-4v, 0 to 100": ("GPT4V-Eval", 0.1),
    "gpt-4v, 0 to 10": ("VIEScore", 1.0),
    "gpt-4v, 0 to 10, again": ("VIEScore-1", 1.0),
}
ANSWERERS = {
    "pali-17b, DSG": "pali17b",
    "mplug, DSG": "mplug",
    "instructblip, DSG": "instructblip",
}
METRICS = (
    *(
        f"{model}_{form}"
        for model in (
            "blip1",
            "instruct_blip",
            "llava",
            "mplug",
            "fuyu",
            "gpt4v",
        )
        for form in ("dsg", "tifa")
    ),
    "viescore",
    "clipscore",
)
"""Judges of images by prompt: a model that answers the questions of DSG or TIFA, GPT-4V
with VIEScore's prompt, and CLIPScore.
"""


def table(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def uncertainty_rows(clone: Path) -> Rows:
    """Scores of 1 to 5 for replies to questions about images of 14 data sets."""
    results = clone / "results"
    tasks = {
        row["sample_id"]: row["orig_dataset"].replace(
            "Concept Caption", "concept-captions"
        )
        for row in table(results / "v2/error_analysis.csv")
    }
    return [
        row | {"task": tasks[row["item"]]}
        for row in features(results, RESULTS, "gt_score")
        if row["item"] in tasks
    ]


def caption_rows(clone: Path) -> Rows:
    """Scores of 1 to 5 for captions, beside the mean of people."""
    return [
        row | {"truth": 1 + 4 * row["truth"], "task": "captions"}
        for row in features(clone / "results", CAPTIONS, "gt_score_continuous")
    ]


def features(
    results: Path, folders: Mapping[str, str], truth: str
) -> Iterator[Row]:
    """Rows of the files of score tokens; −1 is a reply without a score."""
    for judge, folder in folders.items():
        for row in table(results / folder / "features_s2.csv"):
            score = row["parsed_score"]
            yield {
                "item": row["sample_id"],
                "judge": judge,
                "verdict": None if score == "-1" else float(score),
                "truth": float(row[truth]),
            }


def edit_rows(clone: Path) -> Rows:
    """Scores of 1 to 7 for edits by 12 criteria, beside the mean of people."""
    ratings: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in table(
        clone / "results/Human_Evaluation/human_eval_results_latest.csv"
    ):
        for name in row["factors_order"].split("|"):
            ratings[row["task_id"], FACTORS.get(name, name)].append(
                float(row[name])
            )
    out = []
    for judge, name in PROMPTS.items():
        path = (
            clone
            / f"results/Traditional_metrics/judge_evaluations_{name}.jsonl"
        )
        lines = path.read_text("utf-8").splitlines()
        for edit in map(json.loads, filter(None, lines)):
            for factor, found in edit["online_factor_results"].items():
                rated = ratings.get((edit["image_id"], factor))
                if rated:
                    out.append(
                        {
                            "item": edit["image_id"],
                            "group": edit["image_id"],
                            "task": factor,
                            "judge": judge,
                            "verdict": found["score"],
                            "truth": mean(rated),
                        }
                    )
    return out


ARENA_JUDGES = {
    "gpt-4o": "gpt-judge_modelAB_results.json",
    "intjudge": "intjudge_rag-judge_modelAB_results.json",
    "intjudge, 2025": "intjudge_rag-judge_modelAB_results_new.json",
}
PEOPLE = "judge_modelAB_results.json"


def arena_rows(clone: Path) -> Rows:
    """Choices between two answers of text and images, A shown first; ties as ties."""
    folder = clone / "Interleaved_Arena"
    people = arena(folder / PEOPLE)
    return [
        {
            "item": "_".join(key),
            "group": key[0],
            "judge": judge,
            "model_a": key[1],
            "model_b": key[2],
            "order": "AB",
            "verdict": said,
            "truth": people[key],
        }
        for judge, name in ARENA_JUDGES.items()
        for key, said in arena(folder / name).items()
        if key in people
    ]


def arena(path: Path) -> dict[tuple[str, str, str], str]:
    """The winner of each pair: A, B or tie."""
    found = json.loads(path.read_text("utf-8"))
    return {
        (row["data_id"], row["model_A"]["name"], row["model_B"]["name"]): (
            "tie" if row["winner"].startswith("Tie") else row["winner"]
        )
        for row in found
    }


def t2i_rows(clone: Path, people: Path) -> Rows:
    """Scores for images of 160 prompts, beside the mean of five people: what GPT-4V
    said, and the share of yes that three models answered to the questions of DSG.
    """
    ratings: dict[tuple[str, str], list[float]] = defaultdict(list)
    prompts: dict[str, str] = {}
    for row in table(people / "dsg/data/tifa160-likert-anns.csv"):
        ratings[row["item_id"], row["t2i_model"]].append(float(row["answer"]))
        prompts[row["source_id"]] = row["item_id"]
    said: dict[tuple[str, str, str], float] = {}
    for judge, (folder, factor) in FORMS.items():
        path = clone / f"logs/TIFA160_DSG/{folder}/score_results_log.json"
        for found in json.loads(path.read_text("utf-8")).values():
            image = Path(found["images"][0]).stem
            model, name = next(
                pair for pair in PAINTERS.items() if image.endswith(pair[1])
            )
            prompt = prompts[image.removesuffix(f"_{name}")]
            said[judge, prompt, model] = found["scores"][0][0] * factor
    for judge, name in ANSWERERS.items():
        answers: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for row in table(people / f"vqa_answers_release/{name}_dsg.csv"):
            if row["dsg_prompt_split"] == "tifa160":
                yes = row["answer"].lower().startswith("yes")
                answers[row["item_id"], row["t2i_model"]].append(yes)
        for (prompt, model), all_of in answers.items():
            said[judge, prompt, model] = 10 * sum(all_of) / len(all_of)
    return [
        {
            "item": f"{prompt}/{model}",
            "group": prompt,
            "judge": judge,
            "verdict": score,
            "truth": (mean(ratings[prompt, model]) - 1) * 2.5,
        }
        for (judge, prompt, model), score in said.items()
        if (prompt, model) in ratings
    ]


def graph_rows(clone: Path) -> Rows:
    """Scores of images by prompt, beside the number of errors that people see in
    each."""
    truth = [
        10 - float(row["rank"][0]) for row in table(clone / "data/metadata.csv")
    ]
    scores = table(clone / "output/scores_final_all_3.csv")
    return [
        {
            "item": f"{row['id']}-{k}",
            "group": row["id"],
            "judge": name,
            "verdict": None
            if row[name] == "-1"
            else float(row[name]) * (1 if name == "viescore" else 10),
            "truth": errors,
        }
        for name in METRICS
        for k, (row, errors) in enumerate(zip(scores, truth, strict=True))
        if row[name]
    ]


ANSWER = re.compile(r"Answer:\s*([1-3])\b")


def realism_rows(clone: Path) -> Rows:
    """Scores from 1 to 3 of how realistic a generated drive is."""
    return driving_rows(clone, "realistic")


def safety_rows(clone: Path) -> Rows:
    """Scores from 1 to 3 of how safe the driving in a generated video is."""
    return driving_rows(clone, "safe")


def driving_rows(clone: Path, word: str) -> Rows:
    """Scores of the question "how ``word`` is", beside those of the annotators. Some
    files hold the score, others the whole reply; what states neither is no score.
    """
    out = []
    for judge, (name, _) in DRIVERS.items():
        rows = pl.read_parquet(clone / f"results/{name}_analyzed.parquet")
        asked = rows.filter(
            pl.col("question").str.starts_with(f"Overall, how {word}")
        )
        for row in asked.iter_rows(named=True):
            reply = row["vlm_answer"]
            stated = ANSWER.search(
                f"Answer: {reply}" if len(reply) == 1 else reply
            )
            out.append(
                {
                    "item": row["video"],
                    "group": row["video"],
                    "judge": judge,
                    "verdict": float(stated[1]) if stated else None,
                    "truth": float(row["ground_truth"]),
                }
            )
    return out


PICTURES = {"livec": (0, 100), "agi": (0, 5)}
"""Files of Q-Bench: photographs in the wild, generated images; the range of their
truth."""


def quality_rows(clone: Path) -> Rows:
    """Probability of "good" over "poor" as a score, beside people's mean opinion."""
    out = []
    for folder in sorted((clone / "leaderboards/IQA_outputs").iterdir()):
        for task, (_, high) in PICTURES.items():
            path = folder / f"{task}.json"
            if path.is_file():
                for row in objects(path.read_text("utf-8")):
                    out.append(
                        {
                            "item": row["img_path"],
                            "group": row["img_path"],
                            "task": task,
                            "judge": folder.name,
                            "verdict": good(folder.name, row),
                            "truth": min(
                                float(row["gt_score"]) * 10 / high, 10.0
                            ),
                        }
                    )
    return list(
        {(row["judge"], row["task"], row["item"]): row for row in out}.values()
    )


def good(judge: str, row: Mapping[str, float]) -> float:
    """Score from 0 to 10 by two logits, at the temperature of the authors; they read
    InstructBLIP T5 by "high" and "low". Six decimals, so that equal differences of
    logits are ties.
    """
    words = ("high", "low") if judge == "instructblip_t5" else ("good", "poor")
    best, worst = (row[f"logit_{word}"] / 100 for word in words)
    return round(10 / (1 + math.exp(worst - best)), 6)


def objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects that follow one another without a separator, or in a list."""
    decoder = json.JSONDecoder()
    place = 0
    while (place := text.find("{", place)) >= 0:
        found, place = decoder.raw_decode(text, place)
        yield found


SETS = (
    VerdictSet(
        "mllm-judge",
        "Replies about images",
        (UNCERTAINTY,),
        uncertainty_rows,
        {
            "llava-critic-7b": 2024,
            "phi-4-reasoning-vision": 2026,
            "gemini-2.5-flash": 2025,
        },
        (1, 5),
    ),
    VerdictSet(
        "polaris",
        "Captions",
        (UNCERTAINTY,),
        caption_rows,
        {"llava-critic-7b": 2024, "phi-4-reasoning-vision": 2026},
        (1, 5),
    ),
    VerdictSet(
        "edits",
        "Edits, 12 criteria",
        (EDITS,),
        edit_rows,
        dict.fromkeys(PROMPTS, 2025),
        (1, 7),
    ),
    VerdictSet(
        "realism",
        "Realism of a drive",
        (DRIVING,),
        realism_rows,
        DRIVER_YEARS,
        (1, 3),
    ),
    VerdictSet(
        "safety",
        "Safety of a drive",
        (DRIVING,),
        safety_rows,
        DRIVER_YEARS,
        (1, 3),
    ),
    VerdictSet(
        "opening",
        "Text with images",
        (ARENA,),
        arena_rows,
        {"gpt-4o": 2024, "intjudge": 2024, "intjudge, 2025": 2025},
        None,
    ),
    VerdictSet(
        "tifa160",
        "Images by prompt",
        (T2I, "DSG"),
        t2i_rows,
        dict.fromkeys((*FORMS, *ANSWERERS), 2023),
    ),
    VerdictSet(
        "ts2",
        "Errors of images",
        (GRAPHS,),
        graph_rows,
        dict.fromkeys(METRICS, 2023),
    ),
    VerdictSet(
        "q-bench",
        "Image quality",
        (QUALITY,),
        quality_rows,
    ),
)
