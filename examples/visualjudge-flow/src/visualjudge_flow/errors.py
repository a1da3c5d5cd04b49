"""Three graded errors of optical flow."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.random import Generator

import visualjudge as vj
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.errors.random_fields import smooth_field
from visualjudge_flow.record import Flow


def magnitude(
    truth: Flow, severity: float, _scene: ErrorScene, _rng: Generator
) -> Flow:
    """Every vector keeps its direction and loses up to 90 % of its length."""
    return replace(
        truth, vectors=(truth.vectors * (1 - 0.9 * severity)).astype(np.float32)
    )


def direction(
    truth: Flow, severity: float, _scene: ErrorScene, rng: Generator
) -> Flow:
    """Vectors keep their length and turn by a smooth field of angles, up to about
    150°."""
    angle = (
        smooth_field(truth.extent, rng, grain=0.3) * severity * np.deg2rad(150)
    )
    cos, sin = np.cos(angle), np.sin(angle)
    u, v = truth.vectors[..., 0], truth.vectors[..., 1]
    turned = np.dstack([cos * u - sin * v, sin * u + cos * v])
    return replace(truth, vectors=turned.astype(np.float32))


def oversmoothing(
    truth: Flow, severity: float, _scene: ErrorScene, _rng: Generator
) -> Flow:
    """Motion boundaries are washed out; unknown vectors do not bleed into their
    neighbours."""
    sigma = 0.15 * max(truth.extent) * severity
    weight = cv2.GaussianBlur(truth.valid.astype(np.float32), (0, 0), sigma)
    smooth = (
        cv2.GaussianBlur(truth.vectors, (0, 0), sigma)
        / np.maximum(weight, 1e-9)[..., None]
    )
    return replace(
        truth,
        vectors=np.where(truth.valid[..., None], smooth, 0).astype(np.float32),
    )


def _moves(truth: Flow, _scene: ErrorScene) -> bool:
    return bool(truth.lengths[truth.valid].max(initial=0) > 1)


def _motions_differ(truth: Flow, _scene: ErrorScene) -> bool:
    vectors = truth.vectors[truth.valid]
    return bool(len(vectors) and np.ptp(vectors, axis=0).max() > 1)


ROWS = (
    vj.ErrorType("flow", "magnitude", magnitude, _moves),
    vj.ErrorType("flow", "direction", direction, _moves),
    vj.ErrorType("flow", "oversmoothing", oversmoothing, _motions_differ),
)
