"""Questions that are most informative about a judge, with what it was shown and what it replied."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import polars as pl
from PIL import Image

from visualjudge.analysis.bias import both_orders
from visualjudge.analysis.figure_text import number
from visualjudge.analysis.load import read_reply
from visualjudge.analysis.pairwise_figures import CANNOT_TELL, DECLINED
from visualjudge.analysis.scores import rank_taus
from visualjudge.analysis.study_table import Placed, Study, unchanged
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import image_at
from visualjudge.core.records import Question
from visualjudge.prompts.spans import swapped
from visualjudge.vision.encodings import encoding_title
from visualjudge.vision.raster.images import read_rgb

if TYPE_CHECKING:
    from visualjudge.replies.reply_to_value import QuestionType

USUAL = 9
"""Number of examples per judge if the user gives none."""
THUMBNAIL = 360
LONGEST_REPLY = 1500
AROUND = (240, 140)
"""Number of characters shown before and after the deciding words."""
SHARES = {"pairwise": 2, "ranking": 6, "scoring": 6}
"""One in this many examples may be a wrong answer of this question type."""


NEEDED = (
    "id",
    "question",
    "order",
    "repeat",
    "pair",
    "cluster",
    "task",
    "kind",
    "margin",
    "usable",
    "text",
    "right",
    "number",
    "truth",
    "cause",
    "status",
    "scores",
    "options",
)
"""Columns used to choose examples."""


class VerdictRow(TypedDict, total=False):
    """The columns of the joined table (:func:`visualjudge.analysis.study_table.join`) that examples
    show, and why the row was chosen.
    """

    row: int
    why: str
    id: str
    order: str
    repeat: int
    pair: int
    cluster: int
    kind: str
    task: str
    encoding: str
    image: str
    error_type: str
    usable: bool
    status: str
    text: str | None
    number: float | None
    answer: str | None
    truth: float | None
    scores: list[float]
    sources: list[str | None]
    offset: int | None
    probe_name: str | None
    probe_design: str | None
    probe_group: str | None


@dataclass(frozen=True)
class Thumbnail:
    """An image of the dataset as a data URI; ``src`` is None if it cannot be read."""

    name: str
    """Caption of the image."""
    src: str | None
    path: str = ""
    truth: str = ""
    """For an option: its true score, its source, and whether it is the right one."""
    legend: tuple[tuple[str, str], ...] = ()
    """Colours named in the prompt: name and colour (#RRGGBB)."""
    text: str = ""
    """Other text of the prompt about an option: its boxes or masks."""


@dataclass(frozen=True)
class Reply:
    """A judge's reply: the words that decided the reading, some context, and the full text."""

    before: str
    decided: str
    """Empty if the reader gives no words, or its reading differs from the recorded one."""
    after: str
    whole: str
    """Empty if the reply has no other text."""


@dataclass(frozen=True)
class Example:
    """One verdict with its question."""

    why: str
    kind: str
    task: str
    encoding: str
    image: str
    error_type: str
    order: str
    said: str
    answer: str
    """Empty if no answer is right, because nothing distinguishes the options."""
    options: str
    """True scores and sources of the options if no image shows the options, else empty."""
    prompt: str
    reply: Reply | None
    images: tuple[Thumbnail, ...]

    @property
    def context(self) -> str:
        """Return the prompt's description of the task after its first sentence: classes, text
        prompt, goal.
        """
        before = self.prompt.partition("Options:")[0].removeprefix("<image>").strip()
        return before.partition("\n")[0].partition(". ")[2]


def _wrong(table: pl.DataFrame, kind: str, *, scored: bool) -> pl.DataFrame:
    """Return usable but wrong replies with ``distance`` (larger is worse) and ``why``; ``scored``
    tells whether the true scores are known.
    """
    usable = table.filter((pl.col("kind") == kind) & pl.col("usable"))
    if kind == "pairwise":
        found = usable.filter(~pl.col("right")).with_columns(distance=pl.col("margin"))
        apart = pl.format("wrong, true scores {} apart", pl.col("margin").round(1))
        return found.with_columns(why=apart if scored else pl.lit("wrong"))
    if kind == "ranking":
        found = usable.with_columns(distance=-pl.Series(rank_taus(usable), dtype=pl.Float64))
        found = found.filter(pl.col("distance") > 0)
        return found.with_columns(
            why=pl.format(
                "ranked with τ-b {}", (-pl.col("distance")).map_elements(number, pl.String)
            )
        )
    found = usable.with_columns(distance=(pl.col("number") - pl.col("truth")).abs()).filter(
        pl.col("distance") > 1
    )
    return found.with_columns(why=pl.format("off by {} points", pl.col("distance").round(1)))


def _flipped(table: pl.DataFrame, *, scored: bool) -> pl.DataFrame:
    """Return questions whose answer changed with the order, widest margin first."""
    pairs = both_orders(table.filter(pl.col("kind") == "pairwise"))
    ids = pairs.filter(pl.col("usable") & ~pl.col("consistent")).select("question", "repeat")
    wrong = table.filter((pl.col("kind") == "pairwise") & ~pl.col("right"))
    found = wrong.join(ids, on=["question", "repeat"], how="semi")
    apart = pl.format("; true scores {} apart", pl.col("margin").round(1))
    said = pl.lit("wrong in this order, right in the other")
    return found.with_columns(
        distance=pl.col("margin"), why=said + (apart if scored else pl.lit(""))
    )


def _unread(table: pl.DataFrame) -> pl.DataFrame:
    """Return replies that could not be read and calls that failed; declining to answer is not an
    error.
    """
    failed = table.filter(~pl.col("usable") & ~pl.col("status").is_in(list(_NO_ANSWER)))
    cause = pl.col("cause").cast(pl.String).str.replace("^refusal: ", "")
    cause = cause.str.replace("^unparseable: ", "not read, ")
    return failed.with_columns(distance=pl.lit(0.0), why=pl.format("no answer: {}", cause))


def _firsts(table: pl.DataFrame, count: int) -> list[VerdictRow]:
    """Return the rows with the largest distance, alternating between tasks.

    Each is about a different pair, ranking or annotation, regardless of encoding and order. There
    are ``count`` per task, to leave a choice of images.
    """
    ordered = table.sort(["distance", "question"], descending=[True, False], maintain_order=True)
    once = ordered.unique(["pair", "cluster"], keep="first", maintain_order=True)
    turns = once.with_columns(turn=pl.int_range(pl.len()).over("task")).sort(
        "turn", maintain_order=True
    )
    return _rows(turns.filter(pl.col("turn") < count * TURNS).drop("turn"))


TURNS = 4


def _rows(table: pl.DataFrame) -> list[VerdictRow]:
    return cast("list[VerdictRow]", table.to_dicts())


def chosen(
    table: pl.DataFrame, count: int, *, scored: bool = True, truth: bool = True
) -> list[VerdictRow]:
    """Return up to ``count`` rows of a run's joined table: wrong (half of them pairs), flipped by
    the order, or unread. Without a known ``truth``, none is wrong.
    """
    narrow = table.select(NEEDED).with_row_index("row")
    wrong = [
        row
        for kind, part in (SHARES if truth else {}).items()
        for row in _firsts(_wrong(narrow, kind, scored=scored), -(-count // part))
    ]
    flipped = _flipped(narrow, scored=scored)
    if not truth:
        flipped = flipped.with_columns(why=pl.lit("another answer in the other order"))
    lists = [wrong, *(_firsts(found, count) for found in (flipped, _unread(narrow)))]
    picked = _each_once(lists, (count, -(-count // 4), -(-count // 4)))[:count]
    whole = table[[row["row"] for row in picked]].with_columns(
        why=pl.Series([row["why"] for row in picked], dtype=pl.String)
    )
    return _rows(whole)


def _each_once(lists: Sequence[list[VerdictRow]], most: Sequence[int]) -> list[VerdictRow]:
    """Alternate between the lists, taking at most ``most`` rows of each: first rows with new
    images, then rows with new pairs.
    """
    picked: list[VerdictRow] = []
    left = list(most)
    for fields in (("cluster",), ("cluster", "pair")):
        known = {tuple(map(row.get, fields)) for row in picked}
        rest, before = [iter(rows) for rows in lists], -1
        while before < len(picked) < sum(most):
            before = len(picked)
            for k, rows in enumerate(rest):
                new = (row for row in rows if tuple(map(row.get, fields)) not in known)
                row = next(new, None) if left[k] else None
                if row:
                    known.add(tuple(map(row.get, fields)))
                    picked.append(row)
                    left[k] -= 1
    return picked


def examples(study: Study, run: int, count: int = USUAL) -> list[Example]:
    """Return up to ``count`` verdicts of one run: wrong by a wide margin, flipped by the order, or
    unread.
    """
    rows = chosen(
        study.joined[run], count, scored=study.has_scores, truth=not study.lacks_truth(run)
    )
    known = study.find([row["id"] for row in rows])
    return [_example(study, run, row, known.get(row["id"])) for row in rows]


def changed(study: Study, first: int, second: int, count: int = USUAL) -> list[Example]:
    """Return up to ``count`` questions that one run answered correctly and the other incorrectly,
    widest margin first, with the second run's reply.
    """
    keys = ["question", "order", "repeat"]
    both = (
        study.joined[first]
        .filter(pl.col("kind") == "pairwise")
        .select(*keys, before="text", right_before="right")
    )
    table = (
        study.joined[second].filter(pl.col("kind") == "pairwise").join(both, on=keys, how="inner")
    )
    apart = table.filter(pl.col("right") != pl.col("right_before"))
    way = pl.when(pl.col("right")).then(pl.lit("now right")).otherwise(pl.lit("now wrong"))
    found = []
    for right in (True, False):
        part = apart.filter(pl.col("right") == right).with_columns(
            distance=pl.col("margin"), why=way
        )
        half = -(-count // 2)
        found += _firsts(part.drop("before", "right_before"), half)[:half]
    known = study.find([row["id"] for row in found])
    return [_example(study, second, row, known.get(row["id"])) for row in found[:count]]


def probe_examples(study: Study, run: int) -> list[Example]:
    """Return one verdict for each probe of a run, with the change made by the probe and the
    original images.
    """
    answered = study.answered[run]
    table = answered.filter(~unchanged()).unique("probe_name", keep="first", maintain_order=True)
    plain = answered.filter(pl.col("probe_design") == "control").unique("probe_group", keep="first")
    before = dict(plain.select("probe_group", "id").iter_rows())
    rows = _rows(table)
    known = study.find([*(row["id"] for row in rows), *before.values()])
    return [_probe_example(study, run, row, known, before.get(row["probe_group"])) for row in rows]


def _probe_example(
    study: Study, run: int, row: VerdictRow, known: Mapping[str, Placed], before: str | None
) -> Example:
    """Return the example with its last image before and after the change if all images were changed
    the same way, else as asked.
    """
    changed, plain = known.get(row["id"]), known.get(before or "")
    row = {**row, "why": _changed(row, changed)}
    probe = changed.question.probe if changed else None
    if probe is not None and probe.expected == "any":
        return replace(_example(study, run, {**row, "answer": None}, changed), answer="")
    found = _example(study, run, row, changed)
    if row["probe_design"] != "change" or not changed or not plain:
        return found
    pair = (("unchanged", plain), ("changed", changed))
    if not all(one.question.images for _, one in pair):
        return found
    shown = ((word, thumbnail(one.root, one.question.images[-1])) for word, one in pair)
    seen = _as_shown(row)
    images = tuple(replace(image, name=word) for word, image in shown)
    return replace(found, images=images, options=_options(seen, study.has_scores))


def _changed(row: VerdictRow, placed: Placed | None) -> str:
    name = str(row["probe_name"]).replace("_", " ")
    return f"{name}: {placed.question.probe.changed}" if placed and placed.question.probe else name


def _as_shown(row: VerdictRow) -> VerdictRow:
    """Return the row with letters, scores and sources in the order the judge saw, as in its raw
    reply.
    """
    if row["order"] != TURNED:
        return row
    text, answer = (_OTHER.get(said or "", said) for said in (row["text"], row["answer"]))
    return {
        **row,
        "text": text,
        "answer": answer,
        "scores": row["scores"][::-1],
        "sources": row["sources"][::-1],
    }


def _question_shown(placed: Placed | None, order: str) -> Question | None:
    """Return the question as the judge saw it, or None if unknown."""
    if placed is None or order != TURNED:
        return placed.question if placed else None
    try:
        return swapped(placed.question)
    except DataError:
        return None


def _example(study: Study, run: int, stored: VerdictRow, placed: Placed | None) -> Example:
    """Return the verdict as given: prompt, images, letters and scores in the order shown."""
    raw = read_reply(study.runs[run], stored["offset"]).get("raw_response")
    row, question = _as_shown(stored), _question_shown(placed, stored["order"])
    images = (
        _shown_images(placed.root, question, row, study.has_scores)
        if placed and placed.root and question
        else []
    )
    return Example(
        row["why"],
        row["kind"],
        row["task"],
        encoding_title(row["task"], row["encoding"]),
        row["image"],
        row["error_type"],
        row["order"],
        _word(row["text"], row["number"])
        if row["usable"]
        else _NO_ANSWER.get(row["status"], "nothing that could be read"),
        _word(row["answer"], row["truth"]),
        "" if any(image.truth for image in images) else _options(row, study.has_scores),
        question.prompt if question else "",
        _reply(raw, row) if isinstance(raw, str) and raw else None,
        tuple(images),
    )


def _shown_images(root: Path, question: Question, row: VerdictRow, scored: bool) -> list[Thumbnail]:
    """Return the images of a question with captions: the photograph, then the options in order."""
    options, count = len(question.final_scores), len(question.images)
    letters = (
        [f"Option {letter}" for letter in "ABCDE"[:options]] if options > 1 else ["Prediction"]
    )
    named = list(zip(letters, _truths(row, scored), strict=True))
    told = _options_told(question.prompt) if options > 1 else {}
    if count == 1 and (options > 1 or row["encoding"].startswith("text")):
        texts = [
            Thumbnail(name, None, truth=truth, text=told[name[-1]][:LONGEST_OPTION])
            for name, truth in named
            if name[-1] in told
        ]
        return [replace(thumbnail(root, question.images[0]), name=INPUT), *texts]
    if count < options:
        named = [(path, "") for path in question.images]
    inputs = range(1, count - len(named) + 1)
    named = [(INPUT if len(inputs) == 1 else f"{INPUT} {k}", "") for k in inputs] + named
    legends = {f"Option {letter}": _legend(COLOUR.findall(said)) for letter, said in told.items()}
    return [
        replace(thumbnail(root, path), name=name, truth=truth, legend=legends.get(name, ()))
        for path, (name, truth) in zip(question.images, named, strict=True)
    ]


def _legend(colours: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return (name, colour) of the first items, and the number of further items."""
    more = len(colours) - MOST_COLOURS
    rest = [(f"and {more} more", "transparent")] if more > 0 else []
    return (*colours[:MOST_COLOURS], *rest)


INPUT = "Input image"
OPTION = re.compile(r"^([A-E])\. ", re.MULTILINE)
COLOUR = re.compile(r"(?:^Legend: |, )([^,=]+?) = [^,(]*\((#[0-9A-Fa-f]{6})\)", re.MULTILINE)
LONGEST_OPTION, MOST_COLOURS = 1200, 9


def _options_told(prompt: str) -> dict[str, str]:
    """Return the prompt's text about each option, by letter."""
    _, *parts = OPTION.split(prompt.partition("Options:")[2])
    return {
        letter: said.partition("\n\n")[0].replace("<image>", "").strip()
        for letter, said in zip(parts[::2], parts[1::2], strict=True)
    }


def _truths(row: VerdictRow, scored: bool) -> list[str]:
    """Describe each option in the order shown: "true score 7.50 (yolo), right", or "yolo, right" if
    only the better option is known.
    """
    right = row["answer"] if row["kind"] == "pairwise" else None
    return [
        ", ".join(filter(None, (text, "right" if letter == right else "")))
        for letter, text in zip("ABCDE", _score_and_source(row, scored), strict=False)
    ]


def _score_and_source(row: VerdictRow, scored: bool) -> list[str]:
    """Describe each option as "true score 7.50 (yolo)", or by its source if there is no score."""
    named = zip(row["scores"], [*row["sources"], *[None] * 5], strict=False)
    if not scored:
        return [source or "" for _, source in named]
    return [f"true score {score:.2f}{f' ({source})' if source else ''}" for score, source in named]


def _reply(raw: str, row: VerdictRow) -> Reply:
    """Return the reply with letters as shown, and with the deciding words if a new reading gives
    the same value.
    """
    start, end = 0, len(raw)
    recorded = row["text"] if row["text"] is not None else row["number"]
    bare = f"{recorded:g}" if isinstance(recorded, float) else recorded
    if not row["usable"] or raw != bare:  # a bare answer need not be read again
        from visualjudge.replies import read_reply as read_text  # imports as slowly as Pillow

        kind = cast("QuestionType", row["kind"])
        found = read_text(raw, kind, len(row["scores"]), ties=("tie", "both_bad"))
        same = found.span and row["usable"] and found.value == recorded
        start, end = found.span if found.span and same else (0, 0)
    first, last = (
        max(0, start - AROUND[0]),
        min(len(raw), end + AROUND[1] + (AROUND[0] if end == 0 else 0)),
    )
    ends = ("…" if first else "", "…" if last < len(raw) else "")
    return Reply(
        ends[0] + raw[first:start],
        raw[start:end],
        raw[end:last] + ends[1],
        raw[:LONGEST_REPLY] if any(ends) else "",
    )


TURNED, _OTHER = "BA", {"A": "B", "B": "A"}
_NO_ANSWER = {DECLINED: "declined", CANNOT_TELL: "cannot tell"}


def _word(text: str | None, value: float | None) -> str:
    return text if text is not None else "–" if value is None else f"{value:.1f}"


def _options(row: VerdictRow, scored: bool) -> str:
    """List the options by letter, such as "A: true score 7.50 (yolo), B: true score 2.00 (detr)"; a
    single option is called Prediction.
    """
    letters = "ABCDE" if row["kind"] != "scoring" else ["Prediction"]
    named = zip(letters, _score_and_source(row, scored), strict=False)
    return ", ".join(f"{letter}: {text}" for letter, text in named if text)


def thumbnail(root: Path | None, name: str, side: int = THUMBNAIL) -> Thumbnail:
    """Return an image of the dataset, at most ``side`` px, as a data URI."""
    try:
        small = Image.fromarray(read_rgb(image_at(root or Path(), name)))
    except DataError:
        return Thumbnail(name, None, name)
    small.thumbnail((side, side))
    held = io.BytesIO()
    small.save(held, "JPEG", quality=80)
    return Thumbnail(
        name, "data:image/jpeg;base64," + base64.b64encode(held.getvalue()).decode(), name
    )


def encoding_images(study: Study, side: int = 72) -> dict[str, Thumbnail]:
    """Return a small image for every task/encoding: the last image of one of its questions, if it
    shows the prediction.
    """
    firsts = study.questions.unique(["task", "encoding"], keep="first", maintain_order=True)
    known = study.find(firsts["id"].to_list())
    out = {}
    for row in firsts.select("id", "task", "encoding").iter_rows(named=True):
        one = known.get(row["id"])
        if one and one.root and one.question.images and not row["encoding"].startswith("text"):
            out[f"{row['task']}/{row['encoding']}"] = thumbnail(
                one.root, one.question.images[-1], side
            )
    return out
