"""Questions for people in Label Studio and Argilla, whose answers become a run, and for viewing in
FiftyOne.

Label Studio and Argilla receive pairs or scores, one kind at a time; their answers are read from
their JSON exports. Formats: https://labelstud.io/guide/task_format,
https://docs.argilla.io/latest/how_to_guides/import_export.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visualjudge.apps.published.reading import Row, records
from visualjudge.apps.published.runs import write_run
from visualjudge.apps.training.trainer_exports import paths_of
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Question, Verdict
from visualjudge.dataset.exports.media import answer_text, image_uri
from visualjudge.dataset.exports.vlmevalkit import numbered
from visualjudge.dataset.folder import Dataset
from visualjudge.replies import read_reply
from visualjudge.runs.folder import PEOPLE

ANSWER = "answer"
_CONTROLS = {
    "pairwise": '<Choices name="answer" toName="prompt" choice="single" '
    'required="true">{choices}</Choices>',
    "scoring": '<Number name="answer" toName="prompt" min="0" max="10" required="true"/>',
}
_CONFIG = (
    '<View><Text name="prompt" value="$prompt"/><Image name="images" '
    'valueList="$images"/>{control}</View>'
)


@dataclass(frozen=True, slots=True)
class Given:
    """A person's answer to a question."""

    id: str
    rater: str
    value: str


def label_studio_config(dataset: Dataset) -> str:
    """Return the labelling configuration for the questions of ``dataset``.

    Raises
    ------
    UsageError
        If the questions are of several types, or are rankings.
    """
    kind, labels = _asked(dataset)
    choices = "".join(f'<Choice value="{label}"/>' for label in labels)
    return _CONFIG.format(control=_CONTROLS[kind].format(choices=choices))


def label_studio_tasks(dataset: Dataset) -> list[dict[str, Any]]:
    """Return one task per question, with images as data URIs and without the right answer."""
    return [
        {
            "data": {
                "id": question.id,
                "prompt": numbered(question.prompt),
                "images": [image_uri(dataset, path) for path in question.images],
            }
        }
        for question in dataset
    ]


def label_studio_answers(path: str | Path) -> Iterator[Given]:
    """Yield the answers in Label Studio's JSON export, without skipped annotations."""
    for task in records(Path(path)):
        name = str(Row(task.need("data"), task.path, task.number).need("id"))
        for done in task.get("annotations") or ():
            values = [
                one["value"] for one in done.get("result") or () if one.get("from_name") == ANSWER
            ]
            if values and not done.get("was_cancelled"):
                said = values[0].get("number", (values[0].get("choices") or [None])[0])
                rater = done.get("completed_by")
                yield Given(
                    name, str(rater.get("email") if isinstance(rater, dict) else rater), str(said)
                )


def argilla_dataset(dataset: Dataset) -> tuple[Any, list[Any]]:
    """Return ``argilla.Settings`` and one record per question, with images as data URIs; requires a
    client.
    """
    import argilla as rg

    kind, labels = _asked(dataset)
    most = max((len(question.images) for question in dataset), default=0)
    images = [rg.ImageField(f"image_{k}", required=False) for k in range(1, most + 1)]
    question = (
        rg.LabelQuestion(ANSWER, labels)
        if kind == "pairwise"
        else rg.RatingQuestion(ANSWER, list(range(11)))
    )
    made = [
        rg.Record(
            id=one.id,
            fields={
                "prompt": numbered(one.prompt),
                **{f"image_{k}": image_uri(dataset, path) for k, path in enumerate(one.images, 1)},
            },
        )
        for one in dataset
    ]
    return rg.Settings(fields=[rg.TextField("prompt"), *images], questions=[question]), made


def argilla_answers(path: str | Path) -> Iterator[Given]:
    """Yield the answers in the JSON written by Argilla's ``dataset.records.to_json``."""
    for record in records(Path(path)):
        name = str(record.need("id"))
        for said in (record.get("responses") or {}).get(ANSWER) or ():
            yield Given(name, str(said.get("user_id")), str(said.get("value")))


def people_run(dataset: Dataset, answers: Iterator[Given], out: str | Path) -> Path:
    """Write people's answers as a run folder, which ``report``, ``card`` and ``agreement`` read.

    Raises
    ------
    DataError
        If an answer does not belong to a question of ``dataset``.
    UsageError
        If ``out`` exists.
    """
    if Path(out).exists():
        raise UsageError(f"{out} already exists")
    questions, repeats = {question.id: question for question in dataset}, Counter[str]()
    verdicts = []
    for given in answers:
        if given.id not in questions:
            raise DataError(
                f"{given.rater} answered {given.id!r}, which is not a question of {dataset.root}"
            )
        verdicts.append(_verdict(questions[given.id], given, repeats[given.id]))
        repeats[given.id] += 1
    people = {
        "raters": sorted({str(one.extra["rater"]) for one in verdicts}),
        "questions": len(repeats),
    }
    asked = {"parameters": {}, "people": people, "repeats": max(repeats.values(), default=1)}
    write_run(Path(out), dataset, verdicts, {**PEOPLE, **asked})
    return Path(out)


def _verdict(question: Question, given: Given, repeat: int) -> Verdict:
    kind, ties = question.question_type, question.ties or ()
    found = read_reply(given.value, kind, len(question.annotation_ids), ties=ties)
    extra = {"rater": given.rater}
    return Verdict(
        question.id,
        "AB",
        found.value,
        found.status,
        given.value,
        repeat=repeat,
        cause=found.cause,
        extra=extra,
    )


def fiftyone_samples(dataset: Dataset) -> list[Any]:
    """Return samples for ``fiftyone.Dataset.add_samples``: one group per question, one slice per
    image (``image_1`` …).

    ``answer`` is a classification; ``question_id``, ``prompt`` and ``task`` are fields. The dataset
    needs ``add_group_field("group", default="image_1")`` first.
    """
    import fiftyone as fo

    made = []
    for question in dataset:
        group, label = fo.Group(), answer_text(question.answer)
        about = {"question_id": question.id, "prompt": question.prompt, "task": question.task}
        for k, path in enumerate(paths_of(dataset, question), 1):
            answer = fo.Classification(label=label)
            made.append(
                fo.Sample(filepath=path, group=group.element(f"image_{k}"), answer=answer, **about)
            )
    return made


def _asked(dataset: Dataset) -> tuple[str, Sequence[str]]:
    kinds = {question.question_type for question in dataset}
    if len(kinds) != 1 or not kinds <= set(_CONTROLS):
        raise UsageError(
            f"{dataset.root}: must contain only pairs or only scores, "
            f"got {', '.join(sorted(kinds))}"
        )
    return kinds.pop(), [
        "A",
        "B",
        *dict.fromkeys(tie for question in dataset for tie in question.ties or ()),
    ]
