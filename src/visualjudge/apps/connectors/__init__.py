"""Datasets and judges in other tools. Nothing is imported before it is used.

::

    inspect_tasks     a dataset as a task of Inspect: ``inspect eval visualjudge/judge``
    lmms_eval_tasks   a dataset as a task of lmms-eval
    training_rewards  questions as verifiable rewards for training
    result_forms      the figures of a run in forms that other sites read
"""
