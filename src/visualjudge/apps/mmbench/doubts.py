"""What may be wrong with a table or its replies where few are right."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

import numpy as np

from visualjudge.analysis.figure_text import percent
from visualjudge.apps.mmbench.table import ScoredRow

# Fewest replies that tell of a shift, or questions of which one image is a question, and
# by how much more must be right without a shift.
FEW = 20
GAIN = 0.4


def doubts(rows: Sequence[ScoredRow]) -> Iterator[str]:
    """Yield a sentence where all questions show one image, where most replies name no
    option, and where far more would be right if letters or rows were shifted by one."""
    yield from of_one_image({line.row.group: line.image for line in rows})
    replied = [line for line in rows if line.prediction is not None]
    unread = [line for line in replied if line.extracted is None]
    if 2 * len(unread) > len(replied):
        yield (
            f"{len(unread)} of {len(replied)} replies name no option; the first, of "
            f"index {unread[0].row.index}: {unread[0].prediction!r:.80}"
        )
    read = [
        (ord(line.extracted), ord(line.row.answer), len(line.row.options))
        for line in replied
        if line.extracted
        and len(line.extracted) == len(line.row.answer) == 1
        and not line.row.rotation
        # of two options, a shift is what a bad model does
        and len(line.row.options) > 2
    ]
    if len(read) < FEW:
        return
    ours, theirs, options = np.transpose(read)
    if len(set(ours)) == 1:
        yield (
            f"all {len(read)} replies read are {chr(ours[0])}; is it what the model said?"
        )
    steps = (theirs - ours) % options
    told, share = max(
        (
            ("each letter were the next", np.mean(steps == 1)),
            ("each letter were the one before", np.mean(steps == options - 1)),
            (
                "each reply were to the row before",
                np.mean(ours[1:] == theirs[:-1]),
            ),
            (
                "each reply were to the row after",
                np.mean(ours[:-1] == theirs[1:]),
            ),
        ),
        key=itemgetter(1),
    )
    right = np.mean(steps == 0)
    if share >= right + GAIN:
        yield (
            f"{percent(float(right))} of the replies read are right, but "
            f"{percent(float(share))} would be if {told}; are answers, letters or the index shifted?"
        )


def of_one_image(images: Mapping[int, str]) -> list[str]:
    """Return a sentence if many questions all show one image, of what each question
    shows, by index."""
    return [
        f"all {len(images)} questions show the same image; is this meant?"
    ] * (len(images) >= FEW and len({*images.values()}) == 1)
