"""What probes show, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from visualjudge.analysis.value_and_interval import Estimate, Share

ProbeState = Literal["pass", "fail", "not_shown"]


@dataclass(frozen=True)
class ProbeResult:
    """How far a change that must not matter moves a judge; see :mod:`visualjudge.analysis.probes`
    for the units.
    """

    name: str
    design: str
    effect: Estimate
    margin: float
    state: ProbeState
    failed: int
    example: str
    """Id of one of its questions."""
    p_holm: float | None = None
    """p of an effect of 0, by Holm over the probes of the judge; None where nothing is measured."""


@dataclass(frozen=True)
class ToolTrust:
    """How often a judge follows a tool that claims ``confidence`` (0..1): one that is wrong, and
    one that is right.
    """

    probe: str
    confidence: float
    wrong_tool: Share
    right_tool: Share
