"""Counts in messages: "1 question", "2 questions". Values and intervals as text are in
``analysis/figure_text.py``.
"""


def pluralize(number: int, noun: str, several: str = "") -> str:
    return f"{number} {plural(number, noun, several)}"


def plural(number: int, noun: str, several: str = "") -> str:
    if number == 1 or several:
        return noun if number == 1 else several
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
