"""Study planning: how many images, pairs, repeats, people and dollars an answer needs.

::

    judge_simulation     a model of a judge's verdicts, and studies drawn from it
    plan_inputs          inputs: pairs, judge and tokens of a data folder, dataset or pilot
    study_designs        the cheapest design that reaches the goal, and its build
    plan_page            the plan as text, page, figure and the file that `build --plan` reads
"""
