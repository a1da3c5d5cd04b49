"""Judges and datasets in other tools. Nothing is imported before it is used; each tool is an extra.

::

    grading        one response scored by a judge that sees its images
    evaluators     the same with the signature of DeepEval, Phoenix, MLflow and Langfuse
    inspect_tasks  tasks and scorers of Inspect: ``inspect eval visualjudge/judge``
    verifiers_tasks  a taskset of verifiers v1
"""
