"""Ten detectors, one judge, 60 labels: the example of docs/decide.md. Simulated, so
that the truth is known.

python examples/ten_detectors.py OUT        # writes OUT/dataset, OUT/run and, to play the people,
OUT/truth.csv
"""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from visualjudge.core import atomic
from visualjudge.core.records import Question, Verdict
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import load_dataset
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.verdicts import verdict_line

IMAGES = 80
NAMES = [f"detector {letter}" for letter in "ABCDEFGHIJ"]
QUALITY = np.array([7.0, 6.7, 6.2, 6.1, 5.6, 5.2, 4.9, 4.3, 3.9, 3.2])
FAVOURED = {"detector H": 1.5}
"""The judge scores this one higher than it deserves."""


def questions() -> list[Question]:
    """One scoring question an image and detector; images differ in difficulty."""
    rng = rng_for(0, "ten detectors")
    true = (
        QUALITY
        + rng.normal(0, 1.0, (IMAGES, 1))
        + rng.normal(0, 0.8, (IMAGES, len(NAMES)))
    )
    out = []
    for (g, s), score in np.ndenumerate(np.clip(true, 0, 10).round(2)):
        name = f"image{g:03d}-{NAMES[s][-1]}"
        out.append(
            Question(
                id=f"q-{name}",
                task="object_detection",
                encoding="pixel_s1_m0",
                question_type="scoring",
                subset=("judge_analysis",),
                image_id=f"image{g:03d}",
                class_of_interest=None,
                error_type=None,
                annotation_ids=(name,),
                final_scores=(float(score),),
                sources=(NAMES[s],),
                prompt="How good is this prediction, from 0 to 10?",
                images=(),
                answer=float(score),
            )
        )
    return out


def verdicts(asked: list[Question]) -> list[Verdict]:
    """A judge that is noisy, a little lenient, and favours one detector."""
    rng = rng_for(0, "the judge")
    out = []
    for question in asked:
        lean = FAVOURED.get(str(question.sources[0]), 0.0)
        said = 1.0 + 0.85 * float(question.answer) + lean + rng.normal(0, 0.8)
        out.append(
            Verdict(
                question.id,
                "AB",
                round(float(np.clip(said, 0, 10))),
                "ok",
                "",
                latency_s=0.0,
            )
        )
    return out


def main(out: Path) -> None:
    """Write the dataset, the run and the truth."""
    asked = questions()
    atomic.write_json(
        out / "dataset" / "questions.json",
        [asdict(question) for question in asked],
    )
    atomic.write_json(out / "dataset" / "dataset.json", {"version": "2.1"})
    run = RunFolder(out / "run")
    dataset = load_dataset(out / "dataset")
    about = {"path": str(dataset.root.resolve()), "checksum": dataset.digest}
    run.write_manifest({"judge": "the judge", "dataset": about})
    with run.open_journal(resume=False) as journal:
        for verdict in verdicts(asked):
            journal.write(verdict_line(verdict))
    with (out / "truth.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["annotation_id", "score"])
        rows.writerows(
            [question.annotation_ids[0], question.answer] for question in asked
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
