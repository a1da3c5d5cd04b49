"""Figures: drawn from the figures of metrics.json, readable on a phone, written for papers, left
out with a reason.
"""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import visualjudge
from judged_records import pair, said, scoring, write_dataset, write_run
from page_text import page
from visualjudge.analysis import analyse
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.checks import LABELS
from visualjudge.analysis.figure_text import counted, grouped, number
from visualjudge.analysis.figures import JudgeResult
from visualjudge.analysis.plots.canvas import DARK, LIGHT, STYLE, Canvas, ticks
from visualjudge.analysis.plots.figure import BEHIND, Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.plots.panels import Slope, SlopeRow, Swapped, slopes, swap_flow
from visualjudge.analysis.plots.points import Priced, front
from visualjudge.analysis.report import printing
from visualjudge.analysis.report.accuracy_plots import encoding_name, photograph_notes
from visualjudge.analysis.report.paired import differences, in_common
from visualjudge.analysis.report.plots import PLOTS, figures
from visualjudge.analysis.report.readings import rough_points, rough_share
from visualjudge.analysis.report.terminal import bar
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.cli.report import app
from visualjudge.core.errors import RunError, UsageError
from visualjudge.core.records import Probe


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two judges of two tasks, asked in both orders; the second is wrong more often. Each scores,
    too.
    """
    root = tmp_path_factory.mktemp("plots")
    tasks = ("object_detection", "keypoint")
    pairs = [
        pair(i, (8.0, 8.0 - i % 7 - 1), task=tasks[i % 2], sources=("yolo", "detr"))
        for i in range(60)
    ]
    scores = [scoring(100 + i, i / 3) for i in range(30)]
    dataset = write_dataset(root / "ds", [*pairs, *scores])
    folders = []
    for name, wrong in (("careful", 9), ("hasty", 3)):
        verdicts = [
            said(q, "B" if i % wrong == 0 else "A", order)
            for order in ("AB", "BA")
            for i, q in enumerate(pairs)
        ]
        verdicts += [said(q, min(10.0, float(q.answer) + 1)) for q in scores]
        folders.append(write_run(root / name, dataset, verdicts, judge=name))
    return folders


@pytest.fixture(scope="module")
def analysis(runs: list[Path]) -> Analysis:
    return analyse(runs)


def drawn(analysis: Analysis, name: str) -> Figure:
    found = PLOTS[name](analysis)
    assert isinstance(found, Figure)
    return found


def rows_of(figure: Figure) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(figure.csv)))


def test_the_figure_of_tasks_holds_the_figures_of_metrics(analysis: Analysis) -> None:
    found = {(row["judge"], row["task"]): row for row in rows_of(drawn(analysis, "tasks"))}
    assert len(found) == 4
    for judge in analysis.metrics["judges"]:
        for task, cell in judge["by_task"].items():
            if cell["pairwise"]["n"]:
                row = found[judge["judge"], task]
                assert float(row["value"]) == cell["pairwise"]["accuracy"]
                assert [float(row["low"]), float(row["high"])] == list(cell["pairwise"]["ci95"])
                assert int(row["images"]) == cell["pairwise"]["images"]


def test_figures_of_behaviour_hold_the_figures_of_metrics(analysis: Analysis) -> None:
    judges = {judge["judge"]: judge for judge in analysis.metrics["judges"]}
    for row in rows_of(drawn(analysis, "leanings")):
        bias = next(b for b in judges[row["judge"]]["bias"] if b["feature"] == row["feature"])
        assert float(row["value"]) == bias["preference"]
    for row in rows_of(drawn(analysis, "swap")):
        swap = judges[row["judge"]]["pairwise"]["swap"]
        counts = [int(row[name]) for name in list(row)[1:]]
        assert sum(counts) == swap["n"]
        assert (counts[0] + counts[1]) / swap["n"] == pytest.approx(swap["consistency"])
        assert counts[0] / swap["n"] == pytest.approx(swap["right_in_both"])
    for row in rows_of(drawn(analysis, "judges")):
        told = analysis.metrics["comparisons"][0]
        assert (float(row["value"]), float(row["p_holm"])) == (told["difference"], told["p_holm"])
    for row in rows_of(drawn(analysis, "sources")):
        board = judges[row["judge"]]["leaderboard"]["rows"]
        own = next(r for r in board if (r["source"], r["group"]) == (row["source"], row["group"]))
        assert (int(row["rank"]), int(row["true_rank"])) == (own["rank"], own["true_rank"])
    for row in rows_of(drawn(analysis, "margin")):
        points = next(
            r["points"] for r in judges[row["judge"]]["sensitivity"] if r["scope"] == "all"
        )
        assert float(row["accuracy"]) in [point["share"] for point in points]


ENCODINGS, ERRORS = (
    ("text_xyxy", "pixel_s0_m0", "pixel_s1_m0"),
    ("missed", "duplicate", "classification"),
)


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A judge that states probabilities and the local baseline: three encodings, three error
    types.
    """
    root = tmp_path_factory.mktemp("rich")
    pairs = [
        pair(
            3 * k + e,
            (8.0, 8.0 - k % 7 - 1),
            encoding=encoding,
            error_type=ERRORS[k % 3],
            image_id=f"i{k % 12}",
            annotation_ids=(f"a{k}", f"b{k}"),
            task=("object_detection", "keypoint")[k % 2],
        )
        for k in range(48)
        for e, encoding in enumerate(ENCODINGS)
    ]
    dataset = write_dataset(root / "ds", pairs)
    weak = [
        (i % 3 == 1) == (i // 3 % 2 == 0) for i in range(len(pairs))
    ]  # one encoding of one task, two of the other
    wrong = [i % 5 == 0 or (weak[i] and i % 7 < 3) for i in range(len(pairs))]
    told = [
        said(q, "AB"[w], probability_a=0.3 if w else 0.5 + i % 5 / 10)
        for i, (q, w) in enumerate(zip(pairs, wrong, strict=True))
    ]
    kept = [said(q, "AB"[i % 4 == 1]) for i, q in enumerate(pairs)][5:]
    judge = write_run(root / "judge", dataset, told)
    return analyse(
        [judge, write_run(root / "local", dataset, kept, backend="local", judge="local baseline")]
    )


def same(row: dict[str, str], told: dict[str, object], value: str, ends: str) -> bool:
    """Whether a row of a figure has the value, the interval, and the numbers of cases and images of
    metrics.json.
    """
    low, high = told[ends] or (None, None)  # type: ignore[misc]
    figures = [told[value], low, high]
    return [row[name] for name in ("value", "low", "high")] == [
        "" if f is None else str(f) for f in figures
    ]


def test_cells_of_the_baseline_are_those_of_metrics(rich: Analysis) -> None:
    (judge,) = (j for j in rich.metrics["judges"] if j["above_baseline"])
    told = {row["value"]: row for row in judge["above_baseline"] if row["scope"] in ("all", "task")}
    rows = rows_of(drawn(rich, "baseline"))
    assert {row["task"] for row in rows} == set(told) == {"all", "object_detection", "keypoint"}
    for row in rows:
        assert same(row, told[row["task"]], "difference", "ci95"), row
        assert row["standing"] == told[row["task"]]["standing"]
    by_task = {
        row["task"]: row for row in rows_of(drawn(rich, "tasks")) if row["judge"] == judge["judge"]
    }
    for task in ("object_detection", "keypoint"):
        assert float(by_task[task]["baseline"]) == told[task]["baseline_accuracy"]


def test_cells_of_error_types_are_those_of_metrics(rich: Analysis) -> None:
    judges = {judge["judge"]: judge for judge in rich.metrics["judges"]}
    rows = rows_of(drawn(rich, "errors"))
    assert {(row["judge"], row["error_type"]) for row in rows} == {
        (j, e) for j in judges for e in ERRORS
    }
    for row in rows:
        cell = judges[row["judge"]]["by_error_type"][row["error_type"]]["pairwise"]
        assert same(row, cell, "accuracy", "ci95"), row
        assert (int(row["n"]), int(row["images"])) == (cell["n"], cell["images"])


def test_cells_of_encodings_are_those_of_metrics(rich: Analysis) -> None:
    judges = {judge["judge"]: judge for judge in rich.metrics["judges"]}
    found = [f for f in figures(rich) if isinstance(f, Figure) and f.name.startswith("encoding-")]
    assert {f.name for f in found} == {"encoding-object_detection", "encoding-keypoint"}
    compared, turned = 0, 0
    for row in (row for figure in found for row in rows_of(figure)):
        choice = next(c for c in judges[row["judge"]]["encodings"] if c["task"] == row["task"])
        both = {row["encoding"], row["reference"]}
        duel = next((d for d in choice["comparisons"] if {d["first"], d["second"]} == both), None)
        if row["encoding"] == row["reference"] or duel is None:
            assert row["value"] == ""
            continue
        compared += 1
        if duel["first"] == row["encoding"]:
            assert same(row, duel, "difference", "ci95")
        else:
            turned += duel["difference"] != 0
            assert float(row["value"]) == -duel["difference"]
            assert (float(row["low"]), float(row["high"])) == (-duel["ci95"][1], -duel["ci95"][0])
        assert (int(row["n"]), int(row["images"])) == (duel["pairs"], duel["images"])
    assert compared == 8 and 0 < turned < 8


def test_cells_of_reliability_are_those_of_metrics(rich: Analysis) -> None:
    judges = {judge["judge"]: judge["probabilities"] for judge in rich.metrics["judges"]}
    told = [
        (name, *bin.values()) for name, found in judges.items() if found for bin in found["bins"]
    ]
    rows = rows_of(drawn(rich, "reliability"))
    assert [
        (r["judge"], float(r["stated"]), float(r["came_true"]), int(r["n"])) for r in rows
    ] == told
    assert sum(row[3] for row in told) == 144 and [
        name for name, found in judges.items() if found
    ] == ["judge"]


def test_the_checks_of_the_report_are_those_of_the_card(analysis: Analysis) -> None:
    from visualjudge.analysis.decisions.card import usual_card

    shown = page(analysis).split('id="checks"')[1].split("</section>")[0]
    for line in usual_card(analysis).judges[0].checks:
        assert LABELS[line.name] in shown and line.shown.rstrip("%").strip() in shown


def test_what_has_no_data_is_left_out_with_its_reason(analysis: Analysis) -> None:
    left = {found.name: found.reason for found in figures(analysis) if isinstance(found, LeftOut)}
    assert set(left) == {
        "baseline",
        "severity",
        "reliability",
        "photograph",
        "probes",
        "tools",
        "cost",
        "errors",
        "rules",
    }
    text = page(analysis)
    for name, reason in left.items():
        assert f'id="figure-{name}"' not in text
        assert f"{name} ({reason})" in text


@pytest.mark.parametrize(
    ("value", "ends", "told"),
    [
        (0.8333, (0.7, 0.9), "83 % (70 to 90)"),
        (0.8333, (0.83, 0.84), "83.3 % (83.0 to 84.0)"),
        (0.5, None, "50 %"),
    ],
)
def test_decimals_follow_the_interval(
    value: float, ends: tuple[float, float] | None, told: str
) -> None:
    assert rough_share(Estimate(value, ends, 10, 10)) == told


def test_points_have_a_sign() -> None:
    assert rough_points(Estimate(-0.041, (-0.1, 0.02), 9, 9)) == "−4 (−10 to 2)"
    assert rough_points(Estimate(0.002, (-0.1, 0.1), 9, 9)) == "0 (−10 to 10)"


def one_row(estimate: Estimate) -> str:
    scale = Scale(0.0, 1.0, str, rough_share)
    return forest([ForestRow("a", (estimate,))], ["judge"], scale, 700).svg("label")


def test_a_figure_of_fewer_than_five_images_is_hollow() -> None:
    assert 'class="hollow' in one_row(Estimate(0.5, None, 9, 4))
    assert 'class="hollow' not in one_row(Estimate(0.5, (0.4, 0.6), 9, 5))


@pytest.mark.parametrize(
    ("ends", "arrows"), [((0.1, 0.9), 0), ((-1.0, 0.5), 1), ((None, 2.0), 2), ((None, None), 0)]
)
def test_an_interval_that_leaves_the_axis_has_an_arrow(
    ends: tuple[float | None, float | None], arrows: int
) -> None:
    assert one_row(Estimate(0.4, ends, 9, 9)).count("<polyline") == arrows


def test_colours_of_judges_are_not_those_of_states_and_can_be_read() -> None:
    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for theme, page_colour in zip((LIGHT, DARK), BEHIND, strict=True):
        series = {theme[f"s{k}"] for k in range(6)}
        assert len(series) == 6 and not series & {
            theme[s] for s in ("pass", "fail", "undecided", "not_measured")
        }
        for name, colour in theme.items():
            if name not in ("paper", "line", "mark"):
                for behind in (theme["paper"], page_colour):
                    bright, dark = sorted((light(colour), light(behind)), reverse=True)
                    assert (bright + 0.05) / (dark + 0.05) >= 4.5, (name, behind)
    assert set(re.findall(r"var\(--(\w+)\)", STYLE)) <= set(LIGHT) == set(DARK)


def test_the_front_leaves_out_who_is_dearer_and_no_better() -> None:
    rows = [
        Priced(name, 0, cost, Estimate(share, None, 9, 9))
        for name, cost, share in (("a", 1, 0.6), ("b", 2, 0.6), ("c", 3, 0.9), ("d", 4, 0.8))
    ]
    assert [row.title for row in front(rows)] == ["a", "c"]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.05, 0.05), (0, 10), (0, 1234), (0, 3e-4)])
def test_ticks_are_round_and_few(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    assert len({round(b - a, 9) for a, b in pairwise(found)}) == 1


def test_what_is_alike_is_said_once() -> None:
    assert grouped([("same", "a"), ("other", "b"), ("same", "c")]) == "a and c: same; b: other"
    assert grouped([("none", "a"), ("none", "b 2")], names_last=True) == "None: a and b 2"
    assert counted("Tasks", [("a", 1, 5), ("b", 3, 5)]) == "Tasks, of 5: b 3, a 1"
    assert counted("Tasks", [("a", 1, 5), ("b", 3, 4)]) == "Tasks: b 3 of 4, a 1 of 5"
    assert counted("Tasks", [("a", 0, 5), ("b", 0, 5)]) == "Tasks: 0 of 5 for both judges"
    assert (
        counted("Tasks", [(str(k), k % 2, 9) for k in range(9)])
        == "Tasks, of 9: 1 by 4 judges, 0 by 5 judges"
    )
    assert (
        counted("Tasks", [("a", 2, 3), *((str(k), 1, 3) for k in range(7))])
        == "Tasks, of 3: 2 by a, 1 by 7 judges"
    )
    assert grouped([("level", str(k)) for k in range(7)]) == "all 7 judges: level"
    assert number(math.nan) == number(None) == "–"


def test_the_area_of_a_square_is_its_share() -> None:
    text = swap_flow([Swapped("j", 0, 25, 75, 0, 0, 0)], 700).svg("label")
    sides = [float(side) for side in re.findall(r'class="bar fs0"[^>]*width="([\d.]+)"', text)]
    assert sides[0] ** 2 / sides[1] ** 2 == pytest.approx(1 / 3, abs=0.01)
    assert math.isclose(sides[2], 0)


def test_a_long_name_keeps_its_end_and_has_all_of_it_as_a_tooltip() -> None:
    canvas = Canvas(300)
    canvas.text(0, 10, "classification 0.25", room=100)
    canvas.text(0, 30, "short", room=100)
    text = canvas.svg("label")
    assert "0.25<title>classification 0.25</title>" in text and "…" in text
    assert ">short</text>" in text


def test_sources_that_may_have_any_rank_have_no_bar() -> None:
    def bars(*sets: tuple[int, int]) -> int:
        rows = tuple(SlopeRow(f"s{k}", k + 1, ranks, k + 1) for k, ranks in enumerate(sets))
        return slopes([Slope("j", 0, rows, len(rows))], 700).svg("label").count("<line") - len(rows)

    assert bars((1, 3), (1, 3), (1, 3)) == 0
    assert bars((1, 1), (2, 3), (2, 3)) == 3


def test_one_margin_is_no_curve(tmp_path: Path) -> None:
    pairs = [pair(i, (8.0, 4.0)) for i in range(30)]
    dataset = write_dataset(tmp_path / "ds", pairs)
    run = write_run(
        tmp_path / "run", dataset, [said(q, "A" if i % 4 else "B") for i, q in enumerate(pairs)]
    )
    found = PLOTS["margin"](analyse([run]))
    assert (
        isinstance(found, LeftOut)
        and found.reason == "all pairs that differ have the same difference in margin"
    )


def test_names_do_not_act_in_a_drawing() -> None:
    canvas = Canvas(300)
    canvas.text(0, 10, "<script>alert(1)</script>")
    canvas.marker(5, 5, 0, title='"><img src=x>')
    text = canvas.svg('"><script>')
    assert "<script" not in text and "<img" not in text
    ElementTree.fromstring(text)


def test_a_formula_in_a_name_does_not_act_in_the_data() -> None:
    figure = Figure("f", "finding", "caption", ("judge",), (("=1+1",), (-2.5,)), Canvas)
    assert figure.csv == "judge\n'=1+1\n-2.5\n"


def test_the_name_of_a_task_does_not_leave_the_folder() -> None:
    assert encoding_name("../../x y") == "encoding--x-y"
    assert encoding_name("lowlevel-deblur") == "encoding-lowlevel-deblur"


def test_a_task_that_needs_the_photograph_says_so_beside_its_row() -> None:
    def judge(name: str, **states: str) -> JudgeResult:
        rows = [SimpleNamespace(task=task, state=state) for task, state in states.items()]
        return cast(
            "JudgeResult", SimpleNamespace(name=name, photograph=SimpleNamespace(by_task=rows))
        )

    eye = judge("eye", a="needed", b="not_shown", c="not_needed", d="needed")
    blind = judge("blind", a="needed", b="not_shown", c="not_needed", d="not_needed")
    unasked = cast("JudgeResult", SimpleNamespace(name="x", photograph=None))
    assert photograph_notes([eye, unasked])["a"] == "photograph needed by eye"
    notes = photograph_notes([eye, blind])
    assert notes == {
        "a": "photograph needed",
        "c": "photograph adds little",
        "d": "photograph needed by eye",
    }
    row = ForestRow("a", (Estimate(0.5, None, 9, 9),), note=notes["a"])
    for width in (350, 700):
        assert "photograph needed" in forest(
            [row], ["j"], Scale(0.0, 1.0, str, rough_share), width
        ).svg("label")


def test_a_report_as_pdf_needs_a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(printing.shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match=r"r\.pdf: needs Chromium or Chrome on the PATH"):
        printing.print_page("<html>", tmp_path / "r.pdf")


def test_a_browser_that_prints_nothing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(printing.shutil, "which", lambda name: sys.executable)
    with pytest.raises(RunError, match="did not print the page"):
        printing.print_page("<html>", tmp_path / "r.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_judge_that_is_not_there_cannot_be_compared(runs: list[Path]) -> None:
    done = CliRunner().invoke(app, [*map(str, runs), "--compare", "careful", "nobody"])
    assert isinstance(done.exception, UsageError)
    assert (
        "--compare must name two judges of these runs (careful, hasty), or their folders, got "
        "'nobody'" in str(done.exception)
    )


@pytest.mark.parametrize(
    ("share", "drawn"),
    [
        (Estimate(0.75, (0.5, 1.0), 9, 9), "············──────●──────"),
        (Estimate(0.0, None, 9, 4), "○···········│············"),
        (Estimate(None, None, 0, 0), ""),
    ],
)
def test_a_bar_of_the_terminal_spans_its_interval(share: Estimate, drawn: str) -> None:
    assert bar(share, 0.5) == drawn


def test_figures_of_a_study_are_called_by_name(runs: list[Path]) -> None:
    study = visualjudge.analyse(runs)
    assert study.plot.tasks().rows == drawn(study.analysis, "tasks").rows
    assert "<svg" in study.plot.swap()._repr_html_()
    with pytest.raises(
        UsageError, match="'cost' is not drawn: fewer than two judges have token counts"
    ):
        study.plot.cost()
    with pytest.raises(
        UsageError, match=r"task must have several encodings \(none\), got 'keypoint'"
    ):
        study.plot.encodings("keypoint")
    with pytest.raises(
        AttributeError, match="no figure 'pie'; it has: baseline, cost, encodings"
    ):
        _ = study.plot.pie


def test_runs_on_different_questions_are_said_to_be(tmp_path: Path) -> None:
    pairs = [pair(i, (8.0, 2.0 + i % 5)) for i in range(40)]
    dataset = write_dataset(tmp_path / "ds", pairs)
    parts = {"a": pairs[:30], "b": pairs[20:], "c": pairs[:20], "d": pairs[:30]}
    runs = [
        write_run(tmp_path / name, dataset, [said(q, "A") for q in own])
        for name, own in parts.items()
    ]
    found = analyse(runs)
    assert in_common(found, 0, 3) == "Both were asked the same 30 pairwise questions."
    assert in_common(found, 0, 1) == (
        "The judges were not asked the same questions: only the 10 pairwise questions asked of "
        "both are compared, out of 30 of a and 20 of b."
    )
    assert in_common(found, 0, 2) == (
        "The judges were not asked the same questions: only the 20 pairwise questions asked of "
        "both are compared, out of 30 of a and 20 of c."
    )
    assert (
        in_common(found, 1, 2)
        == "b and c have no pairwise question in common: their figures cannot be compared."
    )
    assert isinstance(differences(found, 0, 1), Figure)
    left = differences(found, 1, 2)
    assert isinstance(left, LeftOut) and left.reason == "no question in common"
    text = page(found, compare=(1, 2))
    assert (
        'id="figure-compared"' not in text and "b and c have no pairwise question in common" in text
    )


def test_contents_lead_to_every_section(analysis: Analysis) -> None:
    text = page(analysis)
    sections = re.findall(r'<section id="([a-z]+)"', text)
    links = re.findall(r'href="#([a-z]+)"', text)
    assert set(links) == {*sections, "contents"} - {"answer"}
    assert text.index('id="contents"') < text.index("<svg")


def test_the_photograph_s_gain_is_that_of_metrics(tmp_path: Path) -> None:
    questions = [
        pair(
            i,
            (8.0, 3.0),
            id=f"{name}{i}",
            task=("keypoint", "object_detection")[i % 2],
            probe=Probe(name, design, f"g{i}", "", "any"),
        )
        for i in range(60)
        for name, design in (("control", "control"), ("grey", "photograph"))
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    verdicts = [
        said(q, "B" if q.id.startswith("grey") and k % 3 else "A") for k, q in enumerate(questions)
    ]
    found = analyse([write_run(tmp_path / "run", dataset, verdicts)])
    told = found.metrics["judges"][0]["photograph"]
    cells = {"all": told, **told["by_task"]}
    rows = rows_of(drawn(found, "photograph"))
    assert {row["task"] for row in rows} == {"all", "keypoint", "object_detection"}
    for row in rows:
        assert same(row, cells[row["task"]], "gain", "interval")
        assert row["state"] == cells[row["task"]]["state"]


def test_a_judge_has_one_colour_in_all_figures(rich: Analysis, tmp_path: Path) -> None:
    """The local baseline is the first judge here; figures that leave it out keep the second one's
    colour.
    """
    runs = [run.folder for run in reversed(rich.study.runs)]
    turned = analyse([folder for folder in runs if folder is not None])
    assert [judge.name for judge in turned.results.judges] == ["local baseline", "judge"]
    for name in ("baseline", "reliability"):
        text = drawn(turned, name).svg()
        assert "fs1" in text.split("</style>")[1] and "fs0" not in text.split("</style>")[1]
    both = drawn(turned, "tasks").svg().split("</style>")[1]
    assert "fs0" in both and "fs1" in both
