"""Backend ``metric``: an image quality metric as a judge.

``psnr`` and ``ssim`` are computed as in :func:`visualjudge.score`; other names, such as ``lpips``,
``niqe``, ``musiq`` or ``clipiqa``, are metrics of pyiqa (``pip install visualjudge[metrics]``).
Metrics with a reference compare each option with ``FOLDER/<image_id>.png`` (``--model
psnr:FOLDER``) or, without a folder, with the first image of the question, such as the degraded one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
        return ScoreJudge(OwnMetric(name, references), root)
    return ScoreJudge(PyiqaMetric(name, references), root)


@dataclass
class _Metric:
    """Common part of the metrics."""

    name: str
    references: Path | None

    def describe(self) -> Mapping[str, Any]:
        """Return backend, metric, and what it compares with."""
        compared = "the first image" if self.references is None else str(self.references)
        return {
            "backend": "metric",
            "model": self.name,
            "parameters": {"reference": compared} if self.compares else {},
        }

    @property
    def compares(self) -> bool:
        """Whether the metric needs a reference."""
        raise NotImplementedError

    def reference(self, shown: Shown) -> Pixels:
        """Return the reference of an option, at the option's size.

        Raises
        ------
        DataError
            If there is no reference.
        """
        found = shown.reference
        if self.references is not None:
            paths = (self.references / f"{shown.image_id}{ending}" for ending in ENDINGS)
            path = next((path for path in paths if path.is_file()), None)
            if path is None:
                raise DataError(f"{self.references} has no image {shown.image_id}")
            found = read_rgb(path)
        if found is None:
            raise DataError(f"{self.name} needs a reference, and its question shows no other image")
        height, width = shown.image.shape[:2]
        return resized_rgb(found, (height, width))


@dataclass
class OwnMetric(_Metric):
    """PSNR (in dB) or SSIM, as :func:`visualjudge.score` computes them for restored images."""

    compares = True

    @property
    def scale(self) -> tuple[float, float]:
        """The scores that correspond to 0 and 10 points."""
        return OWN[self.name]

    def __call__(self, shown: Sequence[Shown]) -> list[float]:
        return [self._score(one.image, self.reference(one)) for one in shown]

    def _score(self, image: Pixels, reference: Pixels) -> float:
        if self.name == "ssim":
            return ssim(WholeImage(image), WholeImage(reference))
        if np.array_equal(image, reference):
            return IDENTICAL
        # Imported here: loads scipy.stats, which takes half a second.
        from skimage.metrics import peak_signal_noise_ratio

        return float(peak_signal_noise_ratio(reference, image, data_range=255))


IDENTICAL = 100.0
"""PSNR in dB of an image identical to its reference; 8-bit images that differ score lower."""
OWN = {"psnr": (PSNR_FLOOR, PSNR_FLOOR + PSNR_RANGE), "ssim": (0.0, 1.0)}
"""The built-in metrics, with the scores that correspond to 0 and 10 points."""


@dataclass
class PyiqaMetric(_Metric):
    """A metric of pyiqa. Its scores become points only if pyiqa states both ends of its range."""

    @cached_property
    def _model(self) -> Any:
        try:
            import pyiqa
            import torch
        except ImportError:
            known = ", ".join(OWN)
            raise UsageError(
                f"--model {self.name}: metrics other than {known} need pyiqa; run: "
                "pip install 'visualjudge[metrics]'"
            ) from None
        if self.name not in pyiqa.list_models():
            raise UsageError(
                f"--model {self.name}: pyiqa has no such metric; pyiqa.list_models() lists them"
            )
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            return pyiqa.create_metric(self.name, device=device)
        except (OSError, RuntimeError) as error:  # downloads weights on first use
            reason = " ".join(str(error).split())[:300]
            raise UsageError(f"--model {self.name}: pyiqa cannot load it: {reason}") from None

    def __post_init__(self) -> None:
        _ = self._model  # reject unknown metrics before the first question

    @property
    def compares(self) -> bool:
        """Whether the metric needs a reference."""
        return bool(self._model.metric_mode == "FR")

    @property
    def scale(self) -> tuple[float, float] | None:
        """Worst and best score, with higher being better; None if pyiqa does not state both."""
        try:
            low, high = (float(end) for end in str(self._model.score_range).split(","))
        except ValueError:  # "~" marks a typical end, not a bound
            return None
        return (-high, -low) if self._model.lower_better else (low, high)

    def __call__(self, shown: Sequence[Shown]) -> list[float]:
        sign = -1 if self._model.lower_better else 1
        found = []
        for one in shown:
            images = [one.image, self.reference(one)] if self.compares else [one.image]
            found.append(sign * float(self._model(*map(_tensor, images)).item()))
        return found


def _tensor(image: Pixels) -> Any:
    """Return an image as a 1×3×H×W tensor, 0 to 1."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1)[None].float() / 255
