"""Faults of a dataset as a benchmark: duplicates, identical options, contradictory
labels, rules that give the answer away.
"""

from visualjudge.apps.audit.faults import Audit, audit

__all__ = ["Audit", "audit"]
