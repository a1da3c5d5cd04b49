"""ADOPT: questions and verdicts of others as a dataset and runs.

::

    adopt       the front door of a table or logs: read, roles, meaning, write
    read        files, data frames or dictionaries as rows of cells
    roles       roles of columns, and the names that identify them
    meaning     what cells and replies mean: pairs or scores, questions, verdicts
    write       the dataset, in our words, and a run for each judge
    files       tables, JSON and workbooks of strangers
    answers     the spellings of an answer, of a grade, of an order and of a missing value
    items       a question of others, and what a judge of theirs said
    logs        a file a tool: where its logs have items, replies, verdicts and truth
    benchmarks  a file a benchmark: where a clone has questions, labels, images and replies
    fetch       images behind addresses
    question_sets  questions of version 2.1 with their images
"""
