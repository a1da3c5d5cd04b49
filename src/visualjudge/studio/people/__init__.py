"""PEOPLE: raters who answer the judges' questions, blind, each in a random order.

``plan`` says who is asked what and when, ``rating_run`` checks and keeps the answers, ``pages`` are
what raters see.
"""
