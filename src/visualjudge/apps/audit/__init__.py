"""Faults of a dataset as a benchmark.

::

    faults         all checks: duplicates, identical options, contradictory labels, rules
    images         digests and thumbnails of images
"""

from visualjudge.apps.audit.faults import Audit, audit

__all__ = ["Audit", "audit"]
