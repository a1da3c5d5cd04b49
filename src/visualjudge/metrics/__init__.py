"""SCORE: a prediction against its ground truth, as ``final_score`` in 0..10."""

from __future__ import annotations

from visualjudge.metrics.scoring import score

__all__ = ["score"]
