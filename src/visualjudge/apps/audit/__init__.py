"""Faults of a dataset as a benchmark, and how much its predictions reveal by themselves.

::

    faults         all checks: duplicates, identical options, contradictory labels, blind rules
    images         digests and thumbnails of images
    blind_solver   how often predictions alone give the answer away, without the photograph
"""

from visualjudge.apps.audit.faults import Audit, audit

__all__ = ["Audit", "audit"]
