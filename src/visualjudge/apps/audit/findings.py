"""One kind of fault and where it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "identical_options",
    "contradictory_metrics",
    "answer_contradicts_scores",
    "near_duplicates",
    "leak",
    "file_leak",
    "imbalance",
    "unreadable",
    "blind",
]
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """``count`` of the ``total`` things that were looked at are at fault; ``examples`` names up to
    ten.
    """

    kind: Kind
    count: int
    total: int
    examples: tuple[str, ...]


def finding(kind: Kind, faults: list[str], total: int) -> Finding:
    """A finding from one line a fault."""
    return Finding(kind, len(faults), total, tuple(faults[:SHOWN]))
