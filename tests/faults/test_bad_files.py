"""Each kind of bad file in every place where a command takes one: a line, a status, and
nothing read or written outside.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from judged_records import pair, said, write_dataset, write_run
from making import detection_folder
from visualjudge.cli import main
from visualjudge.core.seeding import rng_for

SECRET = "a line of somebody else's file"
FILES: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.touch(),
    "folder": lambda path: path.mkdir(),
    "pipe": lambda path: os.mkfifo(path),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "link to a secret": lambda path: path.symlink_to(
        Path.cwd().parent / "secret"
    ),
    "of 80 GiB": lambda path: path.touch() or os.truncate(path, 80 << 30),
    "noise": lambda path: path.write_bytes(rng_for("noise").bytes(3000)),
    "nested": lambda path: path.write_text("[" * 5000),
    "cut short": lambda path: path.write_text('[{"id": "q0", "item": "a'),
    "a number": lambda path: path.write_text("7"),
    "wrong records": lambda path: path.write_text(
        '[null, 1, "a", [], {"id": {}}]'
    ),
    "a wrong object": lambda path: path.write_text(
        '{"id": [], "task": 3, "format": {}}'
    ),
    "half a character": lambda path: path.write_text('[{"id": "\\ud800"}]'),
    "open quote": lambda path: path.write_text('id,answer,score\n1,"A,2\n'),
}
COMMANDS = {
    "report {run} --dataset set": (
        "runs/run/run.json",
        "runs/run/verdicts.jsonl",
        "set/questions.json",
    ),
    "card {run} --dataset set": ("runs/run/run.json", "set/dataset.json"),
    "card {run} --people {bad}": ("bad.csv", "bad.jsonl", "bad.parquet"),
    "label {run} --out {out}.csv": ("runs/run/verdicts.jsonl",),
    "label {run} --out {out}.csv --labels {bad}": ("bad.csv",),
    "correct {run} --labels {bad}": ("bad.csv",),
    "accept {run}": ("runs/run/run.json", "runs/run/verdicts.jsonl"),
    "gate check {run} --lock {bad}": ("bad.yaml",),
    "agreement {bad}": ("bad.csv", "bad.jsonl", "bad.parquet"),
    "describe {data}": ("data/annotations/object_detection_annotations.json",),
    "describe {set}": ("set/questions.json", "set/dataset.json"),
    "build {data} --out {out}": (
        "data/annotations/object_detection_annotations.json",
        "data/images/object_detection.json",
        "data/photo.png",
    ),
    "build {data} --out {out} --plan {bad}": ("bad.json",),
    "probe {data} --out {out}": (
        "data/annotations/object_detection_annotations.json",
    ),
    "judge {set} --backend baseline --model first --out {out}": (
        "set/questions.json",
        "set/dataset.json",
    ),
    "judge {set} --backend baseline --model first --out {out} --questions {bad}": (
        "bad.txt",
    ),
    "judge {set} --backend local --model {bad} --out {out}": ("bad.vj",),
    "export {set} --format json --out {out}": (
        "set/questions.json",
        "set/dataset.json",
    ),
    "pipeline {bad} --input rows.jsonl --out {out}.jsonl": ("bad.yaml",),
    "mmbench infer {bad} --out {out}.xlsx --model m": ("bad.tsv",),
    "mmbench eval {bad} --data table.tsv": ("bad.tsv", "bad.jsonl", "bad.xlsx"),
    "mmbench circular {bad} --out {out}.tsv": ("bad.tsv",),
    "adopt {bad} --out {out}": (
        "bad.csv",
        "bad.jsonl",
        "bad.parquet",
        "bad.xlsx",
        "bad.eval",
    ),
    "adopt {data} --fetch": ("data/images/object_detection.json",),
    "perturb --task object_detection --gt {bad} --images {data} --out {out}": (
        "bad.json",
    ),
    "import coco --task object_detection --gt {bad} --images {data} --source m --out "
    "{out}": ("bad.json",),
    "import voc --gt gt --images {data} --source m --out {out}": (
        "gt/photo.xml",
    ),
    "import yolo --task object_detection --gt gt --images {data} --source m --out "
    "{out} --classes {bad}": ("bad.yaml", "bad.txt"),
    "import shapes --format labelme --task object_detection --gt gt --images {data} "
    "--source m --out {out}": ("gt/photo.json",),
    "import label-map --gt gt --images {data} --classes {bad} --source m --out {out}": (
        "bad.csv",
        "bad.json",
    ),
    "import referring --gt {bad} --images {data} --source m --out {out}": (
        "bad.json",
        "bad.p",
        "bad.jsonl",
    ),
    "import depth --gt {bad} --images {data}/photo.png --source m --out {out}": (
        "bad.npy",
        "bad.npz",
        "bad.pfm",
        "bad.png",
    ),
    "import hugging-face --task object_detection --gt {bad} --source m --out {out}": (
        "bad.parquet",
        "bad.arrow",
    ),
    "import outputs --task generation_t2i --table {bad} --source m --out {out}": (
        "bad.csv",
        "bad.json",
        "bad.parquet",
    ),
}
PLACES = [
    (command, place) for command, places in COMMANDS.items() for place in places
]
NO_FAULT = {
    "runs/run/verdicts.jsonl": set(FILES)
    - {"folder", "pipe", "device", "of 80 GiB"},
    "runs/run/run.json": {"a wrong object"},
    "set/dataset.json": {"a wrong object"},
    "data/annotations/object_detection_annotations.json": {"missing"},
    "data/images/object_detection.json": {
        "missing",
        "a number",
        "wrong records",
        "a wrong object",
    },
}
"""What is read all the same: a line that a kill cut short, fields that nothing
needs."""
ALL = bool(os.environ.get("VISUALJUDGE_SOAK"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bad") / "home"
    detection_folder(root / "data", [1.0, 5.0, 9.0])
    questions = [pair(k, (3.0, 1.0)) for k in range(4)]
    dataset = write_dataset(root / "set", questions)
    write_run(
        root / "runs/run",
        dataset,
        [said(question, "A") for question in questions],
    )
    (root / "gt").mkdir()
    (root / "table.tsv").write_text(
        "index\tquestion\tA\tB\tanswer\n1\tq\ta\tb\tA\n"
    )
    (root / "rows.jsonl").write_text("{}\n")
    return root


@pytest.mark.parametrize(
    ("command", "place"), PLACES, ids=lambda value: value.split(" --")[0]
)
def test_a_bad_file_is_one_line(
    command: str,
    place: str,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    faults = []
    own = "/" not in place  # a link that the user names is the user's
    kinds = [kind for kind in FILES if not (own and kind == "link to a secret")]
    for kind in (
        kinds if ALL else kinds[PLACES.index((command, place)) % 5 :: 5]
    ):
        root = tmp_path / kind.replace(" ", "-")
        shutil.copytree(home, root)
        (tmp_path / "secret").write_text(SECRET)
        bad = root / place
        bad.unlink(missing_ok=True)
        monkeypatch.chdir(root)
        FILES[kind](bad)
        words = command.format(
            bad=place, out="out", run="runs/run", set="set", data="data"
        )
        monkeypatch.setattr(sys, "argv", ["visualjudge", *words.split()])
        with pytest.raises(SystemExit) as ended:
            main.run()
        status, printed = ended.value.code, capfd.readouterr()
        written = [
            path.read_bytes()
            for path in root.glob("out*/**/*")
            if path.is_file()
        ]
        if status not in (1, 2) and kind not in NO_FAULT.get(place, ()):
            faults.append((kind, status, printed.out))
        if "Traceback" in printed.err or (
            status == 2 and printed.err.count("\n") != 1
        ):
            faults.append((kind, status, printed.err))
        if SECRET in printed.out + printed.err or any(
            SECRET.encode() in file for file in written
        ):
            faults.append((kind, status, "told the secret"))
        if (tmp_path / "secret").read_text() != SECRET:
            faults.append((kind, status, "wrote outside"))
        shutil.rmtree(root)
    assert faults == []
