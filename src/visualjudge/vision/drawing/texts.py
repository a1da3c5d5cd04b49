"""JSON texts with one object per line and without comments, which belong in the prompt.
Texts of masks are in ``vision/masks/texts.py``.
"""

from collections.abc import Iterable
from typing import Any

import orjson


def array(lines: Iterable[str]) -> str:
    """Return a JSON array of objects that are already JSON, one per line."""
    body = ",\n".join(lines)
    return f"[\n{body}\n]" if body else "[]"


def compact(value: Any) -> str:
    """Return a value as JSON without spaces."""
    return orjson.dumps(value).decode()
