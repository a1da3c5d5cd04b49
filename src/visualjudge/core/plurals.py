"""Numbers of things in messages: "1 question", "2 questions"."""

from __future__ import annotations


def pluralize(number: int, noun: str, several: str = "") -> str:
    """A number with its noun; ``several`` is the plural where it is not ``noun`` and "s"."""
    return f"{number} {plural(number, noun, several)}"


def plural(number: int, noun: str, several: str = "") -> str:
    """The noun alone, in the number."""
    return noun if number == 1 else several or f"{noun}s"
