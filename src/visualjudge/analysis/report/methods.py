"""The methods paragraph for a paper: what was measured and how, with sources."""

from __future__ import annotations

import visualjudge
from visualjudge.analysis.figures import Results

SOURCES = (
    "Korn & Graubard 1998; Clopper & Pearson 1934 (shares)",
    "Kish 1965 (effective number of images)",
    "Bell & McCaffrey 2002; MacKinnon, Nielsen & Webb 2023 (leave-one-cluster-out variance)",
    "Carter, Schnepel & Steigerwald 2017 (degrees of freedom)",
    "Liang & Zeger 1986 (regression with errors by image)",
    "Bradley & Terry 1952; Papke & Wooldridge 1996; Firth 1993 (strengths of sources)",
    "Mogstad et al. 2024 (rank sets)",
    "Holm 1979 (several tests)",
    "Kendall 1945 (τ-b)",
    "Krippendorff 2011 (α); Cohen 1960 (κ)",
    "Schütt et al. 2016; Field & Welsh 2007 (the 75 % point)",
)

TEXT = (
    "In the accuracy, a reply without a usable answer (not readable, declined, or never received) "
    "counts as wrong; the number of such replies and the accuracy of the others are given beside "
    "it. A tie is an answer, and right only where the truth is a tie. Correlations and errors use "
    "only usable replies. Intervals are 95 % and treat the image as the unit: variances come from "
    "leaving out each image in turn (the delete-one-cluster jackknife), and Student’s t has the "
    "effective number of images, less one, as degrees of freedom. Intervals of shares (and of mean "
    "τ-b, as (τ-b + 1)/2) are Korn and Graubard’s: Clopper and Pearson’s for as many independent "
    "cases as have that variance, or, where nothing is wrong or nothing right, for the effective "
    "number of images. Correlations are on Fisher’s z, Krippendorff’s α and Cohen’s κ of verdicts "
    "and right answers (a failed reply agrees with none) on −log(1 − α), differences of shares and "
    "errors on their own scales. Strengths are a logistic regression on the two sources of a "
    "question, with ties as half wins; preferences and favouritism are linear regressions at equal "
    "task, margin and answers on the image’s other questions; both have errors clustered by image. "
    "The interval of a 75 % point resamples images. With fewer than 5 images, no interval is "
    "given. Tests are two-sided and clustered by image, with Holm’s adjustment over the tests of a "
    "family; comparisons with simulated judges are a separate family. A difference is called "
    "significant if its adjusted p is below 5 %, a single figure if its 95 % interval excludes "
    "chance. Encodings are recommended only if a difference is significant; the choice biases the "
    "accuracy of a recommended encoding upwards."
)

TERMS = (
    ("Source", "the model, or the controlled error, that made a prediction."),
    ("Probe", "a question asked again with a change that must not, or must, alter the answer."),
    (
        "τ-b",
        "how far two orders agree: 1 for the same order, 0 for no relation, −1 for the reverse.",
    ),
    ("κ", "agreement beyond what would arise by chance: 1 is perfect, 0 is chance."),
    (
        "ω",
        "the share of people whom the judge could replace, by the alternative annotator test.",
    ),
    (
        "p (Holm)",
        "the probability of such a result without an effect, adjusted for the number of tests.",
    ),
)
"""Glossary of the page's less common terms."""


def methods(results: Results) -> str:
    """Return the paragraph."""
    facts = results.dataset
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in facts.by_question_type.items())
    probes = f"; {facts.probed:,} asked for probes" if facts.probed else ""
    names = ", ".join(judge.name for judge in results.judges)
    dataset = (
        f"{facts.questions:,} questions ({kinds}{probes}) on {facts.images:,} "
        f"images{_checksum(facts.questions_sha256)}"
    )
    asked = f" Asked: {facts.extent}." if facts.asked < facts.questions or facts.where else ""
    return (
        f"Judges: {names}. Dataset: {dataset}.{asked} {TEXT} Computed with visualjudge "
        f"{visualjudge.__version__}."
    )


def _checksum(found: str | None) -> str:
    return f" (questions.json SHA-256 {found[:12]})" if found else ""
