"""ADOPT: questions and verdicts of others as a dataset and runs.

::

    items       a question of others, and what a judge of theirs said
    files       tables, JSON and workbooks of strangers
    columns     roles of columns, and the names that identify them
    answers     the spellings of an answer, of a grade, of an order and of a missing value
    table       the rows of a table as questions and verdicts
    logs        a file a tool: where its logs have items, replies, verdicts and truth
    benchmarks  a file a benchmark: where a clone has questions, labels, images and replies
    writing     the dataset, in our words, and a run for each judge
    adopt       the front door: a table, logs, or a benchmark
    fetch       images behind addresses; question sets
"""
