"""Decisions: may I rank my models with this judge, and how many labels do I need?

Modules::

    judged_items, label_files      a judge's value of every source; labels from people
    correct                        the leaderboard, corrected by the labels
    items_to_label                 items to label next
    checks, pairs_of_models        the card's checks; pairs of models by judge and truth
    may_rank_models, model_answer  how a judge orders the sources; the answer
    card                           the card of a judge

Each result is rows and columns, which JSON, the terminal and pages print.
"""
