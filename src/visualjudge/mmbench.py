"""MMBench's table as a dataset, with the fields of its documentation."""

from __future__ import annotations

from visualjudge.apps.mmbench.samples import MMBenchDataset

__all__ = ["MMBenchDataset"]
