"""Labels of any script are drawn as such, with fonts whose content is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.ft2font import FT2Font

from visualjudge.vision.drawing.fonts import _is_known, code_points, fonts, runs


@pytest.mark.parametrize(
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


def test_a_font_file_with_other_content_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "font.ttf").write_bytes(b"another font")
    assert not _is_known(tmp_path / "font.ttf", "0" * 64)
    assert not _is_known(tmp_path / "nowhere.ttf", "0" * 64)


def test_the_letters_of_a_font_are_those_that_freetype_finds() -> None:
    assert len(fonts()) == 5
    for path in fonts():
        assert code_points(path.read_bytes()) == set(FT2Font(str(path)).get_charmap()), path.name
