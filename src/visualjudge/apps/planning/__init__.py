"""Study planning: how many images, pairs, repeats and dollars an answer needs.

::

    judge_simulation     a model of a judge's verdicts, and studies drawn from it
    plan_inputs          inputs: pairs, judge and tokens of a data folder, dataset or pilot
    plan_without_models  a study whose pairs name no models
    dataset_audit        what of a dataset would invalidate the figures of a study
    study_designs        the cheapest design that reaches the goal, in words, and its build
"""
