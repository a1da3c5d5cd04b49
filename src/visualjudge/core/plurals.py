"""Counts in messages: "1 question", "2 questions"."""

from __future__ import annotations


def pluralize(number: int, noun: str, several: str = "") -> str:
    """Return a number with its noun; ``several`` is an irregular plural."""
    return f"{number} {plural(number, noun, several)}"


def plural(number: int, noun: str, several: str = "") -> str:
    """Return only the noun, singular or plural."""
    return noun if number == 1 else several or f"{noun}s"
