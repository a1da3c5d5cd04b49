"""Backend ``metric``: an image quality metric as a judge; and the baseline
``sharpness``. The metrics by which *we* score are in ``vision/<type>/score.py``.

``psnr`` and ``ssim`` are computed as in :func:`visualjudge.score`; other names, such as
``lpips``, ``niqe``, ``musiq`` or ``clipiqa``, are metrics of pyiqa (``pip install
visualjudge[metrics]``). Metrics with a reference compare each option with
``FOLDER/<image_id>.png`` (``--model psnr:FOLDER``) or, without a folder, with the first
image of the question, such as the degraded one.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Pixels
from visualjudge.judges.score_judge import ScoreJudge, Shown
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.images.score import (
    PSNR_FLOOR,
    PSNR_RANGE,
    decibels,
    ssim,
)
from visualjudge.vision.raster.images import read_rgb, resized_rgb
from visualjudge.vision.raster.sharpness import edge_strength, noise_sigma

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
IDENTICAL = 100.0
"""PSNR in dB of an image identical to its reference; 8-bit images that differ score
lower."""
OWN = {"psnr": (PSNR_FLOOR, PSNR_FLOOR + PSNR_RANGE), "ssim": (0.0, 1.0)}
"""The built-in metrics, with the scores that correspond to 0 and 10 points."""
_FLOOR = 0.5
"""Edges below half a grey level are treated as equal."""
_TEXTURE = 10.0
"""Threshold in grey levels. The fine texture of a clean photograph measures 2 to 6;
values well above that are noise, rain or snow.
"""
_GAINS = (-2.0, 2.0)
"""Log ratio of the quality to that of the degraded image for 0 and 10 points."""
Measure = Callable[[Pixels, Pixels | None], float]


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
        raise UsageError(f"`model` {model}: {folder} is not a folder")
    measure, scale, compares = (
        (partial(_own, name), OWN[name], True) if name in OWN else _pyiqa(name)
    )
    score = partial(
        _scores, name, measure, Path(folder) if folder else None, compares
    )
    parameters = {"reference": folder or "the first image"} if compares else {}
    described = {"backend": "metric", "model": name, "parameters": parameters}
    return ScoreJudge(score, root, described, scale)


def sharpness_judge(root: Path) -> ScoreJudge:
    """Return the baseline ``sharpness``: strong edges and little noise win."""
    described = {"backend": "baseline", "model": "sharpness", "parameters": {}}
    return ScoreJudge(_gains, root, described, _GAINS, restored=True)


def _scores(
    name: str,
    measure: Measure,
    folder: Path | None,
    compares: bool,
    displayed: Sequence[Shown],
) -> list[float]:
    references = [
        _reference(name, item, folder) if compares else None
        for item in displayed
    ]
    return [
        measure(item.image, other)
        for item, other in zip(displayed, references, strict=True)
    ]


def _reference(name: str, view: Shown, folder: Path | None) -> Pixels:
    """Return the reference of an option, at the option's size."""
    reference = view.reference
    if folder is not None:
        paths = (folder / f"{view.image_id}{ending}" for ending in ENDINGS)
        path = next((path for path in paths if path.is_file()), None)
        if path is None:
            raise DataError(f"{folder} has no image {view.image_id}")
        reference = read_rgb(path)
    if reference is None:
        raise DataError(
            f"{name} needs a reference, and its question shows no other image"
        )
    return resized_rgb(reference, view.image.shape[:2])


def _gains(displayed: Sequence[Shown]) -> list[float]:
    degraded = [
        0.0 if item.reference is None else quality(item.reference)
        for item in displayed
    ]
    return [
        quality(item.image) - before
        for item, before in zip(displayed, degraded, strict=True)
    ]


def quality(pixels: Pixels) -> float:
    """Return log(edge strength) - log(1 + (noise / 10)²) of an H×W×3 uint8 image;
    higher is better.
    """
    gray = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return float(
        np.log(edge_strength(gray) + _FLOOR)
        - np.log1p((noise_sigma(gray) / _TEXTURE) ** 2)
    )


def _own(name: str, image: Pixels, reference: Pixels | None) -> float:
    """Return PSNR (in dB) or SSIM, as :func:`visualjudge.score` computes them."""
    assert reference is not None
    if name == "ssim":
        return ssim(WholeImage(image), WholeImage(reference))
    if np.array_equal(image, reference):
        return IDENTICAL
    return decibels(image, reference)


def _pyiqa(name: str) -> tuple[Measure, tuple[float, float] | None, bool]:
    """Return a metric of pyiqa, its scale (None unless pyiqa states both ends of its
    range), and whether it needs a reference."""
    try:
        import pyiqa
        import torch
    except ImportError:
        raise UsageError(
            f"`model` {name}: metrics other than {', '.join(OWN)} need pyiqa; run: "
            "pip install 'visualjudge[metrics]'"
        ) from None
    if name not in pyiqa.list_models():
        raise UsageError(
            f"`model` {name}: pyiqa has no such metric; pyiqa.list_models() lists them"
        )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        model = pyiqa.create_metric(name, device=device)
    except (OSError, RuntimeError) as error:  # downloads weights on first use
        reason = " ".join(str(error).split())[:300]
        raise UsageError(
            f"`model` {name}: pyiqa cannot load it: {reason}"
        ) from None
    sign = -1 if model.lower_better else 1
    try:
        low, high = (
            sign * float(end) for end in str(model.score_range).split(",")
        )
        scale: tuple[float, float] | None = (min(low, high), max(low, high))
    except ValueError:  # "~" marks a typical end, not a bound
        scale = None

    def measure(image: Pixels, reference: Pixels | None) -> float:
        images = [image] if reference is None else [image, reference]
        return sign * float(model(*map(_tensor, images)).item())

    return measure, scale, bool(model.metric_mode == "FR")


def _tensor(image: Pixels) -> Any:
    """Return an image as a 1×3×H×W tensor, 0 to 1."""
    import torch

    return (
        torch.from_numpy(np.ascontiguousarray(image))
        .permute(2, 0, 1)[None]
        .float()
        / 255
    )
