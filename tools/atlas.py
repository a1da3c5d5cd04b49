"""Measure the judges of public sets of verdicts, and write what was found:
docs/findings.json, docs/findings.md and the table of README.md.

    python tools/atlas.py CLONES            # folders named as the repositories
    python tools/atlas.py                   # the pages again, from docs/findings.json
    python tools/atlas.py CLONES --tables tables    # the rows of each set, for visualjudge adopt

Nothing is downloaded. A set whose clone is missing is named, and its figures stay as
they were.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import polars as pl
from atlas_findings import findings_of, ratings
from atlas_pages import write_pages
from atlas_published import published_of
from atlas_sets import EDITS, GENAI, SETS, SOURCES, VerdictSet

import visualjudge as vj
from visualjudge.analysis import Analysis, analyse
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.answer import CARDS
from visualjudge.analysis.figures.bias import BIAS
from visualjudge.analysis.figures.scoring import SCORES
from visualjudge.analysis.results import JudgeResult
from visualjudge.apps.adopt.benchmarks import adopt_benchmark
from visualjudge.core.atomic import write_json
from visualjudge.core.errors import VisualJudgeError

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs/findings.json"
NAMES = {
    "image_generation": "Generated images",
    "image_edition": "Edited images",
}
"""Parts of GenAI-Bench."""
OF_2024 = {
    "gemini-1.5-pro",
    "gpt4o",
    "idefics2",
    "llavanext",
    "minicpm-V-2.5",
    "mantis-8b-idefics2",
    "mantis-8b-idefics2_8192",
}
"""Judges of GenAI-Bench whose model is of 2024; the others are of 2023."""
NO_JUDGE = "random"


@dataclass(frozen=True)
class JudgeRow:
    """A judge on one set: ``figure`` is ρ with people, or the share of pairs that it
    decides as they do; ``bias`` is its mean difference in points of the scale, or its
    preference for the option shown first in percentage points; ``use`` is the answer of
    the card.
    """

    set: str
    shown: str
    judge: str
    year: int
    figure: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    images: int
    unread: float
    bias: float | None
    use: str


def adopted(found: VerdictSet, clones: Path, out: Path) -> Analysis:
    """Adopt the rows of a set and analyse them."""
    rows = found.rows(*(clones / name for name in found.sources))
    scale = (
        {} if found.score_range is None else {"score_range": found.score_range}
    )
    done = vj.adopt(rows, out, **scale)
    return analyse(list(done.runs))


def score_row(found: VerdictSet, judge: JudgeResult) -> JudgeRow:
    """A judge of scores: ρ over all items."""
    own = judge[SCORES]
    low, high = own.spearman.interval or (None, None)
    scale = found.score_range or (0, 10)
    bias = own.bias.value
    return JudgeRow(
        found.name,
        found.shown,
        judge.name,
        found.years.get(judge.name, 2023),
        "ρ",
        own.spearman.value,
        low,
        high,
        own.n,
        own.spearman.images,
        own.failed / own.n,
        None if bias is None else bias * (scale[1] - scale[0]) / 10,
        judge[CARDS].models.state,
    )


def pair_row(name: str, shown: str, year: int, judge: JudgeResult) -> JudgeRow:
    """A judge of pairs: the share that it decides as people do, ties being an
    answer."""
    own = judge[PAIRWISE].accuracy.share
    low, high = own.interval or (None, None)
    first = next(
        row.estimate for row in judge[BIAS] if row.feature == "position"
    )
    unread = judge.pairs.select((~pl.col("usable")).mean()).item()
    return JudgeRow(
        name,
        shown,
        judge.name,
        year,
        "%",
        own.value,
        low,
        high,
        own.n,
        own.images,
        unread,
        None if first.value is None else 100 * first.value,
        judge[CARDS].models.state,
    )


def measure(
    clones: Path, scratch: Path
) -> tuple[list[JudgeRow], dict[str, Analysis], list[str]]:
    """Rows of all judges, the analysis of each set, and the repositories without a
    clone."""
    rows: list[JudgeRow] = []
    analyses: dict[str, Analysis] = {}
    missing: list[str] = []
    for found in SETS:
        lacking = [
            name for name in found.sources if not (clones / name).is_dir()
        ]
        missing += lacking
        if lacking:
            continue
        print(f"{found.name}: reading", flush=True)
        analysis = adopted(found, clones, scratch / found.name)
        analyses[found.name] = analysis
        for judge in analysis.judges:
            if found.score_range is None:
                year = found.years.get(judge.name, 2024)
                rows.append(pair_row(found.name, found.shown, year, judge))
            else:
                rows.append(score_row(found, judge))
    if not (clones / GENAI).is_dir():
        return rows, analyses, [*missing, GENAI]
    done = adopt_benchmark(
        "genai-bench",
        clones / GENAI / "results",
        scratch / "genai",
        replies=None,
    )
    runs = [path for path, _ in done.runs]
    for part, shown in NAMES.items():
        analysis = analyse(runs, where=[f"task={part}"])
        name = f"genai-bench/{part}"
        analyses[name] = analysis
        for judge in analysis.judges:
            if judge.name != NO_JUDGE and not judge.pairs.is_empty():
                year = 2024 if judge.name in OF_2024 else 2023
                rows.append(pair_row(name, shown, year, judge))
    return rows, analyses, missing


def rounded(value: Any) -> Any:
    """Figures with six decimals, so that the file does not depend on the last bits of a
    machine."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: rounded(own) for key, own in value.items()}
    return [rounded(own) for own in value] if isinstance(value, list) else value


def kept(key: str) -> list[dict[str, Any]]:
    """What the committed file has under a key."""
    return orjson.loads(FIGURES.read_bytes())[key] if FIGURES.is_file() else []


def merged(
    key: str, made: Sequence[Any], name: str, measured: set[str]
) -> list[dict[str, Any]]:
    """Made figures, and the kept ones whose set was not measured; in the order of the
    file."""
    new = [rounded(orjson.loads(orjson.dumps(asdict(row)))) for row in made]
    old = [row for row in kept(key) if not set(_sets(row[name])) <= measured]
    return new + old


def _sets(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def write_tables(clones: Path, out: Path) -> Iterator[Path]:
    """Write the rows of each set as a CSV file for ``visualjudge adopt``."""
    out.mkdir(parents=True, exist_ok=True)
    for found in SETS:
        if all((clones / name).is_dir() for name in found.sources):
            rows = found.rows(*(clones / name for name in found.sources))
            yield write_table(out / f"{found.name}.csv", rows)
            if found.name == "polaris":
                above = [row for row in rows if row["truth"] > 1]
                yield write_table(out / "polaris-above-0.csv", above)
    if (clones / EDITS).is_dir():
        yield write_table(out / "ratings.csv", ratings(clones / EDITS))


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows as CSV; return the file."""
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def main() -> None:
    """Measure the judges in the clones, if any, and write the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "clones", nargs="?", type=Path, help="folder of the clones"
    )
    parser.add_argument(
        "--tables", type=Path, help="write the rows of each set here"
    )
    arguments = parser.parse_args()
    try:
        if arguments.clones is not None and arguments.tables is not None:
            print(*write_tables(arguments.clones, arguments.tables), sep="\n")
            return
        if arguments.clones is not None:
            compute(arguments.clones)
    except VisualJudgeError as error:
        parser.exit(1, f"{error}\n")
    document = orjson.loads(FIGURES.read_bytes())
    for page in write_pages(ROOT, document):
        print(page)


def compute(clones: Path) -> None:
    """Measure the sets whose clones are here and write docs/findings.json."""
    with TemporaryDirectory(prefix="visualjudge-atlas-") as scratch:
        rows, analyses, missing = measure(clones, Path(scratch))
        for name in missing:
            print(f"{SOURCES[name].repository}: no clone; its figures stay")
        measured = set(analyses)
        found = findings_of(analyses, clones)
        document = {
            "sources": [asdict(source) for source in SOURCES.values()],
            "rows": merged("rows", rows, "set", measured),
            "findings": merged("findings", found, "sets", measured),
            "published": merged(
                "published", published_of(analyses, clones), "set", measured
            ),
        }
    write_json(FIGURES, document)


if __name__ == "__main__":
    main()
