"""The demo's data folder: all tasks, from the photographs and their ground truth. The
study of four detectors is in ``study_data.py``; the photographs, in ``photographs.py``.

It also contains the restored and generated images.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from scipy.ndimage import map_coordinates

from visualjudge.apps.demo.photographs import (
    Photograph,
    photographs,
    smaller,
    stereo_disparity,
)
from visualjudge.core.atomic import write_json
from visualjudge.core.records import TRUTH, BoolArray, Pixels
from visualjudge.core.seeding import rng_for
from visualjudge.vision.error_types import error_types
from visualjudge.vision.errors.groups import graded, labels_shown
from visualjudge.vision.errors.levels import ErrorScene, Rng
from visualjudge.vision.predictions import (
    DepthMap,
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    Prediction,
    WholeImage,
    payload_of,
)
from visualjudge.vision.raster.images import to_uint8, write_png
from visualjudge.vision.tasks import TASKS

Degrade = Callable[[Pixels, Rng], Pixels]
LEVELS = 4
RESTORED = 5
GENERATED = 4
"""Number of photographs for the restoration and generation tasks."""
WHOLE_SIDE = 320
"""Longer side of the images of these tasks, which is enough for their questions."""

SEVERITIES = (0.0, 0.2, 0.4, 0.7, 1.0)


@dataclass(frozen=True, eq=False)
class Generated:
    """One generation task for one photograph: the prompt, its context images, and
    outputs by severity.
    """

    prompt: str | None
    source: Pixels
    outputs: tuple[Pixels, ...]
    mask: BoolArray | None = None
    control: Pixels | None = None
    source_unseen: bool = False
    """There is no source image: the generator had only the prompt."""


def text_to_image(photo: Photograph) -> Generated:
    """Return the photograph for its own caption, then increasingly deformed."""
    return Generated(
        photo.caption,
        photo.pixels,
        tuple(_malformed(photo.pixels, s) for s in SEVERITIES),
        source_unseen=True,
    )


def editing(photo: Photograph) -> Generated:
    """Return a black-and-white image as instructed, then weaker edits with a wrong
    colour cast."""
    gray = cv2.cvtColor(
        cv2.cvtColor(photo.pixels, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB
    )
    wrong = photo.pixels.astype(np.float64) * np.array([1.0, 0.75, 0.6])
    return Generated(
        "Turn the photograph into black and white, and change nothing else",
        photo.pixels,
        tuple(_mix(gray, wrong, s) for s in SEVERITIES),
    )


def controllable(photo: Photograph) -> Generated:
    """Return a repainted image that keeps the given edges, then versions that depart
    from them."""
    edges = cv2.Canny(photo.pixels, 100, 200)
    painted = np.asarray(cv2.bilateralFilter(photo.pixels, 9, 60, 9))[
        :, :, [2, 0, 1]
    ]
    outputs = tuple(
        _malformed(np.ascontiguousarray(painted), s) for s in SEVERITIES
    )
    return Generated(
        f"{photo.caption}, in other colours",
        photo.pixels,
        outputs,
        control=np.repeat(edges[:, :, None], 3, axis=2),
    )


def object_inpainting(photo: Photograph) -> Generated:
    """Fill the main object's region with the object, then with less and less of it."""
    return _inpainting(
        photo,
        max(
            (item.mask for item in photo.objects), key=lambda mask: mask.area
        ).dense(),
        f"Complete the picture: {photo.caption}",
    )


def texture_inpainting(photo: Photograph) -> Generated:
    """Fill strokes across the image seamlessly, then more and more visibly."""
    height, width = photo.size
    strokes = np.zeros((height, width), dtype=np.uint8)
    for k in range(1, 4):
        x = width * k // 4
        cv2.line(
            strokes,
            (x - width // 10, 0),
            (x + width // 10, height),
            255,
            max(6, width // 40),
        )
    return _inpainting(photo, strokes > 0, None)


GENERATORS: dict[str, Callable[[Photograph], Generated]] = {
    "generation_controllable": controllable,
    "generation_editing": editing,
    "generation_inpainting_high_level": object_inpainting,
    "generation_inpainting_low_level": texture_inpainting,
    "generation_t2i": text_to_image,
}


def _inpainting(
    photo: Photograph, hole: BoolArray, prompt: str | None
) -> Generated:
    flat = np.full_like(photo.pixels, 0)
    flat[:] = photo.pixels[~hole].mean(axis=0) if (~hole).any() else 127
    smooth = np.asarray(cv2.GaussianBlur(photo.pixels, (0, 0), 12))
    outputs = []
    for severity in SEVERITIES:
        fill = _mix(
            _mix(photo.pixels, smooth, min(1.0, 2 * severity)),
            flat,
            max(0.0, 2 * severity - 1),
        )
        outputs.append(np.where(hole[:, :, None], fill, photo.pixels))
    return Generated(prompt, photo.pixels, tuple(outputs), mask=hole)


def _malformed(pixels: Pixels, severity: float) -> Pixels:
    """Return the image turned about its middle, less and less outwards."""
    if severity == 0:
        return pixels
    height, width = pixels.shape[:2]
    rows, columns = np.mgrid[:height, :width].astype(np.float64)
    down = rows - height / 2
    right = columns - width / 2
    distance = np.hypot(down, right)
    fading = min(height, width) * 0.6 * np.log(2) / 5
    angle = np.arctan2(down, right) + (
        4 * severity * np.exp(-distance / fading)
    )
    places = (
        height / 2 + distance * np.sin(angle),
        width / 2 + distance * np.cos(angle),
    )
    bent = [
        map_coordinates(
            channel,
            places,
            output=np.float64,
            order=1,
            mode="mirror",
        )
        for channel in np.moveaxis(pixels, 2, 0)
    ]
    return to_uint8(np.dstack(bent))


def _mix(first: np.ndarray, second: np.ndarray, share: float) -> Pixels:
    mixed: Pixels = np.rint(first * (1 - share) + second * share).astype(
        np.uint8
    )
    return mixed


def motion_blur(clean: Pixels, rng: Rng) -> Pixels:
    """Blur as if the camera moved in a straight line during the exposure."""
    length = 15
    angle = rng.uniform(0, np.pi)
    kernel = np.zeros((length, length), dtype=np.float32)
    middle = length // 2
    step = np.array([np.cos(angle), np.sin(angle)]) * middle
    start = middle - step
    cv2.line(kernel, _point(start), _point(middle + step), 1.0)
    return np.asarray(
        cv2.filter2D(clean, -1, kernel / kernel.sum()), dtype=np.uint8
    )


def rain(clean: Pixels, rng: Rng) -> Pixels:
    """Draw bright slanted streaks over the image."""
    height, width = clean.shape[:2]
    layer = np.zeros((height, width), dtype=np.uint8)
    slant = rng.uniform(-0.3, 0.3)
    for _ in range(height * width // 500):
        x = rng.integers(0, width)
        y = rng.integers(-20, height)
        length = rng.integers(10, 30)
        cv2.line(
            layer,
            (int(x), int(y)),
            (int(x + slant * length), int(y + length)),
            int(rng.integers(80, 200)),
            1,
            cv2.LINE_AA,
        )
    return _lighten(clean, cv2.GaussianBlur(layer, (3, 3), 0))


def snow(clean: Pixels, rng: Rng) -> Pixels:
    """Draw white flakes of several sizes, slightly out of focus."""
    height, width = clean.shape[:2]
    layer = np.zeros((height, width), dtype=np.uint8)
    for _ in range(height * width // 700):
        cv2.circle(
            layer,
            (int(rng.integers(0, width)), int(rng.integers(0, height))),
            int(rng.integers(1, 5)),
            int(rng.integers(150, 256)),
            -1,
            cv2.LINE_AA,
        )
    return _lighten(clean, cv2.GaussianBlur(layer, (3, 3), 0))


def low_resolution(clean: Pixels, _rng: Rng) -> Pixels:
    """Reduce to a quarter of the width and height, by area averaging."""
    height, width = clean.shape[:2]
    return np.asarray(
        cv2.resize(
            clean, (width // 4, height // 4), interpolation=cv2.INTER_AREA
        ),
        dtype=np.uint8,
    )


def grain(clean: Pixels, rng: Rng) -> Pixels:
    """Add Gaussian noise with a standard deviation of 10 to 30 grey levels."""
    return np.clip(
        np.rint(clean + rng.normal(0, rng.uniform(10, 30), clean.shape)), 0, 255
    ).astype(np.uint8)


def blur_and_grain(clean: Pixels, rng: Rng) -> Pixels:
    """Blur by motion, then add noise."""
    return grain(motion_blur(clean, rng), rng)


DEGRADATIONS: dict[str, Degrade] = {
    "lowlevel-deblur": motion_blur,
    "lowlevel-derain": rain,
    "lowlevel-desnow": snow,
    "lowlevel-super-resolution": low_resolution,
    "lowlevel-denoise": grain,
    "lowlevel-restore": blur_and_grain,
}


def _lighten(clean: Pixels, layer: Pixels) -> Pixels:
    share = (layer / 255.0 * 0.8)[:, :, None]
    return np.rint(clean * (1 - share) + 255 * share).astype(np.uint8)


def _point(xy: np.ndarray) -> tuple[int, int]:
    return round(float(xy[0])), round(float(xy[1]))


@dataclass
class Pages:
    """The two files of one task while they are written."""

    task: str
    root: Path
    annotations: list[dict[str, Any]] = field(default_factory=list)
    images: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add_image(self, image_id: str, pixels: Pixels, **extra: str) -> None:
        """Write the image, if it is new, and its record."""
        file = f"files/{image_id}.png"
        if not (self.root / file).exists():
            write_png(self.root / file, pixels)
        height, width = pixels.shape[:2]
        self.images[image_id] = {
            "file": file,
            "width": width,
            "height": height,
            **extra,
        }

    def add(self, image_id: str, prediction: Prediction, **fields: Any) -> None:
        """Append one annotation."""
        number = f"{self.task}-{len(self.annotations):05d}"
        payload = payload_of(
            self.task, prediction, root=self.root, stem=f"files/{number}"
        )
        self.annotations.append(
            {
                "annotation_id": number,
                "image_id": image_id,
                "task": self.task,
                "prediction": payload,
                **fields,
            }
        )

    def close(self) -> None:
        """Write both files."""
        write_json(self.root / "images" / f"{self.task}.json", self.images)
        write_json(
            self.root / "annotations" / f"{self.task}_annotations.json",
            self.annotations,
        )


def make_data(root: Path, task: str, *, seed: int) -> int:
    """Write one task's part of the data folder; return its number of annotations."""
    pages = Pages(task, root)
    _FILL[TASKS[task].type](pages, seed)
    pages.close()
    return len(pages.annotations)


def _grade(
    pages: Pages,
    photo: Photograph,
    truth: Prediction,
    *,
    seed: int,
    labels: tuple[str, ...] = (),
    others: tuple[Any, ...] = (),
    degraded: Pixels | None = None,
    image_id: str | None = None,
    prompt: str | None = None,
    classed: bool = False,
    errors: tuple[str, ...] | None = None,
) -> None:
    image_id = image_id or photo.name
    scene = ErrorScene(photo.size, labels, LEVELS, degraded, others)
    for error_type in errors or error_types(pages.task):
        group = graded(
            pages.task,
            error_type,
            truth,
            scene,
            seed=seed,
            key=f"{image_id} {prompt}",
            with_truth=True,
        )
        displayed = labels_shown(truth, group) if classed else None
        for item in group:
            pages.add(
                image_id,
                item.prediction,
                class_of_interest=list(displayed) if displayed else None,
                error_type=error_type,
                prompt=prompt,
                final_score=item.final_score,
                source=f"{error_type} {item.severity:.2f}"
                if item.severity
                else TRUTH,
                metadata={"severity": item.severity},
            )


def _labelled(
    pages: Pages, seed: int, *, truth_of: Callable[[Photograph], Prediction]
) -> None:
    photos = photographs()
    truths = [truth_of(photo) for photo in photos]
    labels = tuple(
        sorted({label for truth in truths for label in truth.labels})
    )
    for photo, truth in zip(photos, truths, strict=True):
        pages.add_image(photo.name, photo.pixels)
        _grade(
            pages,
            photo,
            truth,
            seed=seed,
            labels=labels,
            classed=TASKS[pages.task].classed,
        )


def _referring(pages: Pages, seed: int) -> None:
    for photo in photographs():
        pages.add_image(photo.name, photo.pixels)
        others = tuple(item.mask for item in photo.objects)
        for text, mask in photo.expressions:
            _grade(
                pages,
                photo,
                Masks(photo.size, (Instance(text, mask),)),
                seed=seed,
                others=others,
                prompt=text,
            )


def _keypoint(pages: Pages, seed: int) -> None:
    for photo in photographs():
        if photo.people:
            pages.add_image(photo.name, photo.pixels)
            _grade(pages, photo, People(photo.people), seed=seed)


def _depth(pages: Pages, seed: int) -> None:
    name, disparity = stereo_disparity()
    photo = next(photo for photo in photographs() if photo.name == name)
    pages.add_image(name, photo.pixels)
    _grade(pages, photo, DepthMap(disparity, inverse=True), seed=seed)


def _restoration(pages: Pages, seed: int) -> None:
    names = error_types(pages.task)
    for k, photo in enumerate(photographs()[:RESTORED]):
        clean = smaller(photo.pixels, WHOLE_SIDE)
        degraded = DEGRADATIONS[pages.task](
            clean, rng_for(seed, "degrade", pages.task, photo.name)
        )
        image_id = f"{pages.task}_{photo.name}"
        pages.add_image(image_id, degraded)
        _grade(
            pages,
            photo,
            WholeImage(clean),
            seed=seed,
            degraded=degraded,
            image_id=image_id,
            errors=(names[0], names[1 + k % (len(names) - 1)]),
        )


def _generation(pages: Pages, _seed: int) -> None:
    for photo in photographs()[:GENERATED]:
        made = GENERATORS[pages.task](photo.smaller(WHOLE_SIDE))
        image_id = f"{pages.task}_{photo.name}"
        pages.add_image(
            image_id, made.source, **_context_files(pages.root, image_id, made)
        )
        if made.source_unseen:
            del pages.images[image_id]
        for severity, output in zip(SEVERITIES, made.outputs, strict=True):
            pages.add(
                image_id,
                WholeImage(output),
                class_of_interest=None,
                error_type=None,
                prompt=made.prompt,
                final_score=round(10 * (1 - severity), 4),
                source=f"step {SEVERITIES.index(severity)}",
                metadata={
                    "severity": severity,
                    "score_from": "set by construction, 10 × (1 − severity)",
                },
            )


def _context_files(
    root: Path, image_id: str, made: Generated
) -> dict[str, str]:
    files: dict[str, str] = {}
    if made.mask is not None:
        files["mask"] = f"files/{image_id}_mask.png"
        write_png(
            root / files["mask"],
            np.repeat(made.mask[:, :, None], 3, axis=2).astype(np.uint8) * 255,
        )
    if made.control is not None:
        files["control"] = f"files/{image_id}_control.png"
        write_png(root / files["control"], made.control)
    return files


def boxes_of(photo: Photograph) -> Detections:
    """Return the boxes around the masks of a photograph's objects."""
    return Detections(
        tuple(Detection(item.label, item.mask.box) for item in photo.objects)
    )


_FILL: dict[str, Callable[[Pages, int], None]] = {
    "detection": partial(_labelled, truth_of=boxes_of),
    "instance": partial(
        _labelled, truth_of=lambda photo: Masks(photo.size, photo.objects)
    ),
    "semantic": partial(
        _labelled, truth_of=lambda photo: Masks(photo.size, photo.segments)
    ),
    "referring": _referring,
    "keypoint": _keypoint,
    "depth": _depth,
    "restoration": _restoration,
    "generation": _generation,
}
