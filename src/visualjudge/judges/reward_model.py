"""Backend ``reward``: a reward model of transformers as a judge of images generated from text.

The model's configuration determines its kind: models with a text and an image encoder (CLIP,
SigLIP, PickScore, HPS v2), whose score is the similarity of both, and models with a regression head
over an image and a text (one label). Images and texts of concurrent questions are scored as one
batch, on a GPU if available.
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
    """Return the judge of ``--backend reward``.

    Parameters
    ----------
    model
        Folder or name of a transformers model.
    root
        Folder of the dataset.
    seed
        Ignored.

    Raises
    ------
    UsageError
        If transformers is not installed, or the model cannot be read or has an unsupported
        architecture.
    """
    return ScoreJudge(RewardModel(model), root)


@dataclass
class RewardModel:
    """Score images by how well they match their texts. The scores have no scale."""

    name: str
    scale: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        self._one_by_one = threading.Lock()
        _ = self._parts  # reject unknown models before the first question

    @cached_property
    def _parts(self) -> tuple[Any, Any, bool]:
        """Return the model, its processor, and whether it has two encoders."""
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
            raise DataError("its prompt has no text that the images were generated from")
        model, processor, dual = self._parts
        texts = [one.request for one in shown]
        images = [Image.fromarray(one.image) for one in shown]
        limit = {"padding": True, "truncation": True, "return_tensors": "pt"}
        with self._one_by_one, torch.inference_mode():
            inputs = processor(text=texts, images=images, **limit).to(model.device)
            output = model(**inputs)
            if dual:
                # The diagonal pairs each text with its image.
                scores = output.logits_per_image.diagonal()
            elif output.logits.shape[1] == 1:
                scores = output.logits[:, 0]
            else:
                raise DataError(f"its head must have one label, got {output.logits.shape[1]}")
        return [float(score) for score in scores]

    def describe(self) -> Mapping[str, Any]:
        """Return backend and model."""
        return {"backend": "reward", "model": Path(self.name).name, "parameters": {}}
