"""Learn from a server's errors which parameters it refuses, and adapt later requests.
Every change is noted.

A refusal is an HTTP 400 or 422 whose message names the parameter, or a 403 that denies
log-probabilities. Any other 4xx is final.
"""

import logging
import re
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import NamedTuple

from visualjudge.clients.base import Request
from visualjudge.clients.reply_fields import REFUSED
from visualjudge.core.errors import ApiError

_log = logging.getLogger("visualjudge.clients")
# The one that is renamed, not left out.
RENAMED = "max_completion_tokens"


class _Refusal(NamedTuple):
    """How an error message names the parameter of a request, and the note on leaving it
    out."""

    parameter: str
    words: str
    note: str
    statuses: tuple[int, ...] = (400, 422)


# By the names that journals of batches hold.
_KNOWN = {
    RENAMED: _Refusal(
        "max_tokens",
        r"max_completion_tokens",
        "max_tokens refused by the server; asked with max_completion_tokens",
    ),
    "no_temperature": _Refusal(
        "temperature",
        r"\btemperature\b",
        "temperature refused by the server; asked without, so at the model's own",
    ),
    "no_top_p": _Refusal(
        "top_p",
        r"\btop_?p\b",
        "top_p refused by the server; asked without, so at the model's own",
    ),
    "no_seed": _Refusal(
        "seed", r"\bseed\b", "seed refused by the server; asked without"
    ),
    "no_logprobs": _Refusal(
        "top_logprobs",
        r"log_?prob",
        "log-probabilities refused by the server; asked without",
        (400, 403, 422),
    ),
    "no_schema": _Refusal(
        "schema",
        r"response_?format|json[ "
        r"_]?schema|structured|guided|grammar|response_?schema|output_config",
        REFUSED,
    ),
}


class RefusedParameters:
    """Knowledge about a client's server.

    Parameters
    ----------
    unsupported
        Notes on parameters that the protocol lacks, by the parameter.
    """

    def __init__(self, unsupported: Mapping[str, str]) -> None:
        self.learned: frozenset[str] = frozenset()
        self._unsupported = unsupported
        self._left_out = dict[str, None]()

    def learn(
        self, error: ApiError, request: Request, known: Set[str], model: str
    ) -> bool:
        """Return whether to ask again: True if the error names a parameter that was
        sent and can be omitted.

        Parameters
        ----------
        known
            Value of ``learned`` when the request was sent; other requests may have
            added to it since.
        model
            Model named in the warning about the change, which is issued once.
        """
        for name, refusal in _KNOWN.items():
            if (
                name not in known
                and error.status in refusal.statuses
                and getattr(request, refusal.parameter) is not None
                and re.search(refusal.words, str(error), re.IGNORECASE)
            ):
                if name not in self.learned:
                    self.learned |= {name}
                    _log.warning("%s: %s", model, refusal.note)
                return True
        return False

    def fitted(self, request: Request) -> tuple[Request, tuple[str, ...]]:
        """Return the request without the parameters that the server refuses, and the
        notes on them.
        """
        refused = {
            known.parameter: known.note
            for name, known in _KNOWN.items()
            if name in self.learned
        }
        notes = {
            name: note
            for name, note in (refused | dict(self._unsupported)).items()
            if getattr(request, name) is not None
        }
        self._left_out.update(dict.fromkeys(notes.values()))
        changes = {
            name: None for name in notes if name != _KNOWN[RENAMED].parameter
        }
        if changes:
            request = replace(request, **changes)  # type: ignore[arg-type]
        return request, tuple(notes.values())

    @property
    def adjustments(self) -> tuple[str, ...]:
        """Return the notes on all parameters that were left out or renamed."""
        return tuple(self._left_out)
