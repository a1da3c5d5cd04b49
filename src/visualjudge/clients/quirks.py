"""What servers refuse, learned from their own words and asked differently from then on; every change is noted.

Only an HTTP 400 or 422 whose message names the parameter teaches: any other 4xx is final.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from visualjudge.clients.base import Request
from visualjudge.errors import ApiError


@dataclass(frozen=True, slots=True)
class Quirk:
    """One parameter that a server will not take.

    Parameters
    ----------
    words
        What its error message must contain for this quirk to be the cause.
    field
        The request's field that must be set for the quirk to matter.
    note
        Goes with each reply that was asked for differently.
    """

    name: str
    field: str
    words: re.Pattern[str]
    note: str

    def explains(self, error: ApiError, request: Request) -> bool:
        """Whether the error is this server's refusal of this parameter."""
        return getattr(request, self.field) is not None and bool(self.words.search(str(error)))


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


QUIRKS = (
    Quirk(
        "max_completion_tokens",
        "max_tokens",
        _words(r"max_completion_tokens"),
        "max_tokens refused by the server; asked with max_completion_tokens",
    ),
    Quirk(
        "no_temperature",
        "temperature",
        _words(r"\btemperature\b"),
        "temperature refused by the server; asked without, so at the model's own",
    ),
    Quirk("no_seed", "seed", _words(r"\bseed\b"), "seed refused by the server; asked without"),
    Quirk(
        "no_logprobs",
        "top_logprobs",
        _words(r"log_?prob"),
        "log-probabilities refused by the server; asked without",
    ),
    Quirk(
        "no_schema",
        "schema",
        _words(r"response_?format|json[ _]?schema|structured|guided|grammar|response_?schema|output_config"),
        "schema refused by the server; asked without",
    ),
)
_TEACHING = (400, 422)


class Quirks:
    """What one client has learned of its server. Grows only; a reply's notes name what applied to it."""

    def __init__(self) -> None:
        self.learned: frozenset[str] = frozenset()

    def learn(self, error: ApiError, request: Request) -> bool:
        """Whether the error taught something new, so that asking again differently makes sense."""
        if error.status not in _TEACHING:
            return False
        for quirk in QUIRKS:
            if quirk.name not in self.learned and quirk.explains(error, request):
                self.learned |= {quirk.name}
                return True
        return False

    def notes(self, request: Request) -> tuple[str, ...]:
        """The notes of those quirks that changed this request."""
        return tuple(q.note for q in QUIRKS if q.name in self.learned and getattr(request, q.field) is not None)

    def __contains__(self, name: str) -> bool:
        return name in self.learned
