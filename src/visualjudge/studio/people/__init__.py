"""PEOPLE: raters who answer the questions that judges are asked, blind, each in an order of his
own.

``plan`` says who is asked what and when, ``rating_run`` checks and keeps the answers, ``pages`` are
what raters see.
"""
