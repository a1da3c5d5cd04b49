"""STUDIO: datasets, runs and people's answers in the browser, for this machine only.

In the order of a request: ``places`` finds datasets and runs, ``study`` and
``verdicts`` keep them in one SQLite file per dataset, ``selection`` chooses questions
by ``facets``, ``slices`` and ``question_views`` show them, ``people`` collects answers,
and ``app`` serves everything behind ``guard``. FastAPI is an optional extra.
"""
