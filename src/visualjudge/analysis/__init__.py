"""How far can this judge be trusted? Verdicts joined to their questions, and every figure with its
uncertainty.

In the order data flows::

    join           questions and verdicts as tables, and joined         load      run folders,
    datasets statistics     pure functions: intervals, tests, correlations, strengths, alpha cells
    sums by cell and image, accuracy                     bias      place, length, count, size; swap
    scores         ranking and scoring questions                        psychometric   accuracy
    against margin encoding_choice, variance, comparisons, leaderboard, published      leaks
    what shallow judges reach groups         sources that may be ranked against each other
    unanswered     unread, declined, cannot tell unread         replies that could not be read
    ratings, people   people as raters checked_raters known items and repeats of people, apart
    figures        the typed results of all of it                       columns   one list of
    columns a table analysing      all of it                                            report
    HTML, Markdown, terminal
"""

from __future__ import annotations

from visualjudge.analysis.analysing import Analysis, analyse, analyse_study
from visualjudge.analysis.statistics.alpha import alpha
from visualjudge.analysis.statistics.bradley_terry import davidson
from visualjudge.analysis.study_table import Run, Study, study_of

__all__ = ["Analysis", "Run", "Study", "alpha", "analyse", "analyse_study", "davidson", "study_of"]
