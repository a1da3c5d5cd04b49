"""``--backend reward``: a reward model of transformers as a judge of images made from a text.

Two kinds are read from a model's own configuration: models with a text and an image encoder (CLIP,
SigLIP, PickScore, HPS v2), whose score is the similarity of both, and models with a regression head
over an image and a text (one label). Images and texts of questions that are asked together are
scored as one batch, on a GPU where there is one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from PIL import Image

from visualjudge.core.errors import DataError, UsageError
from visualjudge.judges.score_judge import ScoreJudge, Shown


def reward_judge(model: str, root: Path, *, seed: int = 0) -> ScoreJudge:
    """The judge of ``--backend reward``.

    Parameters
    ----------
    model
        Folder or name of a model of transformers.
    root
        Folder of the dataset.
    seed
        Without effect.

    Raises
    ------
    UsageError
        If transformers is not installed, or the model cannot be read or is of another kind.
    """
    return ScoreJudge(RewardModel(model), root)


@dataclass
class RewardModel:
    """Scores images by how well they show their texts; its scores have no scale."""

    name: str
    scale: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        self._one_by_one = threading.Lock()
        _ = self._parts  # a model that there is not is refused before the first question

    @cached_property
    def _parts(self) -> tuple[Any, Any, bool]:
        """The model, its processor, and whether it has two encoders."""
        try:
            import torch
            import transformers
        except ImportError:
            raise UsageError(
                "--backend reward needs transformers; run: pip install 'visualjudge[transformers]'"
            ) from None
        device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            config = transformers.AutoConfig.from_pretrained(self.name)
            processor = transformers.AutoProcessor.from_pretrained(self.name)
            heads = " ".join(config.architectures or ())
            headed = "SequenceClassification" in heads
            kind = (
                transformers.AutoModelForSequenceClassification
                if headed
                else transformers.AutoModel
            )
            model = kind.from_pretrained(self.name).to(device).eval()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise UsageError(
                f"--model {self.name}: cannot be read: {' '.join(str(error).split())[:300]}"
            ) from None
        if not headed and not hasattr(model, "get_image_features"):
            raise UsageError(
                f"--model {self.name}: must have a text and an image encoder or a regression head, "
                f"got {heads or type(model).__name__}"
            )
        return model, processor, not headed

    def __call__(self, shown: Sequence[Shown]) -> list[float]:
        import torch

        if not all(one.request for one in shown):
            raise DataError("its prompt states no text that the images were made from")
        model, processor, dual = self._parts
        texts = [one.request for one in shown]
        images = [Image.fromarray(one.image) for one in shown]
        limit = {"padding": True, "truncation": True, "return_tensors": "pt"}
        with self._one_by_one, torch.inference_mode():
            inputs = processor(text=texts, images=images, **limit).to(model.device)
            output = model(**inputs)
            if dual:
                # Of n texts and n images, each with its own: the diagonal.
                scores = output.logits_per_image.diagonal()
            elif output.logits.shape[1] == 1:
                scores = output.logits[:, 0]
            else:
                raise DataError(f"its head must have one label, got {output.logits.shape[1]}")
        return [float(score) for score in scores]

    def describe(self) -> Mapping[str, Any]:
        """Backend and model."""
        return {"backend": "reward", "model": Path(self.name).name, "parameters": {}}
