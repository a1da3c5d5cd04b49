"""What a table or its replies are suspected of, where few are right."""

from pathlib import Path

import pytest

from visualjudge.apps.mmbench.evaluate import evaluate
from visualjudge.apps.mmbench.reply_files import read_predictions
from visualjudge.apps.mmbench.scores import Model, scores, sentence
from visualjudge.apps.mmbench.table import Table, read_table
from visualjudge.core.errors import DataError

ANSWERS = "BADCABDDCBAACDBBADCACBDABCDA"


def _table(folder: Path, letters: str = "ABCD") -> Table:
    rows = ["\t".join(["index", "question", *letters, "answer"])]
    for k, answer in enumerate(ANSWERS):
        texts = [f"thing {letter} {k}" for letter in letters]
        known = answer if answer in letters else letters[k % 2]
        rows.append("\t".join([str(k), "What is it?", *texts, known]))
    path = folder / "table.tsv"
    path.write_text("\n".join(rows) + "\n")
    return read_table(path)


def _next(letter: str) -> str:
    return "ABCD"[("ABCD".index(letter) + 1) % 4]


@pytest.mark.parametrize(
    ("replies", "told"),
    [
        (ANSWERS, None),
        ("".join(map(_next, ANSWERS)), "each letter were the one before"),
        (ANSWERS[1:] + "A", "each reply were to the row after"),
        ("A" + ANSWERS[:-1], "each reply were to the row before"),
        ("C" * len(ANSWERS), "all 28 replies read are C"),
        (["no idea"] * len(ANSWERS), "28 of 28 replies name no option"),
        (ANSWERS[10:] + ANSWERS[:10], None),
    ],
)
def test_what_few_right_replies_are_due_to_is_told(
    tmp_path: Path, replies: str | list[str], told: str | None
) -> None:
    evaluated = evaluate(_table(tmp_path), dict(enumerate(replies)))
    stated = scores(evaluated)["doubts"]
    assert len(stated) == (told is not None)
    assert all(str(told) in line for line in stated)


@pytest.mark.parametrize(
    ("images", "asked"), [(1, 28), (1, 19), (2, 28), (0, 28)]
)
def test_many_questions_of_one_image_are_doubted(
    tmp_path: Path, images: int, asked: int
) -> None:
    path = _table(tmp_path).path
    head, *rows = path.read_text().splitlines()
    lines = [f"{head}\timage"]
    lines += [
        f"{row}\t{f'picture {k % images}' if images else ''}"
        for k, row in enumerate(rows[:asked])
    ]
    path.write_text("\n".join(lines) + "\n")
    stated = scores(evaluate(read_table(path), dict(enumerate(ANSWERS))))
    doubted = [line for line in stated["doubts"] if "same image" in line]
    assert len(doubted) == (images == 1 and asked == 28)


def test_a_bad_model_of_two_options_is_not_said_to_be_shifted(
    tmp_path: Path,
) -> None:
    table = _table(tmp_path, "AB")
    wrong = {row.index: "AB"[row.answer == "A"] for row in table.rows}
    assert not scores(evaluate(table, wrong))["doubts"]


def test_questions_of_which_each_lacks_a_rotation_are_no_crash(
    tmp_path: Path,
) -> None:
    table = _table(tmp_path)
    text = table.path.read_text()
    for line in text.splitlines()[1:]:
        index, rest = line.split("\t", 1)
        text += f"{int(index) + 1_000_000}\t{rest}\n"
    table.path.write_text(text)
    evaluated = evaluate(read_table(table.path), dict(enumerate(ANSWERS)))
    assert "of 0 questions" in sentence(Model("m", evaluated))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "pred.jsonl",
            '{"index": 1, "response": "A"}\n',
            "index and prediction",
        ),
        ("pred.jsonl", '{"index": "1", "prediction": "A"}\n', "got '1'"),
    ],
)
def test_replies_in_another_field_are_named(
    tmp_path: Path, name: str, content: str, told: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=told):
        read_predictions(tmp_path / name)
    with pytest.raises(DataError, match="folder"):
        read_predictions(tmp_path)
    with pytest.raises(DataError, match="workbook"):
        read_table(tmp_path / "table.xlsx")
