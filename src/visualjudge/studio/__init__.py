"""STUDIO: datasets, runs and people's answers in the browser, for this machine only.

In the order of a request: ``places`` finds datasets and runs, ``dataset_index`` keeps
their questions and verdicts in one SQLite file per dataset (``answers_of_runs`` says
what verdicts are worth), ``studio_data`` holds both, ``selection`` chooses questions,
``slices`` and ``question_views`` show them, ``stars_and_notes`` marks them, ``people``
collects answers, and ``app`` serves everything by ``serving``, which checks requests.
FastAPI is an optional extra.
"""
