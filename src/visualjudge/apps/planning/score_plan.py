"""How many images decide whether scores may be used, from a pilot of scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from visualjudge.analysis.decisions.score_answer import ScoreAnswer, score_answer
from visualjudge.analysis.figure_text import NONE, many, number, plain_name
from visualjudge.analysis.load import load_study
from visualjudge.analysis.shape import QUESTIONS, shape_of
from visualjudge.core.text_tables import Table, folded
from visualjudge.options import Selection
from visualjudge.runs.folder import RunFolder


@dataclass(frozen=True, eq=False)
class ScorePlan:
    """What each task of a pilot of scores still needs."""

    judge: str
    answer: ScoreAnswer

    @property
    def images(self) -> int | None:
        """Images on which every open task that can be promised is probably decided; None if none
        can.
        """
        needed = [task.needs_images for task in self.answer.tasks]
        return max((images for images in needed if images), default=None)

    def __str__(self) -> str:
        rows = []
        for task in self.answer.tasks:
            have = 0 if task.scores is None else task.scores.images
            needed = number(task.needs_images) if task.state == "too_few" else NONE
            rows.append((plain_name(task.task), task.state, number(have), needed))
        columns = ("Task", "State", "Images", "Images needed")
        note = "Needed: images on which both requirements are decided with a power of 80 %."
        todo = "No open task can be promised a number of images."
        if all(task.state != "too_few" for task in self.answer.tasks):
            todo = "Every task is decided."
        elif self.images:
            todo = f"Score {many(self.images, 'image')} of each open task."
        said = folded(
            f"{QUESTIONS['scores']} {todo} {self.judge}: {self.answer.sentence}"
        )
        return f"{said}\n\n{Table(columns, tuple(rows), (note,)).text()}"

    def as_json(self) -> dict[str, object]:
        """Return the plan as a file."""
        tasks = [
            {"task": task.task, "state": task.state, "needs_images": task.needs_images}
            for task in self.answer.tasks
        ]
        return {"goal": "scores", "images": self.images, "tasks": tasks}


def score_plan(
    target: str | Path, part: Selection, dataset: str | Path | None
) -> ScorePlan | None:
    """Return the plan of a run of scores without named models; None for any other target."""
    root = Path(target)
    if not RunFolder(root).manifest_path.is_file():
        return None
    study = load_study([root], dataset=dataset, tasks=part.tasks, where=part.where)
    if shape_of(study, 0) != "scores":
        return None
    return ScorePlan(study.runs[0].name, score_answer(study, 0, study.bar))
