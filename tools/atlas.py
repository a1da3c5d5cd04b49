"""Compare published replies of known judges across benchmarks, with the same measures: figures, a
table, a plot and a page.

    python tools/atlas.py GenAI-Bench/results JudgeBench/outputs --out site

Each clone is FOLDER, recognised by its files, or NAME=FOLDER. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from functools import partial
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from visualjudge import __version__
from visualjudge.analysis import Analysis, analyse
from visualjudge.analysis.figure_text import many, percent, percents, points
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.bias import BIAS
from visualjudge.analysis.figures.cells import BY_TASK
from visualjudge.analysis.figures.published import AS_PUBLISHED
from visualjudge.analysis.pairwise_figures import constant_answer
from visualjudge.analysis.plots.canvas import Canvas
from visualjudge.analysis.plots.forest import ForestRow, forest
from visualjudge.analysis.plots.plot import Plot, page_style
from visualjudge.analysis.plots.series import ESTIMATE, SHARES, figures_of
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.value_and_interval import Ends, Estimate
from visualjudge.apps.adopt.benchmarks import (
    BENCHMARKS,
    adopt_benchmark,
    read_benchmark,
)
from visualjudge.apps.adopt.benchmarks.layout import Benchmark
from visualjudge.core.atomic import write_json, write_text
from visualjudge.core.errors import DataError, UsageError, VisualJudgeError
from visualjudge.core.records import TIES
from visualjudge.core.text_tables import Table

CONSTANT = "always giving the same answer"
NOTES = (
    "Accuracy: share of all pairwise verdicts that are right, by visualjudge's reading of the "
    "published replies; a "
    "reply that cannot be read is wrong. 95 %: interval over independent prompts or images. "
    "Constant "
    "answer: what always giving the same answer gets, of the best such answer. Authors: the "
    "benchmark's own score, by "
    "its own rules and its own reading.",
    "Position bias: half the difference in accuracy between questions whose better option is "
    "shown first and second, "
    "in points; +50 always chooses the first. Ties: share of replies that state a tie, and share "
    "of questions whose "
    "right answer is one. Unread: replies without a readable answer.",
    "Rank models with it: the card's answer by its usual thresholds. 'Cannot tell' also stands "
    "where a benchmark does "
    "not name the models that made the options.",
)


@dataclass(frozen=True)
class AtlasRow:
    """One judge on one part of a benchmark; shares are 0 to 1, ``lean`` is −½ to ½, and ``authors``
    is the published figure.
    """

    benchmark: str
    part: str
    judge: str
    accuracy: Estimate
    constant: float
    """Accuracy of the best constant answer, which ignores the options."""
    authors: str
    lean: float | None
    lean_interval: Ends | None
    ties_said: float
    ties_true: float
    unread: float
    answer: str

    @property
    def above_constant(self) -> str:
        """``pass`` if the interval lies above ``constant``, ``fail`` if below, else
        ``undecided``.
        """
        low, high = self.accuracy.interval or (None, None)
        if low is not None and low > self.constant:
            return "pass"
        return "fail" if high is not None and high < self.constant else "undecided"


def atlas(
    clones: Sequence[str | Path], progress: Callable[[str], object] = print
) -> tuple[AtlasRow, ...]:
    """Measure every judge whose replies to pairwise questions are in local copies of benchmarks.

    Parameters
    ----------
    clones
        Folders of benchmarks, or ``NAME=FOLDER`` with a name of ``BENCHMARKS``.
    progress
        Called with one line per benchmark.

    Raises
    ------
    UsageError
        If a folder matches no benchmark, or several.
    DataError
        If a file of a copy cannot be read, or no copy has a judge's replies to pairs.
    """
    rows: list[AtlasRow] = []
    with TemporaryDirectory(prefix="visualjudge-atlas-") as scratch:
        for k, clone in enumerate(clones):
            name, folder = _named(str(clone))
            done = adopt_benchmark(name, folder, Path(scratch) / str(k), replies=None)
            progress(f"{name}: {many(len(done.runs), 'judge')}")
            for line in done.left_out:
                progress(f"{name}: {line}")
            rows += _measured(name, [path for path, _ in done.runs])
    if not rows:
        raise DataError("no copy has a judge's replies to pairwise questions")
    return tuple(
        sorted(
            rows,
            key=lambda row: (
                row.benchmark,
                row.part,
                -(row.accuracy.value or 0),
                row.judge,
            ),
        )
    )


def _named(clone: str) -> tuple[str, Path]:
    """Return the benchmark and the folder of a copy."""
    name, equals, folder = clone.partition("=")
    if equals and name in BENCHMARKS:
        return name, Path(folder)
    if not Path(clone).is_dir():
        raise UsageError(
            f"{clone} must be a folder, or NAME=FOLDER with a name of docs/benchmarks.md"
        )
    found = [name for name, row in BENCHMARKS.items() if _has_replies(row, Path(clone))]
    if len(found) != 1:
        held = (
            f"may be {' or '.join(found)}"
            if found
            else "is a copy of no benchmark that is known"
        )
        raise UsageError(f"{clone} {held}; name it: NAME=FOLDER")
    return found[0], Path(clone)


def _has_replies(row: Benchmark, folder: Path) -> bool:
    try:
        return bool(read_benchmark(row, folder)[1])
    except Exception:  # whatever a reader of other files says of these
        return False


def _measured(benchmark: str, runs: Sequence[Path]) -> Iterator[AtlasRow]:
    whole = analyse(runs) if runs else None
    judges = whole.judges if whole is not None else ()
    for part in sorted({cell.name for judge in judges for cell in judge[BY_TASK]}):
        yield from _part(benchmark, part, analyse(runs, where=[f"task={part}"]))


def _part(benchmark: str, part: str, found: Analysis) -> Iterator[AtlasRow]:
    cards = card_of(found).judges
    for judge, card, joined in zip(
        found.judges, cards, found.study.joined, strict=True
    ):
        pairs = joined.filter(pl.col("kind") == "pairwise")
        if pairs.is_empty():
            continue
        own = [
            score
            for score in judge[AS_PUBLISHED]
            if score.name in (f"{benchmark}/{part}", benchmark)
        ]
        leaning = next(
            (row.estimate for row in judge[BIAS] if row.feature == "position"), None
        )
        yield AtlasRow(
            benchmark,
            part,
            judge.name,
            judge[PAIRWISE].accuracy.share,
            constant_answer(pairs) or 0.0,
            f"{own[-1].value:.{own[-1].digits}f}"
            if own and own[-1].value is not None
            else "–",
            leaning.value if leaning else None,
            leaning.interval if leaning else None,
            _share(pairs, pl.col("usable") & pl.col("text").is_in(TIES)),
            _share(pairs, pl.col("answer").is_in(TIES)),
            _share(pairs, ~pl.col("usable")),
            card.models.state,
        )


def _share(table: pl.DataFrame, condition: pl.Expr) -> float:
    return float(table.select(condition.mean()).item())


ANSWERS = {
    "yes": "Yes",
    "in_part": "In part",
    "too_few": "Cannot tell",
    "no": "No",
}

COLUMNS: Mapping[str, Callable[[AtlasRow], str]] = {
    "Questions": lambda row: f"{row.benchmark}: {row.part}",
    "Judge": lambda row: row.judge,
    "Accuracy": lambda row: percent(row.accuracy.value),
    "95 %": lambda row: percents(row.accuracy.interval),
    "Constant answer": lambda row: percent(row.constant),
    "Authors": lambda row: row.authors,
    "Position bias": lambda row: points(row.lean),
    "Ties: said / true": lambda row: (
        f"{percent(row.ties_said)} / {percent(row.ties_true)}"
    ),
    "Unread": lambda row: percent(row.unread),
    "Rank models with it?": lambda row: ANSWERS[row.answer],
}
"""Columns of the table with their descriptions."""


def atlas_table(rows: Sequence[AtlasRow], day: date) -> Table:
    """Return the figures as a table with an explanation."""
    cells = tuple(tuple(cell(row) for cell in COLUMNS.values()) for row in rows)
    made = (
        f"Computed by visualjudge {__version__} on {day.isoformat()} from the replies that the "
        "authors published."
    )
    return Table(tuple(COLUMNS), cells, (*NOTES, made), keys=2)


def atlas_figure(rows: Sequence[AtlasRow]) -> Plot:
    """Plot the accuracy and interval of each judge on each part, beside the best constant
    answer.
    """
    drawn = [
        ForestRow(f"{row.judge}, {row.part}", (row.accuracy,), row.constant)
        for row in rows
    ]
    above = sum(row.above_constant == "pass" for row in rows)
    draw: Callable[[float], Canvas] = partial(forest, drawn, ("accuracy",), SHARES)
    return Plot(
        "atlas",
        f"Published judges: better than {CONSTANT} in {above} of {len(rows)} rows",
        f"Accuracy with 95 % intervals; dashed: {CONSTANT}.",
        ("benchmark", "part", "judge", *ESTIMATE, "constant"),
        tuple(
            (
                row.benchmark,
                row.part,
                row.judge,
                *figures_of(row.accuracy),
                row.constant,
            )
            for row in rows
        ),
        draw,
    )


def write_atlas(rows: Sequence[AtlasRow], out: Path, day: date) -> None:
    """Write ``index.html``, ``atlas.json``, ``atlas.csv`` and ``atlas.svg`` into
    ``out``.
    """
    out.mkdir(parents=True, exist_ok=True)
    table, figure = atlas_table(rows, day), atlas_figure(rows)
    document: dict[str, Any] = {
        "version": __version__,
        "date": day.isoformat(),
        "rows": [asdict(row) for row in rows],
    }
    write_json(out / "atlas.json", document)
    figure.save(out / "atlas.svg")
    figure.save(out / "atlas.csv")
    style = page_style(
        "body{font:15px system-ui;max-width:75em;margin:2em auto;padding:0 "
        "1em;background:var(--page);"
        "color:var(--ink)}td,th{padding:.25em "
        ".6em;text-align:left;border-bottom:1px solid var(--line)}"
        "table{border-collapse:collapse;display:block;overflow-x:auto}"
    )
    title = "How far can published judges be trusted?"
    write_text(
        out / "index.html",
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width">'
        f"<title>{title}</title><style>{style}</style><main><h1>{title}</h1><p>{escape(figure.finding)}.</p>"
        f"{figure.inline()}{table.html()}</main></html>",
    )


def main() -> None:
    """Measure the judges in the clones and write the site."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", nargs="+", help="FOLDER or NAME=FOLDER")
    parser.add_argument("--out", type=Path, required=True, help="folder of the site")
    arguments = parser.parse_args()
    try:
        rows = atlas(arguments.clones)
        write_atlas(rows, arguments.out, datetime.now(UTC).date())
    except VisualJudgeError as error:
        parser.exit(1, f"{error}\n")
    print(f"{arguments.out / 'index.html'}: {len(rows)} rows")


if __name__ == "__main__":
    main()
