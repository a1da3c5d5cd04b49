"""MMBench's table as a dataset, with the fields of its documentation. Its code is in
``apps/mmbench``.
"""

from visualjudge.apps.mmbench.samples import MMBenchDataset

__all__ = ["MMBenchDataset"]
