"""Datasets and judges in other tools. Nothing is imported before it is used.

::

    inspect_tasks    a dataset as a task of Inspect: ``inspect eval visualjudge/judge``
    lmms_eval_tasks  a dataset as a task of lmms-eval
    results          the figures of a run in forms that other sites read
"""
