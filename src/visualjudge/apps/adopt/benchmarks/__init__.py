"""Published benchmarks: a row of :data:`BENCHMARKS` each, read as their authors' repositories are
cloned; published replies become runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from visualjudge.apps.adopt.benchmarks import (
    gedit_bench,
    genai_bench,
    imagenhub,
    imagereward,
    judgebench,
    mllm_judge,
    mmrb2,
    multimodal_rewardbench,
    vl_rewardbench,
)
from visualjudge.apps.adopt.benchmarks.layout import Benchmark
from visualjudge.apps.adopt.files import records
from visualjudge.apps.adopt.items import Item, Reply, Study
from visualjudge.apps.adopt.writing import Origin, verdict_of, write_study
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Verdict

BENCHMARKS = {
    "editreward-bench": gedit_bench.EDITREWARD,
    "editscore-bench": gedit_bench.EDITSCORE,
    "genai-bench": genai_bench.ROW,
    "imagenhub": imagenhub.ROW,
    "imagereward": imagereward.ROW,
    "judgebench": judgebench.ROW,
    "mllm-as-a-judge": mllm_judge.ROW,
    "mmrb2": mmrb2.ROW,
    "multimodal-rewardbench": multimodal_rewardbench.ROW,
    "vl-rewardbench": vl_rewardbench.ROW,
}


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of :func:`adopt_benchmark`: the number of questions, the folder and number of verdicts
    of each judge, and a line for each record without a usable label and each judge without a reply.
    """

    questions: int
    labels_only: bool
    runs: tuple[tuple[Path, int], ...]
    left_out: tuple[str, ...] = ()


def adopt_benchmark(
    name: str,
    folder: str | Path,
    out: str | Path,
    *,
    replies: Sequence[str] | None = (),
    force: bool = False,
) -> Imported:
    """Write the benchmark ``name`` in ``folder`` as a dataset, ``out/dataset``, and a run
    ``out/<judge>`` for each of ``replies`` (None: for every judge of the copy).

    Raises
    ------
    UsageError
        If the benchmark or a judge is unknown, or a folder to be written exists.
    DataError
        If a file of the copy cannot be read, the copy has no question, or no reply belongs to one.
    """
    row, home = benchmark_named(name), Path(folder)
    with _foreign(name, home):
        study = read_benchmark(row, home)
        parts = tuple(dict.fromkeys(item.task for item in study.items))
        origin = Origin(
            name, row.title, row.source, "published", row.licence, row.use, row.scores(parts)
        )
        if not study.items:
            first = f"; the first that was left out: {study.left_out[0]}" if study.left_out else ""
            raise DataError(f"{home}: has no usable question{first}")
        items = {item.key: item for item in study.items}
        by_judge = {judge: _verdicts(study, items, origin, judge, row) for judge in replies or ()}
        if replies is None:
            by_judge = {
                judge: _verdicts(study, items, origin, judge, row) for judge in study.replies
            }
    empty = tuple(
        f"{judge}: no reply belongs to a question of the copy"
        for judge in by_judge
        if not by_judge[judge]
    )
    by_judge = {judge: verdicts for judge, verdicts in by_judge.items() if verdicts}
    if empty and not by_judge:
        raise DataError(
            f"{home}: replies of {empty[0]}; ids of the copy look like {study.items[0].key!r}"
        )
    if study.labels_only:
        study = replace(study, items=[_without_images(item) for item in study.items])
    runs = write_study(study, by_judge, Path(out), origin, force=force)
    counts = (len(verdicts) for verdicts in by_judge.values())
    written = tuple(zip(runs, counts, strict=True))
    return Imported(len(items), study.labels_only, written, (*study.left_out, *empty))


def benchmark_named(name: str) -> Benchmark:
    """Return a row of the table; raise an error if there is none of this name."""
    if name not in BENCHMARKS:
        raise UsageError(f"--benchmark must be one of {', '.join(BENCHMARKS)}, got {name!r}")
    return BENCHMARKS[name]


def read_benchmark(row: Benchmark, home: Path) -> Study:
    """Return what a copy holds, with the replies of ``home/replies/MODEL.jsonl``."""
    if not home.is_dir():
        raise UsageError(f"{home}: must be a folder with {row.files}")
    study = row.read(home)
    own = {path.stem: partial(_own, path) for path in sorted((home / "replies").glob("*.jsonl"))}
    return replace(study, replies={**own, **study.replies})


def _own(path: Path) -> Iterator[Reply]:
    """Yield a user's own replies: ``{"id", "response"}``, or ``"value"``, and ``"order"``."""
    for row in records(path):
        row.setdefault("order", "AB")
        order = row.one_of("order", {"AB": "AB", "BA": "BA"})
        text = None if row.get("value") is not None else str(row.need("response"))
        yield Reply(str(row.need("id")), "BA" if order == "BA" else "AB", row.get("value"), text)


def _verdicts(
    study: Study, items: dict[str, Item], origin: Origin, judge: str, row: Benchmark
) -> list[Verdict]:
    if judge not in study.replies:
        known = ", ".join(study.replies) or "none"
        raise UsageError(f"--replies: the copy holds no replies of {judge!r}; it holds: {known}")
    replies = (reply for reply in study.replies[judge]() if reply.key in items)
    return [verdict_of(origin, items[reply.key], reply, row.answers) for reply in replies]


@contextmanager
def _foreign(name: str, home: Path) -> Iterator[None]:
    """Report any unforeseen error of a reader as an error in the copy."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, DataError | UsageError):
            raise
        raise DataError(
            f"{home}: does not have the layout of {name}: {type(error).__name__}: {error}"
        ) from error


def _without_images(item: Item) -> Item:
    options = tuple(replace(option, images=(), marked=None) for option in item.options)
    return replace(item, images=(), options=options)
