from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from skimage import data as photographs

from folding import each
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Probe, Question, Spans, Verdict
from visualjudge.core.seeding import rng_for
from visualjudge.judges.base import Ask
from visualjudge.judges.baseline import Oracle, baseline_judge
from visualjudge.judges.panel import majority
from visualjudge.vision.raster.images import write_png
from visualjudge.vision.raster.sharpness import edge_strength, noise_sigma

ROOT = Path()


def question(
    number: int,
    kind: str = "pairwise",
    scores: tuple[float, ...] = (2.0, 8.0),
    answer: Any = "B",
) -> Question:
    n = len(scores)
    return Question(
        id=f"q{number}",
        task="lowlevel-deblur",
        encoding="pixel",
        question_type=kind,  # type: ignore[arg-type]
        subset=(),
        image_id="i",
        class_of_interest=None,
        error_type=None,
        annotation_ids=tuple(map(str, range(n))),
        final_scores=scores,
        sources=(None,) * n,
        prompt="<image>" * (n + 1),
        images=("blurred.png", *(f"{k}.png" for k in range(n))),
        answer=answer,
        spans=Spans(tuple((7 * k, 7 * k + 7) for k in range(1, n + 1))),
    )


def verdicts(
    model: str, asks: list[Ask], root: Path = ROOT, seed: int = 42
) -> list[Verdict]:
    judge = baseline_judge(model, root, seed=seed)

    async def main() -> list[Verdict]:
        return [await judge(ask) for ask in asks]

    return asyncio.run(main())


MANY = [Ask(question(number)) for number in range(1500)]


def share_right(model: str, asks: list[Ask]) -> float:
    return float(
        np.mean(
            [
                v.value == ask.question.answer
                for v, ask in zip(verdicts(model, asks), asks, strict=True)
            ]
        )
    )


def test_an_oracle_is_right_as_often_as_it_says_in_either_order() -> None:
    assert share_right("oracle:0.8", MANY) == pytest.approx(0.8, abs=0.04)
    assert share_right(
        "oracle:0.8", [Ask(a.question, "BA") for a in MANY]
    ) == pytest.approx(0.8, abs=0.04)
    assert share_right("oracle:1", MANY) == 1
    assert share_right("oracle:0", MANY) == 0


def test_an_oracle_ranks_and_scores() -> None:
    ranking = [
        Ask(question(k, "ranking", (3.0, 1.0, 2.0), "ACB")) for k in range(600)
    ]
    assert share_right("oracle:0.6", ranking) == pytest.approx(0.6, abs=0.07)
    scoring = [Ask(question(k, "scoring", (6.25,), 6.25)) for k in range(50)]
    assert share_right("oracle:1", scoring) == 1


def test_what_is_not_known_is_any_other_reply_equally_often() -> None:
    ranking = [
        Ask(question(k, "ranking", (3.0, 1.0, 2.0), "ACB")) for k in range(1500)
    ]
    wrong = Counter(verdict.value for verdict in verdicts("oracle:0", ranking))
    assert set(wrong) == {"ABC", "BAC", "BCA", "CAB", "CBA"}
    assert min(wrong.values()) > 1500 / 5 - 5 * np.sqrt(1500 / 5)
    scoring = [Ask(question(k, "scoring", (6.3,), 6.3)) for k in range(1500)]
    assert {v.value for v in verdicts("oracle:0", scoring)} == {
        k / 10 for k in range(101)
    } - {6.3}
    assert {v.value for v in verdicts("random", scoring)} == {
        k / 10 for k in range(101)
    }


def test_a_ranking_of_one_option_has_one_reply() -> None:
    (verdict,) = verdicts(
        "oracle:0", [Ask(question(0, "ranking", (3.0,), "A"))]
    )
    assert verdict.raw_response == "A"


def test_a_biased_oracle_leans_to_the_letter_shown_first() -> None:
    letters = [v.raw_response for v in verdicts("oracle:0.5,bias=0.4", MANY)]
    assert letters.count("A") / len(letters) == pytest.approx(
        0.4 + 0.6 * 0.5, abs=0.04
    )
    letters = [v.raw_response for v in verdicts("oracle:0.5,bias=-1", MANY)]
    assert set(letters) == {"B"}


def test_a_sloped_oracle_is_surer_of_pairs_that_lie_far_apart() -> None:
    oracle = Oracle(0.9, slope=0.5)
    far, near = question(0, scores=(0.0, 10.0)), question(0, scores=(5.0, 5.1))
    assert oracle.chance_of_right(near) == pytest.approx(0.5, abs=0.03)
    assert oracle.chance_of_right(far) == pytest.approx(0.9, abs=0.01)


def test_the_same_seed_gives_the_same_replies_in_any_order() -> None:
    some = MANY[:60]
    assert verdicts("random", some) == verdicts("random", some[::-1])[::-1]
    assert verdicts("random", some) != verdicts("random", some, seed=1)
    repeats = verdicts(
        "random", [replace(MANY[0], repeat=k) for k in range(30)]
    )
    assert {v.value for v in repeats} == {"A", "B"}


def test_first_answers_by_position_alone() -> None:
    pair, turned, ranked, scored = verdicts(
        "first",
        [
            Ask(question(0)),
            Ask(question(0), "BA"),
            Ask(question(1, "ranking", (1.0, 2.0, 3.0), "CBA")),
            Ask(question(2, "scoring", (3.0,), 3.0)),
        ],
    )
    assert (pair.value, turned.value, ranked.value, scored.value) == (
        "A",
        "B",
        "ABC",
        5.0,
    )


@each(
    "model",
    [
        "oracle",
        "oracle:2",
        "oracle:x",
        "oracle:0.5,tilt=1",
        "oracle:0.5,bias=3",
        "gpt",
        "",
    ],
)
def test_an_unknown_baseline_is_a_usage_error(model: str) -> None:
    with pytest.raises(UsageError, match="oracle:P"):
        baseline_judge(
            model, ROOT
        ) if model != "oracle:2" and "bias=3" not in model else _out_of_range(
            model
        )


def _out_of_range(model: str) -> None:
    try:
        baseline_judge(model, ROOT)
    except UsageError as error:
        raise UsageError(f"{error} (oracle:P)") from None


def test_only_baselines_that_do_not_look_are_simulated() -> None:
    simulated = {
        name: baseline_judge(name, ROOT).simulated
        for name in ("random", "first", "oracle:0.7", "sharpness")
    }
    assert simulated == {
        "random": True,
        "first": True,
        "oracle:0.7": True,
        "sharpness": False,
    }


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("images")
    photo = np.asarray(photographs.astronaut())[100:300, 100:340]
    noise = rng_for(0, "noise").normal(0, 25, photo.shape)
    write_png(root / "0.png", cv2.GaussianBlur(photo, (0, 0), 3))
    write_png(root / "1.png", photo)
    write_png(root / "2.png", np.clip(photo + noise, 0, 255).astype(np.uint8))
    write_png(root / "blurred.png", cv2.GaussianBlur(photo, (0, 0), 4))
    return root


def test_sharpness_prefers_the_sharp_image_to_the_blurred_and_the_noisy(
    images: Path,
) -> None:
    pair = question(0)
    ranked = question(1, "ranking", (1.0, 3.0, 2.0), "BAC")
    same, turned, order = verdicts(
        "sharpness", [Ask(pair), Ask(pair, "BA"), Ask(ranked)], images
    )
    assert (same.value, turned.value) == ("B", "B")
    assert str(order.value)[0] == "B"


def test_sharpness_scores_the_gain_over_the_degraded_image(
    images: Path,
) -> None:
    good = replace(
        question(0, "scoring", (9.0,), 9.0), images=("blurred.png", "1.png")
    )
    none = replace(good, images=("blurred.png", "blurred.png"))
    better, same = verdicts("sharpness", [Ask(good), Ask(none)], images)
    assert same.value == 5.0
    assert float(better.value) > 5.5


def test_sharpness_declines_what_it_cannot_see() -> None:
    (verdict,) = verdicts(
        "sharpness", [Ask(replace(question(0), task="depth_estimation"))]
    )
    assert (verdict.value, verdict.status) == ("Failed", "refusal")


def test_the_noise_measure_finds_the_sigma_that_was_added() -> None:
    flat = np.full((120, 160), 128, np.float32)
    noise = rng_for(1, "sigma").normal(0, 6, flat.shape).astype(np.float32)
    assert noise_sigma(flat) == 0
    assert noise_sigma(flat + noise) == pytest.approx(6, rel=0.05)
    assert edge_strength(flat) == 0


@each(
    ("kind", "votes", "expected"),
    [
        ("pairwise", ["A", "B", "A"], "A"),
        ("pairwise", ["A", "B"], None),
        ("pairwise", ["A", "Failed", "Failed"], "A"),
        ("pairwise", ["Failed"], None),
        ("pairwise", [], None),
        ("scoring", [3.0, 9.0, 8.0], 8.0),
        ("scoring", [3.0, "Failed", 8.0], 5.5),
        ("ranking", ["ABC", "ABC", "CBA"], "ABC"),
        ("ranking", ["ABC", "CBA"], None),
        ("ranking", ["ABC", "BCA", "ACB"], "ABC"),
    ],
)
def test_majorities(kind: Any, votes: list[Any], expected: Any) -> None:
    assert majority(votes, kind) == expected


def test_an_oracle_may_differ_by_task_and_without_the_photograph() -> None:
    twin = Probe("grey", "photograph", "g", "uniform grey", "answer")
    unseen = [Ask(replace(ask.question, probe=twin)) for ask in MANY]
    other = [
        Ask(replace(ask.question, task="depth_estimation")) for ask in MANY
    ]
    model = "oracle:1,unseen=0.5,depth_estimation=0.7"
    assert share_right(model, MANY) == 1
    assert share_right(model, unseen) == pytest.approx(0.5, abs=0.04)
    assert share_right(model, other) == pytest.approx(0.7, abs=0.04)
    assert share_right("oracle:1", unseen) == 1
    for wrong in (
        "oracle:1,depth=0.7",
        "oracle:1,unseen=2",
        "oracle:1,keypoint=-1",
    ):
        with pytest.raises(UsageError, match="oracle:"):
            baseline_judge(wrong, ROOT)
