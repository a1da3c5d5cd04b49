"""A name that is not there: few names are listed, of many those that are close."""

from __future__ import annotations

import pytest

from visualjudge.core.errors import UsageError, one_of
from visualjudge.vision.encodings import encoding_named


def test_few_names_are_listed_and_of_many_the_close_ones() -> None:
    assert one_of("c", ["a", "b"]) == "one of a, b"
    many = [f"pixel_s{k}" for k in range(40)] + ["text_xyxy"]
    assert one_of("text_xyx", many) == "one of 41 names, such as text_xyxy"
    assert (
        one_of("?", many)
        == "one of 41 names, such as pixel_s0, pixel_s1, pixel_s2"
    )


def test_an_unknown_encoding_is_one_short_line() -> None:
    with pytest.raises(
        UsageError,
        match=r"encoding of object_detection must be one of .*text_xyxy.*, got "
        r"'text_xyx'",
    ):
        encoding_named("object_detection", "text_xyx")
