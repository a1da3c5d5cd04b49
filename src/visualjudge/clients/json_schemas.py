"""JSON schemas for replies: whether a reply follows one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

REFUSED = "schema refused by the server; asked without"
IGNORED = "schema ignored by the server: the reply does not follow it"


def follows(text: str, schema: Mapping[str, Any]) -> bool:
    """Return whether ``text`` is a JSON object with the required fields of a schema, and with
    values of its enums (one level deep).
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    rules = schema.get("properties", {})
    return isinstance(value, dict) and all(
        name in value and value[name] in rules.get(name, {}).get("enum", [value[name]])
        for name in schema.get("required", ())
    )


def schema_notes(text: str, schema: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return a note if a schema was sent and the reply does not follow it."""
    return (IGNORED,) if schema is not None and text and not follows(text, schema) else ()
