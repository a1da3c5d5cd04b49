"""Learn from a server's errors which parameters it refuses, and adapt later requests. Every change
is noted.

A refusal is an HTTP 400 or 422 whose message names the parameter, or a 403 that denies
log-probabilities. Any other 4xx is final.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Set
from dataclasses import dataclass

from visualjudge.clients.json_schemas import REFUSED
from visualjudge.core.errors import ApiError

_log = logging.getLogger("visualjudge.clients")


@dataclass(frozen=True, slots=True)
class RefusedParameter:
    """A parameter that a server may refuse.

    Parameters
    ----------
    parameter
        Name of the parameter. The refusal applies only if it is in the request.
    words
        Case-insensitive pattern that identifies the refusal in the server's error message.
    note
        Note added to each reply whose request was changed.
    statuses
        HTTP statuses of such a refusal.
    """

    name: str
    parameter: str
    words: str
    note: str
    statuses: tuple[int, ...] = (400, 422)

    def explains(self, error: ApiError, parameters: Set[str]) -> bool:
        """Return whether the error is a refusal of this parameter."""
        named = error.status in self.statuses and self.parameter in parameters
        return named and re.search(self.words, str(error), re.IGNORECASE) is not None


KNOWN = (
    RefusedParameter(
        "max_completion_tokens",
        "max_tokens",
        r"max_completion_tokens",
        "max_tokens refused by the server; asked with max_completion_tokens",
    ),
    RefusedParameter(
        "no_temperature",
        "temperature",
        r"\btemperature\b",
        "temperature refused by the server; asked without, so at the model's own",
    ),
    RefusedParameter(
        "no_top_p",
        "top_p",
        r"\btop_?p\b",
        "top_p refused by the server; asked without, so at the model's own",
    ),
    RefusedParameter("no_seed", "seed", r"\bseed\b", "seed refused by the server; asked without"),
    RefusedParameter(
        "no_logprobs",
        "top_logprobs",
        r"log_?prob",
        "log-probabilities refused by the server; asked without",
        (400, 403, 422),
    ),
    RefusedParameter(
        "no_structured_outputs",
        "structured_outputs",
        r"structured_outputs",
        "structured_outputs refused by the server; asked with response_format only",
    ),
    RefusedParameter(
        "no_schema",
        "schema",
        r"response_?format|json[ "
        r"_]?schema|structured|guided|grammar|response_?schema|output_config",
        REFUSED,
    ),
)


class RefusedParameters:
    """Knowledge about a client's server. A reply's notes list the changes made to its request."""

    def __init__(self) -> None:
        self.learned: frozenset[str] = frozenset()
        self._left_out: dict[str, None] = {}

    def learn(self, error: ApiError, parameters: Set[str], known: Set[str], model: str) -> bool:
        """Return whether to ask again: True if the error names a parameter that was sent and can be
        omitted.

        Parameters
        ----------
        parameters
            Parameters of the request.
        known
            Value of ``learned`` when the request was sent; other requests may have added to it
            since.
        model
            Model named in the warning about the change, which is issued once.
        """
        for one in KNOWN:
            if one.name not in known and one.explains(error, parameters):
                if one.name not in self.learned:
                    self.learned |= {one.name}
                    _log.warning("%s: %s", model, one.note)
                return True
        return False

    def left_out(self, notes: tuple[str, ...]) -> tuple[str, ...]:
        """Record ``notes`` on parameters that the backend's protocol does not support."""
        self._left_out.update(dict.fromkeys(notes))
        return notes

    def notes(self, parameters: Set[str]) -> tuple[str, ...]:
        """Return the notes on changes made to a request with these parameters."""
        return tuple(q.note for q in KNOWN if q.name in self.learned and q.parameter in parameters)

    @property
    def adjustments(self) -> tuple[str, ...]:
        """Return the notes on all refused and omitted parameters."""
        return (*(one.note for one in KNOWN if one.name in self.learned), *self._left_out)

    def __contains__(self, name: str) -> bool:
        return name in self.learned
