"""One bad record costs one record: each case is built in a process of its own, with a
limit on its memory.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults.malicious import TASKS, cases, good_folder

GIB = 2**30
SPOILT = (
    "UTF-16",
    "JSONL named .json",
    "no parquet",
    "images file of another kind",
    "a number of a million digits",
    "deep metadata",
    "50,000 escaped quotes",
    "50,000 escaped quotes outside",
    "one malformed record",
    "garbage between records",
    "cut at the end",
)
"""Cases that cost a whole file: another task must still be built."""
WITHIN_S = 2.0


@dataclass(frozen=True)
class Ended:
    name: str
    status: int
    seconds: float
    said: str
    questions: int
    problems: int


def built(name: str, good: Path) -> Ended:
    """Build a copy of ``good`` with one case in it, in a fork that may use one gibibyte
    more than it has.
    """
    from visualjudge.dataset.build import build
    from visualjudge.options import BuildOptions

    with (
        tempfile.TemporaryDirectory() as place,
        (Path(place) / "log").open("w+") as log,
    ):
        folder = Path(shutil.copytree(good, Path(place) / "data"))
        before = _content(folder)
        cases()[name](folder)
        touched = [
            task for task in TASKS if _content(folder)[task] != before[task]
        ]
        tasks = (
            (*touched, "lowlevel-deblur") if name in SPOILT else tuple(touched)
        )
        child = os.fork()
        if child == 0:
            status = 3
            try:
                pages = int(Path("/proc/self/statm").read_text().split()[0])
                limit = pages * resource.getpagesize() + GIB
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
                done = build(
                    folder,
                    Path(place) / "out",
                    BuildOptions(subsets=("encoding_analysis",), tasks=tasks),
                )
                log.write(
                    json.dumps(
                        {
                            "questions": done.questions,
                            "problems": len(done.problems),
                        }
                    )
                )
                status = 0
            except BaseException:
                traceback.print_exc(file=log)
            finally:
                log.flush()
                os._exit(status)
        _, status, used = os.wait4(child, 0)
        seconds = (
            used.ru_utime + used.ru_stime
        )  # of the processor: a busy machine is not the case's
        log.seek(0)
        said = log.read()
    counts = (
        json.loads(said) if status == 0 else {"questions": 0, "problems": 0}
    )
    return Ended(name, status, seconds, said, **counts)


def _content(folder: Path) -> dict[str, list[bytes]]:
    """What the files of each task hold."""
    return {
        task: [path.read_bytes() for path in sorted(folder.glob(f"*/{task}*"))]
        for task in TASKS
    }


def prepared(good: Path) -> float:
    """Everything imported and warm, so that a fork's time is the case's; the seconds of
    a good build.
    """
    return min(built_good(good) for _ in range(2))


def built_good(good: Path) -> float:
    from visualjudge.dataset.build import build
    from visualjudge.options import BuildOptions

    with tempfile.TemporaryDirectory() as place:
        begun = time.process_time()
        build(
            good,
            Path(place) / "out",
            BuildOptions(subsets=("encoding_analysis",)),
        )
        return time.process_time() - begun


@pytest.mark.skipif(
    sys.platform != "linux", reason="limits of memory are Linux's"
)
@pytest.mark.parametrize(
    "part", range(8) if os.environ.get("VISUALJUDGE_SOAK") else [0]
)
def test_no_case_ends_a_build(part: int, tmp_path: Path) -> None:
    good = good_folder(tmp_path / "good")
    usual = prepared(good)
    ended = [built(name, good) for name in list(cases())[part::8]]
    assert [
        (e.name, e.status, e.said[-600:]) for e in ended if e.status != 0
    ] == []
    assert [
        (e.name, round(e.seconds, 1))
        for e in ended
        if e.seconds - usual > WITHIN_S
    ] == []
    assert [e.name for e in ended if not e.questions] == []


def test_there_are_as_many_cases_as_were_tried() -> None:
    assert len(cases()) >= 123
