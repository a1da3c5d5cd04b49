"""A prompt asset in memory, and the one pass that fills its placeholders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from visualjudge.core.errors import PromptError

PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """One version of one prompt.

    Placeholders are written ``{{name}}``: single braces are common in prompts that show JSON.

    Parameters
    ----------
    prompt_id, version
        Where the asset lies: ``<prompt_id>/<version>.yaml``; ``version`` such as ``"v1"``.
    user, system
        The texts; ``system`` may be None.
    input_schema, output_schema
        Names of the schemas that the judge checks its input and the model's reply against; None = unchecked.
    parts
        Named texts that code puts together (the description of each encoding, for instance).
    choices
        Texts of which one is drawn (the paraphrases of a question).
    metadata
        Every other key of the asset.
    """

    prompt_id: str
    version: str
    user: str = ""
    system: str | None = None
    input_schema: str | None = None
    output_schema: str | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``prompt_id@version``, for messages and records of a run."""
        return f"{self.prompt_id}@{self.version}"

    def render_user(self, values: Mapping[str, Any] = _NOTHING) -> str:
        """The user text with its placeholders filled.

        Raises
        ------
        PromptError
            If a placeholder has no value; the message names the prompt and the placeholder.
        """
        return fill(self.user, values, where=self.name)

    def render_system(self, values: Mapping[str, Any] = _NOTHING) -> str | None:
        """The system text filled likewise, or None where the prompt has none."""
        return None if self.system is None else fill(self.system, values, where=self.name)

    def part(self, key: str, values: Mapping[str, Any] = _NOTHING) -> str:
        """The named text filled likewise.

        Raises
        ------
        PromptError
            If the asset has no such part, or a placeholder has no value.
        """
        return fill(self._part(key), values, where=f"{self.name}, part {key!r}")

    def around(self, key: str, name: str, values: Mapping[str, Any] = _NOTHING) -> tuple[str, str]:
        """What stands before and after the placeholder ``name`` in the named text, both filled.

        Raises
        ------
        PromptError
            As :meth:`part`, or if the placeholder does not occur exactly once.
        """
        where = f"{self.name}, part {key!r}"
        found = [match.span() for match in PLACEHOLDER.finditer(self._part(key)) if match[1] == name]
        if len(found) != 1:
            raise PromptError(f"prompt {where}: must hold {{{{{name}}}}} exactly once, got {len(found)}")
        (start, end), text = found[0], self._part(key)
        return fill(text[:start], values, where=where), fill(text[end:], values, where=where)

    def _part(self, key: str) -> str:
        try:
            return self.parts[key]
        except KeyError:
            raise PromptError(f"prompt {self.name} has no part {key!r}; it has: {', '.join(self.parts)}") from None


def fill(text: str, values: Mapping[str, Any], *, where: str) -> str:
    """``text`` with each ``{{name}}`` replaced by ``values[name]``, in one pass.

    One pass, so that a value that itself contains ``{{…}}`` or braces (a prediction, an instruction that somebody
    typed) is left exactly as it is.

    Raises
    ------
    PromptError
        If a placeholder has no value; ``where`` begins the message.
    """
    if "{{" not in text:
        return text
    pieces = list(_pieces(text))
    found = [values.get(name) for name in pieces[1::2]]
    if any(value is None for value in found):
        missing = sorted({name for name, value in zip(pieces[1::2], found, strict=True) if value is None})
        raise PromptError(f"prompt {where}: no value for placeholder {', '.join(missing)}")
    pieces[1::2] = map(str, found)
    return "".join(pieces)


@lru_cache(maxsize=1024)
def _pieces(text: str) -> tuple[str, ...]:
    """The text between placeholders and their names, in turn."""
    return tuple(PLACEHOLDER.split(text))
