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
    """A kind of fault: ``count`` of the ``total`` items checked are faulty; ``examples`` names up
    to ten.
    """

    kind: Kind
    count: int
    total: int
    examples: tuple[str, ...]


def finding(kind: Kind, faults: list[str], total: int) -> Finding:
    """Return a finding from one line per fault."""
    return Finding(kind, len(faults), total, tuple(faults[:SHOWN]))
