"""Labels of any script are drawn as such, with fonts whose content is known."""

from __future__ import annotations

from unicodedata import category

import pytest
from matplotlib.ft2font import FT2Font

from folding import each
from visualjudge.vision.drawing import fonts
from visualjudge.vision.drawing.fonts import (
    TextRun,
    face,
    font_file,
    has_letter,
    runs,
)


@each(
    "label",
    [
        "ที่นั่งผู้โดยสาร",
        "ភាសាខ្មែរ",
        "שלום כלב",
        "हिन्दी कुत्ता",
        "中文汽车",
        "カタカナ犬",
        "한국어 개",
        "عربي كلب",
        "Кошка",
        "σκύλος",
    ],
)
def test_a_script_has_a_font_and_no_code_points(label: str) -> None:
    assert "".join(run.text for run in runs(label)) == label


@pytest.mark.parametrize("label", ["ที่นั่ง", "ភាសាខ្មែរ", "שלום", "हिन्दी"])
def test_marks_are_placed_by_shaping(label: str) -> None:
    assert all(run.shaped for run in runs(label))


EDGES = (
    "\u058f\u0591",
    "\u109f\u10a0",
    "\u1780",
    "\u17f9\u1800",
    "\ufb17\ufb1d",
)
EDGES += ("\ufdff", "\ufe6b\ufe70", "\ufefc\uff01")
PLAIN = {"\u058f", "\u10a0", "\u1800", "\ufb17", "\ufe6b", "\uff01"}
"""Of Armenian, Georgian, Mongolian and Latin, beside scripts that are shaped."""


@each("letter", [*"".join(EDGES)])
def test_shaped_scripts_end_where_their_letters_do(letter: str) -> None:
    assert TextRun(0, letter).shaped is (letter not in PLAIN)


def test_a_font_file_with_other_content_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        fonts,
        "_PACKAGED",
        tuple((*one[:2], "0" * 64) for one in fonts._PACKAGED),
    )
    assert [font_file.__wrapped__(font) is None for font in (0, 1, 2)] == [
        False,
        True,
        True,
    ]


@each("font", range(5))
def test_the_letters_of_a_font_are_those_that_freetype_finds(font: int) -> None:
    file = font_file(font)
    assert file is not None
    known = set(FT2Font(str(file)).get_charmap())
    some = [
        *range(33, 0x30000, 211),
        *sorted(known)[::23],
        *range(0x900, 0x980),
    ]
    letters = [chr(code) for code in some if not 0xD800 <= code < 0xE000]
    visible = [
        one for one in letters if not one.isspace() and category(one) != "Cf"
    ]
    assert [has_letter(font, one) for one in visible] == [
        ord(one) in known for one in visible
    ]


def test_chinese_has_the_chinese_form_of_its_letters() -> None:
    assert face(2, 20, False).getname()[0] == "Noto Sans CJK SC"
