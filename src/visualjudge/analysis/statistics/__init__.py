"""Statistics as pure functions: they take arrays, return a frozen result, and know no
files, polars or runs.

Every result has ``.value`` and, where it can be computed, ``.interval`` (low, high; 95
%)::

    corrected_means        few labels, many predictions; ranks   Angelopoulos et al. 2023
    alternative_annotator  may a judge replace a person?         Calderon et al. 2025
    calibration            Brier score, ECE, abstaining          Brier 1950; Guo et al. 2017
    score_agreement        scores beside true scores             Spearman 1904; Kott 2001
    score_ranges           true scores behind a judge's score     Wilks 1941; Vovk et al. 2005
    correlation, rater_agreement, score_bar, favour
"""
