"""How to cite a study: BibTeX, digests of its files, and a paragraph of method. The
files are written by ``save_all.py``.
"""

from collections.abc import Iterator

import visualjudge
from visualjudge.analysis.decisions.card import JudgeCard
from visualjudge.analysis.figure_text import (
    listed,
    many,
    number,
    with_ends,
)
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.core.checksums import file_sha256
from visualjudge.runs.folder import VERDICTS

RELEASED = "2026-11-28"
"""Date of the version; ``tools/release.py`` sets it."""


def cite(analysis: Analysis) -> str:
    """Return a BibTeX entry, the digests of the dataset and the runs, and a paragraph
    of method."""
    return (
        "\n\n".join(
            [_bibtex(), "\n".join(_digests(analysis)), method(analysis)]
        )
        + "\n"
    )


def _bibtex() -> str:
    return (
        "@software{visualjudge,\n"
        "  title = {visualjudge: how far can a vision-language model be trusted as a "
        "judge of "
        "vision predictions?},\n"
        "  author = {{visualjudge maintainers}},\n"
        f"  version = {{{visualjudge.__version__}}},\n"
        f"  year = {{{RELEASED[:4]}}}\n"
        "}"
    )


def _digests(analysis: Analysis) -> Iterator[str]:
    questions = analysis.dataset.questions_sha256
    if questions is not None:
        yield f"Questions: SHA-256 {questions}"
    for run in analysis.study.runs:
        path = None if run.folder is None else run.folder / VERDICTS
        if path is not None and path.is_file():
            yield f"Verdicts of {run.name}: SHA-256 {file_sha256(path)}"


def method(analysis: Analysis) -> str:
    """Return how the numbers were made, and the first of them, in one paragraph."""
    names = listed(
        [
            judge.name + " (simulated)" * judge.simulated
            for judge in analysis.judges
        ],
        len(analysis.judges),
    )
    parts = [
        f"We measured {many(len(analysis.judges), 'judge')}, {names}, with visualjudge "
        f"{visualjudge.__version__} on {analysis.dataset.extent}.",
        "Intervals are 95 % intervals with images as the unit: those of shares are "
        "Korn and Graubard's, all others come from leaving out each image in turn "
        "(CR3), with Student's t at Kish's effective number of images.",
    ]
    pairs = max(len(card.models.pairs) for card in card_of(analysis).judges)
    if pairs:
        parts.append(
            "Two models were compared by the share of images on which the first is "
            "better; they count as separated where a two-sided test by image, adjusted "
            f"by Holm over {many(pairs, 'pair')}, has p < 0.05."
        )
    parts += map(_first_numbers, card_of(analysis).judges)
    return " ".join(parts)


def _first_numbers(card: JudgeCard) -> str:
    result = card.result[PAIRWISE].accuracy
    right = ""
    if result.share.n and result.shown.value is not None:
        right = (
            f" It was right in {with_ends(result.shown)} of "
            f"{number(result.share.n)} verdicts."
        )
    return (
        f"{card.models.question} For {card.judge}, the answer is: "
        f"“{card.models.verdict}.” "
        f"({'; '.join(reason.text for reason in card.models.reasons)}).{right}"
    )
