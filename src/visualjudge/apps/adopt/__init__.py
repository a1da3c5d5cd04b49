"""ADOPT: questions and verdicts of others as a dataset and runs.

::

    adopt                 the front door of a table or logs: read, roles, meaning, write
    read                  files, data frames or dictionaries as rows of cells
    roles                 roles of columns, and the names that identify them
    meaning               what cells and replies mean: questions and verdicts
    write                 the dataset, in our words, and a run for each judge
    files                 tables, JSON and workbooks of strangers
    cell_spellings        spellings of answers, grades, orders and missing values
    criteria, confidence  columns of further answers, and of stated confidence
    adopted_question      a question of others, and what a judge of theirs said
    logs                  a file a tool: where its logs have items and verdicts
    benchmarks            a file a benchmark: where a clone has questions and replies
    fetch                 images behind addresses
    question_sets         questions of version 2.1 with their images
"""
