"""Views of one question in the studio: its card in the grid, and its own page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, LETTERS, TURNED, Question
from visualjudge.prompts.spans import images_within, interleaved, spans_of, swapped
from visualjudge.replies import read_reply
from visualjudge.runs.budget import token_counts
from visualjudge.studio.facets import task_label
from visualjudge.studio.index import has_answer, no_answer
from visualjudge.studio.places import DatasetPlace, RunPlace
from visualjudge.studio.selection import Selection, Shelf
from visualjudge.studio.summary import CLOSE, CONSISTENCY, OUTCOMES
from visualjudge.studio.verdict_reading import VALUES
from visualjudge.studio.verdicts import RunIndex
from visualjudge.studio.working_sets import UNMARKED
from visualjudge.vision.encodings import CATALOGUE, encoding_title

EXCERPT = 220
LONGEST_PROMPT = 600
MOST_LAYERS = 20
MOST_CALLS = 50
"""Maximum number of layers for images that belong to no option; the prompt shows all images."""
LONGEST_REPLY = 200_000
"""Number of characters of a reply on the page."""


def _option_spans(question: Question) -> tuple[tuple[int, int], ...]:
    try:
        spans = spans_of(question).options
    except DataError:
        return ()
    return spans if len(spans) == len(question.final_scores) else ()


def option_images(question: Question) -> list[str | None]:
    """Return the image of each option, or None if it is shown as text alone.

    If the prompt does not tell (a question from another tool), the last images are taken as one per
    option.
    """
    n = len(question.final_scores)
    spans = _option_spans(question)
    if not spans:
        row = CATALOGUE.get((question.task, question.encoding))
        textual = row is not None and row.kind == "text"
        return (
            list(question.images[-n:]) if len(question.images) >= n and not textual else [None] * n
        )
    return [next(iter(question.images[images_within(question, span)]), None) for span in spans]


def option_texts(question: Question) -> list[str]:
    """Return the text of each option without its image marks; empty if the prompt does not separate
    them.
    """
    spans = _option_spans(question)
    texts = [question.prompt[start:stop].replace(IMAGE_MARK, "").strip() for start, stop in spans]
    return texts or [""] * len(question.final_scores)


def original_images(question: Question) -> list[str]:
    """Return the images that belong to no option: the original, a control image."""
    taken = set(option_images(question))
    return [name for name in question.images if name not in taken]


@dataclass(frozen=True, slots=True)
class Option:
    """One option with everything known about it."""

    letter: str
    image: str | None
    text: str
    score: float
    source: str | None
    annotation: str
    best: bool


@dataclass(frozen=True, slots=True)
class CardVerdict:
    """One run's verdict on the question."""

    run: str
    judge: str
    outcome: str
    said: str
    flipped: bool
    wrong_difference: float | None


@dataclass(frozen=True, slots=True)
class Card:
    """One question of the grid.

    Attributes
    ----------
    prompt
        The beginning of the prompt, if no option has an image or text to show.
    verdicts
        One for each run that asked it.
    """

    id: str
    type: str
    task: str
    encoding: str
    stem: str
    image: str
    original: str | None
    answer: str
    margin: float | None
    prompt: str | None
    star: bool
    tags: tuple[str, ...]
    options: tuple[Option, ...]
    verdicts: tuple[CardVerdict, ...]


def card(shelf: Shelf, row: int) -> Card:
    """Return the card of one question."""
    question = shelf.index.question(row)
    margin = float(shelf.index.columns.margin[row])
    originals, shown = original_images(question), tuple(map(_excerpt, options(question)))
    mark = shelf.working.marks().get(question.id, UNMARKED)
    bare = not originals and not any(option.image or option.text for option in shown)
    return Card(
        id=question.id,
        type=question.question_type,
        task=task_label(question.task),
        encoding=encoding_title(question.task, question.encoding),
        stem=question.encoding,
        image=str(question.image_id),
        original=originals[0] if originals else None,
        answer=said(question.answer) if has_answer(question) else "",
        margin=None if np.isnan(margin) else round(margin, 2),
        prompt=question.prompt[:LONGEST_PROMPT].strip() if bare else None,
        star=mark.star,
        tags=mark.tags,
        options=shown,
        verdicts=_verdicts(shelf, row),
    )


def _excerpt(option: Option) -> Option:
    """Return the option for a card: an image, or the beginning of the text."""
    return replace(option, text="" if option.image else option.text[:EXCERPT])


def said(answer: str | float) -> str:
    """Format an answer for display."""
    return answer.replace("_", " ") if isinstance(answer, str) else f"{answer:g}"


def _verdicts(shelf: Shelf, row: int) -> tuple[CardVerdict, ...]:
    """Return the verdict of each run that asked the question."""
    return tuple(
        _verdict(place, run, row) for place, run in shelf.runs if run.summary().outcome[row]
    )


def _verdict(place: RunPlace, run: RunIndex, row: int) -> CardVerdict:
    summary = run.summary()
    code, number = int(summary.value[row]), float(summary.number[row])
    value = (
        VALUES[code].replace("_", " ") if code >= 0 else "" if np.isnan(number) else f"{number:g}"
    )
    flipped = CONSISTENCY[summary.consistency[row]] == "flipped by order"
    outcome_name = OUTCOMES[summary.outcome[row]]
    if outcome_name == "mixed":  # one of its answers would look like its verdict
        value = "mixed"
    wrong = float(summary.wrong_difference[row])
    return CardVerdict(
        place.slug,
        place.name,
        outcome_name,
        value,
        flipped,
        None if np.isnan(wrong) else round(wrong, 2),
    )


@dataclass(frozen=True, slots=True)
class Layer:
    """An image to show on the stage; ``name`` is the file in the dataset."""

    key: str
    title: str
    name: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the prompt: text or an image."""

    text: str
    image: str | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One verdict, with its reply split at the part that was read.

    Attributes
    ----------
    asked
        Which repeat it is, or the kind of check for a person; empty for the first.
    read_by
        The tier that read it: marked or prose.
    turned
        If the options were exchanged: the stored option for each letter of the reply.
    differs
        Whether this version reads a different value than the run recorded.
    calls
        The tools that the judge called before answering.
    """

    run: str
    judge: str
    order: str
    asked: str
    rater: str | None
    outcome: str
    said: str
    status: str
    cause: str | None
    before: str
    read: str
    after: str
    rule: str | None
    read_by: str | None
    turned: str
    differs: bool
    latency: float | None
    probability_a: float | None
    tokens: str
    note: str | None
    calls: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A question's position in the selection, and its neighbours."""

    place: int | None
    total: int
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Related:
    """A question that a probe compares with another, and each run's verdict on it; ``here`` marks
    the question shown.
    """

    question: Question
    unchanged: bool
    here: bool
    verdicts: tuple[CardVerdict, ...]


def probe_family(shelf: Shelf, question: Question, row: int) -> list[Related]:
    """Return the questions that a probe compares with this one, the unchanged one first; empty
    without a probe.
    """
    probe, columns = question.probe, shelf.index.columns
    if probe is None:
        return []
    group = columns.single["group"] == columns.single["group"][row]
    alike = columns.single["probe"] == columns.single["probe"][row]
    rows = np.flatnonzero(group & (alike | (columns.changed == 0)))
    rows = rows[np.argsort(columns.changed[rows], kind="stable")]
    return [
        Related(shelf.index.question(k), not columns.changed[k], k == row, _verdicts(shelf, k))
        for k in rows.tolist()
    ]


def layers(question: Question, unchanged: Question | None = None) -> list[Layer]:
    """Return the images, originals first; last come those from before a probe's change."""
    found = _layers(question)
    if unchanged is not None:
        known = {layer.name for layer in found}
        before = [layer for layer in _layers(unchanged) if layer.name not in known]
        found += [
            Layer(f"u{layer.key}", f"{layer.title}, unchanged", layer.name) for layer in before
        ]
    return found


def _layers(question: Question) -> list[Layer]:
    originals = original_images(question)
    named = dict(enumerate(("Original", "Control")))
    found = [
        Layer(f"o{i}", named.get(i, f"Image {i + 1}"), image)
        for i, image in enumerate(originals[:MOST_LAYERS])
    ]
    for k, image in enumerate(option_images(question)):
        if image is not None:
            title = "Prediction" if question.question_type == "scoring" else f"Option {LETTERS[k]}"
            found.append(Layer(LETTERS[k], title, image))
    return found


def options(question: Question) -> list[Option]:
    """Return the options in stored order."""
    images, texts = option_images(question), option_texts(question)
    best = str(question.answer)[:1] if has_answer(question) else ""
    letters = LETTERS if question.question_type != "scoring" else " " * 5
    return [
        Option(
            letters[k],
            images[k],
            texts[k],
            score,
            question.sources[k],
            question.annotation_ids[k],
            letters[k] == best,
        )
        for k, score in enumerate(question.final_scores)
    ]


def prompts(question: Question) -> dict[str, list[Part]]:
    """Return the prompt as the judge receives it, for each possible order."""
    found = {"AB": _parts(question.prompt, question.images)}
    if question.question_type == "pairwise":
        try:
            turned = swapped(question)
            found["BA"] = _parts(turned.prompt, turned.images)
        except DataError:
            # another tool's prompt without separate options is asked in one order only
            pass
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
    """Return the neighbours of a question within the filters."""
    place, rows = selection.place(row), selection.rows
    if place is None:
        return Step(None, int(rows.size), None, None)

    def identity(at: int) -> str | None:
        return shelf.index.question(int(rows[at])).id if 0 <= at < rows.size else None

    return Step(place, int(rows.size), identity(place - 1), identity(place + 1))


def replies(
    runs: Sequence[tuple[RunPlace, RunIndex]], question: Question, row: int
) -> Iterator[Reply]:
    """Return every verdict of every run on the question."""
    for place, run in runs:
        for verdict in run.of_question(row):
            yield _reply(place, verdict, question)


def _reply(place: RunPlace, verdict: Mapping[str, Any], question: Question) -> Reply:
    raw = verdict.get("raw_response")
    text = raw[:LONGEST_REPLY] if isinstance(raw, str) else ""
    order = "BA" if verdict.get("order") == "BA" else "AB"
    start, stop, rule, read_by, value = reading(text, question, order)
    status = str(verdict.get("status"))
    recorded = verdict.get("value")
    return Reply(
        run=place.slug,
        judge=place.name,
        order=order,
        asked=asked(verdict),
        rater=_text(verdict, "rater"),
        outcome=outcome(recorded, status, question),
        said=said(recorded) if isinstance(recorded, str | int | float) else str(recorded),
        status=status,
        cause=_text(verdict, "cause"),
        before=text[:start],
        read=text[start:stop],
        after=text[stop:],
        rule=rule,
        read_by=read_by,
        turned="A in this order is option B." if order == "BA" and text else "",
        differs=bool(text)
        and status in ("ok", "unparseable")
        and value is not None
        and value != recorded,
        latency=_number(verdict, "latency_s"),
        probability_a=_number(verdict, "probability_a"),
        tokens=_tokens(verdict.get("usage")),
        note=_text(verdict, "note"),
        calls=_tool_calls(verdict),
    )


def _tool_calls(verdict: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the tool calls of a verdict's line; invalid content is left out."""
    trace = verdict.get("tool_calls")
    calls = trace[:MOST_CALLS] if isinstance(trace, list) else ()
    return tuple(call for call in calls if isinstance(call, Mapping))


def asked(verdict: Mapping[str, Any]) -> str:
    """Return which repeat a verdict is, or the kind of check for a person; empty for the
    first.

    In a run of people, ``repeat`` only distinguishes the raters.
    """
    purpose, repeat = verdict.get("purpose"), verdict.get("repeat")
    if isinstance(purpose, str):
        return {"question": "", "known": "known question"}.get(purpose, purpose)
    return f"repeat {repeat}" if isinstance(repeat, int) and repeat else ""


def reading(
    text: str, question: Question, order: str
) -> tuple[int, int, str | None, str | None, str | float | None]:
    """Return the position of the answer in a reply, the rule and tier that read it, and the value
    as stored.
    """
    if not text:
        return 0, 0, None, None, None
    found = read_reply(
        text, question.question_type, len(question.annotation_ids), ties=question.ties or ()
    )
    value = found.value
    if order == "BA" and question.question_type == "pairwise":
        value = TURNED.get(str(value), value)
    start, stop = found.span or (0, 0)
    return start, stop, found.rule, found.read_by, value


def outcome(value: Any, status: str, question: Question) -> str:
    """Return the outcome of a verdict: right, wrong, failed, cannot tell, or no right answer if the
    question has none.
    """
    if status == "cannot_tell":
        return "cannot tell"
    if status != "ok":
        return "failed"
    if not has_answer(question):
        return "no right answer"
    if isinstance(question.answer, str):
        return "right" if value == question.answer else "wrong"
    close = isinstance(value, int | float) and abs(value - question.answer) <= CLOSE
    return "right" if close else "wrong"


def facts(question: Question, place: DatasetPlace) -> list[tuple[str, str]]:
    """Return the facts shown beside the question."""
    scores = question.final_scores
    rows = [
        ("Task", task_label(question.task)),
        ("Encoding", _encoding(question)),
        ("Type", question.question_type),
        ("Answer", said(question.answer) if has_answer(question) else no_answer(question)),
        ("Margin", _margin(scores)),
        ("Image", str(question.image_id)),
        ("Class", ", ".join(question.class_of_interest or ())),
        ("Error type", question.error_type or ""),
        ("Subset", ", ".join(question.subset)),
        (
            "Probe",
            "" if question.probe is None else f"{question.probe.name}: {question.probe.changed}",
        ),
        ("Id", question.id),
    ]
    return [(name, value) for name, value in rows if value]


def _margin(scores: Sequence[float]) -> str:
    if len(scores) < 2:
        return ""
    margin = f"{max(scores) - min(scores):.4g}"
    return margin if len(scores) == 2 else f"{margin}, between the best and the worst option"


def _encoding(question: Question) -> str:
    """Return title and stem, or only one if they are equal."""
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
    return ", ".join(
        f"{n:,} tokens {way}" for n, way in zip(counts, ("in", "out"), strict=True) if n is not None
    )
