"""Why a reply ended: the names of all providers in one vocabulary, for clients,
connectors and logs. Replies of servers are read in
``clients/protocol_fields.py``.
"""

from typing import Literal

FinishReason = Literal["stop", "length", "refusal", "error", "other"]

# Names in lower case that no fragment below decides.
FINISH_REASONS: dict[str, FinishReason] = {
    "": "stop",
    "none": "stop",
    "null": "stop",
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "end": "stop",
    "complete": "stop",
    "completed": "stop",
    "finish": "stop",
    "language": "refusal",
    "finish_reason_unspecified": "other",
}
# Parts of a name, because providers invent names (``model_length``, ``MAX_TOKENS``)
# faster than a list could follow; a call that failed is looked for first.
_FRAGMENTS: tuple[tuple[FinishReason, tuple[str, ...]], ...] = (
    (
        "error",
        (
            "error",
            "abort",
            "cancel",
            "timeout",
            "timed_out",
            "network",
            "fail",
            "resource",
        ),
    ),
    (
        "refusal",
        ("filter", "safety", "refus", "sensitive", "prohibited", "block"),
    ),
    ("refusal", ("recitation", "spii", "moderat", "guardrail", "policy")),
    (
        "length",
        (
            "length",
            "max_",
            "maxtok",
            "token",
            "truncat",
            "incomplete",
            "context_window",
        ),
    ),
)


def finish_of(name: object) -> FinishReason:
    """Return why a reply ended, from the name that a provider gives it, in any case.

    Examples
    --------
    >>> [finish_of(name) for name in ("end_turn", "MAX_TOKENS", "SAFETY", "network_error")]
    ['stop', 'length', 'refusal', 'error']
    """
    text = str(name or "").strip().lower().replace("-", "_").replace(" ", "_")
    if text in FINISH_REASONS:
        return FINISH_REASONS[text]
    for reason, parts in _FRAGMENTS:
        if any(part in text for part in parts):
            return reason
    return "other"
