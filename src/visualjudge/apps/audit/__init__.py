"""Audit of a dataset as a benchmark: unanswerable questions, contradictory labels, and leaks.

::

    images   all images: readable, digest of the pixels, thumbnail
    labels     contradictory metrics, answers against scores, imbalance
    overlap    images shared with another dataset
    blind      what predictions give away without the photograph
    looks      identical options, near-duplicates, unreadable images
    run        all of them over one dataset: findings, page
"""

from visualjudge.apps.audit.run import Audit, audit

__all__ = ["Audit", "audit"]
