"""Statistics as pure functions: they take arrays, return a frozen result, and know no files, polars
or runs.

Every result has ``.value`` and, where it can be computed, ``.interval`` (low, high; 95 %)::

    prediction_powered     few labels and many predictions             Angelopoulos et al. 2023
    pooled_means           the same for many systems, labels of any probability
    alternative_annotator  may a judge replace a person?               Calderon et al. 2025
    pairwise_accuracy      two rankings of systems, by their p-values  Thompson et al. 2024
    conformal              a radius that covers new residuals          Vovk et al. 2005;
                                                                       Lee et al. 2023
    calibration            reliability, Brier score, calibration error Brier 1950; Guo et al. 2017
    risk                   the threshold at which a risk is kept       Jung et al. 2024
    sampling               draws of known, unequal probability         Madow 1949;
                                                                       Farquhar et al. 2021
    ranks                  which ranks each system may have            Mogstad et al. 2024
    systems                the order of systems by judge and truth     Kocmi et al. 2021
    correlation, alpha, kappa
"""

from __future__ import annotations

from visualjudge.analysis.statistics.alternative_annotator import (
    AltTest as AltTest,
    alt_test as alt_test,
)
from visualjudge.analysis.statistics.corrected_means import (
    PooledMeans as PooledMeans,
    PPIMean as PPIMean,
    pooled_means as pooled_means,
    ppi_mean as ppi_mean,
)
from visualjudge.analysis.statistics.correlation import (
    SoftPairwiseAccuracy as SoftPairwiseAccuracy,
    soft_pairwise_accuracy as soft_pairwise_accuracy,
)
from visualjudge.analysis.statistics.ranks import rank_sets as rank_sets
from visualjudge.analysis.statistics.reliability import (
    Calibration as Calibration,
    calibration as calibration,
)
from visualjudge.analysis.statistics.risk import (
    ConformalRadius as ConformalRadius,
    RiskThreshold as RiskThreshold,
    conformal_radius as conformal_radius,
    risk_threshold as risk_threshold,
)
from visualjudge.analysis.statistics.sampling import (
    Gain as Gain,
    draw as draw,
    expected_gain as expected_gain,
    inclusion_probabilities as inclusion_probabilities,
    pooled_probabilities as pooled_probabilities,
)
