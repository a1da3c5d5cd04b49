"""Figures that the sources published, beside ours of the same verdicts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atlas_findings import Analyses, of
from atlas_sets import (
    ARENA,
    ARENA_JUDGES,
    DRIVERS,
    DRIVING,
    GENAI,
    PEOPLE,
    QUALITY,
    UNCERTAINTY,
    table,
)

from visualjudge.analysis.figures.published_scores import AS_PUBLISHED
from visualjudge.analysis.figures.scoring import SCORES


@dataclass(frozen=True)
class Published:
    """A figure of a source and ours; ``digits`` are those that the source gives, and
    ``why`` says why they differ, if they do.
    """

    set: str
    judge: str
    figure: str
    theirs: float
    ours: float
    digits: int
    place: str
    why: str = ""


def published_of(analyses: Analyses, clones: Path) -> tuple[Published, ...]:
    """All published figures of the sets that were measured."""
    readers = {
        "mllm-judge": (replies, UNCERTAINTY),
        "polaris": (captions, UNCERTAINTY),
        "realism": (drives, DRIVING),
        "opening": (arena_figures, ARENA),
        "q-bench": (quality, QUALITY),
        "genai-bench/image_generation": (votes, GENAI),
    }
    return tuple(
        row
        for name, (read, folder) in readers.items()
        if name in analyses
        for row in read(analyses, clones / folder)
    )


def replies(analyses: Analyses, clone: Path) -> Iterator[Published]:
    """Point figures of three judges."""
    names = {
        "LLaVA-Critic-7B": "llava-critic-7b",
        "Gemini-2.5-Flash": "gemini-2.5-flash",
        "Phi-4-reasoning-15B": "phi-4-reasoning-vision",
    }
    for folder in ("v2_gemini", "v2_phi4"):
        path = clone / "results" / folder / "point_prediction_comparison.csv"
        for row in table(path):
            judge = names.get(row["judge"])
            if judge is None or (folder, judge) == (
                "v2_phi4",
                "llava-critic-7b",
            ):
                continue
            own = of(analyses["mllm-judge"], judge)[SCORES]
            for figure, ours in (
                ("pearson", own.pearson.value),
                ("spearman", own.spearman.value),
                ("accuracy", own.exact.value),
                ("mae", (own.mae.value or 0) * 0.4),
                ("bias", (own.bias.value or 0) * 0.4),
            ):
                yield Published(
                    "mllm-judge",
                    judge,
                    figure,
                    float(row[figure]),
                    ours or 0.0,
                    4 if len(row[figure].split(".")[1]) > 3 else 3,
                    f"{folder}/point_prediction_comparison.csv",
                    "one reply, which has no task in the files, is left out here",
                )


def captions(analyses: Analyses, clone: Path) -> Iterator[Published]:
    """Pearson's r on captions."""
    places = {
        "LLaVA-Critic-7B": (
            "llava-critic-7b",
            "v2_polaris_phi4/point_prediction.csv",
        ),
        "Phi-4-15B": (
            "phi-4-reasoning-vision",
            "v2_polaris_phi4/point_prediction.csv",
        ),
    }
    for row in table(clone / "results/v2_polaris_phi4/point_prediction.csv"):
        judge, place = places[row["judge"]]
        own = of(analyses["polaris"], judge)[SCORES]
        yield Published(
            "polaris",
            judge,
            "pearson",
            float(row["pearson"]),
            own.pearson.value or 0.0,
            4,
            place,
            "theirs is with people’s mean rounded to 1 to 5, ours with the mean itself",
        )


def drives(analyses: Analyses, clone: Path) -> Iterator[Published]:
    """Shares of equal scores of the two questions, as the repository's script printed
    them."""
    place = "report/all_models_accuracy_summary.json"
    models = json.loads((clone / place).read_text("utf-8"))["models"].values()
    names = {name: judge for judge, (name, _) in DRIVERS.items()}
    for model in models:
        judge = names.get(model["file"].removesuffix("_analyzed.parquet"))
        questions = {
            row["question"].split()[2]: row["accuracy"]
            for row in model["per_question"]
            if row["question"].startswith("Overall, how")
        }
        if judge is None:
            continue
        for name, word in (("realism", "realistic"), ("safety", "safe")):
            own = of(analyses[name], judge)[SCORES]
            yield Published(
                name,
                judge,
                "accuracy",
                questions[word],
                (own.exact.value or 0.0) * (1 - own.failed / own.n),
                4,
                place,
                "a score in a reply without “Answer:” is not read here",
            )


def arena_figures(analyses: Analyses, clone: Path) -> Iterator[Published]:
    """Agreement with forced ties, as README states it, by the authors' rule."""
    folder = clone / "Interleaved_Arena"

    def forced(name: str) -> dict[str, str]:
        rows = json.loads((folder / name).read_text("utf-8"))
        return {
            "_".join(
                (row["data_id"], row["model_A"]["name"], row["model_B"]["name"])
            ): row["winner"].removeprefix("Tie(").removesuffix(")")
            for row in rows
        }

    text = (clone / "README.md").read_text("utf-8")
    best = float(re.search(r"agreement rate of <b>([\d.]+)%", text)[1])  # type: ignore[index]
    gap = float(re.search(r"evaluators by <b>([\d.]+)%", text)[1])  # type: ignore[index]
    people = forced(PEOPLE)
    for judge, theirs in (("intjudge", best), ("gpt-4o", best - gap)):
        said = forced(ARENA_JUDGES[judge])
        both = [key for key in people if key in said]
        ours = 100 * sum(people[key] == said[key] for key in both) / len(both)
        yield Published(
            "opening",
            judge,
            "agreement, ties forced",
            theirs,
            ours,
            2,
            "README.md",
        )


BITS = (
    "equal differences of logits are ties here; there the last bits of a softmax "
    "order them"
)
NOT_TIES = {
    "internlm_xcomposer_vl": BITS,
    "otter_v1": BITS,
    "instructblip_vicuna": "the file has one image twice, which counts once here",
}


def quality(analyses: Analyses, clone: Path) -> Iterator[Published]:
    """Spearman's ρ of 15 models on two sets, from the outputs of the authors'
    notebook."""
    path = clone / "leaderboards/IQA_outputs/eval.ipynb"
    cells = json.loads(path.read_text("utf-8"))["cells"]
    text = next(
        "".join("".join(out.get("text", ())) for out in cell["outputs"])
        for cell in cells
        if "Official Results" in "".join(cell["source"])
    )
    for line in re.findall(r"^\|(\w[^\n]*)$", text, re.MULTILINE):
        judge, *values = (part.strip() for part in line.split("|"))
        tasks = of(analyses["q-bench"], judge)[SCORES].tasks
        for task, place in (("livec", 3), ("agi", 5)):
            yield Published(
                "q-bench",
                judge,
                f"spearman, {task}",
                float(values[place].split("/")[0]),
                tasks[task].spearman.value or 0.0,
                3,
                "leaderboards/IQA_outputs/eval.ipynb",
                NOT_TIES.get(judge, ""),
            )


def votes(analyses: Analyses, clone: Path) -> Iterator[Published]:
    """Accuracy over all votes, as the authors' own script prints it."""
    columns = {"image_generation": 2, "image_edition": 3}
    text = (clone / "genaibench_results.txt").read_text("utf-8")
    rows = (
        [part.strip() for part in line.strip("| \n").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    )
    theirs = {row[0]: row for row in rows if len(row) > 3}
    for part, place in columns.items():
        name = f"genai-bench/{part}"
        for judge in analyses[name].judges:
            own = [
                score
                for score in judge[AS_PUBLISHED]
                if score.value is not None
            ]
            if judge.name in theirs and own:
                yield Published(
                    name,
                    judge.name,
                    "accuracy",
                    float(theirs[judge.name][place]),
                    own[-1].value or 0.0,
                    2,
                    "genaibench_results.txt",
                )
