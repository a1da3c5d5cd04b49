"""Audit of a dataset as a benchmark: unanswerable questions, contradictory labels, and leaks.

Modules::

    files            leaks through image files: sizes, formats, brightness
    image_digests    all images: whether they can be read, pixel digests, thumbnails
    label_faults     contradictory metrics, answers that contradict scores, imbalance
    shared_images    images shared with another dataset
    blind_solver     how often predictions alone give the answer away, without the photograph
    visible_faults   identical options, near-duplicates, unreadable images
    findings         the records of what an audit found
    run              all checks over one dataset
"""

from visualjudge.apps.audit.run import Audit, audit

__all__ = ["Audit", "audit"]
