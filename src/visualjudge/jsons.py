"""JSON from foreign files, with a bound on its depth.

orjson reads 1,024 levels and writes 254, and Python's ``repr`` and ``str``, with which messages show a value, fail near
1,000: a value that is read is one that can be shown and written again.
"""

from __future__ import annotations

from typing import Any

import orjson

DEEPEST_JSON = 100
"""Levels of lists and objects."""
_CONTAINERS = frozenset({list, dict, tuple})


def loads(text: bytes | str) -> Any:
    """The value of a JSON text.

    Raises
    ------
    orjson.JSONDecodeError
        If it is not JSON, or is more than 100 levels deep.
    """
    value = orjson.loads(text)
    opening = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    if opening > DEEPEST_JSON and is_deep(value):
        raise orjson.JSONDecodeError(f"must be at most {DEEPEST_JSON} levels deep", "", 0)
    return value


def is_deep(value: Any) -> bool:
    """Whether a value of lists and objects has more than 100 levels, looked at level by level, each object once."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(DEEPEST_JSON):
        inner = {
            id(item): item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) in _CONTAINERS
        }
        level = list(inner.values())
        if not level:
            return False
    return True
