"""Groups of annotations that may be compared, and a choice of them spread over images, classes and error types."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from visualjudge.core.records import Annotation
from visualjudge.core.seeding import seed_for

GroupKey = tuple[str, tuple[str, ...] | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Group:
    """Annotations of one task that share image, class of interest, error type and (but for rankings) prompt.

    ``members`` are sorted by ``annotation_id``; ``key`` is (image_id, class_of_interest, error_type, prompt).
    """

    task: str
    key: GroupKey
    members: tuple[Annotation, ...]

    @property
    def scores(self) -> frozenset[float]:
        """The distinct scores."""
        return frozenset(member.final_score for member in self.members)

    def rank(self, seed: int, purpose: str) -> int:
        """A number drawn for this group by ``seed``, whatever other groups there are."""
        return seed_for(seed, purpose, self.task, list(self.key))


def group(task: str, annotations: Iterable[Annotation], *, by_prompt: bool = True) -> list[Group]:
    """The groups of ``annotations``, in no order that a caller may rely on beyond being the same each time.

    ``by_prompt`` False leaves the prompt out of the key, as rankings do.
    """
    found: dict[GroupKey, list[Annotation]] = defaultdict(list)
    for note in sorted(annotations, key=lambda note: note.annotation_id):
        prompt = note.prompt if by_prompt else None
        found[note.image_id, note.class_of_interest, note.error_type, prompt].append(note)
    return [Group(task, key, tuple(members)) for key, members in found.items()]


def spread(groups: Sequence[Group], count: int, seed: int) -> list[Group]:
    """At most ``count`` of ``groups``, each next one the least like those chosen.

    A group costs one for each earlier choice of its image, of its class of interest and of its error type; the cheapest
    is next, ties fall by the seed. The first k of a longer choice are the choice of k, so that small subsets lie
    within large ones.
    """
    used: Counter[Hashable] = Counter()
    values = [len({found.key[trait] for found in groups}) for trait in range(_TRAITS)]
    order = sorted(range(_TRAITS), key=values.__getitem__)
    ranked = sorted((found.rank(seed, "group"), place) for place, found in enumerate(groups))
    tree = _Branch(groups, ranked, order, used)
    chosen: list[Group] = []
    while len(chosen) < count and (cheapest := tree.least()) is not None:
        found = groups[cheapest[-1]]
        tree.take()
        used.update(enumerate(found.key[:_TRAITS]))
        chosen.append(found)
    return chosen


_TRAITS = 3
"""Of a group's key: image, class of interest and error type."""
_Cost = tuple[int, int, int]
"""The cost of a group, its rank among those of the same cost, and its place."""


class _Branch:
    """Groups by their value of the first trait of ``order``, those of one value by the next; a heap on each level.

    A choice makes all groups dearer that share a value with it. Put on the outermost level, the trait of fewest values
    (often all groups have the same) makes few branches dearer instead. Costs only grow: those in a heap may be
    outdated, and the cheapest is found without looking at all.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        ranked: Iterable[tuple[int, int]],
        order: Sequence[int],
        used: Mapping[Hashable, int],
    ) -> None:
        self._used = used
        trait, *rest = order
        by_value: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
        for rank, place in ranked:
            by_value[trait, groups[place].key[trait]].append((rank, place))
        below = {value: _Branch(groups, same, rest, used) if rest else _Row(same) for value, same in by_value.items()}
        self._heap = [(least, value, child) for value, child in below.items() if (least := child.least()) is not None]
        heapq.heapify(self._heap)

    def least(self) -> _Cost | None:
        """The cost of the cheapest group; None where all are taken."""
        while self._heap:
            known, value, child = self._heap[0]
            below = child.least()
            if below is None:
                heapq.heappop(self._heap)
                continue
            now = below[0] + self._used[value], *below[1:]
            if now == known:
                return known
            heapq.heapreplace(self._heap, (now, value, child))
        return None

    def take(self) -> None:
        """Take out the group that ``least`` has found."""
        self._heap[0][-1].take()


class _Row:
    """Groups that share all traits, by rank."""

    def __init__(self, ranked: Sequence[tuple[int, int]]) -> None:
        self._left = list(reversed(ranked))

    def least(self) -> _Cost | None:
        """As :meth:`_Branch.least`."""
        return (0, *self._left[-1]) if self._left else None

    def take(self) -> None:
        """As :meth:`_Branch.take`."""
        self._left.pop()


def in_turn(
    groups: Sequence[Group], draw: Callable[[Group], Sequence[tuple[str, ...]]], count: int
) -> list[tuple[str, ...]]:
    """At most ``count`` items, one of each group in turn, then a second of each, …"""
    rounds = [list(draw(group)) for group in groups]
    taken: list[tuple[str, ...]] = []
    for turn in range(max(map(len, rounds), default=0)):
        for items in rounds:
            if turn < len(items) and len(taken) < count:
                taken.append(items[turn])
    return taken
