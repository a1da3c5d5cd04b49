"""Backend ``reward``: a reward model of transformers as a judge of images generated
from text. Language models with local weights are in ``clients/transformers.py``.

The model's configuration determines its kind: models with a text and an image encoder
(CLIP, SigLIP, PickScore, HPS v2), whose score is the similarity of both, and models
with a regression head over an image and a text (one label). The options of a question
are one batch, on a GPU if there is one.
"""

import threading
from collections.abc import Sequence
from functools import partial
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
        If transformers is not installed, or the model cannot be read or has an
        unsupported architecture.
    """
    try:
        import torch
        import transformers
    except ImportError:
        raise UsageError(
            "`backend` reward needs transformers; run: pip install "
            "'visualjudge[transformers]'"
        ) from None
    try:
        config = transformers.AutoConfig.from_pretrained(model)
        processor = transformers.AutoProcessor.from_pretrained(model)
        heads = " ".join(config.architectures or ())
        headed = "SequenceClassification" in heads
        name = "AutoModelForSequenceClassification" if headed else "AutoModel"
        network = getattr(transformers, name).from_pretrained(model)
        network = network.to(
            "cuda" if torch.cuda.is_available() else "cpu"
        ).eval()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise UsageError(
            f"`model` {model}: cannot be read: {' '.join(str(error).split())[:300]}"
        ) from None
    if not headed and not hasattr(network, "get_image_features"):
        raise UsageError(
            f"`model` {model}: must have a text and an image encoder or a regression "
            f"head, got {heads or type(network).__name__}"
        )
    score = partial(_scores, threading.Lock(), network, processor, headed)
    described = {
        "backend": "reward",
        "model": Path(model).name,
        "parameters": {},
    }
    return ScoreJudge(score, root, described)


def _scores(
    lock: threading.Lock,
    network: Any,
    processor: Any,
    headed: bool,
    displayed: Sequence[Shown],
) -> list[float]:
    import torch

    if not all(item.request for item in displayed):
        raise DataError(
            "its prompt has no text that the images were generated from"
        )
    texts = [item.request for item in displayed]
    images = [Image.fromarray(item.image) for item in displayed]
    limit = {"padding": True, "truncation": True, "return_tensors": "pt"}
    with lock, torch.inference_mode():
        output = network(
            **processor(text=texts, images=images, **limit).to(network.device)
        )
    if headed and output.logits.shape[1] != 1:
        raise DataError(
            f"its head must have one label, got {output.logits.shape[1]}"
        )
    # The diagonal pairs each text with its image.
    scores = (
        output.logits[:, 0] if headed else output.logits_per_image.diagonal()
    )
    return [float(score) for score in scores]
