"""All encodings in several source trees, an encoding after the other and the trees in
turn, so that what else the machine does falls on all of them.

Run: python benchmarks/encode_against.py TREE... [--rounds 3] [--only text_polygon]

A TREE is a checkout; each is timed in a process of its own, with the predictions of its
own ``benchmarks/encode.py``. CPU milliseconds, the least of ``rounds`` visits of four
calls each, then boxes and masks beside supervision.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

CALLS = 4
SHOWN = {
    "boxes": "object_detection pixel_s1_m0",
    "masks": "instance_segmentation pixel_ss1_m0_o0_l1_c0_b0",
}
PEER_CALLS = {
    "boxes draw": 8,
    "boxes file": 1,
    "masks draw": 2,
    "masks file": 1,
}


def main() -> None:
    """Print a line an encoding, the totals, and the ratios to supervision."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="stems that contain this")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve(chosen.trees[0])
        return
    servers = [Server(tree) for tree in chosen.trees]
    stems = [stem for stem in servers[-1].stems if chosen.only in stem]
    totals = [[0.0, 0.0] for _ in servers]
    for stem in stems:
        drawn, written = (
            least(servers, f"{stem} {mode}", CALLS, chosen.rounds)
            for mode in ("draw", "file")
        )
        for total, *cost in zip(totals, drawn, written, strict=True):
            total[:] = [
                one + more for one, more in zip(total, cost, strict=True)
            ]
        print(
            f"{stem:<60}{columns(drawn)}   with file{columns(written)}",
            flush=True,
        )
    print(
        f"{'all':<60}{columns(t[0] for t in totals)}   with "
        f"file{columns(t[1] for t in totals)}"
    )
    for name, stem in SHOWN.items():
        for mode in ("draw", "file"):
            peer = least(
                servers[-1:], f"{name} {mode}", PEER_CALLS[f"{name} {mode}"], 4
            )[0]
            ours = least(
                servers, f"{stem} {mode}", 2 * CALLS, 2 * chosen.rounds
            )
            print(
                f"{name} {mode}, times faster than supervision",
                columns(peer / o for o in ours),
            )


def columns(values: object) -> str:
    return "".join(f"{value:>8.2f}" for value in values)  # type: ignore[attr-defined]


class Server:
    """A process that times encodings of one tree."""

    def __init__(self, tree: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(tree), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.stems = self._line().split(";")

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, what: str) -> float:
        """CPU milliseconds of the fastest call."""
        print(what, file=self._process.stdin, flush=True)
        return float(self._line())


def least(
    servers: list[Server], what: str, calls: int, rounds: int
) -> list[float]:
    visits = [
        [server.ask(f"{what} {calls}") for server in servers]
        for _ in range(rounds)
    ]
    return [min(times) for times in zip(*visits, strict=True)]


def serve(tree: Path) -> None:
    """Time what is asked for on stdin, until its end."""
    sys.path[:0] = [str(tree / "benchmarks"), str(tree / "src")]
    import cv2
    import encode
    import numpy as np
    import supervision as sv
    from PIL import Image

    import visualjudge

    cv2.setNumThreads(1)
    image, scene = encode.photograph(640, 480), encode.predictions(640, 480)
    folder = Path(tempfile.mkdtemp(prefix="bench-encode-"))
    dense = np.array(encode.ellipses(640, 480))
    tight = np.array(
        [item.mask.xyxy for item in scene["instance_segmentation"].items],
        dtype=float,
    )
    found = sv.Detections(xyxy=encode.boxes(640, 480), class_id=np.arange(10))
    masked = sv.Detections(xyxy=tight, mask=dense, class_id=np.arange(10))
    fill, box, text = sv.MaskAnnotator(), sv.BoxAnnotator(), sv.LabelAnnotator()

    def peer(name: str, mode: str) -> None:
        annotator, objects = (box, found) if name == "boxes" else (fill, masked)
        drawn = text.annotate(
            annotator.annotate(image.copy(), objects),
            objects,
            labels=encode.LABELS,
        )
        if mode == "file" and name == "boxes":
            buffer = io.BytesIO()
            Image.fromarray(drawn).save(buffer, "PNG")
            (folder / "peer.png").write_bytes(buffer.getvalue())
        elif mode == "file":
            cv2.imwrite(str(folder / "peer.png"), drawn[:, :, ::-1])

    def ours(task: str, stem: str, mode: str) -> None:
        shown = visualjudge.encode(
            task, stem, scene[task], image, expression="the left one"
        )
        if mode == "file" and shown.image is not None:
            encode.write_png(folder / "ours.png", shown.image)

    rows = [
        row
        for task in scene
        for row in visualjudge.encodings(task)
        if row.is_final
    ]
    print(";".join(f"{row.task} {row.stem}" for row in rows), flush=True)
    for line in sys.stdin:
        *what, calls = line.split()
        work: Callable[..., None] = peer if len(what) == 2 else ours
        times = []
        for _ in range(int(calls)):
            before = time.process_time()
            work(*what)
            times.append(time.process_time() - before)
        print(min(times) * 1000, flush=True)


if __name__ == "__main__":
    main()
