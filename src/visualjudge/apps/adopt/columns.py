"""The columns of a table of verdicts: their roles, and the names by which they are found."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from visualjudge.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Role:
    """Role of a column. ``names`` are the names that identify it, the most specific first;
    ``if_fits`` those, or ends of those after "*", that identify it only if its values fit.
    """

    name: str
    names: tuple[str, ...]
    if_fits: tuple[str, ...] = ()


ROLES = (
    Role("item", ("item", "item_id", "question_id", "prompt_id", "sample_id", "id")),
    Role(
        "group",
        ("group", "cluster", "image_id", "image", "conversation_id", "video_id"),
        ("conv", "conversation"),
    ),
    Role("task", ("task", "category", "subset")),
    Role("model_a", ("model_a", "model_1", "source_a", "system_a", "generator_1")),
    Role("model_b", ("model_b", "model_2", "source_b", "system_b", "generator_2")),
    Role("model", ("model", "source", "system", "generator")),
    Role(
        "verdict",
        (
            "verdict",
            "judge_verdict",
            "judge_winner",
            "judge_choice",
            "judge_score",
            "judgment",
            "judgement",
            "preference",
            "choice",
            "winner",
            "prediction",
            "pred",
            "score",
        ),
        ("*_says", "*_verdict"),
    ),
    Role(
        "truth",
        (
            "truth",
            "ground_truth",
            "gold",
            "label",
            "human",
            "human_label",
            "human_winner",
            "human_choice",
            "human_preference",
            "human_score",
            "human_verdict",
            "human_says",
            "reference",
            "answer",
        ),
    ),
    Role("score_a", ("score_a", "truth_a", "human_score_a")),
    Role("score_b", ("score_b", "truth_b", "human_score_b")),
    Role(
        "order",
        ("order", "swapped", "shown_order"),
        ("shown_first", "which_first", "shown", "first"),
    ),
    Role("judge", ("judge", "judge_name", "judge_model", "annotator", "evaluator")),
    Role("repeat", ("repeat", "trial", "attempt")),
    Role(
        "reply",
        ("reply", "raw_response", "raw_reply", "judge_output", "raw_output", "completion"),
        ("raw", "response", "output"),
    ),
    Role("finish_reason", ("finish_reason", "stop_reason")),
    Role("input_tokens", ("input_tokens", "prompt_tokens")),
    Role("output_tokens", ("output_tokens", "completion_tokens")),
    Role("request", ("request", "instruction", "prompt", "question")),
    Role("text_a", ("text_a", "response_a", "output_1", "answer_a")),
    Role("text_b", ("text_b", "response_b", "output_2", "answer_b")),
)
NAMES = tuple(role.name for role in ROLES)
PEOPLE = re.compile(r"(?:^|_)(?:humans?|people|persons?|raters?|experts?|crowd|users?|gold)(?:_|$)")
"""Names of columns that hold what people said, which is never a judge's verdict or reply."""


def no_header(header: Sequence[str]) -> str:
    """Return a hint for a first row with too few names to be a header: there may be a title above
    it.
    """
    empty = [name for name in header if not name.strip() or "_duplicated_" in name]
    if 2 * len(empty) < len(header):
        return ""
    return "; its first row is no header: remove the lines above the names of the columns"


def find_columns(
    header: Sequence[str],
    stated: Mapping[str, str],
    fits: Callable[[str, str, Mapping[str, str]], bool],
) -> dict[str, str]:
    """Return the column of each role: the ``stated`` one, else the first whose name identifies it,
    else the only one with a less specific name whose values fit: ``fits(role, column, columns
    found before)``. A stated order may be a column with another role, such as ``order=model_a``.

    Raises
    ------
    UsageError
        If a role or a stated column does not exist.
    """
    for name, column in stated.items():
        if name not in NAMES:
            raise UsageError(f"--column must name one of {', '.join(NAMES)}; got {name!r}")
        if column not in header:
            raise UsageError(
                f"--column {name}={column}: the table has the columns {', '.join(header)}"
                f"{no_header(header)}"
            )
    columns = dict(stated)
    taken = {column for role, column in stated.items() if role != "order"}
    free = {
        re.sub(r"[\s\-]+", "_", name.strip().lower()): name for name in header if name not in taken
    }
    for role in ROLES:
        if role.name not in columns:
            match = next((free.pop(name) for name in role.names if name in free), None)
            if match is not None:
                columns[role.name] = match
    for role in ROLES:
        if role.name not in columns:
            likely = [
                column
                for name, column in free.items()
                if any(fnmatchcase(name, form) for form in role.if_fits)
                and not PEOPLE.search(name)
                and fits(role.name, column, columns)
            ]
            if len(likely) == 1:
                columns[role.name] = likely[0]
    return columns
