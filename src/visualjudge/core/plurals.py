"""Numbers of things in messages: "1 question", "2 questions"."""

from __future__ import annotations


def many(number: int, noun: str, several: str = "") -> str:
    """The number and the word for so many; ``several`` is the plural where it is not ``noun`` and "s"."""
    return f"{number} {word(number, noun, several)}"


def word(number: int, noun: str, several: str = "") -> str:
    """The word alone."""
    return noun if number == 1 else several or f"{noun}s"
