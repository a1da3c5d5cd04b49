"""Restored images with the degraded image and, if available, the clean image."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.formats.outputs import given_score
from visualjudge.formats.sample import Found, Sample, aligned, check_type, other_size, read_table
from visualjudge.vision.predictions import WholeImage
from visualjudge.vision.raster.images import read_rgb, resized_rgb

RESIZE_CLEAN = "--resize-pred resizes restored images to the clean image's size"


def image_pairs(
    task: str,
    images: str,
    pred: str | None = None,
    gt: str | None = None,
    scores: Path | None = None,
    score_range: tuple[float, float] = (0, 10),
    *,
    resize_pred: bool = False,
) -> Found:
    """Yield samples of images paired by name, scored against ``gt`` or by a table of ``key`` and
    ``score``.

    Without ``pred``, the clean image is its own prediction. Paths are arguments of
    :func:`~visualjudge.formats.sample.files_by_key`.

    Parameters
    ----------
    images
        Degraded images: folder, file, or pattern with one * (the text it matches pairs the files).
    pred
        Restored images: folder, file, or pattern, as for --images.
    gt
        Clean images: folder, file, or pattern, as for --images.
    scores
        Table with the columns key and score, instead of --gt.
    score_range
        Range of the table's scores.
    """
    check_type(task, ("restoration",), "pairs of")
    if (gt is None) == (scores is None) or (pred is None and gt is None):
        raise UsageError(
            "give either --gt, the clean images, or --pred with --scores, a table of key and score"
        )
    rows = read_table(scores) if scores else []
    for column in ("key", "score") if rows else ():
        if column not in rows[0]:
            raise UsageError(f"{scores}: must have a column {column!r}, got {', '.join(rows[0])}")
    table, repeated = _by_key(rows)
    yield from (Problem(str(scores), repr(key), "key", "must occur once") for key in repeated)
    for key, image, (real, found) in aligned(images, gt, gt if pred is None else pred):
        try:
            row = table.pop(key, None)
            if key in repeated:
                continue
            yield _sample(key, image, found, real, row, gt is not None, score_range, resize_pred)
        except DataError as error:
            yield Problem.of(error, image.name, key)
    if table:
        warnings.warn(
            f"{scores}: keys without an image: {len(table)}, such as {next(iter(table))!r}",
            stacklevel=2,
        )


def _by_key(rows: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Return the rows of a table by key, and the keys that occur more than once."""
    found: dict[str, Any] = {}
    repeated: dict[str, None] = {}
    for row in rows:
        key = str(row.get("key"))
        if key in found:
            repeated[key] = None
        found[key] = row
    return found, [*repeated]


def _sample(
    key: str,
    image: Path,
    found: Path | None,
    real: Path | None,
    row: Any,
    scored: bool,
    limits: tuple[float, float],
    resize: bool,
) -> Sample:
    if found is None or (scored and real is None):
        raise DataError(
            f"{'restored' if found is None else 'clean'}: there is no image named {key!r}"
        )
    degraded, restored = read_rgb(image), read_rgb(found)
    if real is None:
        if row is None:
            raise DataError(f"score: the table has no key {key!r}")
        score, how = given_score(row.get("score"), limits), {"metric": "given"}
        return Sample(
            image.stem, image, WholeImage(restored), file=found, final_score=score, metadata=how
        )
    clean = read_rgb(real)
    size, asked = (pixels.shape[:2] for pixels in (restored, clean))
    if size == asked:
        return Sample(image.stem, image, WholeImage(restored), WholeImage(clean), file=found)
    if resize:
        return Sample(
            image.stem, image, WholeImage(resized_rgb(restored, asked)), WholeImage(clean)
        )
    if found.samefile(image):
        raise DataError(
            f"restored: {found.name} is the degraded image and does not match the clean size, "
            f"{asked[0]}×{asked[1]} (height×width); --pred must name the restored images"
        )
    if asked == degraded.shape[:2]:
        raise other_size(f"restored: {found.name}", size, asked, found, remedy=RESIZE_CLEAN)
    if degraded.shape[:2] == size:
        raise other_size(
            f"clean: {real.name}", asked, size, real, remedy="--gt and --images seem to be swapped"
        )
    raise other_size(f"restored: {found.name}", size, asked, found, remedy=RESIZE_CLEAN)
