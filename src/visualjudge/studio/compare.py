"""One question for the page: its images, the prompt in the order of each ask, and every reply with what was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from visualjudge.core.errors import DataError
from visualjudge.core.records import LETTERS, TURNED, Question
from visualjudge.judges.swap import swapped
from visualjudge.prompts.spans import interleaved
from visualjudge.replies import read_reply
from visualjudge.runs.tokens import token_counts
from visualjudge.studio.cards import said
from visualjudge.studio.facets import task_label
from visualjudge.studio.places import RunPlace
from visualjudge.studio.selection import Selection, Shelf
from visualjudge.studio.shown import option_images, option_texts, original_images
from visualjudge.studio.verdicts import CLOSE, RunIndex
from visualjudge.vision.drawing.titles import encoding_title

LONGEST_REPLY = 200_000
"""Characters of a reply that the page shows."""


@dataclass(frozen=True, slots=True)
class Layer:
    """An image that the stage can show; ``name`` is the file in the dataset."""

    key: str
    title: str
    name: str


@dataclass(frozen=True, slots=True)
class Option:
    """One option with all that is known of it."""

    letter: str
    score: float
    source: str | None
    annotation: str
    text: str
    best: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A run of the prompt: text, or the image that stands there."""

    text: str
    image: str | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One verdict with its reply cut at the part that was read."""

    run: str
    judge: str
    order: str
    repeat: int
    rater: str | None
    outcome: str
    said: str
    status: str
    cause: str | None
    before: str
    read: str
    after: str
    rule: str | None
    turned: str
    """Where the options were exchanged: which stored option a letter of the reply is."""
    differs: bool
    """This version reads another value than the run recorded."""
    latency: float | None
    probability_a: float | None
    tokens: str
    note: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """Where the question stands in the selection, and its neighbours."""

    place: int | None
    total: int
    before: str | None
    after: str | None


def layers(question: Question) -> list[Layer]:
    """The images, originals first."""
    originals = original_images(question)
    names = ["Original", "Control", *(f"Image {n}" for n in range(3, 20))]
    found = [Layer(f"o{i}", names[i], image) for i, image in enumerate(originals[:20])]
    for k, image in enumerate(option_images(question)):
        if image is not None:
            title = "Prediction" if question.question_type == "scoring" else f"Option {LETTERS[k]}"
            found.append(Layer(LETTERS[k], title, image))
    return found


def options(question: Question) -> list[Option]:
    """The options in stored order."""
    texts = option_texts(question)
    best = str(question.answer)[:1] if question.question_type != "scoring" else ""
    return [
        Option(LETTERS[k], score, question.sources[k], question.annotation_ids[k], texts[k], LETTERS[k] == best)
        for k, score in enumerate(question.final_scores)
    ]


def prompts(question: Question) -> dict[str, list[Part]]:
    """The prompt as the judge receives it, for each order that can be asked."""
    found = {"AB": _parts(question.prompt, question.images)}
    if question.question_type == "pairwise":
        try:
            turned = swapped(question)
            found["BA"] = _parts(turned.prompt, turned.images)
        except DataError:
            pass  # a prompt of another tool that does not tell its options apart is asked in one order only
    return found


def _parts(prompt: str, images: tuple[str, ...]) -> list[Part]:
    try:
        runs = interleaved(prompt, images)
    except DataError:
        return [Part(prompt), *(Part("", name, k) for k, name in enumerate(images, 1))]
    number, parts = 0, []
    for text, is_image in runs:
        number += is_image
        parts.append(Part("", text, number) if is_image else Part(text.strip("\n")))
    return parts


def step(shelf: Shelf, selection: Selection, row: int) -> Step:
    """The neighbours of a question within the filters."""
    place, rows = selection.place(row), selection.rows
    if place is None:
        return Step(None, int(rows.size), None, None)

    def identity(at: int) -> str | None:
        return shelf.index.question(int(rows[at])).id if 0 <= at < rows.size else None

    return Step(place, int(rows.size), identity(place - 1), identity(place + 1))


def replies(runs: Sequence[tuple[RunPlace, RunIndex]], question: Question, row: int) -> Iterator[Reply]:
    """Every verdict of every run on the question."""
    for place, run in runs:
        for verdict in run.of_question(row):
            yield _reply(place, verdict, question)


def _reply(place: RunPlace, verdict: Mapping[str, Any], question: Question) -> Reply:
    raw = verdict.get("raw_response")
    text = raw[:LONGEST_REPLY] if isinstance(raw, str) else ""
    order = "BA" if verdict.get("order") == "BA" else "AB"
    start, stop, rule, value = reading(text, question, order)
    status = str(verdict.get("status"))
    recorded = verdict.get("value")
    return Reply(
        run=place.slug,
        judge=place.name,
        order=order,
        repeat=verdict["repeat"] if isinstance(verdict.get("repeat"), int) else 0,
        rater=_text(verdict, "rater"),
        outcome=outcome(recorded, status, question),
        said=said(recorded) if isinstance(recorded, str | int | float) else str(recorded),
        status=status,
        cause=_text(verdict, "cause"),
        before=text[:start],
        read=text[start:stop],
        after=text[stop:],
        rule=rule,
        turned="A in this order is option B." if order == "BA" and text else "",
        differs=bool(text) and status in ("ok", "unparseable") and value is not None and value != recorded,
        latency=_number(verdict, "latency_s"),
        probability_a=_number(verdict, "probability_a"),
        tokens=_tokens(verdict.get("usage")),
        note=_text(verdict, "note"),
    )


def reading(text: str, question: Question, order: str) -> tuple[int, int, str | None, str | float | None]:
    """Where in a reply the answer stands, the rule that read it, and the value in the letters as stored."""
    if not text:
        return 0, 0, None, None
    found = read_reply(text, question.question_type, len(question.annotation_ids), ties=question.ties or ())
    value = found.value
    if order == "BA" and question.question_type == "pairwise":
        value = TURNED.get(str(value), value)
    start, stop = found.span or (0, 0)
    return start, stop, found.rule, value


def outcome(value: Any, status: str, question: Question) -> str:
    """What a verdict is worth: right, wrong, failed or cannot tell."""
    if status == "cannot_tell":
        return "cannot tell"
    if status != "ok":
        return "failed"
    if isinstance(question.answer, str):
        return "right" if value == question.answer else "wrong"
    close = isinstance(value, int | float) and abs(value - question.answer) <= CLOSE
    return "right" if close else "wrong"


def facts(question: Question) -> list[tuple[str, str]]:
    """What stands beside the question."""
    scores = question.final_scores
    rows = [
        ("Task", task_label(question.task)),
        ("Encoding", _encoding(question)),
        ("Type", question.question_type),
        ("Answer", said(question.answer)),
        ("Margin", f"{max(scores) - min(scores):.4g}" if len(scores) > 1 else ""),
        ("Image", str(question.image_id)),
        ("Class", ", ".join(question.class_of_interest or ())),
        ("Error type", question.error_type or ""),
        ("Subset", ", ".join(question.subset)),
        ("Id", question.id),
    ]
    return [(name, value) for name, value in rows if value]


def _encoding(question: Question) -> str:
    """Title and stem; one of them where both are the same."""
    title, stem = encoding_title(question.task, question.encoding), question.encoding
    return title if title == stem else f"{title} ({stem})"


def _text(verdict: Mapping[str, Any], field: str) -> str | None:
    value = verdict.get(field)
    return value if isinstance(value, str) and value else None


def _number(verdict: Mapping[str, Any], field: str) -> float | None:
    value = verdict.get(field)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _tokens(usage: Any) -> str:
    counts = token_counts(usage if isinstance(usage, dict) else None)
    return ", ".join(f"{n:,} tokens {way}" for n, way in zip(counts, ("in", "out"), strict=True) if n is not None)
