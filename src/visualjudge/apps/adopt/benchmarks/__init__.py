"""Published benchmarks: a row of :data:`BENCHMARKS` each, read as their authors'
repositories are cloned; published replies become runs. The readers are in
``of_answers.py`` and ``of_images.py``; tables and logs of one's own are adopted in
``apps/adopt/adopt.py``.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from visualjudge.apps.adopt.adopted_question import Item, Origin
from visualjudge.apps.adopt.benchmarks import of_answers, of_images
from visualjudge.apps.adopt.benchmarks.layout import (
    OWN,
    Benchmark,
    JudgeFile,
    Study,
    own_replies,
)
from visualjudge.apps.adopt.meaning import verdict_of
from visualjudge.apps.adopt.write import write_study
from visualjudge.core.errors import DataError, UsageError, one_of
from visualjudge.core.records import Verdict

BENCHMARKS = {
    "editreward-bench": of_images.EDITREWARD,
    "editscore-bench": of_images.EDITSCORE,
    "genai-bench": of_images.GENAI_BENCH,
    "imagenhub": of_images.IMAGENHUB,
    "imagereward": of_images.IMAGEREWARD,
    "judgebench": of_answers.JUDGEBENCH,
    "mllm-as-a-judge": of_answers.MLLM_JUDGE,
    "mmrb2": of_answers.MMRB2,
    "multimodal-rewardbench": of_answers.MULTIMODAL,
    "vl-rewardbench": of_answers.VL_REWARDBENCH,
}
Judges = dict[str, list[JudgeFile]]


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of :func:`adopt_benchmark`: the number of questions, the folder and number
    of verdicts of each judge, and a line for each record without a usable label and
    each judge without a reply.
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
    """Write the benchmark ``name`` in ``folder`` as a dataset, ``out/dataset``, and a
    run ``out/<judge>`` for each of ``replies`` (None: for every judge of the copy).

    Raises
    ------
    UsageError
        If the benchmark or a judge is unknown, or a folder to be written exists.
    DataError
        If a file of the copy cannot be read, the copy has no question, or no reply
        belongs to one.
    """
    if name not in BENCHMARKS:
        raise UsageError(
            f"`benchmark` must be {one_of(name, BENCHMARKS)}, got {name!r}"
        )
    row = BENCHMARKS[name]
    home = Path(folder)
    try:
        study, judges = read_benchmark(row, home)
        origin = Origin(
            name,
            row.title,
            row.source,
            "published",
            row.licence,
            row.use,
            study.labels_only,
            len(study.left_out),
            row.scores(tuple(dict.fromkeys(item.task for item in study.items))),
        )
        for judge in replies or ():
            if judge not in judges:
                known = ", ".join(judges) or "none"
                raise UsageError(
                    f"`replies`: the copy holds no replies of {judge!r}; it holds: "
                    f"{known}"
                )
        named = judges if replies is None else replies
        by_judge = {
            judge: _verdicts(row, study, origin, judges[judge])
            for judge in named
        }
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, DataError | UsageError):
            raise
        # An unforeseen error of a reader is one of the copy.
        reason = f"{type(error).__name__}: {error}"
        raise DataError(
            f"{home}: does not have the layout of {name}: {reason}"
        ) from error
    empty = [
        f"{judge}: no reply belongs to a question of the copy"
        for judge, verdicts in by_judge.items()
        if not verdicts
    ]
    by_judge = {
        judge: verdicts for judge, verdicts in by_judge.items() if verdicts
    }
    if empty and not by_judge:
        key = study.items[0].key
        raise DataError(
            f"{home}: replies of {empty[0]}; ids of the copy look like {key!r}"
        )
    items = [
        _without_images(item) if origin.labels_only else item
        for item in study.items
    ]
    runs = write_study(items, by_judge, Path(out), origin, force=force)
    return Imported(
        len(items),
        origin.labels_only,
        tuple(
            (run, len(by_judge[judge]))
            for run, judge in zip(runs, by_judge, strict=True)
        ),
        (*study.left_out, *empty),
    )


def read_benchmark(row: Benchmark, home: Path) -> tuple[Study, Judges]:
    """Return the questions of a copy, and the files of each judge's replies."""
    if not home.is_dir():
        raise UsageError(f"{home}: must be a folder with {row.files}")
    judges: Judges = defaultdict(list)
    for path in sorted(home.rglob("*.json*")):
        place = path.relative_to(home).as_posix()
        matches = (
            re.fullmatch(pattern, place) for pattern in (*row.paths, OWN)
        )
        match = next(filter(None, matches), None)
        # Of one file in both forms, the array is read.
        if match and not (
            path.suffix == ".jsonl" and path.with_suffix(".json").is_file()
        ):
            judges[match["judge"]].append((path, match))
    theirs = [
        file
        for files in judges.values()
        for file in files
        if file[1].re.pattern != OWN
    ]
    study = row.read(home, theirs)
    if not study.items:
        first = (
            f"; the first that was left out: {study.left_out[0]}"
            if study.left_out
            else ""
        )
        raise DataError(
            f"{home}: must hold {row.files}; no usable question was found{first}"
        )
    return study, judges


def _verdicts(
    row: Benchmark, study: Study, origin: Origin, files: Sequence[JudgeFile]
) -> list[Verdict]:
    items = {item.key: item for item in study.items}
    verdicts = []
    for path, match in files:
        read = own_replies if match.re.pattern == OWN else row.replies
        for reply in read(path, match):
            keys = study.keys.get(reply.key, (reply.key,))
            verdicts += [
                verdict_of(origin, items[key], reply, row.answers)
                for key in keys
                if key in items
            ]
    return verdicts


def _without_images(item: Item) -> Item:
    return replace(
        item,
        images=(),
        options=tuple(
            replace(option, images=(), marked=None) for option in item.options
        ),
    )
