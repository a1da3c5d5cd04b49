"""What a full-size build costs: time, peak memory, speed-up by workers, cost per
question as the data grow.

usage: python benchmarks/build.py [--images N] [--workers 1 2] [--grow 10] [--keep DIR]
       python benchmarks/build.py --against SRC... [--data FOLDER] [--rounds 3]
       [--workers 1]

Makes a data folder of all 15 tasks from 640×480 photographs (groups of 5 annotations,
10 objects each), builds it by the command, in a process of its own, and prints one line
a build. Peak memory is the sum over all processes, sampled every 50 ms (proportional
set size, so that shared pages count once). CPU seconds tell the cost on a busy machine.

With --against the builds alternate with those of other source trees (their ``src``),
and the last lines compare the least CPU time of each tree. The floor, in the same
rounds, is what the files alone cost: every image of the data folder decoded once, every
image of the built dataset encoded (an image of two encodings once), hashed and written,
and nothing drawn or asked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import cv2
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from making import make_folder
from visualjudge.vision.raster.images import png_bytes, read_rgb

RUN = "from visualjudge.cli.main import run; run()"


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument(
        "--images",
        type=int,
        default=20,
        help="images a task; 20 fill every cap",
    )
    arguments.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments.add_argument(
        "--grow",
        type=int,
        default=0,
        help="also build N times the data with N times the caps",
    )
    arguments.add_argument(
        "--keep", type=Path, help="work here and leave everything"
    )
    arguments.add_argument(
        "--data", type=Path, help="build this data folder instead"
    )
    arguments.add_argument(
        "--against",
        type=Path,
        nargs="+",
        help="also build with these source trees, in turn",
    )
    arguments.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="builds of each tree with --against",
    )
    options = arguments.parse_args()
    work = options.keep or Path(tempfile.mkdtemp(prefix="bench-build-"))
    try:
        if options.against:
            _beside(
                work,
                options.data,
                options.images,
                options.workers,
                options.against,
                options.rounds,
            )
        else:
            _table(work, options.images, options.workers, options.grow)
    finally:
        if not options.keep:
            shutil.rmtree(work)


def _table(work: Path, images: int, workers: Sequence[int], grow: int) -> None:
    print(
        "  data workers questions images  seconds  CPU s ms/question  peak MB"
    )
    data = make_folder(
        work / "data", images=images, annotations=5, size=(480, 640), objects=10
    )
    seconds = {
        count: _line(data, work / f"out{count}", "1x", count, [])
        for count in workers
    }
    if 1 in seconds and 2 in seconds:
        print(
            f"speed-up of 2 workers over 1: {seconds[1][0] / seconds[2][0]:.2f}"
        )
    if grow:
        shutil.rmtree(data)
        large = make_folder(
            work / "large",
            images=images * grow,
            annotations=5,
            size=(480, 640),
            objects=10,
        )
        most = max(workers)
        cost = _line(large, work / "large-out", f"{grow}x", most, _caps(grow))
        print(
            f"cost per question at {grow}x the data: "
            f"{cost[1] / seconds[most][1] - 1:+.1%}"
        )


def _beside(
    work: Path,
    data: Path | None,
    images: int,
    workers: Sequence[int],
    others: Sequence[Path],
    rounds: int,
) -> None:
    print(
        "  tree workers questions images  seconds  CPU s ms/question  peak MB"
    )
    data = data or make_folder(
        work / "data", images=images, annotations=5, size=(480, 640), objects=10
    )
    here = Path(__file__).resolve().parent.parent / "src"
    trees = {
        **{f"other {k}": tree for k, tree in enumerate(others, 1)},
        "this": here,
    }
    for count in workers:
        cost: dict[str, list[float]] = {name: [] for name in (*trees, "floor")}
        for _ in range(rounds):
            for name, tree in trees.items():
                keep = work / "built" if name == "this" else None
                cost[name].append(
                    _line(
                        data, work / f"out-{name}", name, count, [], tree, keep
                    )[2]
                )
            cost["floor"].append(_floor(data, work / "built", work / "floor"))
            shutil.rmtree(work / "built")
        least = {name: min(values) for name, values in cost.items()}
        for name, tree in trees.items():
            print(
                f"{name} ({tree}): {least[name]:.1f} CPU s, this tree takes "
                f"{least['this'] / least[name]:.2f} of it"
            )
        print(
            f"floor: {least['floor']:.1f} CPU s, this tree "
            f"{least['this'] / least['floor']:.2f} ×"
        )


def _floor(data: Path, built: Path, out: Path) -> float:
    """CPU seconds of this process for decoding, encoding, hashing and writing the same
    files."""
    names = sorted(path.name for path in (built / "media").iterdir())
    total = _cpu(lambda: [read_rgb(path) for path in data.rglob("*.png")])
    out.mkdir()
    for start in range(0, len(names), 200):  # so that few images are held
        shown: dict[str, tuple[np.ndarray, list[str]]] = {}
        for name in names[start : start + 200]:
            content = (built / "media" / name).read_bytes()
            pixels = cv2.imdecode(
                np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR_RGB
            )
            shown.setdefault(hashlib.sha256(content).hexdigest(), (pixels, []))[
                1
            ].append(name)
        total += _cpu(partial(_encode_hash_write, shown, out))
    shutil.rmtree(out)
    return total


def _encode_hash_write(
    shown: Mapping[str, tuple[np.ndarray, list[str]]], out: Path
) -> None:
    for pixels, names in shown.values():
        content = png_bytes(pixels)
        hashlib.sha256(content).hexdigest()
        for name in names:
            (out / name).write_bytes(content)


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _caps(grow: int) -> list[str]:
    wide = {
        "judge-groups": 20,
        "judge-pairs": 50,
        "scoring-groups": 20,
        "ranking-groups": 20,
    }
    wide |= {"encoding-groups": 10, "encoding-pairs": 10}
    return [
        word
        for name, count in wide.items()
        for word in (f"--{name}", str(count * grow))
    ]


def _line(
    data: Path,
    out: Path,
    name: str,
    workers: int,
    more: Sequence[str],
    tree: Path | None = None,
    keep: Path | None = None,
) -> tuple[float, float, float]:
    """One build, moved to ``keep`` if that is given: seconds, CPU seconds per question,
    and CPU seconds.
    """
    words = [
        sys.executable,
        "-c",
        RUN,
        "build",
        str(data),
        "--out",
        str(out),
        "--workers",
        str(workers),
        *more,
    ]
    started, before = (
        time.perf_counter(),
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    path = {} if tree is None else {"PYTHONPATH": str(tree)}
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, env=os.environ | path
    )
    peak = _Peak(process.pid)
    status = process.wait()
    seconds = time.perf_counter() - started
    highest = peak.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if status:
        raise SystemExit(f"build ended with status {status}")
    meta = json.loads((out / "dataset.json").read_text())
    questions, images = meta["counts"]["questions"], len(meta["files"]) - 1
    per = cpu / questions
    counts = f"{name:>6} {workers:>7} {questions:>9} {images:>8}"
    print(
        f"{counts} {seconds:>8.1f} {cpu:>6.1f} {per * 1e3:>11.2f} {highest:>8.0f}",
        flush=True,
    )
    if keep is None:
        shutil.rmtree(out)
    else:
        out.rename(keep)
    return seconds, per, cpu


class _Peak:
    """Samples the memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._highest = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """Megabytes at the highest."""
        self._done.set()
        self._thread.join()
        return self._highest

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            self._highest = max(
                self._highest, sum(map(_megabytes, _family(self._pid)))
            )


def _family(pid: int) -> list[int]:
    found, ahead = [], [pid]
    while ahead:
        one = ahead.pop()
        found.append(one)
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                ahead += [int(word) for word in path.read_text().split()]
            except OSError:
                continue
    return found


def _megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next(
        (
            int(line.split()[1]) / 1024
            for line in lines
            if line.startswith("Pss:")
        ),
        0.0,
    )


if __name__ == "__main__":
    main()
