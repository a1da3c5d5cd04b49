"""Figures: drawn from the figures of metrics.json, readable on a phone, written for
papers, left out with a reason.
"""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import visualjudge
from judged_records import pair, said, scoring, write_dataset, write_run
from page_text import page
from stored_figures import stored
from visualjudge.analysis import analyse, analyse_study, study_of
from visualjudge.analysis.figure_text import points, with_ends
from visualjudge.analysis.figures.encodings import encoding_name, encodings
from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.plots.canvas import DARK, LIGHT, STYLE, Canvas, ticks
from visualjudge.analysis.plots.forest import Scale, forest
from visualjudge.analysis.plots.plot import BEHIND, LeftOut, Plot
from visualjudge.analysis.report.page import drawn as every_plot
from visualjudge.analysis.report.two_judges import differences, opening_notes
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.cli.main import app
from visualjudge.core.errors import UsageError
from visualjudge.vision.encodings import encoding_title


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two judges of two tasks, asked in both orders; the second is wrong more often.
    Each scores, too.
    """
    root = tmp_path_factory.mktemp("plots")
    tasks = ("object_detection", "keypoint")
    pairs = [
        pair(
            i,
            (8.0, 8.0 - i % 7 - 1),
            task=tasks[i % 2],
            sources=("yolo", "detr"),
        )
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


def drawn(analysis: Analysis, name: str) -> Plot:
    found = analysis.plots[name].draw(analysis.shown)
    assert isinstance(found, Plot)
    return found


def rows_of(figure: Plot) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(figure.csv)))


def test_a_ranking_names_its_task_where_other_models_do_another() -> None:
    tasks = {"keypoint": ("yolo", "detr"), "depth_estimation": ("oak", "elm")}
    for some, titles in (
        (["keypoint"], {"judge"}),
        ([*tasks], {"judge, keypoint", "judge, depth estimation"}),
    ):
        pairs = [
            pair(i, (8.0, 3.0), id=f"{task}{i}", task=task, sources=tasks[task])
            for task in some
            for i in range(12)
        ]
        verdicts = [said(one, "A") for one in pairs]
        studied = analyse_study(study_of(pairs, {"judge": verdicts}))
        assert {row[1] for row in drawn(studied, "ranking").rows} == titles


def test_no_row_of_a_table_is_bold_unless_its_figure_says_so(
    analysis: Analysis,
) -> None:
    bold = {
        figure.name
        for figure in analysis.of_judges
        if isinstance(figure.section, Section) and figure.columns is not None
        for table in analysis.shown.grids(figure)
        if table.marked
    }
    assert bold <= {"bias", "probes"}


ENCODINGS, ERRORS = (
    ("text_xyxy", "pixel_s0_m0", "pixel_s1_m0"),
    ("missed", "duplicate", "classification"),
)


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A judge that states probabilities and the local baseline: three encodings, three
    error types.
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
        [
            judge,
            write_run(
                root / "local",
                dataset,
                kept,
                backend="local",
                judge="local baseline",
            ),
        ]
    )


def test_cells_of_encodings_are_the_duels_of_metrics_with_the_reference(
    rich: Analysis,
) -> None:
    judges = {judge["judge"]: judge for judge in stored(rich)}
    found = {figure.name: figure for figure in encodings(rich.shown)}
    assert set(found) == {"encoding-object_detection", "encoding-keypoint"}
    compared, turned = 0, 0
    for task in ("object_detection", "keypoint"):
        figure = found[f"encoding-{task}"]
        titles = {encoding_title(task, stem): stem for stem in ENCODINGS}
        (best,) = (
            s
            for title, s in titles.items()
            if f"minus accuracy with {title}," in figure.caption
        )
        for row in rows_of(figure):
            choice = next(
                c
                for c in judges[row["judge"]]["encodings"]
                if c["task"] == task
            )
            both = {titles[row["row"]], best}
            (duel,) = (
                d
                for d in choice["comparisons"]
                if {d["first"], d["second"]} == both
            )
            sign = 1 if duel["first"] == titles[row["row"]] else -1
            turned += sign < 0
            compared += 1
            ends = sorted(sign * end for end in duel["ci95"])
            assert float(row["value"]) == sign * duel["difference"]
            assert [float(row["low"]), float(row["high"])] == ends
            assert (int(row["n"]), int(row["images"])) == (
                duel["pairs"],
                duel["images"],
            )
    assert compared == 8 and 0 < turned < 8


def test_what_has_no_data_is_left_out_with_its_reason(
    analysis: Analysis,
) -> None:
    left = {
        found.name: found.reason
        for found in every_plot(analysis).values()
        if isinstance(found, LeftOut)
    }
    assert set(left) == {
        "severity",
        "reliability",
        "photograph",
        "probes",
        "errors",
        "fault_size",
    }
    text = page(analysis)
    for name, reason in left.items():
        assert f'id="figure-{name}"' not in text
        assert f"{name} ({reason})" in text


def test_an_estimate_has_its_interval_and_a_difference_its_sign() -> None:
    assert (
        with_ends(Estimate(0.8333, (0.7, 0.9), 9, 9)) == "83.3 % (70.0 to 90.0)"
    )
    assert with_ends(Estimate(0.5, None, 9, 2, "too few")) == "50.0 % (too few)"
    assert (
        with_ends(Estimate(-0.041, (-0.1, 0.02), 9, 9), points)
        == "−4.1 (−10.0 to 2.0)"
    )
    assert with_ends(Estimate(0.0002, None, 9, 9), points) == "0.0"


def one_row(estimate: Estimate) -> str:
    scale = Scale(0.0, 1.0, str, lambda e: "")
    return forest(["a"], [(0, "judge", {"a": estimate})], scale, 700).svg(
        "label"
    )


def test_a_figure_of_fewer_than_five_images_is_hollow() -> None:
    assert 'class="hollow' in one_row(Estimate(0.5, None, 9, 4))
    assert 'class="hollow' not in one_row(Estimate(0.5, (0.4, 0.6), 9, 5))


def test_an_interval_with_an_open_end_goes_to_the_end_of_the_axis() -> None:
    whole, left = (
        one_row(Estimate(0.4, ends, 9, 9)) for ends in ((0.0, 0.5), (None, 0.5))
    )
    assert whole == left != one_row(Estimate(0.4, (0.1, 0.5), 9, 9))


def test_a_number_that_has_no_room_beside_its_row_stands_above_it() -> None:
    cells = {"careful minus hasty": Estimate(0.3, (0.2, 0.4), 9, 9)}
    scale = Scale(0.0, 1.0, str, lambda e: "+30.0 (20.0 to 40.0)")
    for width in (700, 336):
        drawn = forest([*cells], [(0, "judge", cells)], scale, width).svg(
            "label"
        )
        assert ">+30.0 (20.0 to 40.0)</text>" in drawn


def test_the_images_of_a_row_with_a_short_name_are_not_cut() -> None:
    cells = {"a": Estimate(0.3, (0.2, 0.4), 9, 9)}
    scale = Scale(0.0, 1.0, str, lambda e: "")
    canvas = forest(
        ["a"], [(0, "judge", cells)], scale, 336, notes={"a": "69 images"}
    )
    assert ">69 images</text>" in canvas.svg("l")


def test_a_marker_does_not_hide_its_interval() -> None:
    drawn = one_row(Estimate(0.5, (0.49, 0.51), 9, 9))
    ends = re.search(r'class="ci ls0" points="(.+?),.+? (.+?),', drawn)
    corners = re.search(r'class="mark fs0" points="(.+?)"', drawn)
    assert ends and corners
    across = [float(point.split(",")[0]) for point in corners[1].split()]
    assert float(ends[1]) < min(across) < max(across) < float(ends[2])


def test_colours_of_judges_are_not_those_of_states_and_can_be_read() -> None:
    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for theme, page_colour in zip((LIGHT, DARK), BEHIND, strict=True):
        series = {theme[f"s{k}"] for k in range(6)}
        assert len(series) == 6 and not series & {
            theme[s] for s in ("pass", "fail", "undecided", "not_measured")
        }
        for name, colour in theme.items():
            if name not in ("paper", "line", "mark"):
                for behind in (theme["paper"], page_colour):
                    bright, dark = sorted(
                        (light(colour), light(behind)), reverse=True
                    )
                    assert (bright + 0.05) / (dark + 0.05) >= 4.5, (
                        name,
                        behind,
                    )
    assert set(re.findall(r"var\(--(\w+)\)", STYLE)) <= set(LIGHT) == set(DARK)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-0.05, 0.05), (0, 10), (0, 1234), (0, 3e-4)]
)
def test_ticks_are_round_and_few(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    assert len({round(b - a, 9) for a, b in pairwise(found)}) == 1


def test_an_axis_with_room_for_four_numbers_has_more_than_one() -> None:
    assert ticks(-15.6, 15.6, 4) == [-10, 0, 10]


def test_a_long_name_keeps_its_end_and_has_all_of_it_as_a_tooltip() -> None:
    canvas = Canvas(300)
    canvas.text(0, 10, "classification 0.25", room=100)
    canvas.text(0, 30, "short", room=100)
    text = canvas.svg("label")
    assert "0.25<title>classification 0.25</title>" in text and "…" in text
    assert ">short</text>" in text


def test_one_margin_is_no_curve(tmp_path: Path) -> None:
    pairs = [pair(i, (8.0, 4.0)) for i in range(30)]
    dataset = write_dataset(tmp_path / "ds", pairs)
    run = write_run(
        tmp_path / "run",
        dataset,
        [said(q, "A" if i % 4 else "B") for i, q in enumerate(pairs)],
    )
    analysis = analyse([run])
    found = analysis.plots["margin"].draw(analysis.shown)
    assert isinstance(found, LeftOut)
    assert "differ in true score" in found.reason


def test_names_do_not_act_in_a_drawing() -> None:
    canvas = Canvas(300)
    canvas.text(0, 10, "<script>alert(1)</script>")
    canvas.marker(5, 5, 0, title='"><img src=x>')
    text = canvas.svg('"><script>')
    assert "<script" not in text and "<img" not in text
    ElementTree.fromstring(text)


def test_a_formula_in_a_name_does_not_act_in_the_data() -> None:
    figure = Plot(
        "f", "finding", "caption", ("judge",), (("=1+1",), (-2.5,)), Canvas
    )
    assert figure.csv == "judge\n'=1+1\n-2.5\n"


def test_the_name_of_a_task_does_not_leave_the_folder() -> None:
    assert encoding_name("../../x y") == "encoding--x-y"
    assert encoding_name("lowlevel-deblur") == "encoding-lowlevel-deblur"


def test_a_judge_that_is_not_there_cannot_be_compared(runs: list[Path]) -> None:
    done = CliRunner().invoke(
        app, ["report", *map(str, runs), "--compare", "careful", "nobody"]
    )
    assert isinstance(done.exception, UsageError)
    assert (
        "`compare` must name two judges of these runs (careful, hasty), or their "
        "folders, got 'nobody'" in str(done.exception)
    )


def test_figures_of_a_study_are_called_by_name(runs: list[Path]) -> None:
    study = visualjudge.analyse(runs)
    assert study.plot.tasks().rows == drawn(study.analysis, "tasks").rows
    assert "<svg" in study.plot.leanings()._repr_html_()
    with pytest.warns(DeprecationWarning, match=r"study\.plot\.ranking\(\)"):
        assert study.plot.pairs().rows == study.plot.ranking().rows
    with pytest.raises(
        UsageError,
        match="'reliability' is not drawn: no reply states a probability",
    ):
        study.plot.reliability()
    with pytest.raises(
        UsageError,
        match=r"task must have several encodings \(none\), got 'keypoint'",
    ):
        study.plot.encodings("keypoint")
    with pytest.raises(
        AttributeError, match="no figure 'pie'; it has: encodings, errors, "
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
    assert opening_notes(found, 0, 1) == [
        "Compared on 10 pairwise questions, of 30 and 20."
    ]
    assert isinstance(differences(found, 0, 1), Plot)
    left = differences(found, 1, 2)
    assert isinstance(left, LeftOut) and left.reason == "no question in common"
    text = page(found, compare=(1, 2))
    assert (
        'id="figure-compared"' not in text
        and "Compared on 0 pairwise questions" in text
    )


def test_contents_lead_to_every_section(analysis: Analysis) -> None:
    text = page(analysis)
    anchors = set(re.findall(r' id="([a-z_]+)"', text))
    links = re.findall(r'href="#([a-z_]+)"', text)
    assert set(links) <= anchors and "details" in links
    opening = text.split('<div class="parts">')[0]
    assert opening.count("<svg") == 2, (
        "one plot, for wide and for narrow screens"
    )
    assert 0 < opening.count('href="#') <= 8


def test_a_judge_has_one_colour_in_all_figures(
    rich: Analysis, tmp_path: Path
) -> None:
    """The local baseline is the first judge here; figures that leave it out keep the
    second one's colour.
    """
    runs = [run.folder for run in reversed(rich.study.runs)]
    turned = analyse([folder for folder in runs if folder is not None])
    assert [judge.name for judge in turned.judges] == [
        "local baseline",
        "judge",
    ]
    text = drawn(turned, "reliability").svg().split("</style>")[1]
    assert "fs1" in text and "fs0" not in text
    both = drawn(turned, "tasks").svg().split("</style>")[1]
    assert "fs0" in both and "fs1" in both
