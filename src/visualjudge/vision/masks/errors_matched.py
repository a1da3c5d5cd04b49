"""Errors of masks made on purpose so that the options look alike
(``vision/errors/matched.py``). Those of rising severity are in ``errors.py``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import attrgetter

from visualjudge.vision.errors.levels import ErrorScene, Rng
from visualjudge.vision.errors.matched import ItemErrors, Moves, aside, side
from visualjudge.vision.masks import errors
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.raster.masks import mask_from_array

# Severities of the errors that all options of a pair share.
ROUGH = 0.25
UNEVEN = 0.6
EATEN = 0.35
MILD = 0.35


def _shifted(item: Instance, x: float, y: float) -> Instance:
    return replace(
        item,
        mask=mask_from_array(
            errors.translated(item.mask.dense(), round(x), round(y))
        ),
    )


def _wobbled(
    share: float, item: Instance, _scene: ErrorScene, rng: Rng
) -> Instance:
    return replace(item, mask=errors.wobbled(item.mask, share, rng))


_BOX = attrgetter("mask.box")
MATCHED = ItemErrors(Moves(_BOX, _shifted, partial(_wobbled, ROUGH)))
_UNEVEN = ItemErrors(Moves(_BOX, _shifted, partial(_wobbled, UNEVEN)))


def boundary(
    truth: Masks, severity: float, scene: ErrorScene, rng: Rng
) -> Masks:
    """Make all outlines equally and clearly rough, and shift all masks in one
    direction."""
    return _UNEVEN.localization(truth, severity, scene, rng)


# ---------------------------------------------------------------- semantic

Error = Callable[[Masks, float, ErrorScene, Rng], Masks]


def misplaced(error: Error, severity_of_error: float) -> Error:
    """Return an error that shifts a label map sideways with increasing severity,
    without its margins, and applies ``error`` at a fixed severity.
    """

    def matched(
        truth: Masks, severity: float, scene: ErrorScene, rng: Rng
    ) -> Masks:
        to = side(severity, scene.levels, rng)
        return error(
            errors.renumbered(
                truth, aside(errors.numbered(truth), severity, to, 0)
            ),
            severity_of_error,
            scene,
            rng,
        )

    return matched


semantic_boundary = misplaced(errors.semantic_boundary, MILD)
semantic_missed = misplaced(errors.semantic_missed, EATEN)
semantic_background = misplaced(errors.semantic_background, MILD)


# ---------------------------------------------------------------- referring


def eaten(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """Remove a constant part of the region and move the rest further with severity."""
    return MATCHED.localization(
        errors.eaten(truth, EATEN, scene, rng), severity, scene, rng
    )
