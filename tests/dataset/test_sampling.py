"""Groups, pairs, rankings, scores: who is asked about, how often, in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from folding import each
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Annotation, Question
from visualjudge.core.seeding import seed_for
from visualjudge.dataset import sampling as sampling_module
from visualjudge.dataset.sampling import (
    Stems,
    deal,
    group,
    pairs_of,
    sample,
    spread,
)
from visualjudge.options import SUBSETS, Caps

STEMS = Stems(("s0", "s1", "s2"), ("s0", "s1", "s2"))


def _notes(
    images: int,
    scores: Sequence[float],
    prompts: Sequence[str | None] = (None,),
) -> list[Annotation]:
    return [
        Annotation(
            f"a{i:03d}-{j}-{k}",
            f"image{i:03d}",
            "depth_estimation",
            {},
            float(score),
            class_of_interest=(f"class{i % 7}",),
            error_type=f"error{i % 4}",
            prompt=prompt,
        )
        for i in range(images)
        for k, prompt in enumerate(prompts)
        for j, score in enumerate(scores)
    ]


def _sample(
    notes: list[Annotation],
    caps: Caps | None = None,
    seed: int = 42,
    stems: Stems = STEMS,
) -> list[Question]:
    items = sample(
        "depth_estimation", notes, stems, SUBSETS, caps or Caps(), seed
    )
    turned = deal(items, seed)
    return [
        replace(i, annotation_ids=i.annotation_ids[::-1]) if turn else i
        for i, turn in zip(items, turned, strict=True)
    ]


def test_pairs_stay_in_their_group_and_differ_in_score() -> None:
    notes = _notes(30, [1, 2, 2, 3], prompts=["x", "y"])
    by_id = {note.annotation_id: note for note in notes}
    pairs = [
        item for item in _sample(notes) if item.question_type == "pairwise"
    ]
    assert pairs
    for item in pairs:
        a, b = (by_id[name] for name in item.annotation_ids)
        assert (a.image_id, a.prompt, a.error_type) == (
            b.image_id,
            b.prompt,
            b.error_type,
        )
        assert a.final_score != b.final_score


def test_caps_of_both_subsets_are_reached_and_kept() -> None:
    items = [
        item
        for item in _sample(_notes(40, [1, 2, 3, 4]))
        if item.question_type == "pairwise"
    ]
    for subset, groups, pairs in (
        ("encoding_analysis", 10, 10),
        ("judge_analysis", 20, 50),
    ):
        mine = [
            item
            for item in items
            if subset in item.subset and item.encoding == "s0"
        ]
        assert len(mine) == pairs
        assert len({item.image_id for item in mine}) == groups


def test_every_encoding_asks_about_the_same_pairs() -> None:
    items = [
        item
        for item in _sample(_notes(8, [1, 2, 3]))
        if item.question_type == "pairwise"
    ]
    pairs = {
        stem: {frozenset(i.annotation_ids) for i in items if i.encoding == stem}
        for stem in STEMS.base
    }
    assert pairs["s0"] == pairs["s1"] == pairs["s2"]


def test_pair_of_both_subsets_is_one_question_that_lists_both() -> None:
    items = [
        item
        for item in _sample(_notes(3, [1, 2]))
        if item.question_type == "pairwise"
    ]
    assert Counter(item.subset for item in items) == {SUBSETS: 9}


@each(
    "stems",
    [
        Stems(("p",), ("p",)),
        STEMS,
        Stems(("a", "b", "c", "d"), ("a", "b", "c", "d")),
    ],
)
@each("seed", [0, 1, 42])
def test_a_is_right_in_half_of_every_encodings_and_subsets_questions(
    stems: Stems, seed: int
) -> None:
    notes = _notes(40, [1, 2, 3, 4, 5])
    scores = {note.annotation_id: note.final_score for note in notes}
    items = [
        item
        for item in _sample(notes, seed=seed, stems=stems)
        if item.question_type == "pairwise"
    ]
    for stem in stems.base:
        for subset in SUBSETS:
            mine = [
                item
                for item in items
                if item.encoding == stem and subset in item.subset
            ]
            right = sum(
                scores[item.annotation_ids[0]] > scores[item.annotation_ids[1]]
                for item in mine
            )
            assert abs(right - len(mine) / 2) <= 1


def test_paraphrases_are_used_alike() -> None:
    items = [
        item
        for item in _sample(_notes(40, [1, 2, 3]))
        if item.question_type == "pairwise"
    ]
    used = Counter(int(item.id) % 5 for item in items)
    assert max(used.values()) - min(used.values()) <= 1


def test_ranking_leaves_the_prompt_out_of_its_key_and_takes_distinct_scores() -> (
    None
):
    notes = _notes(6, [1, 2], prompts=["x", "y", "z"]) + _notes(0, [])
    moved = [
        n
        if n.prompt != "y"
        else Annotation(**_fields(n) | {"final_score": n.final_score + 4})
        for n in notes
    ]
    scores = {note.annotation_id: note.final_score for note in moved}
    rankings = [
        item for item in _sample(moved) if item.question_type == "ranking"
    ]
    assert Counter(item.encoding for item in rankings) == {
        "s0": 6,
        "s1": 6,
        "s2": 6,
    }
    for item in rankings:
        values = [scores[name] for name in item.annotation_ids]
        assert len(set(values)) == len(values) == 4
        assert item.subset == ("judge_analysis",)


def test_rankings_are_not_shown_in_the_right_order() -> None:
    notes = _notes(20, [1, 2, 3, 4, 5, 6])
    scores = {note.annotation_id: note.final_score for note in notes}
    rankings = [
        item for item in _sample(notes) if item.question_type == "ranking"
    ]
    assert {len(item.annotation_ids) for item in rankings} == {5}
    firsts = Counter(
        int(np.argmax([scores[name] for name in item.annotation_ids]))
        for item in rankings
    )
    assert set(firsts) == {0, 1, 2, 3, 4}


def test_scoring_takes_at_most_five_of_at_most_twenty_groups() -> None:
    items = [
        item
        for item in _sample(_notes(30, range(8)))
        if item.question_type == "scoring" and item.encoding == "s0"
    ]
    assert len(items) == 100
    assert set(Counter(item.image_id for item in items).values()) == {5}


def test_groups_are_spread_over_images_classes_and_error_types() -> None:
    notes = _notes(3, [1, 2]) + [
        Annotation(
            f"b{k}-{j}",
            "crowded",
            "depth_estimation",
            {},
            float(j),
            error_type=f"error{k}",
        )
        for k in range(50)
        for j in range(2)
    ]
    chosen = spread(group(notes), 4, seed=1)
    assert {found[0].image_id for found in chosen} == {
        "image000",
        "image001",
        "image002",
        "crowded",
    }


def test_choice_of_few_groups_lies_within_the_choice_of_many() -> None:
    groups = group(_notes(30, [1, 2]))
    assert spread(groups, 20, seed=5)[:10] == spread(groups, 10, seed=5)


@settings(max_examples=25)
@given(st.randoms(use_true_random=False), st.integers(0, 5))
def test_order_of_records_does_not_matter(random: object, seed: int) -> None:
    notes = _notes(5, [1, 2, 2, 4], prompts=["x", None])
    shuffled = list(notes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sorted(map(str, _sample(notes, seed=seed))) == sorted(
        map(str, _sample(shuffled, seed=seed))
    )


def test_another_seed_asks_otherwise() -> None:
    notes = _notes(30, [1, 2, 3])
    first, second = (
        {(i.encoding, i.annotation_ids) for i in _sample(notes, seed=seed)}
        for seed in (42, 43)
    )
    assert len(first & second) < len(first) * 0.6


def test_equal_scores_give_no_pair_and_no_ranking_but_are_scored() -> None:
    kinds = Counter(
        item.question_type for item in _sample(_notes(2, [5, 5, 5]))
    )
    assert kinds == {"scoring": 18}


@pytest.mark.parametrize("wrong", [{"judge_pairs": -1}, {"per_group": 6}])
def test_caps_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong)).replace("_", ".")):
        Caps(**wrong)


def _fields(note: Annotation) -> dict[str, object]:
    return {name: getattr(note, name) for name in Annotation.__slots__}


TRAITS = st.tuples(
    st.sampled_from(["i", "j", "k", "l"]),
    st.sampled_from([None, ("c",), ("d",)]),
    st.sampled_from([None, "e", "f"]),
    st.sampled_from(["p", "q", "r"]),
)


@given(
    st.lists(TRAITS, unique=True, max_size=30),
    st.integers(0, 31),
    st.integers(0, 5),
)
@settings(max_examples=60)
def test_each_next_group_is_the_one_least_like_those_chosen(
    keys: list[tuple[str, tuple[str, ...] | None, str | None, str]],
    count: int,
    seed: int,
) -> None:
    task = "depth_estimation"
    groups = [
        (Annotation(str(k), key[0], task, {}, 1.0, *key[1:]),)
        for k, key in enumerate(keys)
    ]

    def key_of(pool: tuple[Annotation, ...]) -> tuple[object, ...]:
        return keys[int(pool[0].annotation_id)]

    left = list(groups)
    chosen: list[tuple[Annotation, ...]] = []
    while left and len(chosen) < count:
        costs = [
            sum(key_of(g)[k] == key_of(c)[k] for c in chosen for k in range(3))
            for g in left
        ]
        ranks = [
            seed_for(seed, "group", task, list(key_of(found))) for found in left
        ]
        chosen.append(
            left.pop(min(range(len(left)), key=lambda k: (costs[k], ranks[k])))
        )
    assert spread(groups, count, seed) == chosen


def test_a_large_group_gives_each_pair_once_and_the_first_without_looking_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes = [
        replace(note, annotation_id=f"n{k:03d}")
        for k, note in enumerate(_notes(1, range(23)))
    ]
    (whole,) = group(notes)
    monkeypatch.setattr(sampling_module, "DRAWN_TOGETHER", 10)
    pairs = list(pairs_of(whole, 42, Caps()))
    assert len(pairs) == len(set(pairs)) == 23 * 22 // 2
    assert all(first < second for first, second in pairs)
    assert len({name for pair in pairs[:45] for name in pair}) == 10
    assert len({name for pair in pairs[:190] for name in pair}) == 20
    assert pairs != list(pairs_of(whole, 43, Caps()))
    looked_at: list[object] = []
    real = sampling_module.seed_for
    monkeypatch.setattr(
        sampling_module,
        "seed_for",
        lambda *keys: looked_at.append(keys) or real(*keys),
    )
    assert next(pairs_of(whole, 42, Caps())) == pairs[0]
    assert len(looked_at) == 23 + 45
