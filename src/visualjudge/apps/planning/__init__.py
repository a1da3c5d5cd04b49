"""Study planning: how many images, pairs, repeats, people and dollars an answer needs.

::

    judge_simulation     simulated studies: a model of verdicts, and the checks of the card
    plan_inputs          inputs: pairs, judge and tokens of a data folder, dataset or pilot
    study_goals          goals and terms of a study, and the power of a design
    study_designs        the cheapest design that reaches the goal, and its build
    plan_page            the plan as text, page, figure and the file that `build --plan` reads
"""
