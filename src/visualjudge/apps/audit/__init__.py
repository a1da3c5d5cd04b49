"""What is wrong with a dataset as a benchmark: questions nobody can answer, labels that contradict,
and leaks.

::

    images   every image once: readable, its pixels' digest, a thumbnail
    labels     contradictory metrics, answers against scores, imbalance
    overlap    images that another dataset has too
    blind      what the predictions give away without the photograph
    looks      identical options, near-duplicates, unreadable images
    run        all of them over one dataset: findings, page
"""

from visualjudge.apps.audit.run import Audit, audit

__all__ = ["Audit", "audit"]
