"""MMBench: multiple-choice evaluation of a model itself, not of a judge.

``table`` and ``table_images`` read questions, ``question_prompt`` and ``ask_model`` ask
them, ``circular`` rotates their options, ``reply_files`` keeps replies,
``reply_reading``, ``vlmevalkit_rules`` and ``llm_matcher`` read them, ``evaluate`` and
``scores`` count, ``report_page`` shows, and ``samples`` is the dataset in Python.
"""
