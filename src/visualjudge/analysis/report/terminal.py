"""The report in the terminal: can models be ranked with the judge, then the headline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visualjudge.analysis import figure_text as words
from visualjudge.analysis.columns import JUDGE
from visualjudge.analysis.figure_text import p_value, percents, points
from visualjudge.analysis.figures import JudgeResult, Results
from visualjudge.analysis.statistics.jackknife import LEAST_IMAGES
from visualjudge.analysis.value_and_interval import NO_SHARE, Estimate
from visualjudge.core.text_tables import Table, folded, screen_width

BAR = 25
"""Characters of an interval bar, from 0 to 100 %."""
LEAST_WIDTH = 80
TITLE = "How far can the judge be trusted?"


def text(results: Results, answers: Sequence[str]) -> str:
    """The answers, one row per judge, its biases, and the comparisons."""
    apart = [folded(words.APART)] if len(results.groups) > 1 else []
    tables = [_headline(group).text() for group in results.groups]
    bars = _bars(results) if screen_width() >= LEAST_WIDTH else []
    return "\n".join(
        [*map(folded, answers), TITLE, *apart, *tables, *bars, *map(folded, _notes(results))]
    )


def bar(estimate: Estimate, chance: float) -> str:
    """An interval from 0 to 100 % in characters: ``······│···├──●─┤····``; ○ from fewer than five
    images.
    """
    value, (low, high) = estimate.value, estimate.interval or (None, None)
    if value is None:
        return ""
    cells = ["·"] * BAR
    cells[_place(chance)] = "│"
    if low is not None and high is not None:
        for k in range(_place(low), _place(high) + 1):
            cells[k] = "─"
    cells[_place(value)] = "●" if estimate.images >= LEAST_IMAGES else "○"
    return "".join(cells)


def _place(share: float) -> int:
    return min(BAR - 1, max(0, round(share * (BAR - 1))))


def _bars(results: Results) -> list[str]:
    """A row for each task, a bar for each judge, of the first judges that fit beside each other; │
    is chance.
    """
    judges = [results.judges[i] for i in results.shown][
        : max(1, (screen_width() - 34) // (BAR + 2))
    ]
    judges = judges[:MOST_BARS]
    names = list(
        dict.fromkeys(
            cell.name for judge in judges for cell in judge.by_task if cell.accuracy.share.n
        )
    )
    if len(names) < 2:
        return []
    found = [{cell.name: cell.accuracy.shown for cell in judge.by_task} for judge in judges]
    rows = tuple(
        (
            name,
            *(
                bar(own.get(name, NO_SHARE), j.pairwise.chance)
                for j, own in zip(judges, found, strict=True)
            ),
        )
        for name in names
    )
    return [
        Table(("Right answers, 0 to 100 %", *(judge.name for judge in judges)), rows).text(),
        "│ is chance.",
    ]


MOST_BARS = 3


def _headline(judges: Sequence[JudgeResult]) -> Table:
    rows = [
        (judge.name + (" (simulated)" if judge.simulated else ""), *JUDGE.cells(judge))
        for judge in judges
    ]
    return Table(("Judge", *JUDGE.titles), tuple(rows))


def _notes(results: Results) -> Iterator[str]:
    for judge in results.judges:
        for sentence in filter(
            None,
            [
                words.above(judge),
                words.failures(judge),
                *words.leanings(judge),
                words.probes(judge),
                words.photograph(judge),
            ],
        ):
            yield f"{judge.name}: {sentence}"
    for row in results.comparisons:
        if row.gap.value is not None:
            yield (
                f"{row.a} minus {row.b}: {points(row.gap.value)} points "
                f"({percents(row.gap.interval)}), "
                f"p {p_value(row.p_holm)} after Holm over all comparisons, on {row.questions} "
                "common questions; "
                "no answer counts as wrong"
            )
