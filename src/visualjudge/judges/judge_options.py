"""The options of judging, declared once: keywords in Python, options on the command line."""

# Annotations are not postponed, because the command line evaluates them without importing
# what only type checkers need.

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from visualjudge.replies import Tiers

if TYPE_CHECKING:
    from visualjudge.clients.base import Client
    from visualjudge.dataset.question_filter import Choice
    from visualjudge.runs.budget import Limits, Prices

Mode = Literal["text", "auto", "json", "logprobs"]


@dataclass(frozen=True, slots=True)
class Option:
    """Attributes of an option other than its name and type."""

    default: Any = None
    help: str = ""
    """Help text on the command line; empty for Python-only options and those shared by several
    commands.
    """
    least: int | None = None
    flag: str = ""
    """Name on the command line, if different."""


class JudgeOptions(TypedDict, total=False):
    """The options of :func:`visualjudge.judge`; :func:`visualjudge.judge_async` describes them."""

    choice: Annotated["Choice | None", Option()]
    limit: Annotated[int | None, Option()]
    concurrency: Annotated[int, Option(16)]
    resume: Annotated[bool, Option(default=False)]
    swap: Annotated[bool, Option(False, "Ask pairwise questions in both orders.")]
    repeats: Annotated[
        int, Option(1, "Number of samples per question (self-consistency).", least=1)
    ]
    retry_errors: Annotated[
        bool,
        Option(False, "Like --resume, but also repeat questions that ended in an api_error."),
    ]
    accept_changes: Annotated[
        bool, Option(False, "With --resume: allow different settings; run.json records both.")
    ]
    mode: Annotated[
        Mode,
        Option(
            "auto",
            "Form of answers: auto (a JSON schema if the server follows it, else text), text, json "
            "or logprobs.",
        ),
    ]
    seed: Annotated[int | None, Option(None, "Seed for the server and for baselines.")]
    retries: Annotated[
        int, Option(0, "Maximum number of times to ask again if a reply cannot be read.", least=0)
    ]
    ties: Annotated[
        bool, Option(False, "Allow the answers tie and both_bad for pairwise questions.")
    ]
    read: Annotated[
        Tiers,
        Option(
            "all",
            "How to read text: all, or marked (only JSON, boxes, 'Answer: B' and lines with "
            "only an answer).",
        ),
    ]
    tools: Annotated["Sequence[str] | None", Option()]
    max_tool_calls: Annotated[
        int, Option(6, "Maximum tool calls per question, with --tools.", least=1)
    ]
    name: Annotated[str | None, Option(None, "The judge's name in reports; default: the model.")]
    extractor: Annotated["Client | None", Option()]
    limits: Annotated["Limits | None", Option()]
    prices: Annotated["Prices | None", Option()]


DEFAULTS = JudgeOptions(
    **{name: hint.__metadata__[0].default for name, hint in JudgeOptions.__annotations__.items()}  # type: ignore[typeddict-item]
)
