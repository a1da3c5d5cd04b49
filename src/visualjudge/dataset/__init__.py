"""SAMPLE: datasets of questions.

``plan`` and ``sampling`` choose questions, ``render`` draws them, ``build`` does both,
``write_dataset`` and the two forms store them, ``folder`` opens a dataset,
``question_filter`` selects, ``describe`` and ``validate`` look at it, and ``exports``
writes it for other tools. Folders of *predictions* are in ``visualjudge.data``.
"""
