"""Choose the questions to ask. This module is pure and seeded, and uses no images,
files or prompts. Samples are called in ``plan.py``; questions of probes are drawn in
``apps/probes/probe_questions.py``.

Annotations that may be compared form groups, which are chosen evenly over images,
classes and error types. Every draw is keyed by what it is for, so it does not depend on
the order of records or calls.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, zip_longest

import numpy as np

from visualjudge.core.records import Annotation, IntArray, Question
from visualjudge.core.seeding import seed_for
from visualjudge.dataset.question_identity import draft
from visualjudge.options import ENCODING_ANALYSIS, JUDGE_ANALYSIS, SUBSETS, Caps

Group = tuple[Annotation, ...]
"""Annotations of one task with the same image, class of interest, error type and
(except for rankings) prompt, sorted by ``annotation_id``."""
FEWEST_RANKED = 3
DRAWN_TOGETHER = 100
"""Number of group members whose pairs are shuffled together."""


def group(
    annotations: Iterable[Annotation], *, by_prompt: bool = True
) -> list[Group]:
    """Return the groups of one task's ``annotations``, always in the same, unspecified
    order.

    ``by_prompt`` False leaves the prompt out of the key, as rankings do.
    """
    collected: dict[Hashable, list[Annotation]] = defaultdict(list)
    for note in sorted(annotations, key=lambda note: note.annotation_id):
        key = (*_traits(note), note.prompt if by_prompt else None)
        collected[key].append(note)
    return [tuple(members) for members in collected.values()]


def _traits(
    note: Annotation,
) -> tuple[str, tuple[str, ...] | None, str | None]:
    return note.image_id, note.class_of_interest, note.error_type


def differs(pool: Group, caps: Caps) -> bool:
    """Return whether any two scores of a group differ enough."""
    scores = [note.final_score for note in pool]
    return caps.differ(min(scores), max(scores))


def spread(
    groups: Sequence[Group], count: int, seed: int, *, by_prompt: bool = True
) -> list[Group]:
    """Choose up to ``count`` of ``groups``, each as different as possible from those
    chosen before.

    A group costs one for each earlier choice of its image, its class of interest or its
    error type. The cheapest is next; the seed breaks ties. The first k groups of a
    longer choice are the choice of k, so small subsets are part of large ones.
    """

    def rank(pool: Group) -> int:
        prompt = pool[0].prompt if by_prompt else None
        return seed_for(
            seed, "group", pool[0].task, [*_traits(pool[0]), prompt]
        )

    ranked = sorted(groups, key=rank)
    shared = zip(*(_traits(pool[0]) for pool in ranked), strict=True)
    traits = [_codes(values) for values in shared]
    costs = np.zeros(len(ranked))
    chosen: list[Group] = []
    while len(chosen) < min(count, len(ranked)):
        best = int(
            costs.argmin()
        )  # the first of the cheapest, so that of the lowest rank
        chosen.append(ranked[best])
        for codes in traits:
            costs[codes == codes[best]] += 1
        costs[best] = np.inf
    return chosen


def _codes(values: Sequence[Hashable]) -> IntArray:
    codes: dict[Hashable, int] = {}
    return np.array([codes.setdefault(value, len(codes)) for value in values])


def in_turn(
    groups: Sequence[Group],
    draw: Callable[[Group], Iterable[tuple[str, ...]]],
    count: int,
) -> list[tuple[str, ...]]:
    """Return up to ``count`` items: one of each group in turn, then a second of
    each, …"""
    rounds = zip_longest(*(islice(draw(group), count) for group in groups))
    return [item for items in rounds for item in items if item is not None][
        :count
    ]


@dataclass(frozen=True, slots=True)
class Stems:
    """The encodings of a task that each subset uses, in the catalogue's order."""

    base: tuple[str, ...]
    final: tuple[str, ...]

    @cache  # noqa: B019  one per task; questions share the result to save memory
    def using(self, stem: str, subsets: tuple[str, ...]) -> tuple[str, ...]:
        stems = {ENCODING_ANALYSIS: self.base, JUDGE_ANALYSIS: self.final}
        return tuple(name for name in subsets if stem in stems[name])


def sample(
    task: str,
    annotations: Sequence[Annotation],
    stems: Stems,
    subsets: Sequence[str],
    caps: Caps,
    seed: int,
) -> list[Question]:
    """Return the drafts of the questions of one task, deduplicated over ``subsets``. A
    pair lists the better annotation first until :func:`deal` decides on the order.

    Parameters
    ----------
    task, annotations
        All valid annotations of the task; predictions are not read.
    stems
        Encodings of the task.
    subsets
        Names from :data:`SUBSETS`.
    caps
        Maximum numbers of questions.
    seed
        Seed of every draw.
    """
    scores = {note.annotation_id: note for note in annotations}
    items = [*_pairwise(task, scores, stems, subsets, caps, seed)]
    if JUDGE_ANALYSIS in subsets:
        items += _rankings(task, scores, stems, caps, seed)
        items += _scorings(scores, stems, caps, seed)
    return items


@dataclass(frozen=True, slots=True)
class Drawn:
    """How much of what could be compared was drawn: pairs and images, of one task."""

    pairs: int
    of_pairs: int
    images: int
    of_images: int


def drawn_of(
    task: str,
    annotations: Iterable[Annotation],
    items: Sequence[Question],
    caps: Caps,
) -> Drawn:
    """Return how many of the pairs whose scores differ enough, and of their images, are
    asked about in judge_analysis.
    """
    groups = group(annotations)
    counts = [
        (result[0].image_id, _differing(result, caps)) for result in groups
    ]
    asked = {
        (item.image_id, tuple(sorted(item.annotation_ids)))
        for item in items
        if item.task == task
        and item.question_type == "pairwise"
        and JUDGE_ANALYSIS in item.subset
    }
    return Drawn(
        len(asked),
        sum(count for _, count in counts),
        len({image for image, _ in asked}),
        len({image for image, count in counts if count}),
    )


def _differing(pool: Group, caps: Caps) -> int:
    """Return the number of pairs of a group whose scores differ enough."""
    scores = Counter(member.final_score for member in pool)
    return sum(
        scores[low] * scores[high]
        for low, high in itertools.combinations(sorted(scores), 2)
        if caps.differ(low, high)
    )


def pairs_of(chosen: Group, seed: int, caps: Caps) -> Iterator[tuple[str, ...]]:
    """Yield every pair of the group whose scores differ enough, as sorted ids, in an
    order determined by the seed.

    In groups of more than :data:`DRAWN_TOGETHER` members, pairs among that many random
    members come first, then pairs with the other members. The time for the first pairs
    thus does not depend on the group's size.
    """
    members: Sequence[Annotation] = chosen
    if len(members) > DRAWN_TOGETHER:
        members = _drawn(chosen, seed)
    for start in range(0, len(members), DRAWN_TOGETHER):
        earlier = members[:start]
        added = members[start : start + DRAWN_TOGETHER]
        pairs = [
            tuple(sorted((a.annotation_id, b.annotation_id)))
            for a, b in itertools.chain(
                itertools.combinations(added, 2),
                itertools.product(earlier, added),
            )
            if caps.differ(a.final_score, b.final_score)
        ]
        yield from sorted(
            pairs, key=lambda pair: seed_for(seed, "pair", chosen[0].task, pair)
        )


def _pairwise(
    task: str,
    notes: Mapping[str, Annotation],
    stems: Stems,
    subsets: Sequence[str],
    caps: Caps,
    seed: int,
) -> Iterable[Question]:
    limits = {
        ENCODING_ANALYSIS: (caps.encoding_groups, caps.encoding_pairs),
        JUDGE_ANALYSIS: (caps.judge_groups, caps.judge_pairs),
    }
    groups = [
        result for result in group(notes.values()) if differs(result, caps)
    ]
    drawn: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for subset in SUBSETS:
        if subset in subsets:
            most_groups, most_pairs = limits[subset]
            for pair in in_turn(
                spread(groups, most_groups, seed),
                lambda prediction: pairs_of(prediction, seed, caps),
                most_pairs,
            ):
                drawn[pair].append(subset)
    yield from _paraphrased(list(_asked(notes, stems, drawn)), seed)


def _asked(
    notes: Mapping[str, Annotation],
    stems: Stems,
    drawn: Mapping[tuple[str, ...], list[str]],
) -> Iterable[Question]:
    all_stems = tuple(dict.fromkeys((*stems.base, *stems.final)))
    for pair, subsets in drawn.items():
        better_first = sorted(
            (notes[name] for name in pair), key=lambda note: -note.final_score
        )
        for stem in all_stems:
            subset = stems.using(stem, tuple(subsets))
            if subset:
                yield draft("pairwise", stem, better_first, subset)


def deal(items: Sequence[Question], seed: int) -> list[bool]:
    """Return for each item whether its options are to be reversed; True only for
    pairwise items.

    The right option is balanced, not random: A is right in half of an encoding's
    questions (within one), of a subset's, and of a pair's if every encoding asks it. A
    judge that always says A thus gains nothing in any slice. Call this after removing
    undecidable questions.
    """
    cells: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        if item.question_type == "pairwise":
            cells[item.task, item.encoding].append(place)
    turned = [False] * len(items)
    for (task, stem), places in cells.items():
        stems = sorted({name for owner, name in cells if owner == task})
        turn = sorted(
            stems, key=lambda name: seed_for(seed, "turn", task, name)
        ).index(stem)
        start = seed_for(seed, "first", task) % 2 + turn
        order = {
            place: (
                items[place].subset,
                seed_for(
                    seed, "deal", task, (*sorted(items[place].annotation_ids),)
                ),
            )
            for place in places
        }
        for k, place in enumerate(sorted(places, key=order.__getitem__)):
            turned[place] = (start + k) % 2 == 1
    return turned


def _paraphrased(items: Sequence[Question], seed: int) -> Iterable[Question]:

    def drawn(item: Question) -> int:
        return seed_for(
            seed,
            "paraphrase",
            item.task,
            item.encoding,
            tuple(sorted(item.annotation_ids)),
        )

    first = (
        seed_for(seed, "first paraphrase", items[0].task) % 60 if items else 0
    )
    for k, item in enumerate(sorted(items, key=drawn), first):
        yield replace(item, id=str(k))


def _rankings(
    task: str,
    notes: Mapping[str, Annotation],
    stems: Stems,
    caps: Caps,
    seed: int,
) -> Iterable[Question]:
    """Return one ranking per group (regardless of prompt), of annotations with distinct
    scores, in an order drawn per stem.
    """
    if caps.per_group < FEWEST_RANKED:
        return
    groups = [
        result
        for result in group(notes.values(), by_prompt=False)
        if len({note.final_score for note in result}) >= FEWEST_RANKED
    ]
    for result in spread(groups, caps.ranking_groups, seed, by_prompt=False):
        # At most count members with distinct scores, drawn by the seed.
        drawn: dict[float, Annotation] = {}
        for member in _drawn(result, seed):
            drawn.setdefault(member.final_score, member)
        members = list(drawn.values())[: caps.per_group]
        for stem in stems.final:
            ordered = sorted(
                members,
                key=lambda note: seed_for(
                    seed, "order", task, stem, note.annotation_id
                ),
            )
            yield draft("ranking", stem, ordered, (JUDGE_ANALYSIS,))


def _scorings(
    notes: Mapping[str, Annotation],
    stems: Stems,
    caps: Caps,
    seed: int,
) -> Iterable[Question]:
    for result in spread(group(notes.values()), caps.scoring_groups, seed):
        for member in _drawn(result, seed)[: caps.per_group]:
            for stem in stems.final:
                yield draft("scoring", stem, [member], (JUDGE_ANALYSIS,))


def _drawn(pool: Group, seed: int) -> list[Annotation]:
    return sorted(
        pool,
        key=lambda note: seed_for(
            seed, "member", note.task, note.annotation_id
        ),
    )
