"""The options of judging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from visualjudge.options.declared import Options, option, setting

Mode = Literal["text", "auto", "json", "logprobs"]
Tiers = Literal["all", "marked"]


@dataclass(frozen=True, kw_only=True)
class CallOptions(Options):
    """How a model is asked, and how an interrupted run continues."""

    concurrency: int = option(16, "Concurrent calls.", "N", least=1)
    limit: int | None = option(None, "Ask only the first N.", "N", least=1)
    resume: bool = option(False, "Continue the run in --out.")


@dataclass(frozen=True, kw_only=True)
class RunSettings(CallOptions):
    """The extent of a run and how to continue it."""

    swap: bool = option(False, "Ask pairs in both orders.")
    repeats: int = setting(1, least=1)
    retry_errors: bool = setting(False)
    """Continue, and also ask questions with an api_error again."""
    accept_changes: bool = setting(False)
    """Continue with different settings, and record both."""
    name: str | None = setting(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "resume", self.resume or self.retry_errors)


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(RunSettings):
    """The options of `visualjudge judge` and :func:`visualjudge.judge`, which describes them."""

    ties: bool = option(False, "Allow a tie as an answer.")
    tools: Sequence[str] | str | None = option(
        None, "Tools, as zoom,measure, or all.", "NAMES", kind=str
    )
    mode: Mode = setting("auto")
    retries: int = setting(0, least=0)
    read: Tiers = setting("all")
    seed: int | None = setting(None)
    max_tool_calls: int = setting(6, least=1)
