"""What the local judge is worth with the photograph and without it, by task and error
type.

    python benchmarks/local.py DATA... [--model default] [--json FILE]

DATA are data folders with scored predictions, such as ``visualjudge perturb`` and
``visualjudge import`` write. Every pair of unequal scores inside a group is asked over
its photograph, over photographs of other images of the task, and over uniform grey; a
tie is half right. Predictions with matched errors, with ladder errors and without a
controlled error (of models, say) stand apart. The blind solver is fitted to the
predictions alone, for each error type, and asked about images that it was not fitted
to. Intervals are 95 %, clustered by image; that of a gain is paired. Put no photograph
in DATA that the model was trained on.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, groupby
from pathlib import Path

import numpy as np

from visualjudge.analysis.estimate import gap_ends, ratio, shares
from visualjudge.core.atomic import write_json
from visualjudge.core.errors import Problem
from visualjudge.core.records import Annotation
from visualjudge.data.folder import DataFolder, check_entry
from visualjudge.judges.local.judge import Model, Weights, load, shipped
from visualjudge.vision.view import Features, Given, reduced

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from blind_features import blind_features_of, over_grey
from local_training import given_of_record, note_features
from pair_fit import Pair, held_out, table_of

OTHERS = 3
FEWEST_IMAGES = 5
KINDS = {
    "matched": "Matched errors",
    "ladder": "Ladder errors",
    "models": "Predictions of models",
}


@dataclass(frozen=True, eq=False)
class Seen:
    """A prediction and its features over its photograph, over grey and over other
    photographs."""

    folder: Path
    note: Annotation
    photograph: Features
    grey: Features
    others: tuple[Features, ...]

    @property
    def kind(self) -> str:
        """One of ``KINDS``."""
        if self.note.error_type is None:
            return "models"
        return (
            "matched"
            if self.note.metadata.get("pairing") == "matched"
            else "ladder"
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """One pair: how far it was right (0, ½, 1; over other photographs the mean)."""

    image: str
    error_type: str
    photograph: float
    other: float
    grey: float
    solver: float
    """NaN where there are too few images to fit a solver to."""


Ends = tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Row:
    """Accuracies of the pairs of one task, or of one error type of it, and the gains
    from the photograph.
    """

    kind: str
    task: str
    part: str
    photograph: float
    interval: Ends
    other: float
    grey: float
    grey_interval: Ends
    solver: float
    solver_interval: Ends
    gain: float
    gain_interval: Ends
    gain_over_other: float
    gain_over_other_interval: Ends
    pairs: int
    images: int


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--model", default="default", help="A model file.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = shipped() if options.model == "default" else load(options.model)
    seen = [one for folder in options.data for one in looked_at(folder, model)]
    rows = table(seen, model)
    show(rows)
    if options.json is not None:
        write_json(options.json, {"pairs": [asdict(row) for row in rows]})


def looked_at(root: Path, model: Model) -> Iterator[Seen]:
    """Every valid prediction of a data folder that the model knows the task of."""
    folder = DataFolder(root)
    for task in (task for task in folder.tasks if task in model.tasks):
        records = folder.images(task)
        entries = sorted(folder.entries(task), key=lambda entry: entry.image_id)
        names = sorted({entry.image_id for entry in entries})
        for name, same in groupby(entries, key=lambda entry: entry.image_id):
            record, at = records.get(name), names.index(name)
            given = given_of_record(task, record, root)
            grey, others = over_grey(given), [
                over_other(given, given_of_record(task, records.get(other), root))
                for other in dict.fromkeys(
                    names[(at + k) % len(names)] for k in range(1, 1 + OTHERS)
                )
                if other != name
            ]  # fmt: skip
            for entry in same:
                if not isinstance(
                    check_entry(entry, record, str(root)), Problem
                ):
                    yield _seen(entry, given, grey, others, root)


def _seen(
    note: Annotation,
    given: Given,
    grey: Given,
    others: Sequence[Given],
    root: Path,
) -> Seen:
    photograph, *rest = (note_features(note, g, root) for g in (given, *others))
    blind = note_features(note, grey, root, blind_features_of)
    return Seen(root, note, photograph, blind, tuple(rest))


def over_other(given: Given, other: Given) -> Given:
    """Another question's photograph or control image, resized."""
    if given.image is None or other.image is None:
        return Given()
    return Given(
        reduced(other.image, (given.image.shape[1], given.image.shape[0]))
    )


def table(seen: Iterable[Seen], model: Model) -> list[Row]:
    """The rows of the table."""
    by_task: defaultdict[tuple[str, str], list[Seen]] = defaultdict(list)
    for one in seen:
        if one.photograph:
            by_task[one.kind, one.note.task].append(one)
    rows: list[Row] = []
    for kind in KINDS:
        for task in (task for known, task in sorted(by_task) if known == kind):
            found = by_task[kind, task]
            asked = _asked(list(_pairs(found)), model.tasks[task])
            if asked:
                rows += [
                    _row(kind, task, part, chosen)
                    for part, chosen in _parts(asked)
                ]
    return rows


def _pairs(seen: Iterable[Seen]) -> Iterator[tuple[Seen, Seen]]:
    """The better and the worse one of each pair."""
    groups: defaultdict[tuple[object, ...], list[Seen]] = defaultdict(list)
    for one in seen:
        note = one.note
        parts = str(note.class_of_interest), note.error_type, note.prompt
        groups[one.folder, note.image_id, *parts].append(one)
    for group in groups.values():
        ordered = sorted(group, key=lambda one: -one.note.final_score)
        for better, worse in combinations(ordered, 2):
            if better.note.final_score > worse.note.final_score:
                yield better, worse


def _asked(pairs: Sequence[tuple[Seen, Seen]], weights: Weights) -> list[Asked]:
    def right(one: Features, two: Features) -> float:
        return 0.5 + 0.5 * float(np.sign(weights.log_odds(one, two)))

    return [
        Asked(
            better.note.image_id,
            better.note.error_type or "models",
            right(better.photograph, worse.photograph),
            float(
                np.mean(list(map(right, better.others, worse.others)) or [0.5])
            ),
            right(better.grey, worse.grey),
            hit,
        )
        for (better, worse), hit in zip(pairs, _solved(pairs), strict=True)
    ]


def _solved(pairs: Sequence[tuple[Seen, Seen]]) -> np.ndarray:
    """What a solver of each error type gets right on images that it was not fitted
    to."""
    hits = np.full(len(pairs), np.nan)
    kinds = [better.note.error_type for better, _ in pairs]
    for kind in dict.fromkeys(kinds):
        places = [k for k, one in enumerate(kinds) if one == kind]
        rows = [
            Pair(better.note.image_id, "", better.grey, worse.grey)
            for better, worse in (pairs[k] for k in places)
        ]
        if len({row.image for row in rows}) >= FEWEST_IMAGES:
            hits[places] = 0.5 + 0.5 * np.sign(held_out(table_of(rows))[1])
    return hits


def _parts(asked: Sequence[Asked]) -> Iterator[tuple[str, Sequence[Asked]]]:
    yield "all", asked
    kinds = sorted({one.error_type for one in asked})
    for kind in kinds if len(kinds) > 1 else ():
        yield kind, [one for one in asked if one.error_type == kind]


def _row(kind: str, task: str, part: str, asked: Sequence[Asked]) -> Row:
    images = sorted({one.image for one in asked})
    place = np.array([images.index(one.image) for one in asked])
    columns = {
        name: np.array([getattr(one, name) for one in asked])
        for name in ("photograph", "other", "grey", "solver")
    }
    ends = {name: _interval(values, place) for name, values in columns.items()}
    gains = [
        _gain(columns["photograph"] - columns[name], place)
        for name in ("grey", "other")
    ]
    means = {name: float(values.mean()) for name, values in columns.items()}
    return Row(
        kind, task, part, means["photograph"], ends["photograph"], means["other"],
        means["grey"], ends["grey"], means["solver"], ends["solver"],
        *gains[0], *gains[1], len(asked), len(images),
    )  # fmt: skip


def _interval(right: np.ndarray, place: np.ndarray) -> Ends:
    cases = np.bincount(place).astype(np.float64)
    if len(cases) < FEWEST_IMAGES or not np.isfinite(right).all():
        return None
    return shares(np.bincount(place, right), cases, graded=True)[0].interval


def _gain(apart: np.ndarray, place: np.ndarray) -> tuple[float, Ends]:
    """A mean difference and its interval over images."""
    cases, top = (
        np.bincount(place).astype(np.float64),
        np.bincount(place, apart),
    )
    if len(cases) < FEWEST_IMAGES:
        return float(apart.mean()), None
    value, found = ratio(top, cases)
    n = np.array([float(len(apart))])
    low, high = gap_ends(value, found, np.array([float((apart != 0).sum())]), n)
    return float(value[0]), (float(low[0]), float(high[0]))


def show(rows: Sequence[Row]) -> None:
    """Print Markdown tables, as docs/local.md has them."""
    for kind, title in KINDS.items():
        chosen = [row for row in rows if row.kind == kind]
        if not chosen:
            continue
        print(
            f"\n| {title} | Photograph, % | Other | Grey | Blind solver | Gain | "
            "Images (pairs) |"
        )
        print("|---|---|---|---|---|---|---:|")
        for row in chosen:
            name = row.task if row.part == "all" else f"– {row.part}"
            print(
                f"| {name} | {_percent(row.photograph, row.interval)} | "
                f"{100 * row.other:.1f} | {_percent(row.grey, row.grey_interval)} | "
                f"{_percent(row.solver, row.solver_interval)} | "
                f"{_percent(row.gain, row.gain_interval)} | {row.images} ({row.pairs}) "
                "|"
            )
        whole = [row for row in chosen if row.part == "all"]
        mean = {
            name: 100 * float(np.mean([getattr(row, name) for row in whole]))
            for name in ("photograph", "other", "grey", "gain")
        }
        print(
            f"| mean over {len(whole)} tasks | {mean['photograph']:.1f} | "
            f"{mean['other']:.1f} | {mean['grey']:.1f} | | {mean['gain']:.1f} | |"
        )


def _percent(value: float, ends: Ends) -> str:
    if np.isnan(value):
        return "–"
    return f"{100 * value:.1f}{_ends(ends)}"


def _ends(ends: Ends) -> str:
    return (
        " (–)"
        if ends is None
        else f" ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})"
    )


if __name__ == "__main__":
    main()
