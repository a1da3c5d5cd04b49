"""Tools that a judge called, and the cost of a right answer.

A judge calls tools when it is unsure, so its accuracy with a tool does not show the tool's effect.
That effect is the paired difference from a run without tools.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.study_table import Study
from visualjudge.runs.folder import RunFolder


@dataclass(frozen=True, slots=True)
class ToolUse:
    """How often a judge called one tool, and how many of these calls failed."""

    tool: str
    calls: int
    failed: int


@dataclass(frozen=True, slots=True)
class AnswerCost:
    """The cost of a right answer to a pairwise question, over all turns; None if not known."""

    judge: str
    right: int
    tokens: float | None
    seconds: float | None


def tool_use(study: Study, run: int) -> tuple[ToolUse, ...]:
    """Return the tools of a run, most often called first."""
    folder = study.runs[run].folder
    calls, failed = Counter[str](), Counter[str]()
    for verdict in () if folder is None else RunFolder(folder).verdicts().values():
        trace = verdict.extra.get("tool_calls")
        for call in trace if isinstance(trace, list) else ():
            if isinstance(call, dict):
                name = str(call.get("name"))
                calls[name] += 1
                failed[name] += call.get("failed") is True
    return tuple(ToolUse(name, number, failed[name]) for name, number in calls.most_common())


def answer_cost(study: Study, run: int) -> AnswerCost:
    """Return the cost of a right answer of a run."""
    pairs = study.answered[run].filter(pl.col("kind") == "pairwise")
    right = int(pairs["right"].sum() or 0)
    tokens = pairs.select(pl.sum_horizontal("tokens_in", "tokens_out").sum()).item()
    known = pairs["tokens_in"].is_not_null().any()
    timed = pairs["latency_s"].is_not_null().any()
    seconds = float(pairs["latency_s"].sum()) if timed else None
    return AnswerCost(
        study.runs[run].name,
        right,
        tokens / right if right and known else None,
        seconds / right if right and seconds is not None else None,
    )
