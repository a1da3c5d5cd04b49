"""The pages of findings are those of the figures in the repository, and each figure is
computed again from the files of its source with pandas, apart from the package and from
tools/.

The second part runs where ``VISUALJUDGE_CLONES`` names the folder of the clones.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clones import clone, needs_clones

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from atlas_pages import BLOCK, block, chosen, findings_page  # noqa: E402

DOCUMENT = json.loads((ROOT / "docs/findings.json").read_text("utf-8"))
FOUND = {row["name"]: row for row in DOCUMENT["findings"]}


def test_the_page_and_the_table_are_of_the_figures_in_the_repository() -> None:
    assert (ROOT / "docs/findings.md").read_text("utf-8") == findings_page(
        DOCUMENT
    )
    found = BLOCK.search((ROOT / "README.md").read_text("utf-8"))
    assert found is not None
    assert found.group() == block(DOCUMENT["rows"]), "python tools/atlas.py"


def test_the_table_has_twelve_judges_six_of_them_recent_on_a_screen() -> None:
    table = block(DOCUMENT["rows"])
    rows = [row.split("|")[1:-1] for row in table.splitlines()[3:-1]]
    models = {row[0].split(",")[0].strip(): int(row[1]) for row in rows}
    assert len(models) >= 12
    assert sum(year >= 2025 for year in models.values()) >= 6
    assert max(map(len, table.splitlines())) <= 80


def test_figures_lie_in_their_intervals() -> None:
    rows = chosen(DOCUMENT["rows"])
    assert all(row["low"] < row["value"] < row["high"] for row in rows)


def test_published_figures_that_differ_have_a_reason() -> None:
    differing = [
        row
        for row in DOCUMENT["published"]
        if round(row["ours"], row["digits"])
        != round(row["theirs"], row["digits"])
    ]
    assert len(differing) < len(DOCUMENT["published"]) / 5
    assert all(row["why"] for row in differing)


def read(folder: str, name: str) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.read_csv(clone(folder) / name)


@needs_clones
def test_one_threshold() -> None:
    results = "VLM-Judge-Uncertainty"
    scores = read(results, "results/v2/features_s2.csv").set_index("sample_id")
    task = read(results, "results/v2/error_analysis.csv").set_index("sample_id")
    scores["task"] = task.orig_dataset
    accepted = scores[(scores.parsed_score >= 3) & scores.task.notna()]
    bad = (accepted.gt_score < 3).groupby(accepted.task)
    assert bad.mean()["mathvista"] == pytest.approx(
        FOUND["one-threshold"]["value"]
    )
    assert (accepted.gt_score < 3).mean() < 0.2
    error = 1.96 * (bad.mean() * (1 - bad.mean()) / bad.size()) ** 0.5
    above = bad.mean() - error > 0.2
    named = {"ChartQA", "diffusiondb", "infographicsVQA", "mathvista"}
    assert set(above[above].index) == named
    assert all(name in FOUND["one-threshold"]["sentence"] for name in named)


@needs_clones
def test_first_shown() -> None:
    pandas = pytest.importorskip("pandas")
    folder = clone("OpenING") / "Interleaved_Arena"
    said, truth = (
        pandas.DataFrame(
            [
                (
                    row["data_id"],
                    row["model_A"]["name"],
                    row["model_B"]["name"],
                    row["winner"],
                )
                for row in json.loads((folder / name).read_text("utf-8"))
            ],
            columns=["id", "a", "b", "winner"],
        )
        for name in (
            "gpt-judge_modelAB_results.json",
            "judge_modelAB_results.json",
        )
    )
    both = said.merge(truth, on=["id", "a", "b"], suffixes=("", "_people"))
    right = both.winner == both.winner_people
    first = right[both.winner_people == "A"].mean()
    second = right[both.winner_people == "B"].mean()
    value = FOUND["first-shown"]["value"]
    assert 50 * (first - second) == pytest.approx(
        value, abs=0.1
    )  # of pairs as they are
    sentence = FOUND["first-shown"]["sentence"]
    assert f"{100 * both.winner.str.startswith('Tie').mean():.1f} %" in sentence
    assert (
        f"{100 * both.winner_people.str.startswith('Tie').mean():.1f} %"
        in sentence
    )


@needs_clones
def test_zeros() -> None:
    rows = read("VLM-Judge-Uncertainty", "results/v2_polaris/features_s2.csv")
    rows = rows[rows.parsed_score > 0]
    some = rows[rows.gt_score_continuous > 0]
    rho = some.parsed_score.corr(some.gt_score_continuous, method="spearman")
    assert rho == pytest.approx(FOUND["zeros"]["value"], abs=1e-6)
    zero = rows[rows.gt_score_continuous == 0]
    assert f"{100 * len(zero) / len(rows):.0f} %" in FOUND["zeros"]["sentence"]
    assert (
        f"{100 * (zero.parsed_score == 1).mean():.1f} %"
        in FOUND["zeros"]["sentence"]
    )


@needs_clones
def test_people() -> None:
    rows = read(
        "MLLM-as-a-Judge",
        "results/Human_Evaluation/human_eval_results_latest.csv",
    )
    alphas = {}
    for name in [*rows.factors_order[0].split("|"), "overall"]:
        units = [
            own.to_numpy(float) for _, own in rows.groupby("task_id")[name]
        ]
        units = [own for own in units if len(own) > 1]
        whole = sum(map(len, units))
        within = sum(own.var(ddof=1) * len(own) for own in units) / whole
        spread = rows[name].var(ddof=1)
        alphas[name] = 1 - within / spread
    assert alphas.pop("overall") == pytest.approx(
        FOUND["people"]["value"], abs=1e-6
    )
    weak = sum(alpha < 0.2 for alpha in alphas.values())
    assert f"on {weak} of 12" in FOUND["people"]["sentence"]


@needs_clones
def test_same_score() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    sentence = FOUND["same-score"]["sentence"]
    for name, digits in (
        ("GPT-5.4-mini", (56, 94)),
        ("InternVL3_5-30B", (56, 90)),
        ("Gemini", (47, None)),
    ):
        rows = pandas.read_parquet(
            clone("VLMJudge") / f"results/{name}_analyzed.parquet"
        )
        rows = rows[rows.question.str.startswith("Overall, how realistic")]
        score = rows.vlm_answer.str.extract(r"([1-3])\s*$")[0].astype(float)
        truth = rows.ground_truth.astype(float)
        equal, twos = digits
        assert round(100 * (score == truth).mean()) == equal
        assert twos in (None, round(100 * (score == 2).mean()))
        assert all(str(part) in sentence for part in digits if part)
        if name == "GPT-5.4-mini":
            rho = score.corr(truth, method="spearman")
            assert rho == pytest.approx(FOUND["same-score"]["value"], abs=1e-6)


@needs_clones
def test_noise() -> None:
    """By the authors' reading of the replies, which differs from ours in a few."""
    pandas = pytest.importorskip("pandas")
    folder = clone("GenAI-Bench") / "results/image_edition"
    first, second = (
        pandas.read_json(folder / name / "pairwise.json")
        for name in ("gemini-1.5-pro", "gpt4o")
    )
    apart = 100 * (first.correct.astype(int) - second.correct.astype(int))
    prompts = (apart - apart.mean()).groupby(first.instruct_prompt).sum()
    error = (prompts**2).sum() ** 0.5 / len(apart)
    assert f"{apart.mean():.1f} by the authors" in FOUND["noise"]["sentence"]
    assert abs(apart.mean()) < 1.96 * error
    assert apart.mean() == pytest.approx(FOUND["noise"]["value"], abs=0.5)
