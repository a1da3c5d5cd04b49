"""What the measured faults of a question's options say: which error decides, where it
is, and which option is better in a criterion. Faults are measured in
``vision/faults.py``; what judges say of them, in ``analysis/stated_reasons.py``.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import image_finder
from visualjudge.core.records import LETTERS, Fault, Question, Size, Xyxy
from visualjudge.prompts.rubric import LARGEST_PLACE, NONE, TIE
from visualjudge.vision.encodings import numbers_items
from visualjudge.vision.raster.images import image_size

_EQUAL = 1e-6


@dataclass(frozen=True, slots=True)
class Deciding:
    """The faults that decide a question.

    ``kinds`` are those by which the worse option loses most (several only if equal), or
    "none" of a scoring question without faults. ``places`` are the worse option's
    faults that the better one does not share, the heaviest first, in thousandths of the
    image; None if its size is not known. ``area`` is that of the heaviest one's box in
    pixels as shown; None without a place. ``items`` are the numbers of the worse
    option's faulty items; None where the encoding does not number them.
    """

    kinds: tuple[str, ...]
    places: tuple[Xyxy, ...] | None
    area: float | None
    items: tuple[int, ...] | None = None


def deciding(question: Question, size: Size | None) -> Deciding | None:
    """Return the faults that decide a question whose images are of (height, width)
    ``size``, if known; None if no faults are stated, or none distinguishes the options.
    """
    if question.faults is None or question.question_type == "ranking":
        return None
    better: Sequence[Fault] = ()
    worse = question.faults[0]
    if question.question_type == "pairwise":
        if question.answer not in ("A", "B"):
            return None
        best = LETTERS.index(str(question.answer))
        better = question.faults[best]
        worse = question.faults[1 - best]
    lead = Counter(_weights(worse))
    lead.subtract(_weights(better))
    most = max(lead.values(), default=0.0)
    numbered = numbers_items(question.task, question.encoding)
    if most <= _EQUAL:
        nothing = question.question_type == "scoring" and not worse
        return (
            Deciding((NONE,), (), None, () if numbered else None)
            if nothing
            else None
        )
    kinds = tuple(
        kind for kind, weight in lead.items() if weight >= most - _EQUAL
    )
    shared = {(item.kind, item.box) for item in better}
    own = [item for item in worse if (item.kind, item.box) not in shared]
    heaviest = sorted(
        own, key=lambda item: (item.kind not in kinds, -item.weight)
    )
    places = None
    if size is not None:
        places = tuple(in_thousandths(item.box, size) for item in heaviest)
    area = None
    if heaviest:
        x1, y1, x2, y2 = heaviest[0].box
        area = (x2 - x1) * (y2 - y1)
    items = tuple(fault.item for fault in own if fault.item)
    return Deciding(kinds, places, area, items if numbered else None)


def _weights(faults: Sequence[Fault]) -> Counter[str]:
    total: Counter[str] = Counter()
    for fault in faults:
        total[fault.kind] += fault.weight  # type: ignore[assignment]
    return total


def in_thousandths(box: Xyxy, size: Size) -> Xyxy:
    """Return a box in pixels, clipped to the image, in thousandths of its width and
    height."""
    height, width = size
    x1, y1, x2, y2 = (
        min(max(value / side * LARGEST_PLACE, 0.0), float(LARGEST_PLACE))
        for value, side in zip(box, (width, height, width, height), strict=True)
    )
    return x1, y1, x2, y2


def better_in(question: Question, kinds: Collection[str]) -> str | None:
    """Return the option of a pair with less weight of these kinds of faults, or "tie";
    None if no faults are stated.
    """
    if question.faults is None or question.question_type != "pairwise":
        return None
    first, second = (
        sum(fault.weight for fault in faults if fault.kind in kinds)
        for faults in question.faults
    )
    if abs(first - second) <= _EQUAL:
        return TIE
    return "A" if first < second else "B"


def shown_sizes(root: Path) -> Callable[[Question], Size | None]:
    """Return a function from a question of the dataset at ``root`` to the (height,
    width) of the images that its places refer to: the last one's. None if it shows
    none, or it cannot be read.
    """
    find = image_finder(root)
    known: dict[str, Size | None] = {}

    def size_of(question: Question) -> Size | None:
        if not question.images:
            return None
        name = question.images[-1]
        if name not in known:
            try:
                known[name] = image_size(find(name))
            except DataError:
                known[name] = None
        return known[name]

    return size_of
