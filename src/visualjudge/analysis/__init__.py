"""How far can this judge be trusted? Joins verdicts to their questions and computes
every figure with its uncertainty.

Main modules, in the order in which data flows::

    load              run folders and datasets read from disk
    stored_tables, study_table    questions and verdicts from disk, and as tables
    answers           one table of both: usable, tie, right, chosen are decided there
    estimate          value and interval by image: shares, differences, correlations
    fits              one regression with errors by image: strengths, preferences
    separation        whether judge and truth separate each pair of models
    statistics        pure functions: agreement, ranks, corrected means, favour
    image_sums        sums by cell and image
    pairwise_verdicts, accuracy_cells   verdicts on pairs; accuracy by cell
    stated_reasons    what judges say of their reasons, beside the measured faults
    ranking_and_scoring   rankings and scores beside the true ones
    source_groups     which models may be ranked against each other
    rating_table, people_agreement   people as raters
    figures           a figure a file: rows, columns, section, plots
    analysing         computes all figures
    results           the analysis of a study and of a judge
    plots             the forms of plots
    report            HTML, terminal
    decisions         may the judge rank models, and how many labels are needed
"""

from visualjudge.analysis.analysing import analyse, analyse_study
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.statistics.rater_agreement import alpha
from visualjudge.analysis.study_table import Run, Study, study_of

__all__ = [
    "Analysis",
    "Run",
    "Study",
    "alpha",
    "analyse",
    "analyse_study",
    "study_of",
]
