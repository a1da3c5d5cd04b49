"""Questions that are most informative about a judge, with what it was shown and what it
replied. The same questions in the studio are in ``studio/question_views.py``.
"""

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

from visualjudge.analysis.figure_text import plain_name
from visualjudge.analysis.load import read_reply
from visualjudge.analysis.pairwise_verdicts import withheld
from visualjudge.analysis.plots.plot import data_uri
from visualjudge.analysis.ranking_and_scoring import rank_taus
from visualjudge.analysis.score_scale import ScoreScale, asked_scale
from visualjudge.analysis.stated_reasons import place_in_pixels, rubric_in
from visualjudge.analysis.study_table import Placed, Run, Study
from visualjudge.core.addresses import question_address
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import image_at
from visualjudge.core.jsons import Fields
from visualjudge.core.records import LETTERS, TURNED, Fault, Pixels, Size
from visualjudge.dataset.fault_truth import shown_sizes
from visualjudge.prompts.spans import swapped
from visualjudge.vision.encodings import encoding_title
from visualjudge.vision.faults import kinds_of
from visualjudge.vision.raster.images import read_rgb

USUAL = 6
"""Number of examples of a judge."""
SIDE = 360
"""Longest side of an image, in pixels."""
LONGEST_REPLY = 1500
"""A row of the table of answers, with ``why`` it was chosen."""


@dataclass(frozen=True)
class Example:
    """One verdict with its question, letters and options (true scores and sources) in
    the order that the judge saw; ``images`` are captions and data URIs, None for one
    that cannot be read.

    ``criteria`` are what a rubric asked besides, and the answers; ``legend`` are names
    and colours, ``faults`` what is wrong with each option and where. ``link`` opens the
    question in the studio, if the dataset states its digest.
    """

    id: str
    why: str
    task: str
    encoding: str
    image: str
    error_type: str
    stated: str
    answer: str
    options: str
    prompt: str
    reply: str
    criteria: tuple[tuple[str, str], ...]
    images: tuple[tuple[str, str | None], ...]
    legend: tuple[tuple[str, str], ...]
    faults: tuple[tuple[str, str], ...]
    link: str


def _wrong(table: pl.DataFrame, scale: ScoreScale) -> pl.DataFrame:
    """Return usable but wrong replies with ``distance`` (larger is worse) and
    ``why``."""
    usable = table.with_columns(
        right_once=pl.col("right").any().over("question", "repeat")
    ).filter("usable")
    pairs = usable.filter(~pl.col("right"), kind="pairwise")
    ranked = usable.filter(kind="ranking")
    taus = pl.Series(rank_taus(ranked), dtype=pl.Float64).fill_nan(None)
    scored = usable.filter(kind="scoring")
    off = (pl.col("number") - pl.col("truth")).abs()
    point = scale.size(1.0)
    margin = (pl.col("margin") * point).round(1)
    apart = pl.format("wrong, true scores {} apart", margin)
    wide = pl.when(pl.col("margin") > 0).then(apart).otherwise(pl.lit("wrong"))
    beside = pl.when("right_once").then(pl.lit("; right in the other order"))
    ordered = pl.format("ranked with τ-b {}", taus.round(2))
    missed = pl.format("off by {} points", (off * point).round(1))
    return pl.concat(
        [
            pairs.with_columns(
                distance="margin", why=wide + beside.otherwise(pl.lit(""))
            ),
            ranked.with_columns(distance=1 - taus, why=ordered).filter(
                pl.col("distance") > 1
            ),
            scored.with_columns(distance=off, why=missed).filter(
                pl.col("distance") > 1
            ),
        ]
    )


def examples(study: Study, run: int, count: int = USUAL) -> list[Example]:
    """Return up to ``count`` verdicts of one run, each about another image where
    possible: most of them wrong by the widest margins, a quarter unread. Without a
    known truth, none is wrong.
    """
    table = study.joined[run]
    if not study.has_scores:  # the margins are not known then
        table = table.with_columns(margin=pl.lit(0.0))
    wrong = _spread(_wrong(table, asked_scale(study.meta)), count - count // 4)
    unread = table.filter(~pl.col("usable") & ~withheld()).with_columns(
        distance=pl.lit(0.0), why=pl.format("no answer: {}", "cause")
    )
    others = unread.filter(~pl.col("cluster").is_in(wrong["cluster"].to_list()))
    rows = [
        *wrong.to_dicts(),
        *_spread(others, count - wrong.height).to_dicts(),
    ]
    return _examples(study, run, rows)


def _spread(result: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return the rows of the largest distance: one an image, with the tasks taking
    turns."""
    ordered = result.sort("distance", "id", descending=[True, False])
    once = ordered.unique("cluster", keep="first", maintain_order=True)
    return once.sort(
        pl.int_range(pl.len()).over("task"), maintain_order=True
    ).head(most)


def changed(
    study: Study, first: int, second: int, count: int = USUAL
) -> list[Example]:
    """Return up to ``count`` questions that one run answered correctly and the other
    incorrectly, widest margin first, with the second run's reply.
    """
    keys = ["question", "order", "repeat"]
    tables = [study.joined[k].filter(kind="pairwise") for k in (first, second)]
    before = tables[0].select(*keys, before="right")
    apart = (
        tables[1]
        .join(before, on=keys)
        .filter(pl.col("right") != pl.col("before"))
    )
    a, b = (study.runs[k].name for k in (first, second))
    way = (
        pl.when("right")
        .then(pl.lit(f"right by {b}, wrong by {a}"))
        .otherwise(pl.lit(f"right by {a}, wrong by {b}"))
    )
    parts = apart.with_columns(why=way, distance="margin").partition_by("right")
    rows = [
        row for part in parts for row in _spread(part, count // 2).to_dicts()
    ]
    return _examples(study, second, rows)


def _examples(study: Study, run: int, rows: Sequence[Fields]) -> list[Example]:
    known = study.find([row["id"] for row in rows])
    return [_example(study, run, row, known.get(row["id"])) for row in rows]


def _example(
    study: Study, run: int, row: Fields, placed: Placed | None
) -> Example:
    record = read_reply(study.runs[run], row["offset"])
    reply = record.get("raw_response")
    turned = row["order"] == "BA"
    side = -1 if turned else 1
    stored = placed.question if placed else None
    question = stored
    if stored is not None and turned:
        try:
            question = swapped(stored)
        except DataError:
            # of another tool: its options cannot be told apart in the prompt
            question = None
    scale = asked_scale(study.meta)
    scores = [scale.score(score) for score in row["scores"][::side]]
    options = _options(
        scores,
        row["sources"][::side],
        scored=study.has_scores and len(scores) > 1,
    )
    stated = _value(row["text"], row["number"], scale, turned=turned)
    answer = _value(row["answer"], row["truth"], scale, turned=turned)
    faults = (stored.faults if stored else None) or ()
    words = stored.prompt if stored else ""
    digest = study.meta.get("questions_sha256")
    return Example(
        row["id"],
        row["why"],
        row["task"],
        encoding_title(row["task"], row["encoding"]),
        row["image"],
        row["error_type"],
        stated if row["usable"] else "not read",
        answer,
        ", ".join(f"{name}: {text}" for name, text in options.items() if text),
        question.prompt if question else "",
        reply[:LONGEST_REPLY] if isinstance(reply, str) else "",
        _criteria(study.runs[run], record, placed, turned=turned),
        _images(placed.root, question.images, list(options))
        if placed and question
        else (),
        _legend(words),
        tuple(zip(options, map(_places, faults[::side]), strict=False)),
        question_address(digest, row["id"]) if digest else "",
    )


def _criteria(
    run: Run, record: Fields, placed: Placed | None, *, turned: bool
) -> tuple[tuple[str, str], ...]:
    rubric = rubric_in(run.info)
    stated = record.get("criteria")
    if rubric is None or not isinstance(stated, dict):
        return ()
    size = (
        shown_sizes(placed.root)(placed.question)
        if placed and placed.root
        else None
    )
    kinds = kinds_of(placed.question.task) if placed else {}
    return tuple(
        (
            criterion.ask,
            _criterion(stated[criterion.id], size, kinds, turned=turned),
        )
        for criterion in rubric.criteria
        if criterion.id in stated
    )


def _criterion(
    value: Any, size: Size | None, kinds: Mapping[str, str], *, turned: bool
) -> str:
    """Return the answer to a criterion, a place in pixels; what a kind of fault is, in
    words."""
    box = size and place_in_pixels(value, size)
    if box:
        return _at(box)
    text = str(value)
    if text in kinds:
        return f"{plain_name(text)} ({kinds[text]})"
    return plain_name(TURNED.get(text, text) if turned else text)


def _at(box: Sequence[float]) -> str:
    # not broken at the end of a line
    return (
        "x\u00a0{0:.0f}\u2060–\u2060{2:.0f}, y\u00a0{1:.0f}\u2060–\u2060{3:.0f}"
    ).format(*box)


def _legend(prompt: str) -> tuple[tuple[str, str], ...]:
    """Return the names and colours of the legends of all options."""
    legends = " , ".join(re.findall(r"^Legend: (.*)$", prompt, re.MULTILINE))
    named = re.findall(r"(?:^|, )([^,=]+) = [^,(]*\((#\w{6})\)", legends)
    return tuple(
        dict.fromkeys((name.strip(), colour) for name, colour in named)
    )


def _places(faults: Sequence[Fault]) -> str:
    """Return the kinds of the faults of one option, most frequent first, and where the
    one of most weight is."""
    if not faults:
        return "none"
    kinds = Counter(fault.kind for fault in faults).most_common()
    words = ", ".join(f"{n} × {plain_name(kind)}" for kind, n in kinds)
    heaviest = max(faults, key=lambda fault: fault.weight)
    return f"{words}; the costliest at {_at(heaviest.box)}"


def _value(
    text: str | None, value: float | None, scale: ScoreScale, *, turned: bool
) -> str:
    if text is not None:
        return TURNED.get(text, text) if turned else text
    return "–" if value is None else f"{scale.score(value):.1f}"


def _options(
    scores: list[float], sources: list[str | None], *, scored: bool
) -> dict[str, str]:
    """Describe each option by letter: "true score 7.50 (yolo)", or its source without a
    score. Of one prediction, the score is the right answer."""
    letters = (
        [f"Option {letter}" for letter in LETTERS]
        if len(scores) > 1
        else ["Prediction"]
    )
    known = zip(letters, scores, sources or [None] * len(scores), strict=False)
    return {
        name: (
            f"true score {score:.2f}{f' ({source})' if source else ''}"
            if scored
            else source or ""
        )
        for name, score, source in known
    }


def _images(
    root: Path | None, paths: Sequence[str], options: Sequence[str]
) -> tuple[tuple[str, str | None], ...]:
    """Return the images of a question with captions: the photographs, then the options
    in order; options in words have no image.
    """
    inputs = len(paths) - len(options)
    names = (
        ["Input image"] * inputs + list(options)
        if inputs >= 0
        else ["Image"] * len(paths)
    )
    return tuple(
        zip(names, (thumbnail(root, path) for path in paths), strict=True)
    )


def thumbnail(root: Path | None, path: str) -> str | None:
    """Return an image of the dataset, at most :data:`SIDE` px, as a data URI; None if
    it cannot be read.
    """
    try:
        return jpeg_uri(read_rgb(image_at(root or Path(), path)), SIDE)
    except DataError:
        return None


def jpeg_uri(image: Pixels, side: int) -> str:
    """Return an image (height, width, 3), at most ``side`` px, as a data URI."""
    small = Image.fromarray(image)
    small.thumbnail((side, side))
    held = io.BytesIO()
    small.save(held, "JPEG", quality=80)
    return data_uri(held.getvalue(), "image/jpeg")
