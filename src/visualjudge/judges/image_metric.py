"""Backend ``metric``: an image quality metric as a judge.

``psnr`` and ``ssim`` are computed as in :func:`visualjudge.score`; other names, such as ``lpips``,
``niqe``, ``musiq`` or ``clipiqa``, are metrics of pyiqa (``pip install visualjudge[metrics]``).
Metrics with a reference compare each option with ``FOLDER/<image_id>.png`` (``--model
psnr:FOLDER``) or, without a folder, with the first image of the question, such as the degraded one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Pixels
from visualjudge.judges.score_judge import ScoreJudge, Shown
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.images.score import PSNR_FLOOR, PSNR_RANGE, ssim
from visualjudge.vision.raster.images import read_rgb, resized_rgb

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp")


def metric_judge(model: str, root: Path, *, seed: int = 0) -> ScoreJudge:
    """Return the judge of ``--backend metric``.

    Parameters
    ----------
    model
        ``NAME`` or ``NAME:FOLDER`` with references.
    root
        Folder of the dataset.
    seed
        Ignored.

    Raises
    ------
    UsageError
        If there is no such metric or folder, or pyiqa is not installed.
    """
    name, _, folder = model.partition(":")
    if folder and not Path(folder).is_dir():
        raise UsageError(f"--model {model}: {folder} is not a folder")
    references = Path(folder) if folder else None
    if name in OWN:
        measure = partial(_own, name)
        return ScoreJudge(ImageMetric(name, measure, OWN[name], True, references), root)
    return ScoreJudge(_pyiqa(name, references), root)


IDENTICAL = 100.0
"""PSNR in dB of an image identical to its reference; 8-bit images that differ score lower."""
OWN = {"psnr": (PSNR_FLOOR, PSNR_FLOOR + PSNR_RANGE), "ssim": (0.0, 1.0)}
"""The built-in metrics, with the scores that correspond to 0 and 10 points."""


@dataclass
class ImageMetric:
    """A metric as a scorer: ``measure`` (image, reference or None) → score, higher is better.

    ``scale`` is the worst and the best score; None if they are not known. ``compares``: whether the
    metric needs a reference.
    """

    name: str
    measure: Callable[[Pixels, Pixels | None], float]
    scale: tuple[float, float] | None
    compares: bool
    references: Path | None = None

    def __call__(self, shown: Sequence[Shown]) -> list[float]:
        return [
            self.measure(one.image, self._reference(one) if self.compares else None)
            for one in shown
        ]

    def _reference(self, shown: Shown) -> Pixels:
        """Return the reference of an option, at the option's size."""
        reference = shown.reference
        if self.references is not None:
            paths = (self.references / f"{shown.image_id}{ending}" for ending in ENDINGS)
            path = next((path for path in paths if path.is_file()), None)
            if path is None:
                raise DataError(f"{self.references} has no image {shown.image_id}")
            reference = read_rgb(path)
        if reference is None:
            raise DataError(f"{self.name} needs a reference, and its question shows no other image")
        return resized_rgb(reference, shown.image.shape[:2])

    def describe(self) -> Mapping[str, Any]:
        """Return backend, metric, and what it compares with."""
        compared = "the first image" if self.references is None else str(self.references)
        parameters = {"reference": compared} if self.compares else {}
        return {"backend": "metric", "model": self.name, "parameters": parameters}


def _own(name: str, image: Pixels, reference: Pixels | None) -> float:
    """Return PSNR (in dB) or SSIM, as :func:`visualjudge.score` computes them."""
    assert reference is not None
    if name == "ssim":
        return ssim(WholeImage(image), WholeImage(reference))
    if np.array_equal(image, reference):
        return IDENTICAL
    # Imported here: loads scipy.stats, which takes half a second.
    from skimage.metrics import peak_signal_noise_ratio

    return float(peak_signal_noise_ratio(reference, image, data_range=255))


def _pyiqa(name: str, references: Path | None) -> ImageMetric:
    """Return a metric of pyiqa. Its scores become points only if pyiqa states both ends of its
    range.
    """
    try:
        import pyiqa
        import torch
    except ImportError:
        raise UsageError(
            f"--model {name}: metrics other than {', '.join(OWN)} need pyiqa; run: "
            "pip install 'visualjudge[metrics]'"
        ) from None
    if name not in pyiqa.list_models():
        raise UsageError(
            f"--model {name}: pyiqa has no such metric; pyiqa.list_models() lists them"
        )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        model = pyiqa.create_metric(name, device=device)
    except (OSError, RuntimeError) as error:  # downloads weights on first use
        reason = " ".join(str(error).split())[:300]
        raise UsageError(f"--model {name}: pyiqa cannot load it: {reason}") from None
    sign = -1 if model.lower_better else 1
    try:
        low, high = (sign * float(end) for end in str(model.score_range).split(","))
        scale: tuple[float, float] | None = (min(low, high), max(low, high))
    except ValueError:  # "~" marks a typical end, not a bound
        scale = None

    def measure(image: Pixels, reference: Pixels | None) -> float:
        images = [image] if reference is None else [image, reference]
        return sign * float(model(*map(_tensor, images)).item())

    return ImageMetric(name, measure, scale, bool(model.metric_mode == "FR"), references)


def _tensor(image: Pixels) -> Any:
    """Return an image as a 1×3×H×W tensor, 0 to 1."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1)[None].float() / 255
