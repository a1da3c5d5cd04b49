"""The one JSON object with a key that a judge module's reply gives, by two rules: ours,
and GEditBench's.
"""

import re
from collections.abc import Mapping
from itertools import accumulate

from pydantic import BaseModel, ValidationError, create_model

from visualjudge.replies.json_answers import Object, objects, repaired
from visualjudge.replies.stripped_text import without_thoughts

_FENCE = re.compile(r"```[A-Za-z0-9_+-]*(.*?)(?:```|\Z)", re.DOTALL)
_FENCED_JSON = [
    re.compile(rf"```{kind}\s*(.*?)\s*```", re.DOTALL) for kind in ("json", "")
]
_BRACE = re.compile(r"[{}]")
THEIR_SCHEMAS: Mapping[str, type[BaseModel]] = {
    "VLMPairJudgeWithReasonOutput": create_model(
        "Pair", winner=(str, ...), reasoning=(str, ...)
    ),
    "UnicEditVIEScoreOutput": create_model(
        "Score", score=(int, ...), reason=(str, ...)
    ),
    "EditScoreVIEScoreOutput": create_model(
        "Scores", score=(list[int], ...), reasoning=(str, ...)
    ),
}
"""What GEditBench's code asks of replies, by the schema that a prompt file of its
names."""


def object_with(text: str, key: str) -> Object | None:
    """Return the one object of ``text`` that has ``key`` at its top level, or None.

    Thoughts are ignored; code fences have precedence over prose; a list with a single
    object counts as that object. Different values of the key in different objects give
    None.
    """
    answer_text = without_thoughts(text)
    for regions in (_FENCE.findall(answer_text), [answer_text]):
        collected = [
            value
            for region in regions
            for _, _, value in objects(region)
            if key in value
        ]
        if collected:
            return (
                collected[-1]
                if all(other[key] == collected[-1][key] for other in collected)
                else None
            )
    return None


def object_as_geditbench(text: str, schema: str | None) -> Object | None:
    """Return the object that GEditBench's judges read, for figures comparable with
    theirs.

    This is the repaired JSON block (a fence, or the first brace to the one that closes
    it), or without a block, the whole text repaired. Thoughts count as text. Replies to
    a prompt that names one of its schemas must fit it.
    """
    fenced = (fence.search(text) for fence in _FENCED_JSON)
    block = next((result[1] for result in fenced if result), None)
    value = repaired(
        (_braced(text) if block is None else block) or text, whole=False
    )
    fits = THEIR_SCHEMAS.get(schema or "")
    if value is None or fits is None:
        return value
    try:
        return fits.model_validate(value).model_dump()
    except ValidationError:
        return None


def _braced(text: str) -> str:
    """Return the first brace to the one that closes it; empty if none does."""
    marks = list(_BRACE.finditer(text, max(text.find("{"), 0)))
    depths = accumulate(1 if mark[0] == "{" else -1 for mark in marks)
    end = next(
        (
            mark.end()
            for mark, depth in zip(marks, depths, strict=True)
            if not depth
        ),
        0,
    )
    return text[marks[0].start() : end] if end else ""
