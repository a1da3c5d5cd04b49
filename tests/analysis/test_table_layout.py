"""Columns that the fields of a record declare themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from visualjudge.analysis import columns
from visualjudge.analysis.table_layout import Column, Table, declared
from visualjudge.analysis.value_and_interval import Estimate, Share, column


@dataclass(frozen=True)
class Row:
    name: str
    found: Share = field(metadata=column("Found"))
    distance: Estimate = field(metadata=column("Distance"))
    tries: int = field(metadata=column())
    hidden: int = 0


TABLE: Table[Row] = Table((Column("name", lambda row: row.name, "Name"), *declared(Row)))
ROW = Row("a", Share(0.5, (0.25, 0.75), 8, 4), Estimate(1.5, None, 8, 4, "too few images"), 3)


def test_a_declared_figure_is_in_files_with_its_interval_and_in_reports_with_its_title() -> None:
    assert TABLE.json(ROW) == {
        "name": "a",
        "found": 0.5,
        "found_ci95": (0.25, 0.75),
        "found_ci95_why": None,
        "distance": 1.5,
        "distance_ci95": None,
        "distance_ci95_why": "too few images",
        "tries": 3,
    }
    assert TABLE.titles == ["Name", "Found", "95 %", "Distance", "95 %"]
    assert TABLE.cells(ROW)[:2] == ["a", "50.0 %"]
    assert TABLE.cells(ROW)[3] == "1.50"


@pytest.mark.parametrize(
    "table",
    [table for table in vars(columns).values() if isinstance(table, Table)],
)
def test_no_table_has_a_column_twice(table: Table[object]) -> None:
    keys = [one.key for one in table.columns if one.key is not None]
    assert len(keys) == len(set(keys))
