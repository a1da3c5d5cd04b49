"""Plan before you pay: how many images, pairs, repeats, people and dollars until the answer.

::

    models    what a judge would say: a model of its verdicts, studies drawn from it, the card's
    checks of them designs   what can be asked, what it costs, and the cheapest design that reaches
    the goal page      the plan as text, page, figure and the file that `build --plan` reads
"""
