"""Random numbers that depend on named keys, never on the order of draws. Draws of
questions are in ``dataset/sampling.py``.
"""

import hashlib
import json
import struct

import numpy as np

Key = str | int | float | None | tuple[object, ...] | list[object]

_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True
)


def seed_for(seed: int, *keys: Key) -> int:
    """Return a 128-bit seed from ``seed`` and ``keys``: the first half of the SHA-256
    of their JSON form.
    """
    return int.from_bytes(_digest(seed, keys)[:16], "big")


def uniforms_for(seed: int, *keys: Key) -> tuple[float, float, float, float]:
    """Return four uniform numbers in [0, 1) from the whole SHA-256. Ten times faster
    than a generator for few draws.
    """
    # 53 bits of each word are a double.
    a, b, c, d = (
        (word >> 11) / 2**53
        for word in struct.unpack(">4Q", _digest(seed, keys))
    )
    return a, b, c, d


def _digest(seed: int, keys: tuple[Key, ...]) -> bytes:
    return hashlib.sha256(_ENCODER.encode([seed, *keys]).encode()).digest()


def rng_for(seed: int, *keys: Key) -> np.random.Generator:
    """Return a generator for ``keys`` that is the same in any order of calls and any
    process."""
    return np.random.Generator(np.random.PCG64(seed_for(seed, *keys)))
