"""VERDICTS: many calls, bounded and journalled, so that a run can be stopped at any moment and lose
nothing.

The runner knows no judge: it is given jobs, a coroutine that does one, and a journal.
"""
