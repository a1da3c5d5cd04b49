"""``python -m visualjudge.replies`` tests ``phrases.yaml``: each example must be read as its row
states.

``python -m visualjudge.replies REPLY…`` shows how pairwise replies are read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.resources import files

import yaml

from visualjudge.replies import read_reply
from visualjudge.replies.phrases import KINDS, source

DUE = {"ties": "tie", "both bad": "both_bad", "void": "Failed", "scores": 7.0}
SLOTS = {"X", "Y", "n", "scale"}


def faults() -> Iterator[str]:
    """Yield the errors of the file, one line each: the row's position, and how its example
    is read.
    """
    lists = {name for sections in source().values() for name in sections["words"]} | SLOTS
    lines = (files("visualjudge.replies") / "phrases.yaml").read_text("utf-8").splitlines()
    for language, sections in source().items():
        for kind, rows in sections.items():
            if kind not in ("words", *KINDS):
                yield (
                    f"{language}: must have sections named words, {', '.join(KINDS)}, got {kind!r}"
                )
            for phrase, example in rows.items() if kind in KINDS else ():
                line = next((n for n, text in enumerate(lines, 1) if f'"{phrase}":' in text), 0)
                place = f"phrases.yaml:{line}: {language}, {kind}, {phrase!r}"
                unknown = set(re.findall(r"\{([^{}]+)\}", phrase)) - lists
                if unknown:
                    yield f"{place}: must name lists of words, got {', '.join(sorted(unknown))}"
                due, read = due_of(kind, phrase), value_of(kind, phrase, str(example))
                if read != due:
                    yield f"{place}: the example {example!r} must be read as {due}, got {read}"


def due_of(kind: str, phrase: str) -> object:
    """Return the expected value of an example: B is the better option, 7 the score."""
    tie = next(
        (value for slot, value in (("{tie}", "tie"), ("{both bad}", "both_bad")) if slot in phrase),
        None,
    )
    return tie or (7.0 if "{n}" in phrase else DUE.get(kind, "B"))


def value_of(kind: str, phrase: str, example: str) -> object:
    """Return how the reader reads an example; a tie beside named options is recognised only by its
    cause.
    """
    reading = read_reply(
        example, "scoring" if "{n}" in phrase else "pairwise", ties=("tie", "both_bad")
    )
    return "tie" if kind == "ties" and reading.cause == "tie" else reading.value


if __name__ == "__main__":
    try:
        found = list(faults())
    except yaml.YAMLError as error:
        sys.exit(f"phrases.yaml is no YAML: {error}")
    for reply in sys.argv[1:]:
        seen = read_reply(reply, "pairwise")
        print(f"{reply!r} is read as {seen.value}" + (f" ({seen.cause})" if seen.cause else ""))
    print("\n".join(found) or "phrases.yaml: every example is read as its row says")
    sys.exit(bool(found))
