"""Views of one question in the studio: its card in the grid, and its own page. Cells of
many questions are in ``slices.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from visualjudge.analysis.stated_reasons import place_in_pixels
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Json
from visualjudge.core.records import (
    IMAGE_MARK,
    LETTERS,
    TURNED,
    Question,
    Size,
    Verdict,
)
from visualjudge.prompts.spans import (
    images_within,
    interleaved,
    spans_of,
    swapped,
)
from visualjudge.replies import read_reply
from visualjudge.replies.criteria import split_criteria
from visualjudge.runs.budget import token_counts
from visualjudge.studio.dataset_index import OUTCOMES, shown_as
from visualjudge.studio.facets import spaced
from visualjudge.studio.places import RunPlace
from visualjudge.studio.selection import Shelf
from visualjudge.vision.encodings import encoding_title

# Maximum number of layers for images that belong to no option; the prompt shows all
# images.
MOST_LAYERS = 20
MOST_RELATED = 30
# Number of characters of a reply on the page.
LONGEST_REPLY = 200_000


def option_images(question: Question) -> list[str | None]:
    """Return the image of each option, or None if it is shown as text alone.

    If the prompt does not tell (a question from another tool), the last images are
    taken as one per option.
    """
    n = len(question.final_scores)
    spans = _option_spans(question)
    if not spans:
        several = len(question.images) >= n and shown_as(question) != "text"
        return list(question.images[-n:]) if several else [None] * n
    return [
        next(iter(question.images[images_within(question, span)]), None)
        for span in spans
    ]


def option_texts(question: Question) -> list[str]:
    """Return the text of each option without its image marks; empty if the prompt does
    not separate them.
    """
    spans = _option_spans(question)
    texts = [
        question.prompt[start:stop].replace(IMAGE_MARK, "").strip()
        for start, stop in spans
    ]
    return texts or [""] * len(question.final_scores)


def _option_spans(question: Question) -> tuple[tuple[int, int], ...]:
    try:
        spans = spans_of(question).options
    except DataError:
        return ()
    return spans if len(spans) == len(question.final_scores) else ()


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


def options(question: Question) -> list[Option]:
    """Return the options in stored order."""
    images = option_images(question)
    texts = option_texts(question)
    best = str(question.answer)[:1] if question.has_answer else ""
    letters = LETTERS if question.question_type != "scoring" else " "
    known = zip(
        question.final_scores,
        question.sources,
        question.annotation_ids,
        strict=True,
    )
    return [
        Option(letters[k], images[k], texts[k], *facts, letters[k] == best)
        for k, facts in enumerate(known)
    ]


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """One run's verdict on a question: ``value`` is that of its first usable
    verdict."""

    run: str
    judge: str
    outcome: str
    value: str

    @property
    def said(self) -> str:
        """Return the value for display; one of several would look like the run's
        verdict."""
        return "mixed" if self.outcome == "mixed" else spaced(self.value)


def verdicts_on(
    shelf: Shelf, rows: Sequence[int]
) -> dict[int, list[RunVerdict]]:
    """Return by row what each run that asked these questions said."""
    some = ", ".join(map(str, rows))
    answers = {
        (run, row): (OUTCOMES[outcome], value or "")
        for run, row, outcome, value in shelf.study.all(
            "SELECT run, row, outcome, (SELECT value FROM verdict v WHERE v.run = o.run "
            "AND v.row = o.row AND usable AND NOT checks ORDER BY number LIMIT 1) FROM "
            f"outcome o WHERE row IN ({some}) AND run IN (SELECT number FROM run)"
        )
    }
    by_row: dict[int, list[RunVerdict]] = {}
    for place, run in shelf.runs:
        for row in rows:
            if answer := answers.get((run.number, row)):
                by_row.setdefault(row, []).append(
                    RunVerdict(place.slug, place.name, *answer)
                )
    return by_row


@dataclass(frozen=True, slots=True)
class Related:
    """A question compared with the one shown, and each run's verdict on it; ``here``
    marks the question shown.
    """

    question: Question
    title: str
    unchanged: bool
    here: bool
    verdicts: tuple[RunVerdict, ...]


def related(shelf: Shelf, row: int) -> list[Related]:
    """Return the questions (``other``) about the same options as the one of ``row``
    (``here``), and those of its probe's group, the unchanged ones first; empty if there
    is no other.
    """
    rows = shelf.study.all(
        "SELECT other.row, other.changed FROM question here JOIN question other ON "
        "other.pair = here.pair OR other.family = here.family AND (other.of_probe = "
        "here.of_probe OR NOT other.changed) WHERE here.row = ? ORDER BY "
        "other.changed, other.row LIMIT ?",
        row,
        MOST_RELATED,
    )
    verdicts = verdicts_on(shelf, [other for other, _ in rows])
    others = []
    for other, changed in rows if len(rows) > 1 else ():
        question = shelf.study.question(other)
        title = encoding_title(question.task, question.encoding)
        if changed and question.probe is not None:
            title = f"{title}: {question.probe.changed}"
        answers = tuple(verdicts.get(other, ()))
        others.append(
            Related(question, title, not changed, other == row, answers)
        )
    return others


def layers(
    question: Question, unchanged: Question | None = None
) -> list[dict[str, str]]:
    """Return the images of the stage with key, title and file name, originals first;
    last come those from before a probe's change.
    """
    originals = original_images(question)[:MOST_LAYERS]
    named = [
        *("Original", "Control"),
        *(f"Image {i + 1}" for i in range(2, MOST_LAYERS)),
    ]
    listed = [
        _layer(f"o{i}", named[i], image) for i, image in enumerate(originals)
    ]
    for letter, image in zip(LETTERS, option_images(question), strict=False):
        if image is not None:
            title = (
                "Prediction"
                if question.question_type == "scoring"
                else f"Option {letter}"
            )
            listed.append(_layer(letter, title, image))
    known = {layer["name"] for layer in listed}
    before = layers(unchanged) if unchanged is not None else []
    return listed + [
        _layer(
            f"u{layer['key']}", f"{layer['title']}, unchanged", layer["name"]
        )
        for layer in before
        if layer["name"] not in known
    ]


def _layer(key: str, title: str, name: str) -> dict[str, str]:
    return {"key": key, "title": title, "name": name}


def prompts(question: Question) -> dict[str, list[tuple[str, str | None]]]:
    """Return the prompt as the judge receives it, for each possible order: texts, and
    images by file name.
    """
    by_order = {"AB": _parts(question.prompt, question.images)}
    if question.question_type == "pairwise" and _option_spans(question):
        try:
            turned = swapped(question)
        except DataError:  # another tool's prompt is asked in one order only
            return by_order
        by_order["BA"] = _parts(turned.prompt, turned.images)
    return by_order


def _parts(
    prompt: str, images: tuple[str, ...]
) -> list[tuple[str, str | None]]:
    try:
        runs = interleaved(prompt, images)
    except DataError:
        runs = [(prompt, False), *((name, True) for name in images)]
    return [
        ("", text) if is_image else (text.strip("\n"), None)
        for text, is_image in runs
    ]


def step(shelf: Shelf, rows: Sequence[int], row: int) -> Json:
    """Return a question's position in the selection (None if it is not in it), their
    number, and the ids of the questions before and after it.
    """
    if row not in rows:
        return {
            "place": None,
            "total": len(rows),
            "before": None,
            "after": None,
        }
    place = rows.index(row)
    names = shelf.study.identities(rows[max(place - 1, 0) : place + 2])
    return {
        "place": place,
        "total": len(rows),
        "before": names[0] if place else None,
        "after": names[-1] if place + 1 < len(rows) else None,
    }


@dataclass(frozen=True, slots=True)
class Reply:
    """One verdict, with its reply split at the part that was read.

    Attributes
    ----------
    asked
        Which repeat it is, or the kind of check for a person; empty for the first.
    size
        The images' (height, width), for places; None if not known.
    prose
        Whether it was read from a sentence, for want of a marked answer.
    differs
        Whether this version reads a different value than the run recorded.
    """

    judge: str
    question_type: str
    verdict: Verdict
    outcome: str
    asked: str
    before: str
    read: str
    after: str
    size: Size | None
    prose: bool
    differs: bool
    tokens: str


def reply_of(
    place: RunPlace,
    verdict: Verdict,
    outcome: str,
    question: Question,
    size: Size | None,
) -> Reply:
    """Return a verdict as it is shown."""
    text = (verdict.raw_response or "")[:LONGEST_REPLY]
    start, stop, prose, value = reading(text, question, verdict.order)
    counts = zip(token_counts(verdict.usage), ("in", "out"), strict=True)
    return Reply(
        place.name,
        question.question_type,
        verdict,
        outcome,
        asked(verdict),
        text[:start],
        text[start:stop],
        text[stop:],
        size,
        prose,
        verdict.status in ("ok", "unparseable")
        and value not in (None, verdict.value),
        ", ".join(f"{n:,} tokens {way}" for n, way in counts if n is not None),
    )


def asked(verdict: Verdict) -> str:
    """Return which repeat a verdict is, or the kind of check for a person; empty for
    the first.

    In a run of people, ``repeat`` only distinguishes the raters.
    """
    purpose = verdict.extra.get("purpose")
    if isinstance(purpose, str):
        return {"question": "", "known": "known question"}.get(purpose, purpose)
    return f"repeat {verdict.repeat}" if verdict.repeat else ""


def reading(
    text: str, question: Question, order: str
) -> tuple[int, int, bool, str | float | None]:
    """Return the position of the answer in a reply, whether a sentence is all that
    states it, and the value as stored.
    """
    if not text:
        return 0, 0, False, None
    rest, criteria = split_criteria(text)
    response = read_reply(
        rest,
        question.question_type,
        len(question.annotation_ids),
        ties=question.ties or (),
    )
    value = response.value
    if order == "BA" and question.question_type == "pairwise":
        value = TURNED.get(str(value), value)
    # of an answer beside criteria the position is that in the rest
    span = response.span if response.span and not criteria else (0, 0)
    return *span, response.read_by == "prose", value


def places(question: Question, replies: Sequence[Reply]) -> list[Json]:
    """Return the boxes to draw over the images, in pixels: the measured faults of each
    option, and the places that judges named, each once.
    """
    boxes: list[Json] = [
        {
            "box": fault.box,
            "title": spaced(fault.kind),
            "true": letter,
        }
        for letter, faults in zip(LETTERS, question.faults or (), strict=False)
        for fault in faults
    ]
    for reply in replies:
        for name, value in (reply.verdict.criteria or {}).items():
            title = f"{reply.judge}: {spaced(name)}"
            boxes += [
                {"box": fault.box, "title": f"{title} {value}"}
                for letter, faults in zip(
                    LETTERS, question.faults or (), strict=False
                )
                for fault in faults
                if letter != reply.verdict.value
                and isinstance(value, int)
                and fault.item == value
            ]
            box = reply.size and place_in_pixels(value, reply.size)
            if box:
                boxes.append({"box": box, "title": title})
    return [box for k, box in enumerate(boxes) if box not in boxes[:k]]
