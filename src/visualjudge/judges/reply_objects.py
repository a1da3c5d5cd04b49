"""The one JSON object with a key that a judge module's reply gives, by two rules: ours, and
GEditBench's.
"""

from __future__ import annotations

import re

from visualjudge.replies.json_answers import Object, objects, repaired
from visualjudge.replies.stripped_text import without_thoughts

_FENCE = re.compile(r"```[A-Za-z0-9_+-]*(.*?)(?:```|\Z)", re.DOTALL)
_FENCED_JSON = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


def object_with(text: str, key: str) -> Object | None:
    """Return the one object of ``text`` that has ``key`` at its top level, or None.

    Thoughts are ignored; code fences have precedence over prose; a list with a single object counts
    as that object. Different values of the key in different objects give None.
    """
    said = without_thoughts(text)
    for regions in (_FENCE.findall(said), [said]):
        found = [value for region in regions for _, _, value in objects(region) if key in value]
        if found:
            return found[-1] if all(other[key] == found[-1][key] for other in found) else None
    return None


def object_as_geditbench(text: str, key: str) -> Object | None:
    """Return the object that GEditBench's judges read, for figures comparable with theirs.

    This is the repaired JSON block (a fence, or from the first brace to the last), or without a
    block, the whole text repaired. Thoughts count as text. Unlike there, a value truncated by the
    end of the reply remains unread.
    """
    fence = _FENCED_JSON.search(text)
    braces = text[text.find("{") : text.rfind("}") + 1] if "{" in text else ""
    block = fence[1] if fence else braces or text
    return repaired(block, key)


OBJECT_RULES = {"strict": object_with, "geditbench": object_as_geditbench}
