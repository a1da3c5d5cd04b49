"""Safe terminal output: text may contain names from strangers, so control characters are
escaped.
"""

from __future__ import annotations

from typing import Any

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ACTING = {
    code: f"\\u{code:04x}" for code in (*range(32), *range(127, 160), *_BIDI, 0x2028, 0x2029)
}
del _ACTING[ord("\n")], _ACTING[ord("\t")]


def plain(text: str) -> str:
    r"""Escape each control character and change of direction in ``text`` as ``\u001b``, as
    in JSON.
    """
    return text.translate(_ACTING)


class PlainStream:
    """A text stream to which only :func:`plain` text is written."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write ``text`` and return its number of characters."""
        self._stream.write(plain(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
