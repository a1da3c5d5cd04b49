"""Compiled templates are kept in the user's cache, and nothing depends on them."""

from pathlib import Path

import pytest

from visualjudge.core.templates import environment
from visualjudge.core.text_tables import Table

TABLE = Table(("name",), (("<b>",),))


def _page(monkeypatch: pytest.MonkeyPatch, cache: Path) -> str:
    """Return a table as another process would render it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    environment.cache_clear()
    return TABLE.html()


def test_a_page_needs_no_cache_and_survives_a_damaged_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    expected = _page(monkeypatch, file / "none")
    assert "&lt;b&gt;" in expected
    assert _page(monkeypatch, tmp_path) == expected
    (compiled,) = (tmp_path / "visualjudge/templates").iterdir()
    whole = compiled.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"\0" * len(whole)):
        compiled.write_bytes(content)
        assert _page(monkeypatch, tmp_path) == expected
        assert compiled.read_bytes() == whole
    environment.cache_clear()
