"""Many complaints of one kind are one line."""

from __future__ import annotations

from visualjudge.core.errors import Problem, summarized


def test_up_to_three_of_a_kind_are_written_out() -> None:
    problems = [
        Problem("a.json", f"r{k}", "bbox", "the field is missing")
        for k in range(3)
    ]
    assert summarized(problems) == [str(problem) for problem in problems]


def test_more_become_a_count_with_three_examples() -> None:
    problems = [
        Problem("a.json", f"r{k}", "file", f"there is no file /data/{k}.jpg")
        for k in range(500)
    ]
    other = Problem("a.json", "r7", "score", "must be a number")
    assert summarized([*problems, other]) == [
        "a.json: r0, r1, r2 and 497 more: file: there is no file /data/0.jpg (the first)",
        str(other),
    ]
    same = [
        Problem("a.json", f"r{k}", "bbox", "the field is missing")
        for k in range(4)
    ]
    assert summarized(same) == [
        "a.json: r0, r1, r2 and 1 more: bbox: the field is missing"
    ]


def test_one_problem_of_many_files_is_one_line() -> None:
    problems = [
        Problem(f"{k}.png", f"{k}", "prediction", f"no image d/{k}.png")
        for k in range(20)
    ]
    assert summarized(problems) == [
        "0.png and 19 other files: 0, 1, 2 and 17 more: prediction: no image d/0.png (the first)"
    ]
