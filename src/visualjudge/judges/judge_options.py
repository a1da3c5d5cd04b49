"""The options of judging, declared once: keywords in Python, and what the command line fills in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from visualjudge.clients.base import Client
    from visualjudge.dataset.question_filter import Choice
    from visualjudge.replies import Tiers
    from visualjudge.runs.budget import Limits, Prices

Mode = Literal["text", "auto", "json", "logprobs"]


class JudgeOptions(TypedDict, total=False):
    """The options of :func:`visualjudge.judge`; :func:`visualjudge.judge_async` describes them."""

    choice: Choice | None
    limit: int | None
    concurrency: int
    resume: bool
    swap: bool
    repeats: int
    retry_errors: bool
    accept_changes: bool
    mode: Mode
    seed: int | None
    retries: int
    ties: bool
    read: Tiers
    tools: Sequence[str] | None
    max_tool_calls: int
    name: str | None
    extractor: Client | None
    limits: Limits | None
    prices: Prices | None


DEFAULTS = JudgeOptions(
    choice=None,
    limit=None,
    concurrency=16,
    resume=False,
    swap=False,
    repeats=1,
    retry_errors=False,
    accept_changes=False,
    mode="auto",
    seed=None,
    retries=0,
    ties=False,
    read="all",
    tools=None,
    max_tool_calls=6,
    name=None,
    extractor=None,
    limits=None,
    prices=None,
)
