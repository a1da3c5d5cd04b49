"""VERDICTS: many calls, bounded and journalled, so that a run can be stopped at any
time without losing an answer.

``judge_dataset`` runs a judge: ``asks`` says what is left to ask, ``live`` or
``batches`` asks it with ``job_runner``, within ``budget``, and ``journal`` and
``verdicts`` write the ``folder``. The job runner does not know judges: it takes jobs, a
coroutine that does one job, and a journal.
"""
