"""Clustered judge data by a generator of its own, as folders that every command reads; and what
`label` does on them.

    python benchmarks/independent.py write OUT    # OUT/data, OUT/dataset, OUT/run, OUT/truth.csv
    python benchmarks/independent.py labels       # rounds of labels python
    benchmarks/independent.py people       # the alternative annotator test at its boundary,
    coverage of α python benchmarks/independent.py main         # coverage of the first lines of a
    report

Images differ in difficulty, which scales the judge's noise on all their questions; on a few images
the judge misreads everything, or fails to reply; it leans to the option shown first, and ties what
it cannot tell apart. Nothing here is shared with benchmarks/simulated.py, on purpose.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import visualjudge as vj
from visualjudge.analysis import study_of
from visualjudge.analysis.accuracy_cells import accuracy
from visualjudge.analysis.analysing import PAIRED
from visualjudge.analysis.bias import both_orders, preference, swap_figures
from visualjudge.analysis.decisions.correct import correct_study
from visualjudge.analysis.decisions.items_to_label import label_study
from visualjudge.analysis.statistics import alt_test
from visualjudge.analysis.statistics.alpha import alpha, alpha_interval
from visualjudge.core.records import Question, Verdict
from visualjudge.dataset.sampling import Caps
from visualjudge.judges.base import Ask, Judged, OfflineJudge
from visualjudge.vision.images.record import WholeImage

TASK = "generation_t2i"


@dataclass(frozen=True)
class Design:
    """``unsure``: how much the judge's noise differs from item to item (log scale), which its
    repeats show.
    """

    images: int = 30
    sources: int = 5
    spread: float = 1.0
    """Distance of the best source from the worst, in points."""
    noise: float = 1.2
    unsure: float = 0.0
    misread: float = 0.05
    """Images on which the judge turns everything upside down."""
    mute: float = 0.03
    """Images on which four of five replies cannot be used."""
    first: float = 0.15
    """Lean towards the option shown first, in points."""
    tie: float = 0.1
    """Distances that the judge calls a tie, in points."""


@dataclass(frozen=True, eq=False)
class World:
    """True scores (images, sources), and what makes each image hard."""

    design: Design
    true: np.ndarray
    difficulty: np.ndarray
    doubt: np.ndarray
    shared: np.ndarray
    misread: np.ndarray
    mute: np.ndarray

    @classmethod
    def of(cls, design: Design, seed: int) -> World:
        rng = np.random.default_rng([seed, 77])
        size = (design.images, design.sources)
        quality = 6.0 + np.linspace(design.spread / 2, -design.spread / 2, design.sources)
        true = quality + rng.normal(0, 0.9, (design.images, 1)) + rng.normal(0, 1.1, size)
        return cls(
            design,
            np.clip(true, 0.1, 9.9).round(2),
            rng.lognormal(0.0, 0.5, design.images),
            rng.lognormal(-design.unsure, design.unsure, size),
            rng.normal(0, 0.5, design.images),
            rng.random(design.images) < design.misread,
            rng.random(design.images) < design.mute,
        )


def _place(annotation: str) -> tuple[int, int]:
    """Image and source of an annotation, by its image id and source: ``g003-s2``."""
    image, source = annotation.split("-s")
    return int(image.removeprefix("g")), int(source)


class Noisy(OfflineJudge):
    """A judge of one world; what it says of a question does not depend on what was asked before."""

    simulated = False

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.seed = world, seed

    def describe(self) -> dict[str, Any]:
        """For run.json."""
        return {
            "backend": "independent",
            "base_url": None,
            "model": "noisy",
            "parameters": {"seed": self.seed},
        }

    async def __call__(self, ask: Ask) -> Judged:
        """One verdict."""
        return Judged(self.verdict(ask.question, ask.order, ask.repeat))

    def _rng(self, *names: Any) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32("|".join(map(str, names)).encode())])

    def _sees(self, question: Question, option: int, order: str, repeat: int) -> float:
        """The score that the judge has in mind: noise that it repeats, and a little that it does
        not.
        """
        world, g, s = self.world, *self._cell(question, option)
        lasting = self._rng(g, s, "lasting").normal()
        fleeting = self._rng(question.id, option, order, repeat).normal()
        noise = (
            world.design.noise
            * world.difficulty[g]
            * world.doubt[g, s]
            * (0.8 * lasting + 0.6 * fleeting)
        )
        value = (
            2.0 + 0.7 * world.true[g, s] + world.shared[g] + 0.5 * noise + (0.8 if s == 2 else 0.0)
        )
        return float(13.0 - value if world.misread[g] else value)

    def _cell(self, question: Question, option: int) -> tuple[int, int]:
        return int(question.image_id.removeprefix("g")), int(
            str(question.sources[option]).removeprefix("s")
        )

    def verdict(self, question: Question, order: str, repeat: int) -> Verdict:
        """By the scores that it has in mind."""
        g, _ = self._cell(question, 0)
        rng = self._rng(question.id, order, repeat, "reply")
        if rng.random() < (0.8 if self.world.mute[g] else 0.005):
            return Verdict(
                question.id, order, "Failed", "unparseable", "I cannot tell.", repeat=repeat
            )  # type: ignore[arg-type]
        seen = [self._sees(question, i, order, repeat) for i in range(len(question.annotation_ids))]
        value: Any
        if question.question_type == "scoring":
            value = float(np.clip(round(seen[0] * 2) / 2, 0, 10))
        elif question.question_type == "ranking":
            value = "".join("ABCDE"[i] for i in np.argsort(-np.array(seen), kind="stable"))
        else:
            gap = seen[0] - seen[1] + self.world.design.first * (1 if order == "AB" else -1)
            value = "tie" if abs(gap) < self.world.design.tie else "A" if gap > 0 else "B"
        return Verdict(question.id, order, value, "ok", str(value), repeat=repeat)  # type: ignore[arg-type]


def write(world: World, home: Path, seed: int, *, repeats: int = 1) -> tuple[Any, Any]:
    """The data folder, the dataset and a run below ``home``."""
    design = world.design
    pixels = home / "pixels"
    pixels.mkdir(parents=True)
    for s in range(design.sources):
        samples = []
        for g in range(design.images):
            file = pixels / f"g{g}-s{s}.png"
            Image.fromarray(
                np.full((8, 8, 3), (g % 250, s * 20 % 250, (g * 7 + s) % 250), np.uint8)
            ).save(file)
            samples.append(
                vj.Sample(
                    f"g{g}",
                    None,
                    WholeImage(file),
                    prompt="a thing",
                    file=file,
                    final_score=float(world.true[g, s]),
                )
            )
        vj.import_samples(TASK, samples, home / "data", source=f"s{s}")
    many = design.images * design.sources
    pairs = design.images * 6
    caps = Caps(
        judge_groups=design.images, judge_pairs=pairs, scoring_groups=many, ranking_groups=0
    )
    dataset = vj.build(
        home / "data", home / "dataset", subsets=["judge_analysis"], caps=caps, seed=seed
    )
    return dataset, vj.judge(
        dataset, Noisy(world, seed), home / "run", swap=True, repeats=repeats, progress=False
    )


# ---------------------------------------------------------------- rounds of labels


def _ask(queue: Any, world: World, rng: np.random.Generator, path: Path) -> Path:
    """The queue as a file, filled in by a person who is off by half a point."""
    rows = queue.table().to_dicts()
    for row in rows:
        source, image = row["annotation_id"].split(":")
        true = world.true[int(image.removeprefix("g")), int(source.removeprefix("s"))]
        row["score"] = row["score"] or str(
            round(float(np.clip(true + rng.normal(0, 0.5), 0, 10)), 1)
        )
    _rows(path, rows)
    return path


def asked(world: World, seed: int, repeats: int) -> Any:
    """The scores of a run as `write` makes it, in memory: the folders of 400 worlds take an hour to
    write.
    """
    judge, questions = Noisy(world, seed), []
    for (g, s), score in np.ndenumerate(world.true):
        questions.append(
            Question(
                id=f"q{g}-{s}",
                task=TASK,
                encoding="pixel",
                question_type="scoring",
                subset=("judge_analysis",),
                image_id=f"g{g}",
                class_of_interest=None,
                error_type=None,
                annotation_ids=(f"s{s}:g{g}",),
                final_scores=(float(score),),
                sources=(f"s{s}",),
                prompt="",
                images=(),
                answer=float(score),
            )
        )
    said = [
        judge.verdict(question, "AB", repeat) for question in questions for repeat in range(repeats)
    ]
    return study_of(questions, {"noisy": said})


def _rows(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _in_rounds(
    study: Any, world: World, sizes: tuple[int, ...], rng: np.random.Generator, home: Path
) -> Path:
    """Labels of as many rounds, each drawn by `label` from what the rounds before left."""
    labels = None
    for k, n in enumerate(sizes):
        queue = label_study(study, n, kind="scoring", labels=labels, seed=int(rng.integers(2**31)))
        labels = _ask(queue, world, rng, home / f"round{k}.csv")
    assert labels is not None
    return labels


def _at_random(world: World, n: int, rng: np.random.Generator, home: Path) -> Path:
    """Labels of items that were drawn without any design, as a person would."""
    rows = []
    cells = [(g, s) for g in range(world.design.images) for s in range(world.design.sources)]
    for i in rng.choice(len(cells), n, replace=False):
        g, s = cells[i]
        score = round(float(np.clip(world.true[g, s] + rng.normal(0, 0.5), 0, 10)), 1)
        rows.append({"annotation_id": f"s{s}:g{g}", "score": str(score)})
    _rows(home / "random.csv", rows)
    return home / "random.csv"


ARMS: dict[str, tuple[int, ...]] = {
    "50": (50,),
    "50 + 50": (50, 50),
    "30 + 30 + 40": (30, 30, 40),
    "100": (100,),
}


def labels(replications: int, designs: dict[str, tuple[Design, int]]) -> Iterator[tuple[str, ...]]:
    """Error and coverage of corrected means, by how 50 or 100 labels were drawn; the mean of the
    pool is the truth.
    """
    for name, (design, repeats) in designs.items():
        errors: dict[str, list[np.ndarray]] = {}
        inside: dict[str, list[np.ndarray]] = {}
        expected, shown = [], []
        for w in range(replications):
            world = World.of(design, w)
            study = asked(world, w, repeats)
            with tempfile.TemporaryDirectory() as folder:
                home = Path(folder)
                for arm in (*ARMS, "100 without `label`"):
                    rng = np.random.default_rng([w, zlib.crc32(arm.encode())])
                    if arm in ARMS:
                        path = _in_rounds(study, world, ARMS[arm], rng, home)
                    else:
                        path = _at_random(world, 100, rng, home)
                    rows = {row.source: row for row in correct_study(study, path).rows}
                    off, kept = [], []
                    for s, true in enumerate(world.true.mean(0)):
                        row = rows[f"s{s}"]
                        off.append(np.nan if row.corrected is None else row.corrected - true)
                        kept.append(
                            row.interval is not None and row.interval[0] <= true <= row.interval[1]
                        )
                    errors.setdefault(arm, []).append(np.array(off))
                    inside.setdefault(arm, []).append(np.array(kept))
            gain = label_study(study, 100, kind="scoring").gain
            expected.append(np.nan if gain is None else gain.value)
            shown.append(gain is not None and gain.shown)
        tables = {arm: np.array(values) for arm, values in errors.items()}
        whole = {arm: float(np.sqrt(np.nanmean(table**2))) for arm, table in tables.items()}
        for arm, table in tables.items():
            squares, base = np.nanmean(table**2, 1), np.nanmean(tables["100"] ** 2, 1)
            ratio = squares.mean() / base.mean()
            error = float(
                np.std((squares - ratio * base) / base.mean(), ddof=1) / np.sqrt(squares.size)
            )
            about = f"{np.sqrt(ratio):.3f} ± {error / 2 / np.sqrt(ratio):.3f}"
            bias = f"{np.nanmean(table):+.3f}"
            cover = f"{np.mean(inside[arm]):.1%}"
            gain = f"{np.nanmean(expected):.1%}; in {np.mean(shown):.0%}" if arm == "100" else ""
            yield (name, arm, f"{whole[arm]:.3f}", about, bias, cover, gain)


DESIGNS = {
    "one pass": (Design(images=60), 1),
    "three passes, errors differ by item": (Design(images=60, unsure=2.0, noise=6.0), 3),
}


# ---------------------------------------------------------------- the first lines of a report


def _main_lines(design: Design, seed: int) -> dict[str, tuple[float | None, Any]]:
    """Value and interval of each figure of one world: six pairs an image, in both orders."""
    world, questions = World.of(design, seed), []
    judge, rng = Noisy(world, seed), np.random.default_rng([seed, 78])
    pairs = list(combinations(range(design.sources), 2))
    for g in range(design.images):
        for k in rng.choice(len(pairs), 6, replace=False):
            a, b = rng.permutation(pairs[k])
            true = float(world.true[g, a]), float(world.true[g, b])
            if true[0] != true[1]:
                questions.append(_pair(g, (int(a), int(b)), true))
    said = [judge.verdict(question, order, 0) for question in questions for order in ("AB", "BA")]
    table = study_of(questions, {"noisy": said}).kind(0, "pairwise", PAIRED)
    swap, found = swap_figures(both_orders(table)), accuracy(table)
    figures = {
        "accuracy": found.share,
        "accuracy of parsed replies": found.parsed,
        "swap consistency": swap.consistency,
        "right in both orders": swap.right_in_both,
        "lean to the first": preference(table.filter("parsed"), "position").estimate,
    }
    return {name: (figure.value, figure.interval) for name, figure in figures.items()}


def _pair(g: int, sources: tuple[int, int], true: tuple[float, float]) -> Question:
    return Question(
        id=f"q{g}-{sources[0]}-{sources[1]}",
        task=TASK,
        encoding="pixel",
        question_type="pairwise",
        subset=("judge_analysis",),
        image_id=f"g{g}",
        class_of_interest=None,
        error_type=None,
        annotation_ids=(f"s{sources[0]}:g{g}", f"s{sources[1]}:g{g}"),
        final_scores=true,
        sources=(f"s{sources[0]}", f"s{sources[1]}"),
        prompt="",
        images=(),
        answer="A" if true[0] > true[1] else "B",
    )


def main_lines(replications: int) -> Iterator[tuple[str, ...]]:
    """Coverage of 95 % intervals; the truth is the mean over worlds of 200 images."""
    for images in (10, 20, 50):
        design = Design(images=images)
        worlds = [_main_lines(design, seed) for seed in range(replications)]
        others = [
            _main_lines(Design(images=200), 10**6 + seed) for seed in range(replications // 2)
        ]
        for name in worlds[0]:
            truth = float(np.mean([world[name][0] for world in others]))
            ends = [world[name][1] for world in worlds if world[name][1] is not None]
            inside = np.mean([low <= truth <= high for low, high in ends])
            width = np.mean([high - low for low, high in ends])
            yield (str(images), name, f"{truth:.3f}", f"{inside:.1%}", f"{width:.3f}")


# ---------------------------------------------------------------- people


def alternative(replications: int) -> Iterator[tuple[str, ...]]:
    """How often the test says that a judge may replace a person whose advantage is exactly ε =
    0.2.
    """
    for how in ("independent", "alike within image", "a few images alone"):
        for images in (10, 20, 60):
            wins = np.zeros(2)
            for i in range(replications):
                rng = np.random.default_rng([i, images, zlib.crc32(how.encode())])
                image = np.repeat(np.arange(images), 10)
                ahead = _ahead(rng, how, images)[image]
                behind = 0.0 if how == "a few images alone" else 0.6 - ahead
                drawn = rng.random(image.size)
                sign = np.where(drawn < ahead, 1, np.where(drawn < ahead + behind, -1, 0))
                # the others say 0; who is further from 0 is behind
                human = {
                    "person": dict(enumerate(np.where(sign < 0, 1, 0).tolist())),
                    "other": dict.fromkeys(range(image.size), 0),
                }
                judge = dict(enumerate(np.where(sign > 0, 1, 0).tolist()))
                found = alt_test(human, judge, epsilon=0.2, metric=_near, images=image.__getitem__)  # type: ignore[arg-type]
                row = next(row for row in found.people if row.person == "person")
                assert row.p_by_image is not None
                wins += (row.p <= 0.05, row.p_by_image <= 0.05)
            yield (how, str(images), *(f"{100 * w / replications:.1f} %" for w in wins))


def _near(answer: float, others: Sequence[float]) -> float:
    return -abs(answer - others[0])


def _ahead(rng: np.random.Generator, how: str, images: int) -> np.ndarray:
    """The probability of each image that the person is ahead on an item; behind with 0.6 less it,
    or never.
    """
    if how == "independent":
        return np.full(images, 0.4)
    if how == "alike within image":
        return np.where(rng.random(images) < 0.5, 0.2, 0.6)
    return np.where(rng.random(images) < 0.2 / 0.9, 0.9, 0.0)


def alphas(replications: int) -> Iterator[tuple[str, ...]]:
    """Coverage of α's interval: three people, five sources an image that share most of their
    quality and errors.
    """

    def ratings(rng: np.random.Generator, images: int) -> np.ndarray:
        quality = rng.normal(0, 1, (images, 1)) + rng.normal(0, 0.4, (images, 5))
        off = rng.normal(0, 0.7, (3, images, 1)) + rng.normal(0, 0.3, (3, images, 5))
        return np.digitize(quality + off, [-1.0, -0.3, 0.3, 1.0]).astype(float)

    target = alpha(ratings(np.random.default_rng(1), 40_000).reshape(3, -1), "ordinal")
    for images in (10, 20, 50):
        inside = np.zeros(2)
        for i in range(replications):
            flat = ratings(np.random.default_rng([i, images, 5]), images).reshape(3, -1)
            for k, groups in enumerate((None, np.repeat(np.arange(images), 5))):
                ends = alpha_interval(flat, "ordinal", groups)
                inside[k] += ends is not None and ends[0] <= target <= ends[1]
        yield (str(images), f"{target:.3f}", *(f"{100 * x / replications:.1f} %" for x in inside))


def table(title: str, columns: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> None:
    """Print as Markdown, row by row."""
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """One of the tables, or the folders of one world."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("write", "labels", "main", "people"))
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--images", type=int, default=30)
    parser.add_argument("--sources", type=int, default=5, help="5 at most are asked about together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--design", choices=list(DESIGNS), help="labels: only this one")
    asked = parser.parse_args()
    if asked.what == "write":
        if asked.out is None:
            parser.error("write needs OUT")
        world = World.of(Design(images=asked.images, sources=asked.sources), asked.seed)
        write(world, asked.out, asked.seed, repeats=asked.repeats)
        cells = np.ndenumerate(world.true)
        _rows(
            asked.out / "truth.csv",
            [{"annotation_id": f"s{s}:g{g}", "score": str(x)} for (g, s), x in cells],
        )
    elif asked.what == "labels":
        chosen = {name: row for name, row in DESIGNS.items() if asked.design in (None, name)}
        columns = (
            "Judge",
            "Labels",
            "RMSE",
            "beside 100 at once",
            "Bias",
            "95 % covers",
            "Gain by doubt expected; shown",
        )
        table("Rounds of labels", columns, labels(400, chosen))
    elif asked.what == "main":
        table(
            "First lines of a report",
            ("Images", "Figure", "Truth", "Covered", "Width"),
            main_lines(400),
        )
    else:
        columns = ("Items of an image", "Images", "as published", "clustered by image")
        table("Alternative annotator test at its boundary: wins at 5 %", columns, alternative(1000))
        columns = ("Images", "α", "items independent", "clustered by image")
        table("Coverage of α's 95 % interval", columns, alphas(1000))


if __name__ == "__main__":
    main()
