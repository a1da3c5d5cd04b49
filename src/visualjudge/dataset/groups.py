"""Groups of annotations that may be compared, and a choice of them spread over images, classes and error types."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from visualjudge.records import Annotation
from visualjudge.seeding import seed_for

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
    within large ones. Costs only grow, so a heap of possibly outdated costs finds the cheapest without looking at all.
    """
    used: Counter[Hashable] = Counter()
    heap = [(0, group.rank(seed, "group"), place) for place, group in enumerate(groups)]
    heapq.heapify(heap)
    chosen: list[Group] = []
    while heap and len(chosen) < count:
        cost, rank, place = heapq.heappop(heap)
        traits = list(enumerate(groups[place].key[:3]))
        now = sum(used[trait] for trait in traits)
        if now > cost:
            heapq.heappush(heap, (now, rank, place))
            continue
        used.update(traits)
        chosen.append(groups[place])
    return chosen


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
