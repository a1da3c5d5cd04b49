"""Metrics and reward models as judges: verdicts follow from scores, and say so."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from skimage import data as photographs

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Question, Spans, Verdict
from visualjudge.judges.base import ORDERS, Ask, Judge
from visualjudge.judges.image_metric import metric_judge
from visualjudge.judges.score_judge import ScoreJudge, Shown, request_of
from visualjudge.vision.raster.images import read_rgb, write_png


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A photograph blurred more and more: 0.png is sharp, 4.png hardly recognisable."""
    folder = tmp_path_factory.mktemp("dataset")
    sharp = np.ascontiguousarray(photographs.astronaut()[:96, 150:270])
    write_png(folder / "0.png", sharp)
    for k in range(1, 5):
        write_png(folder / f"{k}.png", cv2.GaussianBlur(sharp, (0, 0), 1.5 * k))
    (folder / "clean").mkdir()
    write_png(folder / "clean/i.png", sharp)
    return folder


def question(
    *shown: int, source: int | None = 4, kind: str = "pairwise", **more: Any
) -> Question:
    """A question that shows ``source``, then an option for each of ``shown``."""
    prompt = "The text prompt is 'an astronaut's portrait'. " + "<image>\n" * (
        source is not None
    )
    options = []
    for letter in "ABCDE"[: len(shown)]:
        prompt += f"{letter}: "
        options.append((len(prompt), len(prompt) + len("<image>")))
        prompt += "<image>\n"
    images = ([] if source is None else [source]) + list(shown)
    made = Question(
        id="q",
        task="lowlevel-deblur",
        encoding="pixel",
        question_type=kind,  # type: ignore[arg-type]
        subset=(),
        image_id="i",
        class_of_interest=None,
        error_type=None,
        annotation_ids=tuple(map(str, shown)),
        final_scores=(5.0,) * len(shown),
        sources=(None,) * len(shown),
        prompt=prompt,
        images=tuple(f"{name}.png" for name in images),
        answer="A",
        spans=Spans(tuple(options)),
    )
    return replace(made, **more)


def asked(judge: Judge, *asks: Ask) -> list[Verdict]:
    async def main() -> list[Verdict]:
        return list(await asyncio.gather(*map(judge, asks)))

    return asyncio.run(main())


@pytest.mark.parametrize("name", ["psnr", "ssim"])
def test_the_nearer_image_wins_in_both_orders(name: str, root: Path) -> None:
    judge = metric_judge(f"{name}:{root / 'clean'}", root)
    for order in ORDERS:
        (verdict,) = asked(judge, Ask(question(3, 1), order))
        assert (verdict.value, verdict.status) == ("B", "ok")
        assert verdict.extra == {"read_by": "score"}
    (ranking,) = asked(judge, Ask(question(3, 1, 2, kind="ranking")))
    assert ranking.value == "BCA"
    scores = asked(
        judge, *(Ask(question(k, kind="scoring")) for k in (0, 1, 4))
    )
    assert scores[0].value == 10.0 > scores[1].value > scores[2].value  # type: ignore[operator]


def test_without_a_folder_the_first_image_is_the_reference(root: Path) -> None:
    (verdict,) = asked(metric_judge("psnr", root), Ask(question(1, 3)))
    assert (
        verdict.value == "B"
    )  # nearer to the blurred image that the question shows
    (without,) = asked(
        metric_judge("psnr", root), Ask(question(1, 3, source=None))
    )
    assert without.value == "Failed" and without.cause == "declined"
    assert "needs a reference" in str(without.raw_response)
    judge = metric_judge(f"psnr:{root / 'clean'}", root)
    assert judge.described["parameters"] == {"reference": str(root / "clean")}
    (lacking,) = asked(judge, Ask(question(1, 3, image_id="other")))
    assert "has no image other" in str(lacking.raw_response)


def test_psnr_is_that_of_its_definition_and_references_are_resized(
    root: Path,
) -> None:
    write_png(
        root / "large.png", cv2.resize(read_rgb(root / "1.png"), (240, 192))
    )
    first, second = (read_rgb(root / f"{k}.png").astype(float) for k in (1, 4))
    expected = 20 * np.log10(255) - 10 * np.log10(
        ((first - second) ** 2).mean()
    )
    (verdict,) = asked(
        metric_judge("psnr", root), Ask(question(1, kind="scoring"))
    )
    assert f"{expected:.6g}" in str(verdict.raw_response)
    (large,) = asked(
        metric_judge("psnr", root),
        Ask(question(1, kind="scoring", images=("4.png", "large.png"))),
    )
    assert large.status == "ok"


def test_equal_scores_are_a_tie_only_where_the_question_allows_one(
    root: Path,
) -> None:
    judge = metric_judge("psnr", root)
    (declined,) = asked(judge, Ask(question(2, 2)))
    assert (
        declined.value == "Failed"
        and "two of its scores are the same" in str(declined.raw_response)
    )
    (tie,) = asked(judge, Ask(question(2, 2, ties=("tie",))))
    assert tie.value == "tie"


def test_options_that_are_no_images_are_declined(root: Path) -> None:
    (verdict,) = asked(
        metric_judge("psnr", root), Ask(question(1, spans=Spans(((0, 5),))))
    )
    assert "its options must be one image each" in str(verdict.raw_response)


def test_the_text_that_images_were_made_from() -> None:
    assert request_of(question(1)) == "an astronaut's portrait"
    pair = (
        "You are a judge.\n\nRequest:\nA cat\non a mat\n\nResponse A:\n<image>"
    )
    assert request_of(question(1, prompt=pair)) == "A cat\non a mat"
    assert request_of(question(1, prompt="Which is sharper?")) == ""


def mean(shown: Sequence[Shown]) -> list[float]:
    """Brighter is better; images of one grey cannot be scored."""
    if any(not one.image.std() for one in shown):
        raise ZeroDivisionError("grey")
    return [float(one.image.mean()) for one in shown]


def test_a_question_that_cannot_be_scored_fails_alone(root: Path) -> None:
    write_png(root / "grey.png", np.full((8, 8, 3), 9, np.uint8))
    bad = question(1, 2, images=("4.png", "1.png", "grey.png"))
    judge = ScoreJudge(
        mean, root, {"backend": "mean", "model": "mean", "parameters": {}}
    )
    verdicts = asked(judge, *(Ask(question(1, 2)) for _ in range(4)), Ask(bad))
    assert [one.status for one in verdicts] == ["ok"] * 4 + ["refusal"]
    assert "ZeroDivisionError: grey" in str(verdicts[-1].raw_response)
    (score,) = asked(judge, Ask(question(1, kind="scoring")))
    assert "no scale" in str(score.raw_response)


def test_metrics_of_pyiqa_turn_round_where_lower_is_better(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in with pyiqa's own interface; its networks are no part of these
    tests."""

    class Model:
        metric_mode, lower_better, score_range = "FR", True, "0, 1"

        def __call__(self, image: Any, reference: Any) -> Any:
            return np.abs(image - reference).mean() / 255

    module = SimpleNamespace(
        list_models=lambda: ["far"], create_metric=lambda *_, **__: Model()
    )
    cuda = SimpleNamespace(is_available=lambda: False)
    monkeypatch.setitem(sys.modules, "pyiqa", module)
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(device=str, cuda=cuda)
    )
    monkeypatch.setattr(
        "visualjudge.judges.image_metric._tensor",
        lambda image: image.astype(float),
    )
    judge = metric_judge(f"far:{root / 'clean'}", root)
    pair, score = asked(
        judge, Ask(question(3, 1)), Ask(question(0, kind="scoring"))
    )
    assert (pair.value, score.value) == ("B", 10.0)
    with pytest.raises(UsageError, match="pyiqa has no such metric"):
        metric_judge("farr", root)


def test_what_is_not_installed_or_not_there_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from visualjudge.judges.reward_model import reward_judge

    monkeypatch.setitem(sys.modules, "pyiqa", None)
    with pytest.raises(
        UsageError,
        match=r"need pyiqa; run: pip install 'visualjudge\[metrics\]'",
    ):
        metric_judge("lpips", root)
    with pytest.raises(UsageError, match="nowhere is not a folder"):
        metric_judge("psnr:nowhere", root)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        UsageError, match=r"pip install 'visualjudge\[transformers\]'"
    ):
        reward_judge("model", root)


@pytest.mark.torch
def test_a_small_clip_judges_images_by_their_text(
    root: Path, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers = pytest.importorskip(
        "transformers", reason="transformers is not installed"
    )
    from visualjudge.judges.reward_model import reward_judge

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    sizes |= {"num_attention_heads": 2}
    text = {**sizes, "vocab_size": 300, "max_position_embeddings": 77}
    text |= {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    vision = {**sizes, "image_size": 30, "patch_size": 15}
    config = transformers.CLIPConfig(
        text_config=text, vision_config=vision, projection_dim=8
    )
    transformers.CLIPModel(config).save_pretrained(tmp_path)
    letters = ["<|startoftext|>", "<|endoftext|>", *map(chr, range(33, 127))]
    vocabulary = {
        word: k
        for k, word in enumerate((*letters, *(f"{c}</w>" for c in letters[2:])))
    }
    tokenizer = transformers.CLIPTokenizer(vocab=vocabulary, merges=[])
    crop = {"height": 30, "width": 30}
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": 30}, crop_size=crop
    )
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(tmp_path)
    judge = reward_judge(str(tmp_path), root)
    first, turned = asked(judge, Ask(question(1, 4)), Ask(question(1, 4), "BA"))
    assert first.status == "ok", first.raw_response
    assert first.value == turned.value
    shown = [
        Shown(read_rgb(root / f"{k}.png"), None, "a portrait", "i")
        for k in (1, 4)
    ]
    alone = [judge.score([one])[0] for one in shown]
    assert judge.score(shown) == pytest.approx(alone, abs=1e-4)
    with pytest.raises(DataError, match="has no text"):
        judge.score([replace(shown[0], request="")])
