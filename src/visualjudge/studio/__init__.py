"""STUDIO: datasets, runs and people's answers in the browser, for this machine only.

In the order of a request: ``places`` finds datasets and runs, ``index`` and ``verdicts`` index them
in the user's cache, ``selection`` chooses questions, ``question_views`` lays out one question,
``people`` collects answers, and ``app`` serves everything behind ``guard``. FastAPI is an optional
extra.
"""
