"""What commands end with: the next one, JSON for machines, and no colour where none is
wanted."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
from pathlib import Path

import polars as pl
import pytest

from docs.test_pages import problem
from frontdoor_example import Example, make_example
from judged_records import pair, write_dataset
from making import make_folder
from visualjudge.cli import main

ROOT = Path(__file__).parents[2]
COLOUR = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;\dm]")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Example:
    found = make_example(tmp_path_factory.mktemp("endings; $HOME") / "it's")
    found.out.mkdir()
    return found


def said(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *words: object,
) -> tuple[str, str]:
    monkeypatch.setattr(sys, "argv", ["visualjudge", *map(str, words)])
    with pytest.raises(SystemExit):
        main.run()
    return capsys.readouterr()


def labels(made: Example) -> Path:
    rows = json.loads((made.dataset / "questions.json").read_text("utf-8"))
    asked = {
        row["annotation_ids"][0]: row["final_scores"][0]
        for row in rows
        if row["question_type"] == "scoring"
    }
    path = made.out / "labels.csv"
    pl.DataFrame(
        {"annotation_id": list(asked), "score": list(asked.values())}
    ).write_csv(path)
    return path


def ratings(
    path: Path,
    raters: int,
    item: str = "photo{}",
    dimension: str = "object_detection",
) -> Path:
    """People who rate each source of the example the better the lower its number."""
    rows = [
        {
            "item": item.format(image),
            "source": f"model{s}",
            "rater": f"r{r}",
            "dimension": dimension,
            "score": 9 - 2 * s - (r + image) % 2,
        }
        for image in range(6)
        for s in range(4)
        for r in range(raters)
    ]
    pl.DataFrame(rows).write_csv(path)
    return path


def choices(made: Example) -> Path:
    path = made.out / "choices.tsv"
    path.write_text(
        "index\tquestion\tA\tB\tanswer\tcategory\timage\n1\tWhat?\tcat\tdog\tA\tx\timage\n"
    )
    return path


def replies(made: Example) -> Path:
    path = made.out / "replies.jsonl"
    path.write_text('{"index":1,"prediction":"A"}\n')
    return path


RANDOM = ("--backend", "baseline", "--model", "random")
ENDINGS = {
    "describe": (lambda made: ("describe", made.data), "plan"),
    "export": (
        lambda made: (
            "export",
            made.dataset,
            "--format",
            "trl",
            "--out",
            made.out / "t.jsonl",
        ),
        "judge",
    ),
    "label": (
        lambda made: (
            "label",
            made.run,
            "--n",
            6,
            "--out",
            made.out / "next.csv",
        ),
        "correct",
    ),
    "correct": (
        lambda made: ("correct", made.run, "--labels", labels(made)),
        "report",
    ),
    "agreement": (
        lambda made: (
            "agreement",
            ratings(made.out / "r.csv", 2),
            "--run",
            made.run,
        ),
        "card",
    ),
    "probe": (
        lambda made: (
            "probe",
            made.data,
            "--only",
            "tool",
            "--n",
            4,
            "--out",
            made.out / "probes",
        ),
        "judge",
    ),
    "build": (
        lambda made: ("build", made.data, "--out", made.out / "built"),
        "judge",
    ),
    "judge": (
        lambda made: (
            "judge",
            made.dataset,
            *RANDOM,
            "--out",
            made.out / "judged",
        ),
        "report",
    ),
    "report": (lambda made: ("report", made.run), "card"),
    "card": (lambda made: ("card", made.run), "report"),
    "describe dataset": (lambda made: ("describe", made.dataset), "judge"),
    "init": (lambda made: ("init", made.out), "card"),
    "mmbench circular": (
        lambda made: (
            "mmbench",
            "circular",
            choices(made),
            "--out",
            made.out / "r.tsv",
        ),
        "mmbench",
    ),
    "mmbench eval": (
        lambda made: (
            "mmbench",
            "eval",
            replies(made),
            "--data",
            choices(made),
        ),
        "mmbench",
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_command_names_a_next_one_that_exists(
    name: str,
    made: Example,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words, following = ENDINGS[name]
    out, _ = said(capsys, monkeypatch, *words(made))
    (line,) = [
        line.removeprefix("next: ")
        for line in out.splitlines()
        if line.startswith("next: ")
    ]
    assert line.startswith(f"visualjudge {following} ")
    assert problem(line) is None
    assert all(word[0] in "-/" or " " not in word for word in shlex.split(line))


def test_one_source_leads_to_no_plan(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = make_folder(
        tmp_path / "data", tasks=["object_detection"], annotations=1
    )
    out, _ = said(capsys, monkeypatch, "describe", data)
    assert "no two predictions can be compared" in out
    assert out.splitlines()[-1].startswith("next: visualjudge build ")


def test_every_next_command_is_given_word_by_word() -> None:
    """A word is quoted for a shell; a path within a longer text could not be."""
    for file in (ROOT / "src/visualjudge/cli").glob("*.py"):
        calls = (
            node
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
            if isinstance(node, ast.Call)
        )
        named = [
            call
            for call in calls
            if getattr(call.func, "id", "") in ("following", "shell")
        ]
        for word in (word for call in named for word in call.args):
            assert not isinstance(word, ast.JoinedStr), (
                f"{file.name}: {ast.unparse(word)}"
            )
            assert not isinstance(word, ast.Constant) or " " not in str(
                word.value
            ), f"{file.name}: {word.value}"
        assert "next: visualjudge" not in file.read_text("utf-8")


@pytest.fixture
def there(
    made: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A working folder of its own: commands name files in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def filled(queue: Path, rows: int = 10**6) -> bytes:
    """Give the first ``rows`` items of a queue a score; the bytes of the file."""
    table = pl.read_csv(queue, infer_schema=False).with_row_index()
    score = (
        pl.when(pl.col("index") < rows)
        .then(7 - pl.col("index") % 2)
        .otherwise(None)
    )
    table.with_columns(score=score).drop("index").write_csv(queue)
    return queue.read_bytes()


def test_a_queue_is_drawn_anew_only_as_long_as_nobody_has_labelled(
    made: Example,
    there: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    again = ("label", made.run, "--n", 9, "--out", "next.csv")
    for _ in range(2):
        assert (
            "next: visualjudge correct" in said(capsys, monkeypatch, *again)[0]
        )
    kept = filled(there / "next.csv", rows=1)
    assert "or was changed since" in said(capsys, monkeypatch, *again)[1]
    assert (there / "next.csv").read_bytes() == kept


def test_the_next_command_of_correct_and_card_can_be_given(
    made: Example,
    there: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("next.csv", "more.csv"):
        said(capsys, monkeypatch, "label", made.run, "--n", 12, "--out", name)
        filled(there / name)
    for command in (
        ("correct", made.run, "--labels", "next.csv"),
        ("card", made.run),
    ):
        (line,) = [
            x
            for x in said(capsys, monkeypatch, *command)[0].splitlines()
            if x.startswith("next: ")
        ]
        out, err = said(
            capsys,
            monkeypatch,
            *shlex.split(line.removeprefix("next: visualjudge ")),
        )
        assert f"next: visualjudge {command[0]}" in out and not err


def test_one_of_a_thing_is_said_in_the_singular(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = write_dataset(tmp_path / "set", [pair(0, (9.0, 1.0))])
    run, table, replies = (
        tmp_path / "run",
        tmp_path / "t.tsv",
        tmp_path / "replies.jsonl",
    )
    table.write_text(
        "index\tquestion\tA\tB\tanswer\tcategory\timage\n1\tWhat?\tcat\tdog\tA\tx\timage\n"
    )
    replies.write_text(
        '{"index":1,"prediction":"A"}\n{"index":2,"prediction":"B"}\n'
    )
    commands: list[tuple[object, ...]] = [
        ("judge", root, *RANDOM, "--out", run),
        ("report", run),
        ("describe", root),
        ("mmbench", "circular", table, "--out", tmp_path / "r.tsv"),
        ("mmbench", "eval", replies, "--data", table),
    ]
    for words in commands:
        told = " ".join(said(capsys, monkeypatch, *words))
        wrong = re.search(r"(?<![\d.,])1 (?!of|less)\w+s\b(?!:)", told)
        assert wrong is None, (words[:2], told)
    assert "1 verdict: " in "".join(
        said(
            capsys,
            monkeypatch,
            "judge",
            root,
            *RANDOM,
            "--resume",
            "--out",
            run,
        )
    )


def test_agreement_without_people_is_an_error_that_names_the_reason(
    made: Example,
    there: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, err = said(
        capsys, monkeypatch, "agreement", "--run", made.run, "--run", made.run
    )
    assert (
        not out
        and "visualjudge: nothing to compare: ratings of people are needed"
        in err
    )
    assert "ratings repeat an item" in err


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (
            {"dimension": "faith"},
            "people have dimension 'faith', the judge 'object_detection'; in a run it "
            "is the task",
        ),
        (
            {"item": "{}.png"},
            "people have item '0.png', the judge 'photo0/dog'; in a run it is the "
            "image_id (of a question about one class of interest image_id/CLASS)",
        ),
    ],
)
def test_a_judge_without_a_rating_in_common_with_people_is_named(
    other: dict[str, str],
    reason: str,
    made: Example,
    there: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = ratings(there / "people.csv", 2, **other)
    out, err = said(capsys, monkeypatch, "agreement", table, "--run", made.run)
    assert out.startswith("People: r0 and r1;")
    assert (
        err == f"visualjudge: run: no rating in common with people: {reason}\n"
    )


def test_a_judge_that_gave_no_score_is_named_beside_people(
    made: Example,
    there: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only = there / "pairs"
    asked = (
        "--type",
        "pairwise",
        "--backend",
        "baseline",
        "--model",
        "random",
        "--out",
        only,
    )
    said(capsys, monkeypatch, "judge", made.dataset, *asked)
    _, err = said(
        capsys,
        monkeypatch,
        "agreement",
        ratings(there / "people.csv", 2),
        "--run",
        only,
    )
    assert (
        err
        == "visualjudge: pairs: no rating in common with people: the judge has no "
        "usable score "
        "of a named model\n"
    )


def test_after_the_last_label_there_is_nothing_to_draw(
    made: Example,
    there: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = labels(made)
    assert (
        "next: visualjudge report "
        in said(capsys, monkeypatch, "correct", made.run, "--labels", every)[0]
    )
    assert (
        "at most the 0 annotations without a label"
        in said(
            capsys,
            monkeypatch,
            "label",
            made.run,
            "--labels",
            every,
            "--out",
            "x.csv",
        )[1]
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_no_colour_where_the_environment_asks_for_none(made: Example) -> None:
    """A command with a progress display, one with a table, and an error."""
    judge = ("judge", made.dataset, *RANDOM, "--out", made.out / "coloured")
    written = on_a_terminal(judge, ("card", made.run), ("nonsense",))
    assert b"verdicts" in written and b"no command" in written
    assert not COLOUR.search(written)


SEVERAL = """
import sys
from visualjudge.cli.main import run
for words in {words}:
    sys.argv = ["visualjudge", *words]
    try:
        run()
    except SystemExit:
        pass
"""


def on_a_terminal(*commands: tuple[object, ...]) -> bytes:
    """What commands write to a terminal while NO_COLOR is set."""
    import pty

    program = SEVERAL.format(words=[[*map(str, words)] for words in commands])

    child, screen = pty.fork()
    if child == 0:
        os.environ |= {
            "NO_COLOR": "1",
            "TERM": "xterm-256color",
            "COLUMNS": "80",
        }
        os.environ.pop("FORCE_COLOR", None)
        os.execv(sys.executable, [sys.executable, "-c", program])
    written = b""
    while True:
        try:
            part = os.read(screen, 65536)
        except OSError:
            part = b""
        if not part:
            os.waitpid(child, 0)
            return written
        written += part
