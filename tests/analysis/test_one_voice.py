"""What is said of one study in several places is one thing: random studies, and tables
whose columns are exchanged.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient

from decided import World, choices_of, of_task
from folding import each
from judged_records import pair as pair_question, said, write_dataset, write_run
from stored_figures import of_study, stored, whole_of
from visualjudge.analysis import analyse, analyse_study, study_of
from visualjudge.analysis.answers import by_models
from visualjudge.analysis.decisions.card import JudgeCard
from visualjudge.analysis.figure_text import percent
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.figure_parts import group_name
from visualjudge.analysis.figures.opening import opening_plot
from visualjudge.analysis.figures.strengths import SOURCES
from visualjudge.analysis.load import without_order
from visualjudge.analysis.plots.plot import LeftOut
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.separation import (
    Model,
    PairOfModels,
    PairsOfModels,
    Side,
)
from visualjudge.apps.gate.check import compared
from visualjudge.apps.gate.lock import Accuracy, accuracy_of, counted
from visualjudge.core.records import Probe, Question, Verdict
from visualjudge.core.seeding import rng_for
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

STUDIES = int(os.environ.get("VISUALJUDGE_STUDIES", "8"))
"""Random studies; `make soak` draws 300."""


Judged = dict[str, list[Verdict]]


def drawn(seed: int) -> tuple[list[Question], Judged]:
    """A random study: one task or two, models, images of unequal numbers of questions,
    copies made by a probe, one or two judges that err, fail, tie and favour a model.
    """
    rng = rng_for(seed, "one voice")
    models, images = int(rng.integers(2, 9)), int(rng.integers(8, 151))
    world = World.of(
        images, models, seed, gap=float(rng.choice([0.0, 0.1, 0.5]))
    )
    kept = rng.random(images * models * (models - 1) // 2) < rng.choice(
        [0.4, 1.0]
    )
    asked = [
        q for q, on in zip(world.pair_questions(), kept, strict=True) if on
    ]
    if rng.random() < 0.3:
        asked = [
            replace(q, image_id="image0000") if rng.random() < 0.4 else q
            for q in asked
        ]
    if rng.random() < 0.3:
        asked += [_copy(question) for question in asked[:40]]
    if rng.random() < 0.2:
        asked += of_task(asked, "keypoint")
    names = ("one", "two")[: int(rng.integers(1, 3))]
    judged = {name: list(_verdicts(asked, rng)) for name in names}
    return _split(asked, seed), judged


def _split(asked: list[Question], seed: int) -> list[Question]:
    """The questions; in one of three studies people are split on some of them."""
    rng = rng_for(seed, "split votes")
    share = float(rng.choice([0.0, 0.0, 0.3]))
    return [
        replace(question, answer="unknown", final_scores=(5.0, 5.0))
        if rng.random() < share
        else question
        for question in asked
    ]


def _copy(question: Question) -> Question:
    probe = Probe("longer", "change", question.id, "the prompt", "answer")
    return replace(question, id=f"{question.id}-longer", probe=probe)


def _verdicts(asked: list[Question], rng: np.random.Generator) -> list[Verdict]:
    right, lifted = rng.uniform(0.5, 1.0), float(rng.choice([0.0, 0.0, 0.3]))
    fails, ties = rng.choice([0.0, 0.1]), rng.choice([0.0, 0.1])
    orders = ("AB", "BA") if rng.random() < 0.5 else ("AB",)
    out = []
    for question in asked:
        for order in orders:
            answer = str(question.answer)
            if rng.random() > right:
                answer = "B" if answer == "A" else "A"
            if "model 1" in question.sources and rng.random() < lifted:
                answer = "AB"[question.sources.index("model 1")]
            if rng.random() < ties:
                answer = "tie"
            status = "refusal" if rng.random() < fails else "ok"
            value = "Failed" if status == "refusal" else answer
            out.append(Verdict(question.id, order, value, status, answer))
    return out


def contradictions(analysis: Analysis, own: Any = None) -> list[str]:
    """What contradicts something else that is said of the study, or of what metrics.json
    has of its judges."""
    card = card_of(analysis)
    own = own or stored(analysis)
    of_card = card.metrics["judges"]
    found = [*_of_plot(card.judges), *_of_gate(analysis)]
    for k, judge in enumerate(card.judges):
        if own[k]["answer"] != of_card[k]["answer"]:
            found.append("metrics.json and the card in JSON")
        if own[k]["answer"]["sentence"] not in judge.sentence:
            found.append("metrics.json and the sentence")
        found += _of_pairs(judge)
        found += _of_ranks(judge)
        found += _of_favour(judge)
        found += _of_sentence(judge)
        found += _of_failed(judge)
    return found


def _of_failed(judge: JudgeCard) -> list[str]:
    (failed,) = (line for line in judge.checks if line.name == "failed")
    if not failed.interval or "up to" not in failed.why:
        return []
    same = f"{100 * failed.interval[1]:.1f} %" in failed.why
    return [] if same else ["failed replies: note and interval"]


def _state(pair: PairOfModels) -> set[str]:
    """The states that the tests of a pair allow."""
    if pair.truth is None:
        return {"unknown"}
    both = pair.judge_order * pair.truth_order
    if both:
        return {"right"} if both > 0 else {"wrong"}
    if pair.judge_order:
        return {"undecided", "wrong"}
    return {"undecided"} if pair.truth_order else {"close", "undecided"}


def _of_pairs(judge: JudgeCard) -> list[str]:
    found, models = [], judge.models
    for pair in models.pairs:
        ends = pair.judge_ci95
        if pair.state not in _state(pair):
            found.append(f"state {pair.state} and tests")
        if ends and pair.judge_order and ends[0] <= 0.5 <= ends[1]:
            found.append("separated with an interval that holds ½")
        if pair.needs_images and (
            pair.state != "undecided" or pair.needs_images[1] < 2
        ):
            found.append("images needed by a pair that is decided, or one")
        if pair.needs_images and pair.truth_order and pair.judge <= 0.5:
            found.append(
                "more images for a preference that points the wrong way"
            )
        if (
            pair.conflict
            and judge.models.state != "no"
            and "mean" not in judge.sentence
        ):
            found.append(
                "the mean scores have another order, and the answer is silent"
            )
    states = [pair.state for pair in models.pairs]
    guesses = "no better than" in judge.sentence
    if not guesses and ("wrong" in states) is not ("wrongly" in judge.sentence):
        found.append("a pair in the wrong order and the sentence")
    tau = models.tau_b
    if tau.value is not None and tau.interval and tau.interval[0] is not None:
        least = min(2 * states.count("right") / len(states) - 1, tau.value)
        if abs(tau.interval[0] - least) > 1e-9:
            found.append("the lower bound of τ-b and the pairs that are right")
    return found


def _of_sentence(judge: JudgeCard) -> list[str]:
    """What the sentence counts, and whether it may be so."""
    models = judge.models
    found, sentence = [], models.sentence
    states = Counter(pair.state for pair in models.pairs)
    separated = re.search(
        r"(\d+) of (\d+) pairs? (?:is|are) separated", sentence
    )
    counts = states["right"], len(models.pairs)
    if separated and tuple(map(int, separated.groups())) != counts:
        found.append("the number of separated pairs and the sentence")
    if models.state == "yes" and (states["wrong"] or states["undecided"]):
        found.append("yes with a pair that is wrong or open")
    if "neither judge nor truth separates" in sentence:
        close = [pair for pair in models.pairs if pair.state == "close"]
        apart = [p for p in close if p.judge_ci95 and p.judge_order]
        found += ["too close, and separated"] if apart or not close else []
    guesses = "no better than" in sentence
    right = judge.result[PAIRWISE].accuracy.parsed.value or 0
    if guesses and states["right"] and right > 0.8:
        found.append("no better than chance, and right in four of five")
    if models.state == "yes" and models.resolution:
        words = f"truly wins {percent(models.resolution, 0)} of images"
        if words not in sentence.replace("all images", "100 % of images"):
            found.append("yes without the resolution")
    ends = models.resolution, models.resolution_twice
    if None not in ends and ends[1] > ends[0] + 1e-6:
        found.append("a coarser resolution with twice the images")
    return found


NEXT = {
    "right": "right",
    "wrong": "wrong",
    "undecided": "open",
    "close": "close",
}


def _of_plot(judges: Sequence[JudgeCard]) -> list[str]:
    """The ranks and signs of the first plot, and the pairs of each judge."""
    plot = opening_plot(judges)
    if isinstance(plot, LeftOut):
        return (
            ["pairs, and no plot"]
            if any(j.models.pairs for j in judges)
            else []
        )
    found = []
    rows = [dict(zip(plot.columns, row, strict=True)) for row in plot.rows]
    groups = {pair.group for judge in judges for pair in judge.models.pairs}
    for judge, group in product(judges, groups):
        title = judge.judge
        title += f", {group_name(group)}" if len(groups) > 1 else ""
        states = {
            frozenset((p.a, p.b)): p.state
            for p in judge.models.pairs
            if p.group == group
        }
        sets, by_truth = judge.models.ranks(), judge.models.ranks("truth")
        own = [row for row in rows if row["ranking"] == title]
        for row in own:
            model = group, row["model"]
            if (row["best"], row["worst"]) != sets[model][1:]:
                found.append("ranks in the plot")
            ends = row["truth_best"], row["truth_worst"]
            if None not in ends and ends != by_truth[model][1:]:
                found.append("the truth in the plot is that of another judge")
        for row, below in pairwise(own):
            state = states.get(frozenset((row["model"], below["model"])))
            if (
                row["next"]
                and state
                and row["next"] != NEXT.get(state, row["next"])
            ):
                found.append("a sign in the plot and the state of a pair")
    return found


def _of_gate(analysis: Analysis) -> list[str]:
    """The gate's accuracy, and that unchanged answers hold."""
    judge = analysis.judges[0]
    share = judge[PAIRWISE].accuracy.share
    table = counted(analysis)
    own = accuracy_of(table)
    found = []
    if abs(own.value - share.value) > 1e-4 or own.images != share.images:
        found.append("the gate's accuracy and the report's")
    if own.ci95 and share.interval:
        apart = [
            abs(a - b) for a, b in zip(own.ci95, share.interval, strict=True)
        ]
        found += (
            ["the gate's interval and the report's"]
            if max(apart) > 1e-4
            else []
        )
    asks = int(table["asks"].max())
    unchanged = compared(table.with_columns(before="right"), asks, 0.1)
    if (unchanged.state == "holds") is not (own.images >= 10):
        found.append("unchanged answers and the gate")
    return found


def _of_ranks(judge: JudgeCard) -> list[str]:
    found, main = [], judge.system.main
    if main is None:
        return []
    sets = {(row.group, row.source): row.rank_set for row in main.sources}
    for row in judge.result[SOURCES].rows:
        model = row.group, row.source
        if model in sets and row.rank_set != sets[model]:
            found.append("two rank sets of one source")
        if not row.rank_set[0] <= row.rank <= row.rank_set[1]:
            found.append("a rank outside its set")
        if row.rank != judge.models.ranks()[model][0]:
            found.append("two ranks of one source")
    for group in {pair.group for pair in main.models.pairs}:
        own = {name: ends for (of, name), ends in sets.items() if of == group}
        pairs = [pair for pair in main.models.pairs if pair.group == group]
        order = [of for of in judge.models.order("judge") if of[0] == group]
        found += _of_group(own, pairs, [name for _, name in order])
    return found


def _of_group(
    sets: dict[str, tuple[int, int]],
    pairs: list[PairOfModels],
    order: list[str],
) -> list[str]:
    """What the ranks of models that are compared contradict."""
    found = []
    turned = [
        pair
        for pair in pairs
        if pair.judge_order * (order.index(pair.b) - order.index(pair.a)) < 0
    ]
    if turned and not _in_a_circle(pairs):
        found.append("separated, and in the opposite order")
    for name, (best, worst) in sets.items():
        above = below = 0
        for pair in pairs:
            if name in (pair.a, pair.b):
                side = pair.judge_order if name == pair.a else -pair.judge_order
                above, below = above + (side < 0), below + (side > 0)
        if best < 1 + above or worst > len(sets) - below:
            found.append("separated, and ranks that say it is not")
        complete = len(pairs) == len(sets) * (len(sets) - 1) // 2
        if complete and (best, worst) != (1 + above, len(sets) - below):
            found.append("ranks apart that no pair separates")
    return found


def _in_a_circle(pairs: Sequence[PairOfModels]) -> bool:
    """Whether no order agrees with all pairs that are separated."""
    below = {
        (pair.b, pair.a) if pair.judge_order > 0 else (pair.a, pair.b)
        for pair in pairs
        if pair.judge_order
    }
    left = {name for two in below for name in two}
    while left:
        free = {
            name
            for name in left
            if not any((name, other) in below for other in left)
        }
        if not free:
            return True
        left -= free
    return False


def _of_favour(judge: JudgeCard) -> list[str]:
    main = judge.system.main
    (line,) = (line for line in judge.checks if line.name == "favour")
    if main is None or line.state != "fail":
        return []
    named = [row for row in main.sources if row.source in str(line.why)]
    found = [] if named else ["favour of nobody"]
    for row in named:
        side = 1 if row.bias.value > 0 else -1
        beside = [p for p in main.models.pairs if row.source in (p.a, p.b)]
        free = [
            p
            for p in beside
            if p.truth_order * (1 if p.a == row.source else -1) != side
        ]
        if (line.value or 0) > len(free):
            found.append("a displacement that the order by truth excludes")
    return found


@each("seed", range(STUDIES))
def test_no_two_places_contradict_each_other(seed: int) -> None:
    asked, judged = drawn(seed)
    assert contradictions(analyse_study(study_of(asked, judged))) == []


NO_TRUTH_NEEDED = {
    *("verdicts", "questions", "status", "unread"),
    *("answer", "tasks", "system", "checks", "leaderboard"),
}
"""Of a judge, what says something of questions without truth, too."""
WITHOUT_TRUTH = {
    *("position_p", "swap_consistency", "swap"),
    *("answered_tie",),
}
"""The same of its pairs."""


def test_questions_on_which_people_are_split_are_in_no_figure_that_needs_a_truth() -> (
    None
):
    questions = World.of(60, 3, 1, gap=0.1).pair_questions()
    split = [
        replace(question, answer="unknown", final_scores=(5.0, 5.0))
        for question in questions[::3]
    ]
    asked = [*split, *questions[1::3], *questions[2::3]]
    judged = {
        name: choices_of(questions, right, swap=True)
        for name, right in (("one", 0.9), ("two", 0.8))
    }
    ids = {question.id for question in asked[len(split) :]}
    known = {
        name: [verdict for verdict in verdicts if verdict.id in ids]
        for name, verdicts in judged.items()
    }
    every = analyse_study(study_of(asked, judged))
    told = analyse_study(study_of(asked[len(split) :], known))
    for one, other in zip(every.judges, told.judges, strict=True):
        own, same = whole_of(one), whole_of(other)
        apart = {name for name in own if own[name] != same[name]}
        assert apart <= {*NO_TRUTH_NEEDED, "pairwise"}
        pairs, beside = own["pairwise"], same["pairwise"]
        assert {k for k in pairs if pairs[k] != beside[k]} <= WITHOUT_TRUTH
        assert pairs["swap"]["n"] == len(asked) > beside["swap"]["n"]
        for name in ("right_in_both", "right_in_both_ci95"):
            assert pairs["swap"][name] == beside["swap"][name]
    (row,), (beside,) = (of_study(a, "comparisons") for a in (every, told))
    assert {k for k in row if row[k] != beside[k]} == {"kappa", "kappa_ci95"}


# ------------------------------------------------ what each of them finds


def _shown(right: float = 0.95) -> JudgeCard:
    """A judge that separates most of four models rightly."""
    questions = World.of(60, 4, 1, gap=0.5).pair_questions()
    verdicts = choices_of(questions, right, swap=True)
    analysis = analyse_study(study_of(questions, {"judge": verdicts}))
    return card_of(analysis).judges[0]


def _said_of(judge: JudgeCard) -> set[str]:
    checks = (_of_pairs, _of_ranks, _of_favour, _of_sentence, _of_failed)
    found = [line for check in checks for line in check(judge)]
    return {*found, *_of_plot([judge])}


def _with_pair(judge: JudgeCard, /, **changes: object) -> JudgeCard:
    """The judge, one of whose pairs that are right is changed."""
    pairs = list(judge.models.pairs)
    place = next(k for k, pair in enumerate(pairs) if pair.state == "right")
    pairs[place] = replace(pairs[place], **changes)  # type: ignore[arg-type]
    return replace(judge, models=replace(judge.models, pairs=tuple(pairs)))


def _with_models(judge: JudgeCard, **changes: object) -> JudgeCard:
    return replace(judge, models=replace(judge.models, **changes))  # type: ignore[arg-type]


def _with_sets(judge: JudgeCard, ends: tuple[int, int]) -> JudgeCard:
    """The judge, all of whose sources have one set of ranks."""
    (kind, *rest) = judge.system.kinds
    sources = tuple(replace(row, rank_set=ends) for row in kind.sources)
    kinds = (replace(kind, sources=sources), *rest)
    return replace(judge, system=replace(judge.system, kinds=kinds))


def _turned(judge: JudgeCard) -> JudgeCard:
    """The judge, whose pairs are all preferred the other way round."""
    pairs = tuple(
        replace(pair, judge=1 - pair.judge, judge_order=-pair.judge_order)
        for pair in judge.models.pairs
    )
    return _with_models(judge, pairs=pairs)


def _with_failed(judge: JudgeCard, why: str) -> JudgeCard:
    checks = tuple(
        replace(line, why=why) if line.name == "failed" else line
        for line in judge.checks
    )
    return replace(judge, checks=checks)


def _with_favour(judge: JudgeCard, why: str) -> JudgeCard:
    checks = tuple(
        replace(line, state="fail", value=9.0, why=why)
        if line.name == "favour"
        else line
        for line in judge.checks
    )
    return replace(judge, checks=checks)


PLANTED: dict[str, Callable[[JudgeCard], JudgeCard]] = {
    "state close and tests": lambda judge: _with_pair(judge, state="close"),
    "separated with an interval that holds ½": lambda judge: _with_pair(
        judge, judge_ci95=(0.4, 0.9)
    ),
    "images needed by a pair that is decided, or one": lambda judge: _with_pair(
        judge, needs_images=(1, 1)
    ),
    "the mean scores have another order, and the answer is silent": (
        lambda judge: _with_pair(judge, conflict=True)
    ),
    "a pair in the wrong order and the sentence": lambda judge: _with_pair(
        judge, state="wrong", truth_order=-1
    ),
    "the lower bound of τ-b and the pairs that are right": (
        lambda judge: _with_pair(judge, state="undecided")
    ),
    "the number of separated pairs and the sentence": lambda judge: (
        _with_models(judge, sentence="Yes: 0 of 6 pairs are separated")
    ),
    "yes with a pair that is wrong or open": lambda judge: _with_models(
        _with_pair(judge, state="undecided"), state="yes"
    ),
    "too close, and separated": lambda judge: _with_models(
        _with_pair(judge, state="close"),
        sentence="In part: neither judge nor truth separates the two",
    ),
    "no better than chance, and right in four of five": lambda judge: (
        _with_models(judge, sentence="No: it is no better than chance")
    ),
    "two rank sets of one source": lambda judge: _with_sets(judge, (1, 1)),
    "separated, and ranks that say it is not": lambda judge: _with_sets(
        judge, (1, 4)
    ),
    "ranks apart that no pair separates": lambda judge: _with_sets(
        judge, (4, 1)
    ),
    "favour of nobody": lambda judge: _with_favour(judge, "nobody is favoured"),
    "a displacement that the order by truth excludes": lambda judge: (
        _with_favour(judge, "model 0 is 9 ranks above")
    ),
    "two ranks of one source": _turned,
    "more images for a preference that points the wrong way": (
        lambda judge: _with_pair(
            judge, judge=0.4, state="undecided", needs_images=(9, 20)
        )
    ),
    "yes without the resolution": lambda judge: _with_models(
        judge, state="yes", sentence="Yes"
    ),
    "failed replies: note and interval": lambda judge: _with_failed(
        judge, "the true share may be up to 99.9 %"
    ),
    "a coarser resolution with twice the images": lambda judge: _with_models(
        judge, resolution=0.6, resolution_twice=0.7
    ),
}


def test_a_planted_contradiction_is_found() -> None:
    judge = _shown()
    assert not _said_of(judge)
    unseen = [
        name
        for name, planted in PLANTED.items()
        if name not in _said_of(planted(judge))
    ]
    assert unseen == []


def test_contradictions_between_places_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = _shown()
    open_pairs = tuple(
        replace(pair, judge_order=0, truth_order=0, state="close")
        for pair in judge.models.pairs
    )
    other = opening_plot([_with_models(judge, pairs=open_pairs)])
    monkeypatch.setitem(globals(), "opening_plot", lambda _: other)
    assert {
        "ranks in the plot",
        "the truth in the plot is that of another judge",
        "a sign in the plot and the state of a pair",
    } <= set(_of_plot([judge]))
    missing = LeftOut("ranking", "none")
    monkeypatch.setitem(globals(), "opening_plot", lambda _: missing)
    assert _of_plot([judge]) == ["pairs, and no plot"]
    monkeypatch.undo()
    order = PairsOfModels.order

    def backwards(models: PairsOfModels, by: Side) -> dict[Model, float]:
        return dict(reversed(order(models, by).items()))

    with monkeypatch.context() as patched:
        patched.setattr(PairsOfModels, "order", backwards)
        assert "separated, and in the opposite order" in _of_ranks(judge)
    (first, *_) = judge.result[SOURCES].rows
    outside = replace(first, rank=9)
    board = replace(judge.result[SOURCES], rows=(outside,))
    with monkeypatch.context() as patched:
        patched.setitem(judge.result._values, SOURCES, board)
        assert "a rank outside its set" in _of_ranks(judge)
    questions = World.of(30, 3, 1).pair_questions()
    verdicts = choices_of(questions, 0.9, swap=True)
    analysis = analyse_study(study_of(questions, {"judge": verdicts}))
    judges = stored(analysis)
    judges[0]["answer"] = {**judges[0]["answer"], "sentence": "Maybe"}
    own = Accuracy(0.1, (0.0, 0.2), 3, 3)
    monkeypatch.setitem(globals(), "accuracy_of", lambda _: own)
    assert {
        "metrics.json and the card in JSON",
        "metrics.json and the sentence",
        "the gate's accuracy and the report's",
        "the gate's interval and the report's",
        "unchanged answers and the gate",
    } <= set(contradictions(analysis, judges))


@pytest.mark.parametrize("seed", range(0, STUDIES, 8))
def test_the_studio_counts_what_the_report_counts(
    tmp_path: Path, seed: int
) -> None:
    asked, judged = drawn(seed)
    dataset = write_dataset(tmp_path / "ds", asked)
    runs = [
        write_run(tmp_path / "runs" / name, dataset, verdicts)
        for name, verdicts in judged.items()
    ]
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:8421")
    slug = site.places.datasets[0].slug
    page = plain(client.get(f"/d/{slug}/slices?by=task&type=pairwise").text)
    for judge in stored(analyse(runs)):
        for row in judge["by_task"].values():
            cell = row["pairwise"]
            ends = "–".join(f"{100 * end:.1f}" for end in cell["ci95"])
            told = f"{100 * cell['accuracy']:.1f} % {ends} of {cell['n']:,}"
            assert told in page


def plain(page: str) -> str:
    """The text of a page."""
    return " ".join(
        re.sub(r"<[^>]+>", " ", page).replace("&nbsp;", " ").split()
    )


# ---------------------------------------------------------------- letters


def _adopted(seed: int) -> tuple[list[Question], list[Verdict]]:
    """A table of verdicts with no order shown; the new model stands first."""
    rng = rng_for(seed, "letters")
    names = [f"m{k}" for k in range(int(rng.integers(2, 5)))]
    images, right = int(rng.integers(10, 60)), rng.uniform(0.4, 1.0)
    new = rng.uniform(0.5, 1.0)
    world = World.of(images, len(names), seed).pair_questions()
    questions, verdicts = [], []
    for k, question in enumerate(world):
        a, b = sorted(question.sources)
        answer = "A" if rng.random() < new else "B"
        scores = (10.0, 0.0) if answer == "A" else (0.0, 10.0)
        said = answer if rng.random() < right else "BA"[answer == "B"]
        questions.append(
            replace(
                question,
                id=f"q{k}",
                sources=(a, b),
                answer=answer,
                final_scores=scores,
            )
        )
        verdicts.append(Verdict(f"q{k}", "AB", said, "ok", said))
    return questions, verdicts


def _answered(
    questions: list[Question], verdicts: list[Verdict], order_shown: bool
) -> tuple[object, ...]:
    study = study_of(questions, {"judge": verdicts, "again": verdicts[::2]})
    runs = (
        study.runs
        if order_shown
        else tuple(
            replace(
                run,
                info={"order_shown": False},
                answered=without_order(run.answered),
            )
            for run in study.runs
        )
    )
    analysis = analyse_study(
        replace(study, runs=runs, meta={"benchmark": {"name": "t"}})
    )
    judge = card_of(analysis).judges[0]
    (two,) = of_study(analysis, "comparisons")
    kappas = judge.result[PAIRWISE].kappa.value, two["kappa"]
    checks = [(line.name, line.state, line.why) for line in judge.checks]
    pairs = [(p.a, p.b, p.state, p.needs_images) for p in judge.models.pairs]
    same = [value is None or round(value, 9) for value in kappas]
    return judge.sentence, checks, pairs, same


@each("seed", range(max(6, STUDIES * 2 // 3)))
def test_exchanging_the_columns_of_a_table_changes_nothing(seed: int) -> None:
    order_shown = bool(seed % 2)
    questions, verdicts = _adopted(seed)
    if order_shown:
        verdicts += [replace(verdict, order="BA") for verdict in verdicts]
    rng = rng_for(seed, "half")
    half = {question.id for question in questions if rng.random() < 0.5}
    other = {"A": "B", "B": "A"}
    shown = {"AB": "BA", "BA": "AB"} if order_shown else {"AB": "AB"}
    turned_questions = [
        replace(
            question,
            sources=question.sources[::-1],
            answer=other[str(question.answer)],
            final_scores=question.final_scores[::-1],
            annotation_ids=question.annotation_ids[::-1],
        )
        if question.id in half
        else question
        for question in questions
    ]
    turned = [
        replace(
            verdict,
            value=other[str(verdict.value)],
            order=shown[verdict.order],
        )
        if verdict.id in half
        else verdict
        for verdict in verdicts
    ]
    assert _answered(questions, verdicts, order_shown) == _answered(
        turned_questions, turned, order_shown
    )


def test_letters_are_dealt_once_a_question_however_often_it_is_asked() -> None:
    """26 of 40 times the same model first is chance, five times as often it is not."""
    questions = [
        pair_question(
            k,
            (8.0, 2.0) if k % 2 else (2.0, 8.0),
            sources=("one", "two") if k < 26 else ("two", "one"),
        )
        for k in range(40)
    ]
    again = [
        said(question, "AB"[k % 3 == 0], repeat=repeat)
        for k, question in enumerate(questions)
        for repeat in range(5)
    ]
    once, often = (
        judge[PAIRWISE]
        for verdicts in (again[::5], again)
        for judge in analyse_study(
            study_of(questions, {"judge": verdicts})
        ).judges
    )
    assert often.kappa.value == once.kappa.value
    assert often.constant == once.constant == 0.5


def test_letters_of_models_do_not_depend_on_their_names() -> None:
    names = ("x", "y", "z")
    rows = [
        (a, b, "A" if k % 3 else "B")
        for k in range(6)
        for a, b in combinations(names, 2)
    ]
    table = pl.DataFrame(
        {
            "sources": [[a, b] for a, b, _ in rows],
            "answer": [letter for *_, letter in rows],
        }
    )
    renamed = {"x": "c", "y": "b", "z": "a"}
    again = table.with_columns(
        sources=pl.Series([[renamed[a], renamed[b]] for a, b, _ in rows])
    )
    told = by_models(table, "answer")["answer"].to_list()
    assert told == by_models(again, "answer")["answer"].to_list()
