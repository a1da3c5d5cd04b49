"""Every cell behind every figure of a report is a figure of metrics.json, card or
verdicts."""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pytest

from judged_records import pair, said, scoring, write_dataset, write_run
from page_text import page
from visualjudge.analysis import Analysis, analyse
from visualjudge.analysis.plots.plot import LeftOut, Plot
from visualjudge.analysis.report.page import drawn
from visualjudge.core.records import OptionFeatures, Probe, Question

TASKS, ERRORS = (
    ("object_detection", "keypoint"),
    ("missed", "duplicate", "classification"),
)
STEMS, SOURCES = ("text_xyxy", "pixel_s0_m0"), ("yolo", "detr", "ssd")
NAMES = ("careful", "hasty", "local baseline")
Row = Sequence[Any]


def _pairs() -> list[Question]:
    return [
        pair(
            2 * k + e,
            (8.0, 8.0 - k % 7 - 1) if k % 2 else (8.0 - k % 7 - 1, 8.0),
            task=TASKS[k % 2],
            error_type=ERRORS[k % 3],
            encoding=stem,
            image_id=f"i{k % 15}",
            annotation_ids=(f"a{k}", f"b{k}"),
            sources=(SOURCES[k % 3], SOURCES[(k + 1) % 3]),
            features=(
                OptionFeatures(
                    severity=k % 5 / 5, text_chars=90 + k, png_bytes=900
                ),
                OptionFeatures(severity=1.0, text_chars=100, png_bytes=900 + k),
            ),
        )
        for k in range(90)
        for e, stem in enumerate(STEMS)
    ]


def _probes() -> list[Question]:
    """Controls, the same over grey, the same recompressed, and a tool beside either
    option."""
    versions = (
        ("control", "control", None, None),
        ("grey", "photograph", None, None),
        ("recompressed", "change", None, None),
        ("confidence", "cue", "A", 0.55),
        ("confidence", "cue", "B", 0.95),
    )
    return [
        pair(
            k,
            (8.0, 3.0),
            id=f"{name}{cue or ''}{k}",
            task=TASKS[k % 2],
            image_id=f"p{k % 20}",
            annotation_ids=(f"pa{k}", f"pb{k}"),
            sources=(None, None),
            probe=Probe(name, design, f"g{k}", "", "answer", cue, level),  # type: ignore[arg-type]
        )
        for k in range(60)
        for name, design, cue, level in versions
    ]


def _study(root: Path) -> Analysis:
    pairs, probes = _pairs(), _probes()
    scores = [scoring(400 + i, i / 3) for i in range(30)]
    dataset = write_dataset(root / "ds", [*pairs, *scores, *probes])
    runs = []
    for number, name in enumerate(NAMES):
        often = (9, 4, 6)[number]
        verdicts = [
            said(
                q,
                q.answer
                if (i // 2 + (order == "BA")) % often
                else "AB"[q.answer == "A"],
                order,
                usage={
                    "prompt_tokens": 100 + number,
                    "completion_tokens": 10 * number,
                },
                probability_a=0.8 - 0.1 * (i % 5) if number == 0 else None,
            )
            for order in ("AB", "BA")
            for i, q in enumerate(pairs)
        ]
        verdicts += [
            said(q, "B" if k % often == 0 else "A")
            for k, q in enumerate(probes)
        ]
        verdicts += [
            said(q, min(10.0, 0.7 * float(q.answer) + number)) for q in scores
        ]
        told = {"backend": "local"} if name == "local baseline" else {}
        runs.append(
            write_run(
                root / f"run{number}", dataset, verdicts, judge=name, **told
            )
        )
    return analyse(runs)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Two judges and the local baseline on questions that give every figure its
    data."""
    return _study(tmp_path_factory.mktemp("whole"))


def ends(told: Mapping[str, Any], value: str, interval: str) -> list[Any]:
    """The value, its interval, and the numbers of cases and images."""
    low, high = told[interval] or (None, None)
    return [told[value], low, high, told["n"], told["images"]]


def of_judges(
    metrics: Mapping[str, Any], rows: Callable[[Mapping[str, Any]], list[Row]]
) -> list[Row]:
    return [
        [judge["judge"], *row]
        for judge in metrics["judges"]
        for row in rows(judge)
    ]


def points(against: str) -> Callable[[Analysis], list[Row]]:
    def rows(judge: Mapping[str, Any]) -> list[Row]:
        return [
            [point["x"], point["share"], int(point["n"])]
            for curve in judge["sensitivity"]
            if (curve["scope"], curve["against"]) == ("all", against)
            for point in curve["points"]
        ]

    return lambda analysis: of_judges(analysis.metrics, rows)


def means(analysis: Analysis) -> list[Row]:
    """From the verdicts: the mean true and given score in each tenth of the scale."""
    out: list[Row] = []
    for number, name in enumerate(NAMES):
        bins: dict[int, list[tuple[float, float]]] = {}
        for i in range(30):
            bins.setdefault(int(i / 3), []).append(
                (i / 3, min(10.0, 0.7 * (i / 3) + number))
            )
        out += [
            [
                name,
                *(sum(pair) / len(found) for pair in zip(*found, strict=True)),
                len(found),
            ]
            for _, found in sorted(bins.items())
        ]
    return out


def _least(row: Mapping[str, Any]) -> list[Any]:
    """The smaller of the gains over grey and over another photograph."""
    low = (
        ("gain_over_other", "interval_over_other")
        if (row["gain_over_other"] or 1.0) < row["gain"]
        else ("gain", "interval")
    )
    return ends(row, *low)


SIGNS = {
    "right": "right",
    "wrong": "wrong",
    "undecided": "open",
    "close": "close",
}


def places(
    pairs: Sequence[Mapping[str, Any]], side: str
) -> dict[str, list[int]]:
    """Rank, best and worst rank of each model: who is separated above and below it."""
    names = sorted({name for pair in pairs for name in (pair["a"], pair["b"])})
    ahead = [
        (p["a"], p["b"]) if p[f"{side}_order"] > 0 else (p["b"], p["a"])
        for p in pairs
        if p[f"{side}_order"]
    ]

    def mean(name: str) -> float:
        own = [p[side] for p in pairs if p["a"] == name]
        other = [1 - p[side] for p in pairs if p["b"] == name]
        return round(sum([*own, *other]), 9)

    order = sorted(names, key=mean, reverse=True)
    means = [mean(name) for name in order]
    out = {}
    for name in order:
        rank = 1 + means.index(mean(name))
        best = 1 + sum(below == name for _, below in ahead)
        worst = len(names) - sum(above == name for above, _ in ahead)
        out[name] = [min(max(rank, best), worst), best, worst]
    return out


def ranked(analysis: Analysis) -> list[Row]:
    """The models of each judge, by truth, with the state of each pair of neighbours."""
    rows: list[Row] = []
    for judge in analysis.metrics["judges"]:
        pairs = judge["answer"]["pairs"]
        true, judged = places(pairs, "truth"), places(pairs, "judge")
        names = sorted(true, key=lambda name: true[name][0])
        state = {frozenset((p["a"], p["b"])): SIGNS[p["state"]] for p in pairs}
        for name, below in zip(names, [*names[1:], ""], strict=True):
            sign = state.get(frozenset((name, below)))
            title = judge["judge"]
            rows.append([title, title, name, *true[name], *judged[name], sign])
    return rows


def plain(name: str) -> str:
    return "all questions" if name == "all" else name.replace("_", " ")


def accuracies(by: str) -> Callable[[Analysis], list[Row]]:
    def rows(judge: Mapping[str, Any]) -> list[Row]:
        found = {name: cell["pairwise"] for name, cell in judge[by].items()}
        return [
            [plain(name), *ends(cell, "accuracy", "ci95")]
            for name, cell in found.items()
            if cell["n"]
        ]

    return lambda analysis: of_judges(analysis.metrics, rows)


def gains(judge: Mapping[str, Any]) -> list[Row]:
    cells = {"all": judge["photograph"], **judge["photograph"]["by_task"]}
    return [[plain(name), *_least(row)] for name, row in cells.items()]


def differences(analysis: Analysis) -> list[Row]:
    rows = analysis.metrics["comparisons"]
    return [
        [
            "difference",
            f"{row['a']} minus {row['b']}",
            row["difference"],
            *row["ci95"],
            row["verdicts"],
            row["images"],
        ]
        for row in rows
        if row["measure"] == "accuracy"
    ]


EXPECTED: Mapping[str, Callable[[Analysis], list[Row]]] = {
    "tasks": accuracies("by_task"),
    "errors": accuracies("by_error_type"),
    "ranking": ranked,
    "judges": differences,
    "margin": points("margin"),
    "severity": points("severity"),
    "leanings": lambda a: of_judges(
        a.metrics,
        lambda j: [
            [row["leans_to"], *ends(row, "preference", "ci95")]
            for row in j["bias"]
            if row["preference"] is not None
        ],
    ),
    "scores": means,
    "reliability": lambda a: of_judges(
        a.metrics,
        lambda j: [
            list(row.values())
            for row in (j["probabilities"] or {"bins": []})["bins"]
        ],
    ),
    "photograph": lambda a: of_judges(a.metrics, gains),
    "probes": lambda a: of_judges(
        a.metrics,
        lambda j: [
            [row["name"].replace("_", " "), *ends(row, "effect", "ci95")]
            for row in j["probes"]
        ],
    ),
}


def cells(rows: Sequence[Row]) -> list[list[str]]:
    """As CSV has them, in one order: a figure may sort its rows by value."""
    return sorted(
        ["" if cell is None else _cell(cell) for cell in row] for row in rows
    )


def _cell(cell: object) -> str:
    return f"{cell:.9g}" if isinstance(cell, float) else str(cell)


WITHOUT_DATA = {"fault_size"}
"""Figures that this study cannot have: its dataset states no faults."""


def test_every_figure_has_an_expectation(whole: Analysis) -> None:
    assert set(EXPECTED) == set(whole.plots) - WITHOUT_DATA


@pytest.mark.parametrize("name", EXPECTED)
def test_a_figure_holds_the_figures_of_metrics_cell_by_cell(
    whole: Analysis, name: str
) -> None:
    found = whole.plots[name].draw(whole.shown)
    assert isinstance(found, Plot), found
    header, *lines = csv.reader(io.StringIO(found.csv))
    assert header == list(found.columns)
    expected = cells(EXPECTED[name](whole))
    assert expected and cells(found.rows) == expected
    exact = [
        ["" if cell is None else str(cell) for cell in row]
        for row in found.rows
    ]
    assert lines == exact, "the CSV has the numbers in full"


def test_every_figure_of_the_study_stands_on_its_page_with_a_finding(
    whole: Analysis,
) -> None:
    text = page(whole)
    for found in drawn(whole).values():
        if found.name in WITHOUT_DATA:
            continue
        assert isinstance(found, Plot)
        part = text.split(f'id="figure-{found.name}"')
        assert len(part) == 2, found.name
        assert found.finding and found.caption.endswith(".")
        below = part[1].split("</figure>")[0].split("<figcaption>")[1]
        assert (f"{escape(found.reading)}</details>" in below) == bool(
            found.reading
        )
        assert (
            b64encode(found.csv.encode()).decode()
            in part[1].split("</figure>")[0]
        )


def test_a_figure_without_data_is_left_out_with_its_reason(
    tmp_path: Path,
) -> None:
    """Two judges of nothing but one scoring question: no figure but what scores
    give."""
    dataset = write_dataset(tmp_path / "ds", [scoring(0, 5.0)])
    runs = [
        write_run(
            tmp_path / name, dataset, [said(scoring(0, 5.0), 6.0)], judge=name
        )
        for name in ("a", "b")
    ]
    analysis = analyse(runs)
    text = page(analysis)
    for name, plot in analysis.plots.items():
        found = plot.draw(analysis.shown)
        on_page = f'id="figure-{name}"' in text
        assert on_page == isinstance(found, Plot)
        if isinstance(found, LeftOut):
            assert found.reason and f"{name} ({found.reason})" in text
        else:
            assert any(
                any(cell is not None for cell in row[1:]) for row in found.rows
            ), name


def test_a_table_names_the_judge_of_each_row(whole: Analysis) -> None:
    """Also where a figure of a judge has a field of that name, as pairs of models
    have."""
    names = {judge["judge"] for judge in whole.metrics["judges"]}
    tables = whole.tables
    assert {
        name: set(table["judge"].to_list()) - names
        for name, table in tables.items()
        if "judge" in table.columns
        and not set(table["judge"].to_list()) <= names
    } == {}
    stored = [
        (judge["judge"], pair["judge"], pair["truth"])
        for judge in whole.metrics["judges"]
        for pair in judge["answer"]["pairs"]
    ]
    columns = ("judge", "judge_prefers_a", "truth")
    assert tables["pairs"].select(columns).rows() == stored
