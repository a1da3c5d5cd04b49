"""Spellings of answers to a pair, of grades, of orders and of missing values. Which
column has them is decided in ``roles.py``, what a table means in ``meaning.py``.
"""

import re
import shlex
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from visualjudge.core.records import FAILED, Order

Models = tuple[str | None, str | None]
"""Sources of A and B."""
LETTER_OF = {
    **dict.fromkeys(
        ("a", "1", "1.0", "model_a", "model_1", "left", "first", "response_a"),
        "A",
    ),
    **dict.fromkeys(
        (
            "b",
            "2",
            "2.0",
            "model_b",
            "model_2",
            "right",
            "second",
            "response_b",
        ),
        "B",
    ),
    **{
        f"{noun}{gap}{name}": letter
        for noun in (
            "option",
            "image",
            "response",
            "assistant",
            "answer",
            "model",
        )
        for gap in " _"
        for name, letter in (("a", "A"), ("1", "A"), ("b", "B"), ("2", "B"))
    },
    **dict.fromkeys(
        ("a>b", "a>>b", "[[a]]", "[[a>b]]", "[[a>>b]]", "a is better"), "A"
    ),
    **dict.fromkeys(
        ("b>a", "b>>a", "[[b]]", "[[b>a]]", "[[b>>a]]", "b is better"), "B"
    ),
    **dict.fromkeys(
        (
            "tie",
            "1.5",
            "draw",
            "equal",
            "same",
            "a=b",
            "[[a=b]]",
            "[[c]]",
            "both_good",
        ),
        "tie",
    ),
    **dict.fromkeys(
        ("both_bad", "both bad", "bothbad", "tie (bothbad)"), "both_bad"
    ),
}
"""Spellings of answers to a pair, in lower case. 0 is omitted, because tables use it
for A, for a loss and for a tie.
"""
MISSING = frozenset(
    (
        *("", "failed", "error", "invalid", "n/a", "na", "none", "null", "nan"),
        *("unparseable", "parse_error", "-", "–", "—"),
    )
)
GRADES: Mapping[str, float] = {
    **dict.fromkeys(("true", "pass", "passed", "yes", "correct", "c"), 1.0),
    **dict.fromkeys(("partial", "p"), 0.5),
    **dict.fromkeys(
        ("false", "fail", "failed", "no", "incorrect", "i", "n"), 0.0
    ),
}
"""Spellings of grades, in lower case, as scores from 0 to 1; the letters are
Inspect's."""
ORDERS: Mapping[str, Order] = {
    **dict.fromkeys(("ab", "a", "model_a", "original", "a first"), "AB"),
    **dict.fromkeys(("model_1", "1", "1.0", "first", "left"), "AB"),
    **dict.fromkeys(("ba", "b", "model_b", "swapped", "b first"), "BA"),
    **dict.fromkeys(("model_2", "2", "2.0", "second", "right"), "BA"),
}
SWAPPED: Mapping[str, Order] = {
    **dict.fromkeys(("0", "0.0", "false", "no"), "AB"),
    **dict.fromkeys(("1", "1.0", "true", "yes"), "BA"),
}
"""Values of a column that says whether the options were swapped."""
_WRITTEN = re.compile(r"([-+]?\d+(?:\.\d+|,\d\d?)?)\s*(?:(%)|/\s*(\d+)|[★⭐])?")
SAYS_SWAPPED = re.compile(r"swap|flip|revers")


def is_missing(value: Any) -> bool:
    """Return whether a cell contains no answer."""
    return value is None or str(value).strip().lower() in MISSING


def is_number(value: Any) -> bool:
    """Return whether a cell is a number, or text that represents one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return "_" not in str(value)  # Python reads 1_0 as 10


def written_number(text: str, high: float) -> str | None:
    """Return the number in "7,5", "75 %", "8/10" or "3★", on a scale that ends at
    ``high``; None if it is another text, or of another scale. Three digits behind a
    comma may be thousands.
    """
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    number, percent, whole = match.groups()
    end = "100" if percent else whole
    same = end is None or float(end) == high
    return number.replace(",", ".") if same else None


def is_answer(value: Any) -> bool:
    """Return whether a text is unambiguously an answer to a pair.

    Examples
    --------
    >>> is_answer("[[B]]"), is_answer("tie"), is_answer("Paris"), is_answer("2")
    (True, True, False, False)
    """
    text = str(value).strip().lower()
    return text in LETTER_OF and not is_number(text)


def is_letter(value: Any) -> bool:
    """Return whether an answer names an option by its letter or position, not by a
    column."""
    text = str(value).strip().lower()
    return LETTER_OF.get(text) in ("A", "B") and not text.startswith(
        ("model_", "response_")
    )


def letter_of(
    value: Any,
    models: Models,
    stated: Mapping[str, str],
    columns: Mapping[str, str],
) -> str:
    """Return the answer to a pair: A, B, tie, both_bad, or "Failed" if the cell is
    empty.

    Parameters
    ----------
    models
        Sources of A and B; their names are answers too.
    stated
        Spellings given by the user (``--answer VALUE=A``).
    columns
        The letter of the column of each source, whose name is an answer too.

    Raises
    ------
    ValueError
        If the cell contains anything else.
    """
    text = str(value).strip()
    if is_missing(value) or is_missing(stated.get(text, text)):
        return FAILED
    if text in stated:
        return stated[text]
    known = _known(text, models, LETTER_OF, columns)
    if is_number(text) and not {"0", "0.0"}.isdisjoint(stated):
        # if 0 is an answer, 1 and 2 need not be the first and the second option
        known = None
    if known is None:
        raise ValueError(
            f"must be A, B, tie, both_bad or the name of a model, got {text!r}; "
            f"{_advice(text, models)}"
        )
    return known


def order_of(
    value: Any, models: Models, column: str, columns: Mapping[str, str]
) -> Order:
    """Return AB, or BA if option B was shown first. The name of a source, or of its
    column (``columns``: letters), is the one shown first. In a ``column`` named like
    "swapped", 1 means BA.

    Raises
    ------
    ValueError
        If the cell states neither.
    """
    text = str(value).strip()
    if SAYS_SWAPPED.search(column.lower()) and text.lower() in SWAPPED:
        return SWAPPED[text.lower()]
    known = _known(text, models, ORDERS, columns)
    if known is None:
        raise ValueError(
            "must be A or B, 1 or 2, model_a or model_b (the option shown first), AB, "
            f"BA, or the name of a model of the row, got {value!r}"
            + (
                f"; {text} is read in a column named swapped"
                if text.lower() in SWAPPED
                else ""
            )
        )
    return "BA" if known in ("B", "BA") else "AB"


def _known(
    text: str,
    models: Models,
    spellings: Mapping[str, str],
    columns: Mapping[str, str],
) -> str | None:
    """Return the letter of the source with this name, or else of its column, or else
    the meaning of the spelling, or else the letter of the only source with this name in
    another case."""
    spelt = columns.get(text.lower()) or spellings.get(text.lower())
    if models.count(text) == 1:
        letter = "AB"[models.index(text)]
        return (
            letter if (spelt or letter)[0] == letter else None
        )  # two meanings
    if spelt:
        return spelt
    lower = [None if model is None else model.lower() for model in models]
    return (
        "AB"[lower.index(text.lower())]
        if lower.count(text.lower()) == 1
        else None
    )


def _advice(text: str, models: Models) -> str:
    if text in models:
        return (
            "it is a position, and the name of the model at another; `answers` "
            f"{text}=A or B says which option it means in all rows"
        )
    names = get_close_matches(text, [model for model in models if model])
    if names and not is_number(text):
        return f"did you mean model {' or '.join(map(repr, names))}?"
    if is_number(text) and not float(text).is_integer():
        return (
            "true scores of the two options go into columns score_a and score_b"
        )
    meaning = shlex.quote(f"{text}=MEANING")
    return (
        f"`answers` {meaning} says which of A, B, tie, both_bad, {FAILED} it means, or "
        "which score"
    )
