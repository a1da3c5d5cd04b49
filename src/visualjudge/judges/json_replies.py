"""The JSON object in a reply: plain, in a code fence, in prose, repaired where slightly broken. Nothing is guessed.

A reply that gives different values for the wanted key in different objects has no object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import json_repair

Object = dict[str, Any]

_FENCE = re.compile(r"```[A-Za-z0-9_+-]*(.*?)```", re.DOTALL)
_THOUGHTS = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_KEY_FOLLOWS = re.compile(r"\{\s*(?:[\"'}]|\w+\s*:)")
_COMPLETE_ENDS = "\"'”’]}"
_DECODER = json.JSONDecoder(strict=False)  # a line feed inside a string is a small fault


def object_with(text: str, key: str) -> Object | None:
    """The one object of ``text`` that has ``key`` at its top level, or None.

    Reasoning in ``<think>`` tags is left aside; code fences come before prose.
    """
    said = _THOUGHTS.sub(" ", text).strip()
    try:
        whole = _DECODER.decode(said)
    except ValueError:
        pass
    else:
        return whole if isinstance(whole, dict) and key in whole else None
    for regions in (_FENCE.findall(said), [said]):
        found = [candidate for region in regions for candidate in _objects(region) if key in candidate]
        if found:
            return found[-1] if all(other[key] == found[-1][key] for other in found) else None
    return None


def _objects(region: str) -> Iterator[Object]:
    """Outermost objects, in order."""
    at = region.find("{")
    while at >= 0:
        found, end = _object_at(region, at)
        if found is not None:
            yield found
        at = region.find("{", end)


def _object_at(region: str, at: int) -> tuple[Object | None, int]:
    """The object that begins at ``at``, if one does, and where to go on looking."""
    try:
        value, end = _DECODER.raw_decode(region, at)
    except ValueError:
        pass
    else:
        return value, end
    closed = _closing(region, at)
    if closed is not None:
        return _repaired(region[at:closed]), closed
    rest = region[at:].rstrip()
    if not _KEY_FOLLOWS.match(rest):  # a brace in prose
        return None, at + 1
    # Cut short: usable as far as its values are whole. A number at the end may be the beginning of a longer one.
    return (_repaired(rest) if rest[-1] in _COMPLETE_ENDS else None), len(region)


def _closing(region: str, at: int) -> int | None:
    """Just past the brace that closes the one at ``at``; braces in double-quoted strings do not count."""
    depth, quoted, skip = 0, False, False
    for place in range(at, len(region)):
        letter = region[place]
        if skip:
            skip = False
        elif letter == "\\":
            skip = quoted
        elif letter == '"':
            quoted = not quoted
        elif not quoted and letter in "{}":
            depth += 1 if letter == "{" else -1
            if depth == 0:
                return place + 1
    return None


def _repaired(broken: str) -> Object | None:
    value = json_repair.loads(broken)
    return value if isinstance(value, dict) else None
