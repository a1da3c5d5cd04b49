"""Commands with options other than their defaults: the numbers that they print and
write, recorded."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from commanding import command
from docs.workspace import make_workspace
from recording import check, contents, files_in

VOTE = '{"output": "0-sdxl.png", "prompt": "a", "source": "s", "score": 1}'
BOX = "<xmin>1</xmin><ymin>2</ymin><xmax>40</xmax><ymax>50</ymax>"
SHAPE = f"<object><name>cat</name><bndbox>{BOX}</bndbox></object>"
BROKEN = {
    "bad/votes.csv": "output,prompt,source,score\n0-sdxl.png,a,s,1\n1-sdxl.png,a,s,x",
    "bad/json.jsonl": VOTE + '\n{"output"\n',
    "bad/verdicts.csv": "item,image,model_a,model_b,verdict,truth,judge\n"
    "1,1,a,b,A,A,j\n2,2,a,b,Q,A,j\n",
    "bad/scores.csv": "item,image,score,truth,judge\n1,1,3,3,j\n2,2,9,3,j\n",
    "bad/people.csv": "item,source,rater,dimension,score\n1,a,anna,q,3\n2,a,anna,q,x",
    "bad/rows.jsonl": '{"instruction": "i", "input_image": "in.png", '
    '"edited_images": ["a.png"]}\n{"key": "x"}\n',
    "bad/table.tsv": "index\tquestion\tA\tB\tanswer\timage\n1\tq\ta\tb\tA\tx\n"
    "2\tq\ta\tb\tZ\tx\n",
    "yolo/gt/0.txt": "0 0.5 0.5 0.2 0.2\n",
    "yolo/pred/0.txt": "0 0.5 0.5 0.2 0.2 0.9\n0 0.5 x 0.2 0.2 0.9\n",
    "yolo/classes.txt": "cat\n",
    "voc/gt/0.xml": f"<annotation><filename>0.png</filename>{SHAPE}</annotation>",
    "voc/res/comp4_det_val_cat.txt": "0 0.75 1 2 40 50\n0 0.75 1 2 x 50\n",
    "voc/few/comp4_det_val_cat.txt": "0 0.75 1 2 40 50\n0 0.75 1\n",
}
"""Files in which the second record is wrong: a message names its line or row."""
LINES = Path(__file__).with_name("commands_with_options.txt")


def test_commands_with_other_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of what each prints and writes, of what is refused, and its exit
    status."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "home"
    home.mkdir()
    done = {}

    def call(line: str) -> Any:
        words = shlex.split(line)
        if words[0] in ("build", "probe"):
            # the same bytes, without processes to start
            words += ["--workers", "1"]
        return command(*words, folder=home)

    make_workspace(home, lambda line: call(line.removeprefix("visualjudge ")))
    for name, content in BROKEN.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content, "utf-8")
    for number, line in enumerate(LINES.read_text("utf-8").splitlines()):
        before = files_in(home)
        ended = call(line)
        done[f"{number}-{line.split()[0]}"] = {
            "status": ended.returncode,
            "out": ended.stdout.splitlines(),
            "err": ended.stderr.splitlines(),
            "files": contents(home, without=before),
        }
    check("commands", done)
