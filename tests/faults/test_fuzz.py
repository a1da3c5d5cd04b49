"""A short run of every fuzz target; ``make fuzz`` runs each for a minute."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from faults.fuzz import SEEDS, TARGETS, escapes, inputs

FEWER = {"image-sent": 50, "workbook": 3}
"""Targets whose inputs are decoded whole, or read in a process of their own."""


@pytest.mark.parametrize("name", TARGETS)
def test_only_the_projects_own_errors_come_out(
    name: str, tmp_path: Path
) -> None:
    count = FEWER.get(name, 150)
    found = [
        (reason, raw[:200])
        for raw in islice(inputs(name, 1), count)
        if (reason := escapes(name, raw, tmp_path))
    ]
    assert found == []


def test_every_target_has_seeds() -> None:
    assert sorted(path.name for path in SEEDS.iterdir()) == sorted(TARGETS)
