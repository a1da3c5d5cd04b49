"""The code points that a font has a glyph for, out of the ``cmap`` table of its file.

Source: https://learn.microsoft.com/typography/opentype/spec/cmap, formats 4 and 12. Only for fonts whose content is
known: nothing is checked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

_UNICODE = (0, 3)
"""Platforms whose codes are Unicode."""


def code_points(file: bytes) -> frozenset[int]:
    """Code points with a glyph of their own, in a font's file or the first font of a collection."""
    start = struct.unpack_from(">I", file, 12)[0] if file[:4] == b"ttcf" else 0
    (count,) = struct.unpack_from(">H", file, start + 4)
    tables = {tag: at for tag, _, at, _ in struct.iter_unpack(">4sIII", file[start + 12 : start + 12 + 16 * count])}
    return frozenset(point for part in _parts(file, tables[b"cmap"]) for point in part)


def _parts(file: bytes, cmap: int) -> Iterator[Iterator[int]]:
    (count,) = struct.unpack_from(">H", file, cmap + 2)
    for platform, _, offset in struct.iter_unpack(">HHI", file[cmap + 4 : cmap + 4 + 8 * count]):
        at = cmap + offset
        (form,) = struct.unpack_from(">H", file, at)
        if platform in _UNICODE and form in _READERS:
            yield _READERS[form](file, at)


def _segments(file: bytes, at: int) -> Iterator[int]:
    """Format 4: segments of 16-bit codes, each with a shift of its own or a list of glyphs."""
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
    """Format 12: ranges of codes over consecutive glyphs."""
    (count,) = struct.unpack_from(">I", file, at + 12)
    for first, last, glyph in struct.iter_unpack(">III", file[at + 16 : at + 16 + 12 * count]):
        yield from range(first + (glyph == 0), last + 1)


_READERS = {4: _segments, 12: _groups}
