"""Decisions: may I rank my models with this judge, and how many labels do I need?

Modules::

    judged_items, label_files     a judge's value of every source; labels from people
    correct                       the leaderboard, corrected by the labels
    items_to_label                items to label next
    may_rank_models, checks       whether the sources may be ranked; thresholds that users can set
    card, card_by_benchmark       the card of a judge, and its rows by benchmark
    card_page, report_opening     the card as text, Markdown, HTML and badge; the report's opening
    published_agreement           agreement tables as published
    decision_tables, decision_json   tables and JSON of all decisions
"""
