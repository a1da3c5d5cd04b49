"""STUDIO: datasets, runs and people's answers in the browser, for this machine only.

In the order of a request: ``places`` finds what there is, ``index`` and ``verdicts`` keep it beside
the user's cache, ``selection`` chooses questions, ``question_views`` arranges one, ``people`` takes
answers, ``app`` serves it all behind ``guard``. FastAPI is an optional extra.
"""
