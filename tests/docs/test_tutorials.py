"""The commands of the tutorials, run as written: the first on detections made here, others in the
demo's folder.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import orjson
import pytest

from making import photograph
from visualjudge.vision.raster.images import write_png

ROOT = Path(__file__).parents[2]
OWN_DATA = ROOT / "docs/tutorials/detector.md"
TUTORIALS = sorted(
    path
    for path in (ROOT / "docs/tutorials").glob("*.md")
    if path != OWN_DATA and "```console" in path.read_text("utf-8")
)
DEMO = Path(os.environ.get("VISUALJUDGE_DEMO", ROOT / "demo-out"))


def steps(page: Path) -> list[list[str]]:
    """The commands of a page but the demo itself, without their first word."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [
        line.removeprefix("$ ")
        for block in blocks
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    return [shlex.split(line)[1:] for line in lines if not line.startswith("visualjudge demo")]


def run(commands: list[list[str]], folder: Path) -> None:
    assert commands
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-m", "visualjudge", *words],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (
            f"{shlex.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )


def detections(folder: Path, images: int = 12) -> None:
    """Images, COCO ground truth, and the results of a good and of a poor detector."""
    rng = np.random.default_rng(0)
    truth: dict[str, list[dict[str, object]]] = {"images": [], "annotations": [], "categories": []}
    truth["categories"] = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    found: dict[str, list[dict[str, object]]] = {"detr": [], "yolo": []}
    for k in range(images):
        write_png(folder / f"val2017/{k}.png", photograph(k, (120, 160)))
        truth["images"].append({"id": k, "file_name": f"{k}.png", "width": 160, "height": 120})
        for label in (1, 2):
            box = [float(rng.integers(5, 60)), float(rng.integers(5, 40)), 50.0, 40.0]
            truth["annotations"].append(
                {
                    "id": 2 * k + label,
                    "image_id": k,
                    "category_id": label,
                    "bbox": box,
                    "area": 2000.0,
                    "iscrowd": 0,
                }
            )
            for source, error in (("detr", 2.0), ("yolo", 9.0)):
                moved = [box[0] + rng.uniform(0, error), box[1] + rng.uniform(0, error), *box[2:]]
                found[source].append(
                    {"image_id": k, "category_id": label, "bbox": moved, "score": 0.9}
                )
    (folder / "instances_val.json").write_bytes(orjson.dumps(truth))
    for source, rows in found.items():
        (folder / f"{source}.json").write_bytes(orjson.dumps(rows))


def test_the_first_tutorial_runs_on_own_detections_and_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    detections(tmp_path)
    run(steps(OWN_DATA), tmp_path)
    assert (tmp_path / "report.html").is_file()
    assert len(OWN_DATA.read_text("utf-8").split()) <= 700


def test_ground_truth_alone_is_enough(tmp_path: Path) -> None:
    detections(tmp_path)
    run(steps(ROOT / "docs/perturb.md")[:4], tmp_path)
    assert (tmp_path / "report.html").is_file()


def test_a_table_of_verdicts_is_enough(tmp_path: Path) -> None:
    rows = [f"{k},{k % 5},detr,yolo,{'AB'[k % 3 == 0]},A,gpt-4o" for k in range(40)]
    header = "item,image,model_a,model_b,verdict,truth,judge"
    (tmp_path / "verdicts.csv").write_text("\n".join([header, *rows]), "utf-8")
    block = re.findall(
        r"```bash\n(.*?)```", (ROOT / "docs/adopt.md").read_text("utf-8"), re.DOTALL
    )[0]
    run([shlex.split(line)[1:] for line in block.splitlines()], tmp_path)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_written(page: Path, tmp_path: Path) -> None:
    if not (DEMO / "data").is_dir():
        pytest.skip(f"{DEMO} is not here: run make demo, or set VISUALJUDGE_DEMO")
    (tmp_path / "demo-out").symlink_to(DEMO, target_is_directory=True)
    run(steps(page), tmp_path)
