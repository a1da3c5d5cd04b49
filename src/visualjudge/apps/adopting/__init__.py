"""Verdicts that were given elsewhere, as a table or a log, become a dataset and runs.

::

    tables     files and data frames
    logs       formats of logs, a table that plug-ins may extend
    tool_logs  its rows: where items, replies, verdicts and truth stand in the logs of each tool
    zips       members of zip files
    columns    what each column of a table is: its role, the names by which it is guessed
    fitting    whether the values of a column fit a role
    answers    the spellings of an answer, of a grade, of an order and of a missing value
    rows       rows as questions and verdicts
    rereading  replies, read again
    adopt      the dataset of labels and one run a judge
"""
