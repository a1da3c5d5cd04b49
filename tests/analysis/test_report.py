"""The report: self-contained, everything escaped, simulated judges named, the same from
the command line.
"""

from __future__ import annotations

import base64
import hashlib
import html
import html.parser
import io
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from judged_records import pair, said, write_dataset, write_run
from making import make_folder
from page_text import page
from visualjudge.analysis import analyse
from visualjudge.analysis.figures.probes import PROBES, ProbeResult
from visualjudge.analysis.load import load_study
from visualjudge.analysis.report.citing import RELEASED, cite
from visualjudge.analysis.report.examples import examples
from visualjudge.analysis.report.terminal import text as terminal
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.value_and_interval import NOTHING, Estimate
from visualjudge.cli.main import app
from visualjudge.core.addresses import STUDIO
from visualjudge.core.errors import DataError, UsageError
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.prompts.spans import swapped

NASTY = '<script>alert("x")</script><img src="http://evil.example/x.png">'


class Loads(html.parser.HTMLParser):
    """Collects what a browser would fetch, and every script."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        if tag == "script":
            self.found.append("script")
        for key, value in attrs:
            if (
                key in ("src", "href", "srcset", "data")
                and value
                and not value.startswith(("data:", "#"))
            ):
                self.found.append(f"{tag} {value}")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    questions = [
        pair(
            i,
            (8.0, 1.0),
            prompt=NASTY,
            error_type=NASTY,
            images=("media/one.png",),
            sources=(NASTY, "b"),
        )
        for i in range(30)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    (dataset / "media").mkdir()
    Image.new("RGB", (8, 6), (200, 10, 10)).save(dataset / "media" / "one.png")
    verdicts = [
        said(q, "B" if i % 3 == 0 else "A") for i, q in enumerate(questions)
    ]
    return write_run(
        tmp_path / "run", dataset, verdicts, judge=NASTY, simulated=True
    )


def test_page_loads_nothing_and_escapes_everything(run: Path) -> None:
    text = page(analyse([run]))
    loads = Loads()
    loads.feed(text)
    links = [one for one in loads.found if one != "script"]
    assert all(one.startswith(f"a {STUDIO}/open/") for one in links)
    assert loads.found.count("script") == 1
    assert text.count("<script") == 1
    assert "&lt;script&gt;" in text
    assert "data:image/jpeg;base64," in text
    assert 'class="badge">simulated<' in text


def test_commands_of_a_page_work_where_it_says(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It prints no absolute path, so the folder of the runs is named."""
    where = f"studio run</code> (in the folder {run.parent.name})"
    text = page(analyse([run]))
    assert where in text and str(run) not in text
    monkeypatch.chdir(run.parent)
    text = page(analyse([run.name]))
    assert "studio run</code></p>" in text


def test_image_outside_the_dataset_is_not_shown(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    questions = [
        pair(i, (8.0, 1.0), images=("../secret.png",)) for i in range(4)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    folder = write_run(
        tmp_path / "run", dataset, [said(q, "B") for q in questions]
    )
    assert "data:image/jpeg" not in page(analyse([folder]))


def test_command_writes_every_file(run: Path, tmp_path: Path) -> None:
    out, metrics, tables = (
        tmp_path / "r.html",
        tmp_path / "m.json",
        tmp_path / "csv",
    )
    done = CliRunner().invoke(
        app,
        [
            "report",
            str(run),
            "--out",
            str(out),
            "--json",
            str(metrics),
            "--csv",
            str(tables),
        ],
    )
    assert done.exit_code == 0, done.output
    assert json.loads(metrics.read_text())["judges"][0]["pairwise"][
        "accuracy"
    ] == pytest.approx(2 / 3)
    assert out.stat().st_size > 5000
    assert (tables / "by_task.csv").read_text().startswith("judge,cell,")
    assert str(run.parent) not in out.read_text(), (
        "a page to pass on names no folders"
    )


def test_what_a_paper_needs_is_written_at_once(
    run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "figures"
    done = CliRunner().invoke(
        app, ["report", str(run), "--figures", str(folder)]
    )
    assert done.exit_code == 0, done.output
    names = {path.name for path in folder.rglob("*.*")}
    assert {"tasks.csv", "tasks-86mm.svg", "tasks-178mm.svg"} <= names
    assert {"headline-1.csv", "headline-1.md", "headline-1.tex"} <= names
    svg = (folder / "tasks-86mm.svg").read_text()
    width, _, room = re.findall(
        r'width="(\S+)mm" height="(\S+)mm".* viewBox="0 0 (\S+)', svg
    )[0]
    assert float(width) == 86
    points_of_a_letter = 12 * 86 / 25.4 * 72 / float(room)
    assert points_of_a_letter == pytest.approx(8, abs=0.02)


def test_a_study_is_cited_with_the_digests_of_its_files(run: Path) -> None:
    text = cite(analyse([run]))
    digest = hashlib.sha256((run / "verdicts.jsonl").read_bytes()).hexdigest()
    assert digest in text and text.startswith("@software{visualjudge,")
    assert f"year = {{{RELEASED[:4]}}}" in text


@pytest.mark.parametrize("suffix", [".pdf", ".png"])
def test_a_plot_is_converted_at_its_width(
    run: Path, tmp_path: Path, suffix: str
) -> None:
    pytest.importorskip("vl_convert")
    plot = (
        analyse([run]).shown.analysis.plots["tasks"].draw(analyse([run]).shown)
    )
    path = plot.save(tmp_path / f"tasks{suffix}", millimetres=86)  # type: ignore[union-attr]
    if suffix == ".png":
        with Image.open(path) as image:
            assert abs(image.width - 86 / 25.4 * 300) < 2
    else:
        assert path.read_bytes().startswith(b"%PDF")
        box = re.search(rb"/MediaBox ?\[ ?0 0 (\S+)", path.read_bytes())
        assert box is None or float(box[1]) == pytest.approx(
            86 / 25.4 * 72, abs=1
        )


def test_the_command_of_a_page_makes_the_same_page(run: Path) -> None:
    text = page(
        analyse([run], tasks=["object_detection"], where=["n_options>=2"])
    )
    command = re.search(r"visualjudge report [^<]* --out report.html", text)
    assert command is not None
    options = shlex.split(html.unescape(command[0]))
    assert options[-6:-2] == [
        "--task",
        "object_detection",
        "--where",
        "n_options>=2",
    ]


def test_a_summary_is_one_page_to_pass_on(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "summary.html"
    done = CliRunner().invoke(app, ["report", str(run), "--summary", str(out)])
    assert done.exit_code == 0, done.output
    text = out.read_text().replace("\u00a0", " ")
    assert "Five numbers" in text and "66.7 % (" in text
    assert 0 < text.count("<article") <= 3
    assert 'id="details"' not in text and "run.json" not in text


def test_unreadable_line_is_said_and_ends_with_status_1(run: Path) -> None:
    journal = run / "verdicts.jsonl"
    journal.write_text("{}\n" + journal.read_text())
    done = CliRunner().invoke(app, ["report", str(run)])
    assert done.exit_code == 1
    assert "line 1" in done.stderr


def test_the_methods_state_the_intervals_that_are_computed(
    run: Path, tmp_path: Path
) -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(20)]
    part = write_run(
        tmp_path / "part",
        write_dataset(tmp_path / "d", questions),
        [said(q, "A") for q in questions[:8]],
    )
    whole, asked = (
        page(analyse([folder]))
        .split('<div class="methods">')[1]
        .split("</div>")[0]
        for folder in (run, part)
    )
    assert "With fewer than 5 images, no interval is" in whole
    assert (
        "Asked" not in whole
        and "&lt;script&gt;" in whole
        and "&amp;lt" not in whole
    )
    assert "Asked: 8 of 20 questions on 8 of 12 images." in asked


MISSING = "28 of 36 verdicts are missing; visualjudge judge … --resume goes on"


@pytest.mark.parametrize(
    "told", [{"asked": 8}, {"swap": False, "repeats": 1, "limit": 8}, {}]
)
def test_finished_run_says_nothing_of_missing_verdicts(
    told: dict[str, object], tmp_path: Path
) -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(20)]
    dataset = write_dataset(tmp_path / "ds", questions)
    run = write_run(
        tmp_path / "run", dataset, [said(q, "A") for q in questions[:8]], **told
    )
    done = CliRunner().invoke(app, ["report", str(run)])
    assert done.exit_code == 0
    assert "missing" not in done.output


def test_one_run_twice_is_refused(run: Path) -> None:
    with pytest.raises(UsageError, match="each run must be given once"):
        analyse([run, run.parent / "." / run.name / ".." / run.name])


def _two_datasets(tmp_path: Path, first: int) -> list[Path]:
    runs = []
    for name, start in (("one", 0), ("two", first)):
        questions = [pair(i, (8.0, 1.0)) for i in range(start, start + 8)]
        dataset = write_dataset(tmp_path / f"ds-{name}", questions)
        runs.append(
            write_run(
                tmp_path / name, dataset, [said(q, "A") for q in questions]
            )
        )
    return runs


def test_examples_show_the_images_of_their_own_dataset(tmp_path: Path) -> None:
    """Two datasets may have different images of one name."""
    runs = []
    for name, start, gray in (("one", 0, 40), ("two", 100, 200)):
        dataset = tmp_path / f"ds-{name}"
        questions = [
            pair(i, (8.0, 1.0), images=("media/a.png",))
            for i in range(start, start + 8)
        ]
        write_dataset(dataset, questions)
        (dataset / "media").mkdir()
        Image.new("RGB", (8, 8), (gray,) * 3).save(dataset / "media/a.png")
        runs.append(
            write_run(
                tmp_path / name, dataset, [said(q, "B") for q in questions]
            )
        )
    study = load_study(runs)
    for number, gray in enumerate((40, 200)):
        shown = [
            src or ""
            for example in examples(study, number)
            for _, src in example.images
        ]
        decoded = [
            Image.open(io.BytesIO(base64.b64decode(src.partition(",")[2])))
            for src in shown
        ]
        assert decoded and all(
            abs(image.getpixel((4, 4))[0] - gray) < 4 for image in decoded
        )  # type: ignore[index]


def test_runs_with_common_questions_are_compared_without_a_warning(
    tmp_path: Path,
) -> None:
    assert list(analyse(_two_datasets(tmp_path, 4)).warnings) == []


def test_datasets_with_different_questions_under_one_id_are_refused(
    tmp_path: Path,
) -> None:
    one = write_dataset(tmp_path / "ds-one", [pair(0, (8.0, 1.0))])
    two = write_dataset(tmp_path / "ds-two", [pair(0, (1.0, 8.0))])
    verdict = [said(pair(0, (8.0, 1.0)), "A")]
    runs = [
        write_run(tmp_path / name, home, verdict)
        for name, home in (("a", one), ("b", two))
    ]
    with pytest.raises(DataError, match="question q0 differs from the one in"):
        analyse(runs)


def test_an_example_asked_in_the_other_order_is_shown_as_the_judge_saw_it(
    tmp_path: Path,
) -> None:
    data = make_folder(
        tmp_path / "data", tasks=("lowlevel-deblur",), images=6, annotations=2
    )
    build(data, tmp_path / "ds")
    asked = [
        q
        for q in load_dataset(tmp_path / "ds")
        if q.question_type == "pairwise"
    ][:6]
    verdicts = [
        replace(
            said(q, "BA"["AB".index(str(q.answer))], "BA"),
            raw_response=str(q.answer),
        )
        for q in asked
    ]
    study = load_study([write_run(tmp_path / "run", tmp_path / "ds", verdicts)])
    found = examples(study, 0)
    assert found
    for one in found:
        question = next(q for q in asked if q.image_id == one.image)
        shown = swapped(question)
        assert one.prompt == shown.prompt and len(one.images) == len(
            shown.images
        )
        assert (one.stated, one.answer) == (
            one.reply,
            "BA"["AB".index(str(question.answer))],
        )
        assert [name for name, _ in one.images][-2:] == ["Option A", "Option B"]
        assert one.options.startswith(
            f"Option A: true score {question.final_scores[1]:.2f}"
        )


def test_examples_show_each_pair_once(tmp_path: Path) -> None:
    turned = {
        "annotation_ids": ("b0", "a0"),
        "encoding": "text_other",
        "id": "again",
    }
    questions = [
        pair(0, (8.0, 1.0)),
        pair(0, (1.0, 8.0), **turned),
        pair(1, (7.0, 1.0)),
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    verdicts = [
        said(questions[0], "B"),
        said(questions[1], "A"),
        said(questions[2], "B"),
    ]
    run = write_run(tmp_path / "run", dataset, verdicts)
    assert [entry.image for entry in examples(analyse([run]).study, 0)] == [
        "image0",
        "image1",
    ]


@pytest.mark.parametrize(
    ("option", "name", "more"),
    [
        ("--out", "ratings.jsonl", []),
        ("--out", "report.txt", []),
        ("--json", "labels.csv", []),
    ],
)
def test_a_file_of_another_format_is_not_overwritten(
    run: Path, tmp_path: Path, option: str, name: str, more: list[str]
) -> None:
    kept = tmp_path / name
    words = ["report", str(run), option, str(kept), *more]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, UsageError)
    assert f"{option} must end in" in str(refused.exception)
    kept.write_text("mine")
    assert isinstance(CliRunner().invoke(app, words).exception, UsageError)
    assert kept.read_text() == "mine"


def test_the_terminal_says_which_probes_failed(run: Path) -> None:
    analysis = analyse([run])
    states = (("author", "fail"), ("length", "pass"), ("tool", "not_shown"))
    shown = Estimate(0.05, (-0.2, 0.3), 80, 20)
    probes = tuple(
        ProbeResult(name, "cue", shown, 0.1, state, 0, "q0")
        for name, state in states
    )
    probes += (
        ProbeResult("label", "cue", NOTHING, 0.1, "not_shown", 48, "q0"),
    )
    assert "probes" not in terminal(analysis, [])
    figures = (replace(PROBES, rows=lambda _: probes),)
    probed = Analysis(analysis.study, lambda: figures)
    # its effect is below the margin: it failed by replies without an answer
    assert (
        "passes 1 of 4 probes and fails author (no answer more often); 2 are undecided or "
        "not measured" in " ".join(terminal(probed, []).split())
    )
