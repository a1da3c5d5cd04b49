"""PEOPLE: raters who answer the questions that judges are asked, blind, each in an order of his own.

``plan`` says who is asked what and when, ``answers`` checks what comes back, ``desk`` keeps the run folder, ``view`` is
what a rater sees of a question, ``tokens`` the links, ``pages`` the addresses.
"""
