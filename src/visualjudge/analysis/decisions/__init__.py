"""Decisions: may I rank my models with this judge, and how many labels do I need?

Modules::

    judged_items, label_files      a judge's value of every source; labels from people
    source_order                   how a judge orders the sources
    checks, card                   what a judge must pass; its card
    model_answer                   the answer where models have names; each two of them
    pair_answer, score_answer      the answer of pairs without names, and of scores
    consistency                    the answer without truth
    correct                        the leaderboard, corrected by the labels
    items_to_label                 items to label next
    accept                         from which score to accept, and what is accepted

Each result is rows and columns, which JSON, the terminal and pages print.
"""
