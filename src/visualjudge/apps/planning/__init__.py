"""Plan before you pay: how many images, pairs, repeats, people and dollars until the answer.

::

    models       what a judge would say: a model of its verdicts, studies, and the card's checks
    targets      what is there: pairs, judge and tokens of a data folder, a dataset or a pilot
    goals        what is to be shown, on which terms, and the power of a design to show it
    designs      the cheapest design that reaches the goal, and what builds it
    page         the plan as text, page, figure and the file that `build --plan` reads
    judges       which judge, votes, panel or cascade keeps a risk at least cost, from runs
    judges_page  that as text, page and file, and the commands that run it
    until        `judge --until`: stop once the question is decided
"""
