"""Verdicts that were given elsewhere, as a table, become a dataset and runs like any other.

::

    columns    what each column of a table is: its role, the names by which it is guessed
    answers    the spellings of an answer, of an order and of a missing value
    adopt      the table as a dataset of labels and one run a judge
"""
