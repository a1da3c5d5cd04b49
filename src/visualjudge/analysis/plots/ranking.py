"""Models in their order by truth and by a judge, with the ranks that the tests leave to
each, and whether neighbours are separated. The order that it draws is computed in
``decisions/source_order.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from visualjudge.analysis.plots.canvas import (
    Box,
    Canvas,
    Sign,
    colour,
    legend,
    text_width,
)

ROW = 20
TRUTH = 5
"""Number of the series of the truth; judges have those before it."""
BESIDE = 400
"""Width in pixels that is enough for two rankings side by side, without the names of
their models.
"""
OF_A_RANK = 14
"""Width in pixels that is enough for a rank: few models need less than that."""
WIDE_ENOUGH = 560
"""Width in pixels from which two rankings stand side by side."""
SIGNS: Mapping[Sign, str] = {
    "right": "separated rightly",
    "open": "not separated",
    "wrong": "in the wrong order",
    "close": "not separated by truth either",
}


def words_of(known: bool) -> Mapping[Sign, str]:
    """Return the signs in words, where the truth is ``known`` or not."""
    return SIGNS if known else {**SIGNS, "right": "separated"}


@dataclass(frozen=True)
class Place:
    """A rank, and the best and the worst rank that the tests leave to a model."""

    rank: int
    best: int
    worst: int

    def __str__(self) -> str:
        ends = dict.fromkeys((self.best, self.worst))
        return f"rank {self.rank}, may be {'–'.join(map(str, ends))}"


@dataclass(frozen=True)
class RankedModel:
    """A model by truth (None if it is not known) and by the judge; ``next`` says how it
    differs from the model below.
    """

    name: str
    truth: Place | None
    judge: Place
    next: Sign | None


@dataclass(frozen=True)
class Ranking:
    """Models of one group, the best first, and the judge with the number of its
    series."""

    title: str
    judge: str
    series: int
    models: tuple[RankedModel, ...]

    @property
    def has_truth(self) -> bool:
        """Whether the order by truth is known."""
        return any(model.truth for model in self.models)


def rankings(drawn: Sequence[Ranking], width: float) -> Canvas:
    """Draw each ranking, two in a row where there is room."""
    canvas = Canvas(width)
    known = any(item.has_truth for item in drawn)
    names = {TRUTH: "truth"} if known else {}
    names |= dict(sorted((item.series, item.judge) for item in drawn))
    used = {model.next for item in drawn for model in item.models}
    signs = {
        sign: f"neighbours {words}"
        for sign, words in words_of(known).items()
        if sign in used
    }
    top = legend(canvas, signs, legend(canvas, names) + 12) + 8
    label = max(text_width(m.name) for r in drawn for m in r.models)
    of_ranks = 2 * OF_A_RANK * max(len(item.models) for item in drawn)
    enough = 2 * label + min(BESIDE, 2 * (66 + of_ranks))
    columns = min(len(drawn), 2 if width >= max(WIDE_ENOUGH, enough) else 1)
    room = (width - 24 * (columns - 1)) / columns
    label = min(0.46 * room, label)
    for start in range(0, len(drawn), columns):
        bottoms = [
            _ranking(canvas, item, (room + 24) * k, room, label + 16, top)
            for k, item in enumerate(drawn[start : start + columns])
        ]
        top = max(bottoms) + 14
    return canvas


def _ranking(
    canvas: Canvas,
    item: Ranking,
    left: float,
    room: float,
    label: float,
    top: float,
) -> float:
    """Draw one ranking at ``left``, ``room`` wide; return the bottom."""
    known = item.has_truth
    size = len(item.models)
    gap = 30
    canvas.text(left, top + 10, item.title, "name", room=room)
    begin = top + 34
    bottom = begin + ROW * size
    heads = (
        ["rank by truth", "by the judge"] if known else ["rank by the judge"]
    )
    panel = (room - label - gap - 8) / len(heads)
    ends = (0.5, size + 0.5)
    boxes = [
        Box(x, x + panel, begin, bottom, ends)
        for x in (left + label, left + label + panel + gap)[: len(heads)]
    ]
    for box, head in zip(boxes, heads, strict=True):
        canvas.text(
            (box.left + box.right) / 2, top + 26, head, "small", "middle"
        )
        _rank_axis(canvas, box, size)
    middle = boxes[0].right + gap / 2
    for k, model in enumerate(item.models):
        y = begin + (k + 0.5) * ROW
        canvas.text(
            boxes[0].left - 8, y + 4, model.name, "name", "end", room=label - 8
        )
        places = [model.truth, model.judge] if known else [model.judge]
        for box, place in zip(boxes, places, strict=True):
            series = item.series if place is model.judge else TRUTH
            if place is None:
                continue
            low = box.x(place.best - 0.2)
            canvas.line(
                low, y, box.x(place.worst + 0.2), y, f"ci l{colour(series)}"
            )
            canvas.marker(
                box.x(place.rank), y, series, title=f"{model.name}: {place}"
            )
        if model.next is not None:
            below = item.models[k + 1].name
            words = f"{model.name} and {below}: {words_of(known)[model.next]}"
            canvas.marker(middle, y + ROW / 2, model.next, title=words)
    return bottom + 18


def _rank_axis(canvas: Canvas, box: Box, size: int) -> None:
    """Draw a line for each rank, and the numbers that have room."""
    step = max(1, -(-size * 20 // int(box.right - box.left)))
    for rank in range(1, size + 1, step):
        x = box.x(rank)
        canvas.line(x, box.top, x, box.bottom, "grid")
        canvas.text(x, box.bottom + 14, str(rank), "small", "middle")
