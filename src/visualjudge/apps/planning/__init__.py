"""Plan before you pay: how many images, pairs, repeats, people and dollars until the answer.

::

    judge_simulation     what a judge would say: a model of its verdicts, studies, the card's checks
    plan_inputs          what is there: pairs, judge and tokens of a data folder, dataset or pilot
    study_goals          what is to be shown, on which terms, and the power of a design to show it
    study_designs        the cheapest design that reaches the goal, and what builds it
    plan_page            the plan as text, page, figure and the file that `build --plan` reads
    cheapest_judges      which judge, votes, panel or cascade keeps a risk at least cost, from runs
    cheapest_judges_page that as text, page and file, and the commands that run it
    stop_when_decided    `judge --until`: stop once the question is decided
"""
