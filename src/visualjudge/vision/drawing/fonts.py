"""Glyphs of any script from fonts in installed packages, identical on every machine.

DejaVu Sans (in this package) covers Latin, Cyrillic, Greek, Arabic, Hebrew and more; Shobhika
(devanagari-fonts, OFL) covers Devanagari; Noto Sans Thai and Khmer (fontpkg, OFL) cover their
scripts; WenQuanYi Micro Hei (paperang-p2-fonts-cjk, Apache 2.0) covers Chinese, Japanese and
Korean. Font packages are located without being imported, and a font file is used only if its
content is known, because the same data must give the same bytes. Scripts whose letters join or are
reordered are shaped by HarfBuzz through Pillow's Raqm layout; if Pillow lacks it, letters are
placed side by side.
"""

from __future__ import annotations

import hashlib
import struct
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import ImageFont, features

_UNICODE = (0, 3)
"""Platform IDs of font tables whose codes are Unicode."""


def code_points(file: bytes) -> frozenset[int]:
    """Return the code points that have a glyph in a font file, or in the first font of a
    collection.

    Source: https://learn.microsoft.com/typography/opentype/spec/cmap, formats 4 and 12. The file is
    not validated, so its content must be known.
    """
    start = struct.unpack_from(">I", file, 12)[0] if file[:4] == b"ttcf" else 0
    (count,) = struct.unpack_from(">H", file, start + 4)
    tables = {
        tag: at
        for tag, _, at, _ in struct.iter_unpack(
            ">4sIII", file[start + 12 : start + 12 + 16 * count]
        )
    }
    return frozenset(point for part in _parts(file, tables[b"cmap"]) for point in part)


def _parts(file: bytes, cmap: int) -> Iterator[Iterator[int]]:
    (count,) = struct.unpack_from(">H", file, cmap + 2)
    for platform, _, offset in struct.iter_unpack(">HHI", file[cmap + 4 : cmap + 4 + 8 * count]):
        at = cmap + offset
        (form,) = struct.unpack_from(">H", file, at)
        if platform in _UNICODE and form in _READERS:
            yield _READERS[form](file, at)


def _segments(file: bytes, at: int) -> Iterator[int]:
    """Yield the codes of format 4: segments of 16-bit codes, each with a shift or a list of
    glyphs.
    """
    length, _, doubled = struct.unpack_from(">HHH", file, at + 2)
    words, count = np.frombuffer(file, ">u2", length // 2, at).astype(np.int64), doubled // 2
    ends, starts = words[7 : 7 + count], words[8 + count : 8 + 2 * count]
    shifts, lists = words[8 + 2 * count : 8 + 3 * count], words[8 + 3 * count : 8 + 4 * count]
    for k in range(count):
        codes = np.arange(starts[k], ends[k] + 1)
        here = 8 + 3 * count + k + lists[k] // 2
        glyphs = words[here + codes - starts[k]] if lists[k] else codes + shifts[k]
        yield from codes[glyphs & 0xFFFF != 0].tolist()


def _groups(file: bytes, at: int) -> Iterator[int]:
    """Yield the codes of format 12: ranges of codes for consecutive glyphs."""
    (count,) = struct.unpack_from(">I", file, at + 12)
    for first, last, glyph in struct.iter_unpack(">III", file[at + 16 : at + 16 + 12 * count]):
        yield from range(first + (glyph == 0), last + 1)


_READERS = {4: _segments, 12: _groups}


_PACKAGED = (
    (
        "devanagari_fonts",
        "fonts/Shobhika-1.05/Shobhika-Regular.otf",
        "bde48974337ea665b930d956c26d0b3884f1bc0549769bfb7d82caa3e0af181f",
    ),
    (
        "paperang_p2_fonts_cjk",
        "fonts/wqy-microhei.ttc",
        "2420e8078af796b19a3f6ef13de527a1a91c1e7171eea115926c614ced1009b3",
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
"""Package, file and SHA-256 of each additional font."""
_SHAPED = ((0x0590, 0x08FF), (0x0900, 0x109F), (0x1780, 0x17FF), (0xFB1D, 0xFDFF), (0xFE70, 0xFEFC))
"""Code points of scripts that join, reorder or run from right to left: Hebrew to Arabic, Indic to
Burmese, Khmer.
"""


@dataclass(frozen=True, slots=True)
class TextRun:
    """Part of a text in one font; ``font`` is its index in :func:`fonts`."""

    font: int
    text: str

    @property
    def shaped(self) -> bool:
        """Whether the shapes of its letters depend on their neighbours."""
        return any(low <= ord(letter) <= high for letter in self.text for low, high in _SHAPED)


@lru_cache(maxsize=1)
def fonts() -> tuple[Path, ...]:
    """Return the font files that exist; the first one always does."""
    found = [Path(__file__).parent / "assets" / "DejaVuSans.ttf"]
    for package, file, digest in _PACKAGED:
        spec = find_spec(package)
        places = (spec.submodule_search_locations or ()) if spec is not None else ()
        found += [path for place in places if _is_known(path := Path(place) / file, digest)]
    return tuple(found)


def _is_known(path: Path, digest: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def runs(text: str) -> list[TextRun]:
    """Split ``text`` into runs of one font, each letter in the first font that has it.

    Spaces, marks and joiners stay with the preceding letter. A letter that no font has is written
    as its code point, so that different labels look different.
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
    """Return a font at a size in pixels, with or without shaping."""
    raqm = shaped and features.check("raqm")
    engine = ImageFont.Layout.RAQM if raqm else ImageFont.Layout.BASIC
    return ImageFont.truetype(str(fonts()[font]), size, layout_engine=engine)


def _placed(text: str) -> Iterator[tuple[int | None, str]]:
    """Yield each letter with its font; None means the font of the preceding letter."""
    for letter in text:
        if letter.isspace() or unicodedata.category(letter) in ("Mn", "Mc", "Cf"):
            yield None, letter
            continue
        font = next((k for k in range(len(fonts())) if ord(letter) in _letters(k)), None)
        yield (0, f"<{ord(letter):X}>") if font is None else (font, letter)


@lru_cache(maxsize=8)
def _letters(font: int) -> frozenset[int]:
    """Return the code points for which a font has a glyph."""
    return code_points(fonts()[font].read_bytes())
