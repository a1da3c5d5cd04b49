"""What a prompt says of the task after the role sentence, a row a prediction type. The words are in the assets."""

from __future__ import annotations

from visualjudge.core.registry import Registry
from visualjudge.vision.built_in import BUILT_IN
from visualjudge.vision.rows import Context

CONTEXTS: Registry[str, Context] = Registry(
    "context", {row.name: row.context for row in BUILT_IN if row.context is not None}
)
"""Of each prediction type; a type without a row has :func:`~visualjudge.vision.contexts.type_sentence`."""
