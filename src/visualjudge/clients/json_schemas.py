"""JSON schemas for replies: whether a reply follows one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

REFUSED = "schema refused by the server; asked without"
IGNORED = "schema ignored by the server: the reply does not follow it"
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "array": (list,),
    "object": (dict,),
    "boolean": (bool,),
}


def follows(text: str, schema: Mapping[str, Any]) -> bool:
    """Return whether ``text`` is JSON of the schema's type, with its required fields, types and
    enums (one level deep).
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    if not _is(value, schema) or not isinstance(value, dict):
        return _is(value, schema)
    properties = schema.get("properties", {})
    return all(name in value for name in schema.get("required", ())) and all(
        _is(value[name], rule) for name, rule in properties.items() if name in value
    )


def schema_notes(text: str, schema: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return a note if a schema was sent and the reply does not follow it."""
    return (IGNORED,) if schema is not None and text and not follows(text, schema) else ()


def _is(value: Any, rule: Mapping[str, Any]) -> bool:
    if "enum" in rule:
        return value in rule["enum"]
    types = _TYPES.get(str(rule.get("type")))
    if types is None:
        return True
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))
