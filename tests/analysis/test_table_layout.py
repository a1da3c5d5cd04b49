"""The columns of tables."""

from __future__ import annotations

import pytest

from visualjudge.analysis import columns
from visualjudge.analysis.table_layout import Layout


@pytest.mark.parametrize(
    "table",
    [table for table in vars(columns).values() if isinstance(table, Layout)],
)
def test_no_table_has_a_column_twice(table: Layout[object]) -> None:
    keys = [one.key for one in table.columns if one.key is not None]
    assert len(keys) == len(set(keys))
