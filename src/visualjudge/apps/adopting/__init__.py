"""Import verdicts given elsewhere, as a table or a log, into a dataset and runs.

::

    tables     files and data frames
    logs       formats of logs, a table that plug-ins may extend
    tool_logs  its rows: where the logs of each tool have items, replies, verdicts and truth
    zips       members of zip files
    columns    roles of columns, and the names that identify them
    fitting    whether the values of a column fit a role
    answers    the spellings of an answer, of a grade, of an order and of a missing value
    rows       rows as questions and verdicts
    rereading  replies, read again
    adopt      the dataset of labels and one run per judge
"""
