"""The report: self-contained, everything escaped, simulated judges named, the same from the command line."""

from __future__ import annotations

import html.parser
import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from judged_records import pair, said, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.report.markdown import markdown
from visualjudge.analysis.report.page import html as page
from visualjudge.cli.report import app

NASTY = '<script>alert("x")</script><img src="http://evil.example/x.png">'


class Loads(html.parser.HTMLParser):
    """Collects what a browser would fetch, and every script."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.found.append("script")
        for key, value in attrs:
            if key in ("src", "href", "srcset", "data") and value and not value.startswith(("data:", "#")):
                self.found.append(f"{tag} {value}")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    questions = [
        pair(i, (8.0, 1.0), prompt=NASTY, error_type=NASTY, images=("media/one.png",), sources=(NASTY, "b"))
        for i in range(30)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    (dataset / "media").mkdir()
    Image.new("RGB", (8, 6), (200, 10, 10)).save(dataset / "media" / "one.png")
    verdicts = [said(q, "B" if i % 3 == 0 else "A") for i, q in enumerate(questions)]
    return write_run(tmp_path / "run", dataset, verdicts, judge=NASTY, simulated=True)


def test_page_loads_nothing_and_escapes_everything(run: Path) -> None:
    text = page(analyse([run]))
    loads = Loads()
    loads.feed(text)
    assert loads.found == []
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "data:image/jpeg;base64," in text
    assert "simulated judge" in text


def test_picture_outside_the_dataset_is_not_shown(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    questions = [pair(i, (8.0, 1.0), images=("../secret.png",)) for i in range(4)]
    dataset = write_dataset(tmp_path / "ds", questions)
    folder = write_run(tmp_path / "run", dataset, [said(q, "B") for q in questions])
    assert "data:image/jpeg" not in page(analyse([folder]))


def test_markdown_names_the_simulated_judge(run: Path) -> None:
    text = markdown(analyse([run]))
    assert "(simulated)" in text
    assert "66.7 %" in text


def test_command_writes_every_file(run: Path, tmp_path: Path) -> None:
    out, metrics, tables = tmp_path / "r.html", tmp_path / "m.json", tmp_path / "csv"
    done = CliRunner().invoke(app, [str(run), "--out", str(out), "--json", str(metrics), "--csv", str(tables)])
    assert done.exit_code == 0, done.output
    assert json.loads(metrics.read_text())["judges"][0]["pairwise"]["accuracy"] == pytest.approx(2 / 3)
    assert out.stat().st_size > 5000
    assert (tables / "by_task.csv").read_text().startswith("judge,cell,")


def test_unreadable_line_is_said_and_ends_with_status_1(run: Path) -> None:
    journal = run / "verdicts.jsonl"
    journal.write_text("{}\n" + journal.read_text())
    done = CliRunner().invoke(app, [str(run)])
    assert done.exit_code == 1
    assert "line 1" in done.stderr
