"""The report in the terminal: whether models can be ranked with the judge, then the headline."""

from __future__ import annotations

from collections.abc import Sequence

from visualjudge.analysis.columns import COMPARISON, JUDGE, probes_sentence
from visualjudge.analysis.figures import Results
from visualjudge.analysis.table_layout import grid
from visualjudge.core.text_tables import folded

TITLE = "How far can the judge be trusted?"
MOST_PAIRS = 15
NOTE = "p is adjusted by Holm’s method over all comparisons; a missing answer counts as wrong."


def text(results: Results, answers: Sequence[str]) -> str:
    """Return the answers, one row for each judge, its probes, and the comparisons."""
    parts = [*map(folded, answers), TITLE, grid(JUDGE, results.judges).text()]
    for judge in results.judges:
        probes = [probes_sentence(judge)] if judge.probes else []
        notes = (*(row.sentence for row in judge.photograph[:1]), *probes)
        parts += [folded(f"{judge.name}: {note}") for note in notes]
    known = [row for row in results.comparisons if row.gap.value is not None][
        :MOST_PAIRS
    ]
    if known:
        parts.append(grid(COMPARISON, known, notes=[NOTE], keys=2).text())
    return "\n".join(parts)
