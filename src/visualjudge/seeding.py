"""Randomness that depends on what is drawn, never on when: every draw names its keys."""

from __future__ import annotations

import hashlib
import json

import numpy as np

Key = str | int | float | None | tuple[object, ...] | list[object]

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def seed_for(seed: int, *keys: Key) -> int:
    """A 128-bit seed from ``seed`` and ``keys``: the first half of the SHA-256 of their JSON form."""
    text = _ENCODER.encode([seed, *keys])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def rng_for(seed: int, *keys: Key) -> np.random.Generator:
    """A generator of its own for ``keys``, the same in any order of calls and in any process."""
    return np.random.Generator(np.random.PCG64(seed_for(seed, *keys)))
