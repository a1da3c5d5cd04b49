"""Answers to decide by: may I rank my models with this judge, and how many labels do I need?

::

    items, labels    what a judge says of every source; what people said
    correct          the leaderboard, corrected by the labels
    label            what to label next
    cascade          when to ask the better judge
    system, checks   may the sources be ranked; thresholds that users can change
    true_order       where the scores of all annotations say otherwise
    card             all of it on one page
    published        agreement tables as others print them
    pages, shapes    text, Markdown, HTML, the badge; JSON
"""
