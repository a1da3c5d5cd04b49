"""The methods paragraph: what was measured and how, with sources, to be pasted into a paper."""

from __future__ import annotations

import visualjudge
from visualjudge.analysis.figures import Results

SOURCES = (
    "Kish 1965 (effective number of images)",
    "Bell & McCaffrey 2002; MacKinnon, Nielsen & Webb 2023 (leave-one-cluster-out variance)",
    "Satterthwaite 1946 (degrees of freedom)",
    "Hall 1992 (skewness)",
    "Clopper & Pearson 1934 (shares of 0 and 1)",
    "Holm 1979 (several tests)",
    "Hemerik, Goeman & Finos 2020 (sign flips); Henderson 1975 (the other pairs of an image)",
    "Kendall 1945 (τ-b)",
    "Krippendorff 2011 (α)",
    "Bradley & Terry 1952; Davidson 1970 (strengths of sources)",
    "Schütt et al. 2016; Rao & Scott 1984 (the 75 % point)",
)

TEXT = (
    "A reply that could not be read counts as wrong; the share of such replies and the accuracy of the others are "
    "given beside it. Intervals are 95 % and treat the image as the unit: each image is left out in turn, with "
    "Student's t at Satterthwaite's degrees of freedom of the effective number of images, a correction for "
    "skewness, and at least the reach that independent cases have; shares are on the logit scale, correlations on "
    "Fisher's z. With fewer than 5 images no interval is given. Leanings compare questions at equal difficulty "
    "(task, margin and image), by sign flips of images. Tests are two-sided and clustered by image, with Holm's "
    "adjustment; comparisons with simulated judges are a family of their own. Encodings are "
    "recommended only where a difference is shown; the figure of the recommended one is from images that it was "
    "not chosen on."
)


def methods(results: Results) -> str:
    """The paragraph."""
    facts = results.dataset
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in facts.by_question_type.items())
    names = ", ".join(judge.name for judge in results.judges)
    dataset = f"{facts.questions:,} questions ({kinds}) on {facts.images:,} images{_checksum(facts.questions_sha256)}"
    return f"Judges: {names}. Dataset: {dataset}. {TEXT} Computed with visualjudge {visualjudge.__version__}."


def _checksum(found: str | None) -> str:
    return f" (questions.json SHA-256 {found[:12]})" if found else ""
