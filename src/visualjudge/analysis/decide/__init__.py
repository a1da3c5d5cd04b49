"""Decisions about single predictions and models, from verdicts of a judge with known answers."""
