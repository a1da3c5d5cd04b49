"""MMBench's table as a dataset, with the fields of its documentation."""

from visualjudge.apps.mmbench.samples import MMBenchDataset

__all__ = ["MMBenchDataset"]
