"""Foundations, which know nothing of vision or judges: records, errors, plug-in tables,
the files of strangers and of users, seeds, workers.
"""
