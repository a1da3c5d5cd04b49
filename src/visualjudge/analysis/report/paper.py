"""Where the tables of a paper were until 1.1; they are in
``analysis/report/paper_tables.py``.
"""

from visualjudge.on_first_use import on_first_use

__getattr__ = on_first_use(
    __name__,
    dict.fromkeys(
        ("QuestionType", "paper_tables"),
        "visualjudge.analysis.report.paper_tables",
    ),
    until="1.4",
)
