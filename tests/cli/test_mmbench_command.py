"""``visualjudge mmbench``: exit status and one clear line, from the table to the
report."""

from __future__ import annotations

import base64
import io
import json
import re

import pytest
from PIL import Image

from commanding import command

HEADER = "index\tquestion\tA\tB\tanswer\tcategory\timage\n"


def call(*words):
    return command("mmbench", *words)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.tsv"
    path.write_text(
        HEADER
        + "1\tWhat?\tcat\tdog\tA\tx\timage\n2\tWho?\tcat\tdog\tB\ty\timage\n"
    )
    return path


@pytest.fixture
def replies(tmp_path):
    path = tmp_path / "pred.jsonl"
    path.write_text(
        '{"index":1,"prediction":"A"}\n{"index":2,"prediction":"It is the cat."}\n'
    )
    return path


def test_scores_are_written_and_summed_up(data, replies, tmp_path):
    done = call("eval", replies, "--data", data, "--json", tmp_path / "s.json")
    assert done.returncode == 0
    assert done.stdout.startswith("pred answers 50.0 %")
    assert re.search(r"vanilla +50.0 % +– +100.0 % +0.0 %", done.stdout)
    assert json.loads((tmp_path / "s.json").read_text())["accuracy"] == 0.5


def test_report_of_two_models_names_both(data, replies, tmp_path):
    done = call(
        "eval",
        replies,
        replies,
        "--name",
        "one",
        "--name",
        "two",
        "--data",
        data,
        "--out",
        tmp_path / "r.html",
    )
    assert done.returncode == 0, done.stderr
    assert {"one", "two"} <= {
        line.split(" ")[0] for line in done.stdout.splitlines()
    }
    assert (tmp_path / "r.html").exists()


def test_wrong_usage_is_exit_2(data, replies):
    assert call("eval", replies, replies, "--data", data).returncode == 2
    assert call("infer", data, "--model", "m").returncode == 2
    assert call("infer", data, "--model", "m", "--out", "x.csv").returncode == 2


def test_no_output_is_written_over_an_input(data, replies, tmp_path):
    link = tmp_path / "link.tsv"
    link.symlink_to(data)
    before = data.read_bytes(), replies.read_bytes()
    for words in (
        ("circular", data, "--out", data),
        ("circular", link, "--out", data),
        ("eval", replies, "--data", data, "--json", replies),
        ("eval", replies, "--data", data, "--json", data),
        ("eval", replies, "--data", data, "--out", replies),
        ("eval", replies, "--data", data, "--json", data),
    ):
        done = call(*words)
        assert done.returncode == 2
        assert "is an input file; name another file" in done.stderr
    assert (data.read_bytes(), replies.read_bytes()) == before


def test_a_report_ends_in_html(data, tmp_path):
    done = call(
        "eval", tmp_path / "p.tsv", "--data", data, "--out", tmp_path / "r.txt"
    )
    assert done.returncode == 2
    assert "--out must end in .html, got" in done.stderr


def test_a_results_file_that_is_no_workbook_is_one_line_of_our_own(
    data, tmp_path
):
    (tmp_path / "x.xls").write_text("{}")
    done = call("eval", tmp_path / "x.xls", "--data", data)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(
        f"{tmp_path / 'x.xls'}: must be a sheet (.xlsx, .tsv, .json) or the .jsonl "
        "that `mmbench infer` wrote"
    )
    assert done.stderr.count("\n") == 1
    assert "openpyxl" not in done.stderr


def test_image_that_is_none_stops_before_asking(data, tmp_path):
    done = call(
        "infer",
        data,
        "--model",
        "m",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--out",
        tmp_path / "p.xlsx",
    )
    assert done.returncode == 1
    assert (
        "index 1: image: neither base64 nor the index of a row" in done.stderr
    )
    assert not (tmp_path / "p.jsonl").exists()


def test_lists_that_hold_no_images_are_one_line_before_anything_is_asked(
    tmp_path,
):
    """Tables of several images a question that are no images, or are paths, as ``export
    --format vlmevalkit`` writes them.
    """
    table = tmp_path / "several.tsv"
    rows = "".join(
        f"{index}\tWhich?\tone\ttwo\tA\tx\t['iVBORw0K', 'iVBORw0K']\n"
        for index in range(1, 31)
    )
    for header, cells, line in (
        (
            HEADER,
            rows,
            f"{table}: index 1, index 2, index 3 and 27 more: image: the decoded bytes",
        ),
        (
            HEADER.replace("image", "image_path"),
            rows,
            "no column 'image'",
        ),
    ):
        table.write_text(header + cells)
        done = call(
            "infer",
            table,
            "--model",
            "m",
            "--base-url",
            "http://127.0.0.1:9/v1",
            "--out",
            tmp_path / "p.xlsx",
        )
        assert done.returncode == 1
        assert line in done.stderr and done.stderr.count("index 1") <= 1
        assert not (tmp_path / "p.jsonl").exists()


def test_unusable_record_stops_unless_skipped(data, replies, tmp_path):
    data.write_text(data.read_text() + "3\tWhere?\tcat\tdog\tE\tx\timage\n")
    stopped = call("eval", replies, "--data", data)
    assert stopped.returncode == 1
    assert "data.tsv:4: index 3: answer: 'E'" in stopped.stderr
    assert (
        call("eval", replies, "--data", data, "--skip-invalid").returncode == 0
    )


def test_every_sub_command_shows_an_example():
    for name in ("infer", "eval", "circular"):
        assert f"visualjudge mmbench {name}" in call(name, "--help").stdout


def test_a_question_whose_image_is_not_there_is_left_out_of_the_rotations(
    tmp_path,
):
    table = tmp_path / "data.tsv"
    table.write_text(
        HEADER
        + "1\tWhat?\tcat\tdog\tA\tx\timage\n2\tWho?\tcat\tdog\tB\ty\t99\n"
    )
    refused = call("circular", table, "--out", tmp_path / "r.tsv")
    assert refused.returncode == 1
    assert "the images of 1 record cannot be used" in refused.stderr
    assert not (tmp_path / "r.tsv").exists()
    done = call(
        "circular", table, "--out", tmp_path / "r.tsv", "--skip-invalid"
    )
    assert done.returncode == 0
    assert "2 rows of 1 question" in done.stdout


def test_why_a_run_stopped_is_said_where_a_limit_stopped_it(tmp_path):
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "PNG")
    shown = base64.b64encode(picture.getvalue()).decode()
    rows = [f"{k}\tWhat?\tcat\tdog\tA\tx\t{shown}\n" for k in (1, 2, 3)]
    (tmp_path / "t.tsv").write_text(HEADER + "".join(rows))
    nobody = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    for name, limit in (("all", ()), ("few", ("--max-calls", 1))):
        book = tmp_path / f"{name}.xlsx"
        words = (*nobody, "--set", "attempts=1", *limit, "--out", book)
        told = call("infer", tmp_path / "t.tsv", *words).stderr.splitlines()
        assert len(told) == 2 + bool(limit), told
        assert any("budget" in line for line in told) == bool(limit)
