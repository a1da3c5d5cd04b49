"""Decisions: may I rank my models with this judge, and how many labels do I need?

::

    items, labels    a judge's value of every source; labels from people
    correct          the leaderboard, corrected by the labels
    label            items to label next
    cascade          when to ask the better judge
    system, checks   may the sources be ranked; thresholds that users can change
    true_order       where the scores of all annotations disagree
    card             all of it on one page
    published        agreement tables as published
    pages, shapes    text, Markdown, HTML, the badge; JSON
"""
