"""Find the best encoding, prompt version and mode of a task for one judge, within a budget of
calls.

Successive halving (Karnin, Koren & Somekh 2013; Jamieson & Talwalkar 2016): every round gives the
remaining arms the same additional pairs and keeps the better half. The search uses half of the
images. The winner's accuracy, and its gain over the first arm (the first encoding of the catalogue,
prompts as built, in text), are measured on the other half, where nothing was chosen.
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
    """One combination; ``prompts`` is a version of the final question, or None for the dataset's
    own.
    """

    encoding: str
    prompts: str | None = None
    mode: Mode = "text"

    @property
    def name(self) -> str:
        """Name such as ``fill+v2+json``; defaults are omitted."""
        return "+".join(
            (
                self.encoding,
                *([self.prompts] if self.prompts else ()),
                *([self.mode][self.mode == "text" :]),
            )
        )

    def asked(self, question: Question) -> Question:
        """Return the question as this arm asks it."""
        return question if self.prompts is None else reworded(question, self.prompts)


def versions() -> tuple[str, ...]:
    """Return the versions of the final question."""
    return tuple(version for name, version in PromptAssetStore().prompts() if name == LAYOUT)


def arms(
    encodings: Sequence[str], question: Question, prompts: Sequence[str], modes: Sequence[Mode]
) -> list[Arm]:
    """Return every combination, without versions equal to that of ``question`` or unsuitable for
    it.
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
    """Return a pairwise question with the final question of another version.

    Raises
    ------
    DataError
        If the prompt does not end with the final question of a known version.
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
    """Return the question in the words of its paraphrase, without the instructions for the
    answer.
    """
    for version in versions():
        before, after = PromptSet(version).asset("layout").around(FINAL, "question")
        if final.startswith(before) and final.endswith(after):
            return final[len(before) : len(final) - len(after)]
    raise DataError("the prompt must end with the final question of a known version")


@dataclass(frozen=True)
class Tuned:
    """Result for one task; ``accuracy`` and ``gain`` are from the images held out of the choice."""

    task: str
    chosen: str
    baseline: str
    accuracy: Share
    gain: Comparison | None
    """The winner's accuracy less the baseline's on the same pairs; None if they are the
    same arm.
    """
    rounds: tuple[tuple[str, ...], ...]
    """The arms that entered each round."""
    calls: int
    arm: Arm
    """The chosen arm."""
    default: Arm
    """The arm compared with: the first encoding, as built."""

    @property
    def recommended(self) -> Arm:
        """The winner if its gain is significant, else the default."""
        return self.arm if self.better else self.default

    @property
    def better(self) -> bool:
        """Whether the gain is significant: above 0, p < 5 %."""
        found = self.gain
        return (
            found is not None
            and (found.gap.value or 0) > 0
            and found.p is not None
            and found.p < LEVEL
        )

    @property
    def answer(self) -> str:
        """Return the result in one sentence."""
        value, images = self.accuracy.value or 0.0, self.accuracy.images
        told = f"{self.task}: {self.chosen}: {percent(value)} right on {images} other images"
        if self.better and self.gain is not None:
            points = 100 * (self.gain.gap.value or 0)
            return f"{told}, {points:+.1f} points against {self.baseline} (p {self.gain.p:.2g})"
        return f"{told}; no gain over {self.baseline} is shown: keep {self.baseline}"

    def json(self) -> dict[str, Any]:
        """Return the result as one JSON object."""
        return {"better": self.better, "answer": self.answer, **asdict(self)}


@dataclass
class _Table:
    """Answers of one judge to one task: pairs × encodings, asked as needed."""

    dataset: Dataset
    ask: Callable[[], Asked]
    out: Path
    questions: dict[str, dict[tuple[str, ...], Question]]
    calls: int = 0
    right: dict[tuple[Arm, tuple[str, ...]], bool] = field(default_factory=dict)

    def put(self, arm: Arm, pairs: Sequence[tuple[str, ...]]) -> None:
        """Ask these pairs in one arm, except those that were asked before."""
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
        """Return the questions of the arm's run, including ``new``."""
        run, beside = RunFolder(self.out / arm.name), {question.id for question in new}
        known = {key[0] for key in run.verdicts()} if run.verdicts_path.is_file() else set()
        told = (
            arm.asked(question)
            for question in self.questions[arm.encoding].values()
            if question.id in known
        )
        return [question for question in told if question.id not in beside]

    def share(self, arm: Arm, pairs: Sequence[tuple[str, ...]]) -> float:
        """Return the accuracy on these pairs."""
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
    """Find the encoding, prompt version and mode of ``task`` with which a judge is most accurate.

    Parameters
    ----------
    ask
        Makes the judge or client, anew for each run (a run closes its client).
    out
        Folder of the runs, one per encoding.
    budget
        Total number of calls; half are used for the choice.
    modes
        Modes of asking for an answer; the first is that of the baseline.
    prompts
        Versions of the final question to try in addition to the dataset's.
    seed
        Seed for the halves of the images and the order of the pairs.

    Raises
    ------
    DataError
        If the task lacks two arms with the same pairs, or has too few images or calls, or the
        dataset holds no right answers.
    """
    if dataset.without_truth:
        raise DataError(f"{dataset.root}: must hold right answers, got none")
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
    """Return the pairs of each encoding, in the order of the catalogue."""
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
    """Return the pairs of each half of the images, in random order."""
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
    """Return the arms of each round; the last holds only the winner. Equal arms keep their
    order.
    """
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
