"""How far can this judge be trusted? Joins verdicts to their questions and computes every figure
with its uncertainty.

Main modules, in the order in which data flows::

    study_table, question_table, verdict_table   questions and verdicts as tables
    answers           the one table of both: usable, tie, right, chosen are decided there
    estimate          value and interval by image: shares, differences, means, correlations
    fits              one regression with errors by image: strengths, preferences, favouritism
    load              run folders and datasets read from disk
    statistics/       pure functions: agreement, ranks, systems, corrected means, risk
    accuracy_cells    accuracy by cell, with sums by image
    figures_of_pairs  further figures of pairs, a row each
    bias              preferences for a position, length, count or size; answers after a swap
    scores            ranking and scoring questions
    psychometric      accuracy against margin
    encoding_choice, variance, comparisons, leaderboard
    leaks             accuracy of shallow rules that do not look at the image
    unread_replies    replies that could not be read
    rating_table, people_agreement   people as raters
    figures           the typed results
    columns           the columns of every table
    analysing         runs all of the above
    report/           HTML, terminal
    decisions/        may the judge rank models, and how many labels are needed
"""

from visualjudge.analysis.analysing import analyse, analyse_study
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.statistics.alpha import alpha
from visualjudge.analysis.study_table import Run, Study, study_of

__all__ = ["Analysis", "Run", "Study", "alpha", "analyse", "analyse_study", "study_of"]
