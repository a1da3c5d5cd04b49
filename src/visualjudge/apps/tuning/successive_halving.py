"""The best encoding, prompt version and mode of a task for one judge, under a budget of calls.

Successive halving (Karnin, Koren & Somekh 2013; Jamieson & Talwalkar 2016): every round gives the
arms that are left the same further pairs and keeps the better half. It sees half of the images;
what the winner is worth, and whether it is better than the first arm (the first encoding of the
catalogue, prompts as built, in text), is measured on the other half, where nothing was chosen.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from visualjudge.analysis.accuracy_cells import image_sums, share_of
from visualjudge.analysis.comparisons import paired
from visualjudge.analysis.figure_text import percent
from visualjudge.analysis.figures import Comparison
from visualjudge.analysis.value_and_interval import Share
from visualjudge.apps.frontdoor.judge import Asked, judge
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import Dataset
from visualjudge.judges.judge_options import Mode
from visualjudge.prompts.prompt_set import PromptSet
from visualjudge.prompts.spans import spans_of
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.runs.folder import RunFolder
from visualjudge.vision.encode import encodings
from visualjudge.vision.tasks import TASKS

LEVEL = 0.05
FEWEST_IMAGES = 4

LAYOUT = "questions/layout"
FINAL = "final_pairwise"


@dataclass(frozen=True, slots=True)
class Arm:
    """``prompts`` is a version of the final question; None: as the dataset was built."""

    encoding: str
    prompts: str | None = None
    mode: Mode = "text"

    @property
    def name(self) -> str:
        """Such as ``fill+v2+json``; the encoding alone where the rest is as built and in text."""
        return "+".join(
            (
                self.encoding,
                *([self.prompts] if self.prompts else ()),
                *([self.mode][self.mode == "text" :]),
            )
        )

    def asked(self, question: Question) -> Question:
        """The question as this arm asks it."""
        return question if self.prompts is None else reworded(question, self.prompts)


def versions() -> tuple[str, ...]:
    """The versions of the final question."""
    return tuple(version for name, version in PromptAssetStore().prompts() if name == LAYOUT)


def arms(
    encodings: Sequence[str], question: Question, prompts: Sequence[str], modes: Sequence[Mode]
) -> list[Arm]:
    """Every combination; a version that is that of ``question``, or that it cannot be put in, is
    left out.
    """
    others = [version for version in prompts if _differs(question, version)]
    return [
        Arm(encoding, version, mode)
        for mode in modes
        for version in (None, *others)
        for encoding in encodings
    ]


def _differs(question: Question, version: str) -> bool:
    try:
        return reworded(question, version).prompt != question.prompt
    except DataError:
        return False


def reworded(question: Question, version: str) -> Question:
    """A pairwise question with the final question of another version.

    Raises
    ------
    DataError
        If the prompt ends with the final question of no version.
    """
    spans = spans_of(question)
    start, end = spans.final or (len(question.prompt), len(question.prompt))
    said = (
        PromptSet(version)
        .asset("layout")
        .part(FINAL, {"question": _sentence(question.prompt[start:end])})
    )
    prompt = question.prompt[:start] + said + question.prompt[end:]
    return replace(question, prompt=prompt, spans=replace(spans, final=(start, start + len(said))))


def _sentence(final: str) -> str:
    """The question in the words of its paraphrase, without what says how to answer."""
    for version in versions():
        before, after = PromptSet(version).asset("layout").around(FINAL, "question")
        if final.startswith(before) and final.endswith(after):
            return final[len(before) : len(final) - len(after)]
    raise DataError("the prompt must end with the final question of a known version")


@dataclass(frozen=True)
class Tuned:
    """The outcome of one task. ``accuracy`` and ``gain`` are from images on which nothing was
    chosen.
    """

    task: str
    chosen: str
    baseline: str
    accuracy: Share
    gain: Comparison | None
    """The winner less the baseline on the same pairs; None where they are one."""
    rounds: tuple[tuple[str, ...], ...]
    """The arms that entered each round."""
    calls: int
    arm: Arm
    """What was chosen."""
    default: Arm
    """What it was compared with: the first encoding, as built."""

    @property
    def recommended(self) -> Arm:
        """The winner where a gain is shown, else the default."""
        return self.arm if self.better else self.default

    @property
    def better(self) -> bool:
        """Whether a gain is shown: above 0, p < 5 %."""
        found = self.gain
        return (
            found is not None
            and (found.gap.value or 0) > 0
            and found.p is not None
            and found.p < LEVEL
        )

    @property
    def answer(self) -> str:
        """One sentence."""
        value, images = self.accuracy.value or 0.0, self.accuracy.images
        told = f"{self.task}: {self.chosen}: {percent(value)} right on {images} other images"
        if self.better and self.gain is not None:
            points = 100 * (self.gain.gap.value or 0)
            return f"{told}, {points:+.1f} points against {self.baseline} (p {self.gain.p:.2g})"
        return f"{told}; no gain over {self.baseline} is shown: keep {self.baseline}"

    def json(self) -> dict[str, Any]:
        """As one object."""
        return {"better": self.better, "answer": self.answer, **asdict(self)}


@dataclass
class _Table:
    """What one judge said of one task: pairs × encodings, asked as far as needed."""

    dataset: Dataset
    ask: Callable[[], Asked]
    out: Path
    questions: dict[str, dict[tuple[str, ...], Question]]
    calls: int = 0
    right: dict[tuple[Arm, tuple[str, ...]], bool] = field(default_factory=dict)

    def put(self, arm: Arm, pairs: Sequence[tuple[str, ...]]) -> None:
        """Ask these pairs in one arm; those that were asked are not asked again."""
        new = [pair for pair in pairs if (arm, pair) not in self.right]
        if not new:
            return
        asked = [arm.asked(self.questions[arm.encoding][pair]) for pair in new]
        view = replace(self.dataset, questions=[*self._answered(arm, asked), *asked])
        run = judge(
            view, self.ask(), self.out / arm.name, progress=False, resume=True, mode=arm.mode
        )
        for pair, question in zip(new, asked, strict=True):
            verdict = run.verdicts.get((question.id, "AB", 0))
            self.right[arm, pair] = verdict is not None and verdict.value == question.answer
        self.calls += len(new)

    def _answered(self, arm: Arm, new: Sequence[Question]) -> list[Question]:
        """What the arm's run holds beside ``new``."""
        run, beside = RunFolder(self.out / arm.name), {question.id for question in new}
        known = {key[0] for key in run.verdicts()} if run.verdicts_path.is_file() else set()
        told = (
            arm.asked(question)
            for question in self.questions[arm.encoding].values()
            if question.id in known
        )
        return [question for question in told if question.id not in beside]

    def share(self, arm: Arm, pairs: Sequence[tuple[str, ...]]) -> float:
        """The share right of these pairs."""
        return sum(self.right[arm, pair] for pair in pairs) / max(1, len(pairs))


def tune(
    dataset: Dataset,
    task: str,
    ask: Callable[[], Asked],
    out: str | Path,
    *,
    budget: int = 2000,
    modes: Sequence[Mode] = ("text",),
    prompts: Sequence[str] = (),
    seed: int = 42,
) -> Tuned:
    """Find the encoding, prompt version and mode of ``task`` that a judge is most often right with.

    Parameters
    ----------
    ask
        Gives what is asked, new for each run (a run closes its client).
    out
        Folder of the runs, one an encoding.
    budget
        Calls in all; half go to the choice.
    modes
        How an answer is asked for; the first is that of the baseline.
    prompts
        Versions of the final question to try beside that of the dataset.
    seed
        Of the halves of the images and the order of the pairs.

    Raises
    ------
    DataError
        If the task has no two arms with the same pairs, or too few images or calls.
    """
    table = _Table(dataset, ask, Path(out), _by_encoding(dataset, task))
    names = list(table.questions)
    pairs = (
        sorted(set.intersection(*(set(found) for found in table.questions.values())))
        if names
        else []
    )
    learn, test = _halves(table.questions, pairs, seed)
    tried = arms(names, table.questions[names[0]][pairs[0]], prompts, modes) if pairs else []
    if len(tried) < 2 or not learn or not test:
        wanted = f"two encodings that ask the same pairs of at least {FEWEST_IMAGES} images"
        raise DataError(f"{dataset.root}: {task}: must have {wanted}")
    rounds = _choose(table, tried, learn, budget // 2)
    chosen, baseline = rounds[-1][0], tried[0]
    finals = list(dict.fromkeys([chosen, baseline]))
    held = test[: max(1, (budget - table.calls) // len(finals))]
    for arm in finals:
        table.put(arm, held)
    return _measured(table, task, chosen, baseline, held, tuple(rounds))


def _by_encoding(dataset: Dataset, task: str) -> dict[str, dict[tuple[str, ...], Question]]:
    """The pairs of each encoding, in the order of the catalogue."""
    found: dict[str, dict[tuple[str, ...], Question]] = defaultdict(dict)
    for question in dataset:
        if question.task == task and question.question_type == "pairwise":
            found[question.encoding][tuple(sorted(question.annotation_ids))] = question
    order = [row.stem for row in encodings(task)] if task in TASKS else []
    return {
        name: found[name]
        for name in sorted(found, key=lambda name: order.index(name) if name in order else 99)
    }


def _halves(
    questions: dict[str, dict[tuple[str, ...], Question]],
    pairs: Sequence[tuple[str, ...]],
    seed: int,
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The pairs of each half of the images, in an order of their own."""
    first = next(iter(questions.values()), {})
    image = {pair: first[pair].image_id for pair in pairs}
    names = sorted(set(image.values()))
    if len(names) < FEWEST_IMAGES:
        return [], []
    rng = rng_for(seed, "tune", len(names))
    half = {names[k] for k in rng.permutation(len(names))[: len(names) // 2]}
    order = [pairs[k] for k in rng.permutation(len(pairs))]
    return [p for p in order if image[p] in half], [p for p in order if image[p] not in half]


def _choose(
    table: _Table, tried: Sequence[Arm], learn: Sequence[tuple[str, ...]], budget: int
) -> list[tuple[Arm, ...]]:
    """The arms of each round; the last holds the winner alone. Equal ones keep their order."""
    left, rounds, depth = list(tried), [tuple(tried)], 0
    count = math.ceil(math.log2(len(tried)))
    each = budget // count
    if each < len(tried):
        least = 2 * count * len(tried)
        raise DataError(
            f"--budget must be at least {least} for {len(tried)} arms, got {2 * budget}"
        )
    while len(left) > 1:
        depth = min(len(learn), depth + each // len(left))
        for arm in left:
            table.put(arm, learn[:depth])
        ranked = sorted(left, key=lambda arm: -table.share(arm, learn[:depth]))
        kept = set(ranked[: max(1, math.ceil(len(left) / 2))])
        left = [arm for arm in left if arm in kept] if len(kept) > 1 else ranked[:1]
        rounds.append(tuple(left))
    return rounds


def _measured(
    table: _Table,
    task: str,
    chosen: Arm,
    baseline: Arm,
    held: Sequence[tuple[str, ...]],
    rounds: tuple[tuple[Arm, ...], ...],
) -> Tuned:
    image = [table.questions[chosen.encoding][pair].image_id for pair in held]
    codes = {name: k for k, name in enumerate(dict.fromkeys(image))}
    frame = pl.DataFrame(
        {
            "question": [" ".join(pair) for pair in held],
            "cluster": [codes[name] for name in image],
            "right": [table.right[chosen, pair] for pair in held],
            "right_b": [table.right[baseline, pair] for pair in held],
        }
    )
    sums = image_sums(frame, [], {"top": pl.col("right"), "n": pl.col("right").is_not_null()})
    gain = None if chosen == baseline else paired(frame, (chosen.name, baseline.name), 0.05)
    named = tuple(tuple(arm.name for arm in left) for left in rounds)
    share = share_of(sums.shares("top", "n"))
    names = chosen.name, baseline.name
    return Tuned(task, *names, share, gain, named, table.calls, chosen, baseline)
