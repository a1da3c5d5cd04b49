"""PEOPLE: raters who answer the judges' questions, blind, each in a random order.

``plan`` decides who is asked what and when, ``rating_run`` checks and stores the
answers, and ``pages`` has the raters' pages.
"""
