"""The columns of a table of verdicts: their roles, and the names by which they are
known. What their cells mean is the next step, ``meaning.py``.
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import filter as matching

from visualjudge.apps.adopt.cell_spellings import is_missing, is_number
from visualjudge.apps.adopt.criteria import SAID, TRUE
from visualjudge.apps.adopt.files import PlacedRows, Records
from visualjudge.core.errors import DataError, UsageError, one_of

ANSWERS = ("verdict", "reply")
ASKED = ("item", "model", "model_a", "model_b")
NAMES: Mapping[str, tuple[str, ...]] = {
    "item": (
        "item",
        "item_id",
        "question_id",
        "prompt_id",
        "sample_id",
        "id",
        "question",
    ),
    "group": (
        *(
            "group",
            "cluster",
            "image_id",
            "image",
            "conversation_id",
            "video_id",
        ),
        *("conversation", "conv"),
    ),
    "task": ("task", "category", "subset"),
    "model_a": (
        "model_a",
        "model_0",
        "model_1",
        "source_a",
        "system_a",
        "generator_1",
    ),
    # model_1 is free only beside model_0
    "model_b": (
        "model_b",
        "model_1",
        "model_2",
        "source_b",
        "system_b",
        "generator_2",
    ),
    "model": ("model", "source", "system", "generator"),
    "verdict": (
        *(
            "verdict",
            "judge_verdict",
            "judge_winner",
            "judge_choice",
            "judge_score",
            "judgment",
        ),
        *(
            "judgement",
            "preference",
            "choice",
            "winner",
            "prediction",
            "pred",
            "score",
        ),
        *("*_says", "*_verdict"),
    ),
    "truth": (
        *(
            "truth",
            "ground_truth",
            "gold",
            "label",
            "human",
            "human_label",
            "human_winner",
            "gt_winner",
        ),
        *(
            "human_choice",
            "human_preference",
            "human_score",
            "human_verdict",
            "human_says",
        ),
        *("reference", "answer"),
    ),
    "score_a": ("score_a", "truth_a", "human_score_a"),
    "score_b": ("score_b", "truth_b", "human_score_b"),
    "order": (
        "order",
        "swapped",
        "flipped",
        "shown_order",
        "shown_first",
        "which_first",
    ),
    "judge": ("judge", "judge_name", "judge_model", "annotator", "evaluator"),
    "repeat": ("repeat", "trial", "attempt"),
    "reply": (
        "reply",
        "raw_response",
        "raw_reply",
        "judge_output",
        "raw_output",
        "completion",
    ),
    "confidence": (),
    "finish_reason": ("finish_reason", "stop_reason"),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "request": ("request", "instruction", "prompt", "question"),
    "text_a": ("text_a", "response_a", "output_1", "answer_a"),
    "text_b": ("text_b", "response_b", "output_2", "answer_b"),
}
"""Names of the column of each role, the most specific first; a pattern counts if one
column alone matches it. A role without names has to be stated.
"""
BOTH = (("model_a", "model_b"), ("score_a", "score_b"))
"""Roles that say something only beside each other."""
RATER = "rater."
"""Begin of the roles of people's votes, a column each."""
NAMED = (SAID, TRUE, RATER)
"""Begins of roles that have a name of the user's after them."""
PEOPLE = re.compile(
    r"(?:^|_)(?:humans?|people|persons?|raters?|experts?|crowd|users?|gold|annotators?|labell?ers?"
    r"|workers?|turkers?|reviewers?|majority|consensus|expected|correct)(?:_|$)"
)
"""Names of columns that hold what people said, which is never a judge's verdict."""
WHOLE = ("item", "judge", "model", "model_a", "model_b")
"""Roles whose column has a value in each row."""
MOST_WORDS = 3
"""Mean number of words from which the cells of a column are sentences, not verdicts."""


def no_header(header: Sequence[str]) -> str:
    """Return a hint for a first row with too few names to be a header: there may be a
    title above it.
    """
    empty = [
        name for name in header if not name.strip() or "_duplicated_" in name
    ]
    if 2 * len(empty) < len(header):
        return ""
    return (
        "; its first row is no header: remove the lines above the names of the "
        "columns"
    )


def find_columns(
    header: Sequence[str], stated: Mapping[str, str]
) -> dict[str, str]:
    """Return the column of each role: the ``stated`` one, or else the first whose name
    identifies it. A stated order may be a column with another role, such as
    ``order=model_a``.

    Raises
    ------
    UsageError
        If a role or a stated column does not exist, or a stated one lacks the other of
        the two options.
    """
    for role, column in stated.items():
        if role not in NAMES and not role.startswith(NAMED):
            raise UsageError(
                f"`columns` must name {one_of(role, NAMES)}; got {role!r}"
            )
        if column not in header:
            raise UsageError(
                f"`columns` {role}={column}: must be "
                f"{one_of(column, header)}{no_header(header)}"
            )
    taken = {column for role, column in stated.items() if role != "order"}
    free = {
        re.sub(r"[\s\-]+", "_", name.strip().lower()): name
        for name in header
        if name not in taken
    }
    columns = {
        **stated,
        **{
            name: name
            for name in header
            if name.startswith(NAMED) and name not in {*taken, *stated}
        },
    }
    for role, names in NAMES.items():
        for name in names if role not in columns else ():
            likely = matching(free, name)
            if "*" in name:
                likely = [item for item in likely if not PEOPLE.search(item)]
            if len(likely) == 1:
                columns[role] = free.pop(likely[0])
                break
    return _paired(columns, stated)


def _paired(
    columns: Mapping[str, str], stated: Mapping[str, str]
) -> dict[str, str]:
    """Return the roles without those that lack the other of the two options."""
    alone = {
        role
        for pair in BOTH
        for role in pair
        if role in columns and not columns.keys() >= {*pair}
    }
    for role in alone.intersection(stated):
        raise UsageError(
            f"`columns` must name both options, got {role}={columns[role]} alone"
        )
    return {role: name for role, name in columns.items() if role not in alone}


def roles_of(records: Records, stated: Mapping[str, str]) -> dict[str, str]:
    """Second step: return the column of each role; see :func:`find_columns`.

    Raises
    ------
    UsageError
        If verdicts, or questions and sources, have no column.
    DataError
        If a column that must be whole has gaps.
    """
    header = [
        name
        for name, nested in records.header.items()
        if not nested or name.startswith((SAID, TRUE))
    ]
    roles = find_columns(header, stated)
    if not ({"verdict", "reply"} & {*stated} or "reply" in roles):
        roles |= _with_numbers(records.rows, roles)
    _check(records, roles)
    for column in (roles[role] for role in WHOLE if role in roles):
        gaps = [
            place
            for place, row in records.rows
            if row.get(column) in (None, "")
        ]
        if 0 < len(gaps) < len(records.rows):
            raise DataError(
                f"{gaps[0]}: {column} must be given in all rows or in none; fill merged "
                "cells of a spreadsheet in each row, and remove rows of means or totals"
            )
    return roles


def _with_numbers(rows: PlacedRows, roles: Mapping[str, str]) -> dict[str, str]:
    """Return a column of numbers as the verdict where the one named for it holds
    sentences; these may explain it without stating it, so they are no replies.
    """
    scores = [
        name
        for name in NAMES["verdict"]
        if name in rows[0][1]
        and name not in roles.values()
        and all(is_number(row.get(name)) for _, row in rows)
    ]
    if not scores or "verdict" not in roles:
        return {}
    cells = [row.get(roles["verdict"]) for _, row in rows]
    words = sum(
        len(str(cell).split()) for cell in cells if not is_missing(cell)
    )
    return {} if words < MOST_WORDS * len(rows) else {"verdict": scores[0]}


def _check(records: Records, roles: Mapping[str, str]) -> None:
    every = ", ".join(records.header)
    if roles.keys().isdisjoint(ANSWERS):
        nested = ", ".join(
            sorted(name for name, lists in records.header.items() if lists)
        )
        lists = (
            f"; columns of lists or objects are not read: {nested}"
            if nested
            else ""
        )
        known = ", ".join(f"{role}={column}" for role, column in roles.items())
        raise UsageError(
            f"{records.name}: no column has the name of a verdict; give `columns` "
            f"verdict=NAME (its first row has {every[:300]}{lists}; found: "
            f"{known or 'none'}){no_header([*records.header])}"
        )
    if roles.keys().isdisjoint(ASKED):
        raise UsageError(
            f"{records.name}: no column names the question or a model; give `columns` "
            f"item=NAME, or model_a=NAME and model_b=NAME (its columns: {every})"
        )
    if "truth" in roles and roles.get("verdict") == roles["truth"]:
        raise UsageError(
            f"`columns`: verdict and truth must be two columns, got {roles['truth']}"
        )
