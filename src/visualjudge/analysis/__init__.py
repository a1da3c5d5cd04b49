"""How far can this judge be trusted? Verdicts joined to their questions, and every figure with its uncertainty.

In the order data flows::

    join           questions and verdicts as tables, and joined         load      run folders, datasets
    bootstrap      resampling by image, intervals, tests                cells     sums by cell and image
    scores         ranking and scoring questions                        bias      place, length, count, size; swap
    psychometric   accuracy against margin, the 75 % point              leaks     what shallow judges reach
    encoding_choice, variance, comparisons, leaderboard (bradley_terry)
    correlation, alpha                                                  ratings, people   people as raters
    analyse        all of it, as metrics.json and as tables             report    HTML, Markdown, terminal
"""

from __future__ import annotations

from visualjudge.analysis.alpha import alpha
from visualjudge.analysis.analyse import Analysis, analyse, analyse_study
from visualjudge.analysis.bradley_terry import davidson
from visualjudge.analysis.join import Run, Study, study_of

__all__ = ["Analysis", "Run", "Study", "alpha", "analyse", "analyse_study", "davidson", "study_of"]
