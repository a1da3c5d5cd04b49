"""How often the local judge orders two predictions rightly: by task, error type and margin, beside
simpler rules.

    python benchmarks/local.py DATA... [--model default] [--json FILE]

DATA are data folders with scored predictions, such as ``visualjudge perturb`` and ``visualjudge
import`` write. Every pair of unequal scores inside a group is asked. Beside the judge stand
``random`` (a coin), ``sharpness`` (restored images only; half right elsewhere) and each feature
alone; a feature's direction is learned on the other images of the same data, an advantage over the
judge, which has seen none of them. Intervals are 95 %, clustered by image.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from zlib import crc32

import numpy as np

from visualjudge.analysis.statistics.share_intervals import shares
from visualjudge.core.atomic import write_json
from visualjudge.core.records import Annotation
from visualjudge.core.seeding import rng_for
from visualjudge.judges.baseline import quality
from visualjudge.judges.local.model import Model, load, shipped
from visualjudge.judges.local.training import looked_at
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.tasks import task_named
from visualjudge.vision.view import Features

FOLDS = 5
MARGINS = (0.5, 2.0, 10.0)
BEST_FEATURES = 5


@dataclass(frozen=True, eq=False)
class Seen:
    """A prediction: its record, its features, and what the rule ``sharpness`` measures (None but
    for restorations).
    """

    note: Annotation
    features: Features
    sharpness: float | None


@dataclass(frozen=True, eq=False)
class Compared:
    """Two predictions of one group, the better one first, and what each rule says: above 0 is
    right, 0 is a tie.
    """

    task: str
    image: str
    error_type: str
    margin: float
    says: Mapping[str, float]
    declined: bool


@dataclass(frozen=True, slots=True)
class Row:
    """Share of pairs that a rule orders rightly."""

    task: str
    part: str
    rule: str
    right: float
    low: float | None
    high: float | None
    pairs: int
    images: int


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = shipped() if options.model == "default" else load(options.model)
    rows = [
        row for compared in _by_task(options.data, model).values() for row in _task_rows(compared)
    ]
    _print(rows)
    if options.json is not None:
        write_json(options.json, [asdict(row) for row in rows])


def _by_task(folders: Iterable[Path], model: Model) -> dict[str, list[Compared]]:
    groups: defaultdict[tuple[str, ...], list[Seen]] = defaultdict(list)
    for folder in folders:
        for note, features in looked_at(folder):
            key = (
                note.task,
                str(folder),
                note.image_id,
                *map(str, (note.class_of_interest, note.error_type)),
            )
            groups[*key, str(note.prompt)].append(Seen(note, features, _sharpness(note, folder)))
    found: defaultdict[str, list[Compared]] = defaultdict(list)
    for group in groups.values():
        for pair in combinations(sorted(group, key=lambda seen: -seen.note.final_score), 2):
            if pair[0].note.final_score > pair[1].note.final_score:
                found[pair[0].note.task].append(_compared(*pair, model))
    return dict(sorted(found.items()))


def _sharpness(note: Annotation, folder: Path) -> float | None:
    if not task_named(note.task).restored:
        return None
    return quality(read_rgb(folder / str(next(iter(note.prediction.values())))))


def _compared(better: Seen, worse: Seen, model: Model) -> Compared:
    note, weights = better.note, model.tasks.get(better.note.task)
    declined = weights is None or not better.features
    coin = rng_for(42, "random", note.annotation_id, worse.note.annotation_id).choice([-1.0, 1.0])
    says = {"random": float(coin)}
    if weights is not None and not declined:
        says["local"] = weights.log_odds(better.features, worse.features)
        says |= {n: better.features.get(n, 0.0) - worse.features.get(n, 0.0) for n in weights.names}
    if better.sharpness is not None and worse.sharpness is not None:
        says["sharpness"] = better.sharpness - worse.sharpness
    kind, apart = note.error_type or "models", note.final_score - worse.note.final_score
    return Compared(note.task, note.image_id, kind, apart, says, declined)


def _task_rows(pairs: Sequence[Compared]) -> Iterator[Row]:
    judged = [pair for pair in pairs if not pair.declined]
    if not judged:
        yield Row(
            pairs[0].task,
            "all",
            "declined",
            0.0,
            None,
            None,
            len(pairs),
            len({p.image for p in pairs}),
        )
        return
    for rule in ("local", "random", "sharpness"):
        if rule in judged[0].says:
            yield _row(judged, "all", rule)
    for part, chosen in _parts(judged):
        yield _row(chosen, part, "local")
    alone = [_row(judged, "all", name, _directed(judged, name)) for name in judged[0].says]
    yield from sorted(
        (row for row in alone if row.rule not in ("local", "random", "sharpness")),
        key=lambda row: -row.right,
    )


def _parts(pairs: Sequence[Compared]) -> Iterator[tuple[str, list[Compared]]]:
    for kind in sorted({pair.error_type for pair in pairs}):
        yield kind, [pair for pair in pairs if pair.error_type == kind]
    low = 0.0
    for high in MARGINS:
        chosen = [pair for pair in pairs if low < pair.margin <= high]
        if chosen:
            yield f"margin {low:g} to {high:g}", chosen
        low = high


def _directed(pairs: Sequence[Compared], name: str) -> Callable[[Compared], float]:
    """The feature with the direction that is right more often on the images of the other folds."""
    votes = np.zeros(FOLDS)
    for pair in pairs:
        votes[_fold(pair)] += np.sign(pair.says[name])
    direction = np.where(votes.sum() - votes >= 0, 1.0, -1.0)
    return lambda pair: float(direction[_fold(pair)] * pair.says[name])


def _fold(pair: Compared) -> int:
    return crc32(pair.image.encode()) % FOLDS


def _row(
    pairs: Sequence[Compared], part: str, rule: str, says: Callable[[Compared], float] | None = None
) -> Row:
    """A tie is half right."""
    hits: defaultdict[str, list[float]] = defaultdict(list)
    for pair in pairs:
        value = pair.says[rule] if says is None else says(pair)
        hits[pair.image].append(0.5 + 0.5 * float(np.sign(value)))
    sums, cases = (np.array([f(row) for row in hits.values()]) for f in (sum, len))
    found = shares(sums, cases, whole=False)
    low, high = found.interval(0) or (None, None)
    return Row(
        pairs[0].task, part, rule, round(float(found.value[0]), 4), low, high, len(pairs), len(hits)
    )


def _print(rows: Sequence[Row]) -> None:
    totals = [row for row in rows if (row.part, row.rule) == ("all", "local")]
    for row in rows:
        alone = [r for r in rows if r.task == row.task and r.part == "all" and r.rule not in _RULES]
        if row in alone[BEST_FEATURES:]:
            continue
        ends = "" if row.low is None or row.high is None else f"{row.low:6.1%} to {row.high:6.1%}"
        print(
            f"{row.task:34} {row.part:18} {row.rule:20} {row.right:6.1%}  {ends:18} "
            f"{row.pairs:6} {row.images:4}"
        )
    surely = sum(row.low is not None and row.low > 0.5 for row in totals)
    mean = np.mean([row.right for row in totals])
    print(f"macro {mean:.1%} over {len(totals)} tasks; lower end above 50 % in {surely}")


_RULES = ("local", "random", "sharpness", "declined")


if __name__ == "__main__":
    main()
