"""Views of one question in the studio: its card in the grid, and its own page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from visualjudge.core.answers import has_answer, is_right, is_usable
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, LETTERS, TURNED, UNKNOWN, Question, Verdict
from visualjudge.prompts.spans import images_within, interleaved, spans_of, swapped
from visualjudge.replies import read_reply
from visualjudge.runs.budget import token_counts
from visualjudge.studio.facets import spaced
from visualjudge.studio.places import RunPlace
from visualjudge.studio.selection import Shelf
from visualjudge.studio.study import difference_of, shown_as
from visualjudge.studio.verdicts import CONSISTENCY, OUTCOMES, RunVerdicts
from visualjudge.studio.working_sets import UNMARKED
from visualjudge.vision.encodings import encoding_title

EXCERPT = 220
LONGEST_PROMPT = 600
MOST_LAYERS = 20
"""Maximum number of layers for images that belong to no option; the prompt shows all images."""
MOST_RELATED = 30
MOST_CALLS = 50
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
        several = len(question.images) >= n and shown_as(question) != "text"
        return list(question.images[-n:]) if several else [None] * n
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
    """One run's verdict on a question."""

    run: str
    judge: str
    outcome: str
    said: str
    flipped: bool
    wrong_difference: float | None
    value: str = ""


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


def cards(shelf: Shelf, rows: Sequence[int]) -> list[Card]:
    """Return the cards of some questions."""
    verdicts, marks = verdicts_on(shelf, rows), shelf.working.marks()
    found = []
    for row in rows:
        question = shelf.study.question(row)
        margin, mark = difference_of(question), marks.get(question.id, UNMARKED)
        originals, shown = original_images(question), tuple(map(_excerpt, options(question)))
        bare = not originals and not any(option.image or option.text for option in shown)
        found.append(
            Card(
                id=question.id,
                type=question.question_type,
                task=spaced(question.task),
                encoding=encoding_title(question.task, question.encoding),
                stem=question.encoding,
                image=question.image_id,
                original=originals[0] if originals else None,
                answer=shown_value(question.answer) if has_answer(question) else "",
                margin=None if margin is None else round(margin, 2),
                prompt=question.prompt[:LONGEST_PROMPT].strip() if bare else None,
                star=mark.star,
                tags=mark.tags,
                options=shown,
                verdicts=tuple(verdicts.get(row, ())),
            )
        )
    return found


def _excerpt(option: Option) -> Option:
    """Return the option for a card: an image, or the beginning of the text."""
    return replace(option, text="" if option.image else option.text[:EXCERPT])


def shown_value(answer: str | float) -> str:
    """Format an answer for display."""
    return spaced(answer) if isinstance(answer, str) else f"{answer:g}"


def verdicts_on(shelf: Shelf, rows: Sequence[int]) -> dict[int, list[CardVerdict]]:
    """Return by row what each run that asked these questions said: its first usable verdict."""
    some = ", ".join(map(str, rows))
    values: dict[tuple[int, int], str] = {}
    for run, row, value in shelf.study.all(
        f"SELECT run, row, value FROM verdict WHERE row IN ({some}) AND run IN (SELECT number FROM "
        "run) AND usable AND NOT checks ORDER BY number DESC"
    ):
        values[run, row] = value
    outcomes = {
        (run, row): (OUTCOMES[outcome], consistency, wrong)
        for run, row, outcome, consistency, wrong in shelf.study.all(
            "SELECT run, row, outcome, consistency, wrong FROM outcome WHERE row IN "
            f"({some}) AND run IN (SELECT number FROM run)"
        )
    }
    found: dict[int, list[CardVerdict]] = {}
    for place, run in shelf.runs:
        for row in rows:
            if (run.number, row) not in outcomes:
                continue
            outcome, consistency, wrong = outcomes[run.number, row]
            # one of the answers of a mixed one would look like its verdict
            value = "mixed" if outcome == "mixed" else spaced(values.get((run.number, row), ""))
            flipped = CONSISTENCY[consistency] == "flipped by order"
            wrong = None if wrong is None else round(wrong, 2)
            found.setdefault(row, []).append(
                CardVerdict(
                    place.slug,
                    place.name,
                    outcome,
                    value,
                    flipped,
                    wrong,
                    values.get((run.number, row), ""),
                )
            )
    return found


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
class Call:
    """A tool call of a judge: its arguments and result as text."""

    name: str
    arguments: str
    result: str


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
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A question's position in the selection, and its neighbours."""

    place: int | None
    total: int
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Related:
    """A question compared with the one shown, and each run's verdict on it; ``here`` marks the
    question shown.
    """

    question: Question
    title: str
    unchanged: bool
    here: bool
    verdicts: tuple[CardVerdict, ...]


def probe_family(shelf: Shelf, question: Question, row: int) -> list[Related]:
    """Return the questions that a probe compares with this one, the unchanged one first; empty
    without a probe.
    """
    if question.probe is None:
        return []
    found = shelf.study.all(
        "SELECT other.row, other.changed FROM question here JOIN question other USING (of_group) "
        "WHERE here.row = ? AND (other.of_probe = here.of_probe OR NOT other.changed) "
        "ORDER BY other.changed, other.row LIMIT ?",
        row,
        MOST_RELATED,
    )
    return _related(shelf, found, row)


def same_case(shelf: Shelf, row: int) -> list[Related]:
    """Return the questions about the same options: in other encodings, or changed by probes, such
    as without the photograph.
    """
    found = shelf.study.all(
        "SELECT other.row, other.changed FROM question here JOIN question other USING (pair) "
        "WHERE here.row = ? ORDER BY other.changed, other.row LIMIT ?",
        row,
        MOST_RELATED,
    )
    return _related(shelf, found, row) if len(found) > 1 else []


def _related(shelf: Shelf, found: Sequence[tuple[int, int]], here: int) -> list[Related]:
    verdicts = verdicts_on(shelf, [row for row, _ in found])
    related = []
    for row, changed in found:
        question = shelf.study.question(row)
        title = encoding_title(question.task, question.encoding)
        if changed and question.probe is not None:
            title = f"{title}: {spaced(question.probe.name)}"
        others = tuple(verdicts.get(row, ()))
        related.append(Related(question, title, not changed, row == here, others))
    return related


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


def step(shelf: Shelf, rows: Sequence[int], row: int) -> Step:
    """Return the neighbours of a question within the selection."""
    try:
        place = rows.index(row)
    except ValueError:
        return Step(None, len(rows), None, None)
    near = [
        shelf.study.identities([rows[at]])[0] if 0 <= at < len(rows) else None
        for at in (place - 1, place + 1)
    ]
    return Step(place, len(rows), *near)


def replies(
    runs: Sequence[tuple[RunPlace, RunVerdicts]], question: Question, row: int
) -> Iterator[Reply]:
    """Return every verdict of every run on the question."""
    for place, run in runs:
        for verdict in run.of_question(row):
            yield _reply(place, verdict, question)


def _reply(place: RunPlace, verdict: Verdict, question: Question) -> Reply:
    text = (verdict.raw_response or "")[:LONGEST_REPLY]
    start, stop, rule, read_by, value = reading(text, question, verdict.order)
    read = verdict.status in ("ok", "unparseable") and value is not None
    counts = zip(token_counts(verdict.usage), ("in", "out"), strict=True)
    return Reply(
        run=place.slug,
        judge=place.name,
        order=verdict.order,
        asked=asked(verdict),
        rater=_text(verdict, "rater"),
        outcome=outcome(question, verdict),
        said=shown_value(verdict.value),
        status=verdict.status,
        cause=verdict.cause,
        before=text[:start],
        read=text[start:stop],
        after=text[stop:],
        rule=rule,
        read_by=read_by,
        turned="A in this order is option B." if verdict.order == "BA" and text else "",
        differs=read and value != verdict.value,
        latency=verdict.latency_s,
        probability_a=verdict.probability_a,
        tokens=", ".join(f"{n:,} tokens {way}" for n, way in counts if n is not None),
        note=_text(verdict, "note"),
        calls=tuple(_calls(verdict.extra)),
    )


def _text(verdict: Verdict, field: str) -> str | None:
    value = verdict.extra.get(field)
    return value if isinstance(value, str) and value else None


def _calls(extra: Mapping[str, Any]) -> Iterator[Call]:
    """Return the tool calls of a verdict; invalid content is tolerated."""
    trace = extra.get("tool_calls")
    for call in trace[:MOST_CALLS] if isinstance(trace, list) else ():
        if isinstance(call, Mapping):
            yield Call(*(str(call.get(name) or "") for name in ("name", "arguments", "result")))


def asked(verdict: Verdict) -> str:
    """Return which repeat a verdict is, or the kind of check for a person; empty for the
    first.

    In a run of people, ``repeat`` only distinguishes the raters.
    """
    purpose = verdict.extra.get("purpose")
    if isinstance(purpose, str):
        return {"question": "", "known": "known question"}.get(purpose, purpose)
    return f"repeat {verdict.repeat}" if verdict.repeat else ""


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


def outcome(question: Question, verdict: Verdict) -> str:
    """Return the outcome of a verdict: right, wrong, failed, cannot tell, or no right answer if the
    question has none.
    """
    if verdict.status == "cannot_tell":
        return "cannot tell"
    if not is_usable(question, verdict):
        return "failed"
    if not has_answer(question):
        return "no right answer"
    return "right" if is_right(question, verdict) else "wrong"


def facts(question: Question) -> list[tuple[str, str]]:
    """Return the facts shown beside the question."""
    none = "not known" if question.answer == UNKNOWN else "no answer is right"
    title, stem = encoding_title(question.task, question.encoding), question.encoding
    probe = question.probe
    rows = [
        ("Task", spaced(question.task)),
        ("Encoding", title if title == stem else f"{title} ({stem})"),
        ("Type", question.question_type),
        ("Answer", shown_value(question.answer) if has_answer(question) else none),
        ("Margin", _margin(question)),
        ("Image", question.image_id),
        ("Class", ", ".join(question.class_of_interest or ())),
        ("Error type", question.error_type or ""),
        ("Subset", ", ".join(question.subset)),
        ("Probe", "" if probe is None else f"{probe.name}: {probe.changed}"),
        ("Id", question.id),
    ]
    return [(name, value) for name, value in rows if value]


def _margin(question: Question) -> str:
    margin = difference_of(question)
    if margin is None:
        return ""
    several = len(question.final_scores) > 2
    return f"{margin:.4g}{', between the best and the worst option' * several}"
