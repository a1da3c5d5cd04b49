"""Glyphs of any script from fonts in installed packages, identical on every machine.
Words on an image are placed in ``tags.py``.

DejaVu Sans (in this package) covers Latin, Cyrillic, Greek, Arabic, Hebrew and more;
Noto Sans Devanagari, Thai and Khmer (fontpkg, OFL) cover their scripts; Noto Sans CJK
in its Chinese form (noto-cjk, OFL) covers Chinese, Japanese and Korean. Font packages
are located without being imported, and a font file is used only if its content is
known, because the same data must give the same bytes. Scripts whose letters join or are
reordered are shaped by HarfBuzz through Pillow's Raqm layout; if Pillow lacks it,
letters are placed side by side.
"""

import hashlib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageFont, features

_DEJAVU = Path(__file__).parent / "assets" / "DejaVuSans.ttf"
# Package, file and SHA-256 of each additional font.
_PACKAGED = (
    (
        "fontpkg_noto_sans_devanagari",
        "files/NotoSansDevanagari[wdth,wght].ttf",
        "14ec4af41f27482216d1c2229f417ff9b1425e1babb014e57d1d40d03229853e",
    ),
    (
        "noto_cjk_sans_otc",
        "NotoSansCJK-Regular.ttc",
        "b76b0433203017ca80401b2ee0dd69350349871c4b19d504c34dbdd80541690a",
    ),
    (
        "fontpkg_noto_sans_thai",
        "files/NotoSansThai[wdth,wght].ttf",
        "5a1c559bb539583c8a1fd99d1c5b9491e5e14478c9cd2bd0970d5c3096cc9ef8",
    ),
    (
        "fontpkg_noto_sans_khmer",
        "files/NotoSansKhmer[wdth,wght].ttf",
        "f37a8431a0c5d5ed2f81a767417546aca576a81fb7eff9c924d46aecf828f2ca",
    ),
)
# Noto's collection has the letters of Japan, Korea, China, Taiwan and Hong Kong, in
# this order.
_CHINESE = 2
# Size in pixels at which a glyph is compared with the sign for a missing one.
_PROBE = 24
# Code points of scripts that join, reorder or run from right to left: Hebrew to Arabic,
# Indic to Burmese, Khmer.
_SHAPED = (
    (0x0590, 0x08FF),
    (0x0900, 0x109F),
    (0x1780, 0x17FF),
    (0xFB1D, 0xFDFF),
    (0xFE70, 0xFEFC),
)


@dataclass(frozen=True, slots=True)
class TextRun:
    """Part of a text in one font; ``font`` is its number for :func:`font_file`."""

    font: int
    text: str

    @property
    def shaped(self) -> bool:
        """Whether the shapes of its letters depend on their neighbours."""
        return any(
            low <= ord(letter) <= high
            for letter in self.text
            for low, high in _SHAPED
        )


@lru_cache(maxsize=8)
def font_file(font: int) -> Path | None:
    """Return the file of a font: 0 is in this package, others are None if they are not
    installed with the known content.
    """
    if font == 0:
        return _DEJAVU
    package, file, digest = _PACKAGED[font - 1]
    spec = find_spec(package)
    for place in (
        (spec.submodule_search_locations or ()) if spec is not None else ()
    ):
        path = Path(place) / file
        if (
            path.is_file()
            and hashlib.sha256(path.read_bytes()).hexdigest() == digest
        ):
            return path
    return None


def runs(text: str) -> list[TextRun]:
    """Split ``text`` into runs of one font, each letter in the first font that has it.

    Spaces, marks and joiners stay with the preceding letter. A letter that no font has
    is written as its code point, so that different labels look different.
    """
    made: list[TextRun] = []
    for font, letter in _placed(text):
        if made and (font is None or made[-1].font == font):
            made[-1] = TextRun(made[-1].font, made[-1].text + letter)
        else:
            made.append(TextRun(font or 0, letter))
    return made


@lru_cache(maxsize=256)
def face(font: int, size: int, shaped: bool) -> ImageFont.FreeTypeFont:
    """Return an installed font at a size in pixels, with or without shaping."""
    raqm = shaped and features.check("raqm")
    engine = ImageFont.Layout.RAQM if raqm else ImageFont.Layout.BASIC
    file = font_file(font)
    assert file is not None, "only installed fonts have letters"
    index = _CHINESE if file.suffix == ".ttc" else 0
    return ImageFont.truetype(str(file), size, index, layout_engine=engine)


def _placed(text: str) -> Iterator[tuple[int | None, str]]:
    """Yield each letter with its font; None means the font of the preceding letter."""
    for letter in text:
        if letter.isspace() or unicodedata.category(letter) in (
            "Mn",
            "Mc",
            "Cf",
        ):
            yield None, letter
            continue
        font = next(
            (k for k in range(len(_PACKAGED) + 1) if has_letter(k, letter)),
            None,
        )
        yield (0, f"<{ord(letter):X}>") if font is None else (font, letter)


@lru_cache(maxsize=1 << 14)
def has_letter(font: int, letter: str) -> bool:
    """Return whether a font is installed and has a glyph for a letter."""
    return font_file(font) is not None and (
        _glyph(font, letter) != _glyph(font, "\uffff")
    )


@lru_cache(maxsize=8)
def _glyph(font: int, letter: str) -> tuple[object, bytes]:
    mask = face(font, _PROBE, False).getmask(letter)
    return mask.size, bytes(mask)
