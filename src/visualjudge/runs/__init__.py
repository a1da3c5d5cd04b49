"""Verdicts: many calls, bounded and journalled, so that a run can be stopped at any
time without losing an answer.

The runner does not know judges: it takes jobs, a coroutine that does one job, and a
journal.
"""
