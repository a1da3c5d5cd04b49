"""The columns of tables."""

from __future__ import annotations

from folding import each
from visualjudge.analysis.figures import every_figure
from visualjudge.analysis.table_layout import Layout


@each(
    "table",
    [figure.columns for figure in every_figure() if figure.columns is not None],
)
def test_no_table_has_a_column_twice(table: Layout[object]) -> None:
    keys = [one.key for one in table.columns if one.key is not None]
    assert len(keys) == len(set(keys))
