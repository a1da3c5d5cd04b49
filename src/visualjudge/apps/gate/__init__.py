"""A gate for continuous integration: a committed file says which judge was tested, and
how well it did; a check says whether it still holds.

::

    lock         the file: who was asked what, and how many answers were right
    score_lock   the same of a judge that gives scores
    check        whether a run, or a model asked now, is the judge of the file and as accurate
    check_forms  a check as text, JUnit XML and Markdown
"""
