"""Numbers and nouns of messages."""

from __future__ import annotations

from folding import each
from visualjudge.core.plurals import pluralize


@each(
    ("number", "noun", "several", "words"),
    [
        (1, "image", "", "1 image"),
        (0, "image", "", "0 images"),
        (2, "category", "", "2 categories"),
        (2, "key", "", "2 keys"),
        (2, "class", "", "2 classes"),
        (2, "box", "", "2 boxes"),
        (2, "person", "people", "2 people"),
        (1, "person", "people", "1 person"),
    ],
)
def test_a_noun_follows_its_number(
    number: int, noun: str, several: str, words: str
) -> None:
    assert pluralize(number, noun, several) == words
