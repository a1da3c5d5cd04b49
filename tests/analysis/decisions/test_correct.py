"""The corrected leaderboard and the queue of labels."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import visualjudge as vj
from decided import World, choices_of, scores_of
from judged_records import write_dataset, write_run
from visualjudge.analysis import study_of
from visualjudge.analysis.decisions.correct import LEADERBOARD, correct_study
from visualjudge.analysis.decisions.items_to_label import (
    LabelQueue,
    label_study,
)
from visualjudge.analysis.decisions.judged_items import items
from visualjudge.analysis.decisions.label_files import place, read_labels
from visualjudge.analysis.study_table import Study
from visualjudge.core.errors import DataError, UsageError


@pytest.fixture(scope="module")
def world() -> World:
    return World.of(60, 5)


def _scored(world: World, **judge: object) -> Study:
    questions = world.scoring_questions()
    return study_of(questions, {"judge": scores_of(questions, 0.6, **judge)})  # type: ignore[arg-type]


def _labels(
    path: Path, rows: list[tuple[str, ...]], head: str = "annotation_id,score"
) -> Path:
    path.write_text("\n".join([head, *(",".join(row) for row in rows)]) + "\n")
    return path


def _random_scores(
    world: World, path: Path, images: int, seed: int = 0
) -> Path:
    chosen = np.random.default_rng(seed).choice(
        world.truth.shape[0], images, replace=False
    )
    rows = [
        (f"a{g}-{s}", str(world.truth[g, s]))
        for g in chosen
        for s in range(world.truth.shape[1])
    ]
    return _labels(path, rows)


def test_a_favoured_source_is_put_back_in_its_place(
    world: World, tmp_path: Path
) -> None:
    study = _scored(world, bias={"model 4": 3.0})
    board = correct_study(
        study, _random_scores(world, tmp_path / "labels.csv", 20)
    )
    naive_best = max(board.rows, key=lambda row: row.naive or 0).source
    assert (naive_best, board.rows[0].source) == ("model 4", "model 0")
    assert "model 4" in {row.source for row in board.rows[-2:]}
    for row in board.rows:
        true = world.truth[:, int(row.source[-1])].mean()
        assert (
            row.interval is not None
            and row.interval[0] - 0.2 < true < row.interval[1] + 0.2
        )
        assert (
            row.rank_set is not None
            and row.rank_set[0] <= int(row.source[-1]) + 1 <= row.rank_set[1]
        )


def test_the_judge_makes_intervals_narrower_than_labels_alone(
    world: World, tmp_path: Path
) -> None:
    labels = _random_scores(world, tmp_path / "labels.csv", 15)
    good = correct_study(_scored(world), labels)
    questions = world.scoring_questions()
    noise = correct_study(
        study_of(questions, {"judge": scores_of(questions, 30.0)}), labels
    )
    assert good.lam > 0.5 > 0.2 > noise.lam
    widths = [
        np.mean(
            [
                row.interval[1] - row.interval[0]
                for row in b.rows
                if row.interval
            ]
        )
        for b in (good, noise)
    ]
    assert widths[0] < 0.8 * widths[1]
    assert np.mean([row.worth or 0 for row in good.rows]) > 1.5


def test_a_question_with_an_unnamed_source_is_left_out(tmp_path: Path) -> None:
    questions = World.of(12, 2).pair_questions()
    unnamed = [
        replace(q, id=f"u{q.id}", sources=(q.sources[0], None))
        for q in questions
    ]
    study = study_of(
        [*questions, *unnamed],
        {"judge": choices_of([*questions, *unnamed], 0.8)},
    )
    labels = _labels(
        tmp_path / "l.csv",
        [(q.id, str(q.answer)) for q in questions],
        "question_id,answer",
    )
    assert {row.labels for row in correct_study(study, labels).rows} == {12}


def test_json_has_the_promised_shape(world: World, tmp_path: Path) -> None:
    found = LEADERBOARD.json(
        correct_study(
            _scored(world),
            _random_scores(world, tmp_path / "l.csv", 12),
            gap=0.3,
        )
    )
    assert {"rows", "method", "lambda"} <= set(found)
    assert {
        "source",
        "naive",
        "corrected",
        "ci95",
        "rank_set",
        "labels",
    } <= set(found["rows"][0])
    assert found["rows"][0]["labels"] == 12 and found["labels"] == 60
    assert found["labels_for_gap"] is None or found["labels_for_gap"] > 0


def test_labels_that_fit_nothing_are_named_and_left_out(
    world: World, tmp_path: Path
) -> None:
    path = _random_scores(world, tmp_path / "labels.csv", 10)
    with path.open("a") as file:
        file.write("nobody,3\na0-0x,4\na59-1,eleven\na58-1,11\n")
    board = correct_study(_scored(world), path)
    said = [str(problem) for problem in board.problems]
    assert len(said) == 4
    assert any("nobody" in line and "no run judged it" in line for line in said)
    assert any(
        "must be a number from 0 to 10, got 'eleven'" in line for line in said
    )


def test_an_annotation_labelled_under_both_of_its_names_is_labelled_twice(
    world: World, tmp_path: Path
) -> None:
    path, study = (
        _random_scores(world, tmp_path / "labels.csv", 10),
        _scored(world),
    )
    board, name = (
        correct_study(study, path),
        path.read_text().split()[1].split(",")[0],
    )
    with path.open("a") as file:
        file.write(f"{study.questions['task'][0]}/{name},0\n")
    again = correct_study(study, path)
    assert again.rows == board.rows
    assert [str(one) for one in again.problems if "labelled twice" in str(one)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda score: score, None),
        (lambda score: score / 10, "the scale"),
        (lambda score: 1 + 0.4 * score, "the scale"),
        (lambda score: 7, "all 150 labels are 7"),
        (lambda score: 10 - score, "reversed"),
    ],
)
def test_labels_on_another_scale_or_against_the_judge_are_told(
    change: Callable[[float], float],
    told: str | None,
    world: World,
    tmp_path: Path,
    recwarn: pytest.WarningsRecorder,
) -> None:
    path = _random_scores(world, tmp_path / "labels.csv", 30)
    lines = [line.split(",") for line in path.read_text().split()[1:]]
    rows = [(name, str(change(float(score)))) for name, score in lines]
    correct_study(_scored(world), _labels(tmp_path / "l.csv", rows))
    texts = [str(row.message) for row in recwarn]
    assert len(texts) == (told is not None)
    assert told is None or told in texts[0]


def test_labels_of_which_only_some_have_a_probability_are_told(
    world: World, tmp_path: Path
) -> None:
    names = [f"a{g}-{s}" for g in range(8) for s in range(5)]
    rows = [(name, "5", "0.2" if k else "") for k, name in enumerate(names)]
    path = _labels(tmp_path / "l.csv", rows, "annotation_id,score,probability")
    assert (
        "the 1 without one"
        in correct_study(_scored(world), path).assumptions[0].assumes
    )


@pytest.mark.parametrize("gap", [0.0, -1.0, float("nan"), 1e308])
def test_a_gap_that_is_no_difference_is_refused(
    world: World, tmp_path: Path, gap: float
) -> None:
    labels = _random_scores(world, tmp_path / "labels.csv", 15)
    with pytest.raises(UsageError, match="gap"):
        correct_study(_scored(world), labels, gap=gap)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "annotation_id,score,probability\na0-0,5,13%\n",
            "probability must be above 0",
        ),
        (
            "id,score\na0-0,1\n",
            "columns must be annotation_id,score or question_id,answer",
        ),
        ("annotation_id,score\na0-0,\n", "holds no label"),
        ("annotation_id,score\na0-0,5\n", "at least 3 images"),
        (
            "annotation_id,score\nzzz,5\n",
            "must have labels of annotations that",
        ),
        (
            "annotation_id,score\na0-0,5\na1-0,55\na2-0,60\n",
            "got 1 at most; 2 labels left out, .*0 to 10, got '55'",
        ),
        (
            "annotation_id,score\na1-0,55\n",
            "1 label left out, .*0 to 10, got '55'",
        ),
    ],
)
def test_labels_that_cannot_serve_are_refused(
    world: World, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        correct_study(_scored(world), tmp_path / "labels.csv")


def test_a_source_that_wins_every_label_may_still_lose(
    world: World, tmp_path: Path
) -> None:
    """With no loss among n labels, a share of 2 / n is not excluded."""
    questions = world.pair_questions()
    study = study_of(questions, {"judge": choices_of(questions, 0.5)})
    labels = []
    for question in questions[
        ::11
    ]:  # each image once, each of its 10 pairs in turn
        first = "model 0" not in question.sources[1:]
        labels.append((question.id, "AB"[not first]))
    board = correct_study(
        study, _labels(tmp_path / "labels.csv", labels, "question_id,answer")
    )
    best = next(row for row in board.rows if row.source == "model 0")
    assert (best.corrected, best.rank_set) == (1.0, (1, 1))
    assert best.interval is not None
    assert 1 - 5 / best.labels < best.interval[0] < 1 - 2 / best.labels


def test_labels_that_are_all_equal_leave_no_interval_and_the_reason_is_given(
    world: World, tmp_path: Path
) -> None:
    study = _scored(world)
    labels = [(f"a{image}-0", "7") for image in range(40)]
    board = correct_study(
        study, _labels(tmp_path / "labels.csv", labels, "annotation_id,score")
    )
    (row,) = [row for row in board.rows if row.labels]
    assert (row.interval, row.rank_set) == (None, None)
    assert row.why == "all its labels are equal"
    assert "(all its labels are equal)." in str(board)
    assert LEADERBOARD.json(board)["rows"][0]["why"] == row.why


def test_rank_sets_are_said_to_hold_for_each_source_alone(
    world: World, tmp_path: Path
) -> None:
    board = correct_study(
        _scored(world), _random_scores(world, tmp_path / "labels.csv", 15)
    )
    assert "Ranks: a 95 % range for each model alone" in str(board)


def test_one_source_is_no_leaderboard(tmp_path: Path) -> None:
    small = World.of(10, 1)
    with pytest.raises(DataError, match="at least 2"):
        correct_study(
            _scored(small), _random_scores(small, tmp_path / "labels.csv", 5)
        )


def test_the_queue_can_be_filled_in_and_read_back(
    world: World, tmp_path: Path
) -> None:
    study = _scored(world)
    queue = label_study(study, 40)
    assert queue.table().height == queue.drawn == 40 and queue.pool == 300
    counts = [
        queue.table()["sources"].str.contains(name).sum()
        for name in world.names
    ]
    assert sum(counts) == 40 and min(counts) >= 4
    table = queue.table().to_dicts()
    for row in table:
        g, s = row["annotation_id"][1:].split("-")
        row["score"] = world.truth[int(g), int(s)]
    path = tmp_path / "next.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    board = correct_study(study, path)
    assert (
        board.labels == 40
        and "probabilities of the labels file" in board.assumptions[0].assumes
    )


def test_labels_that_are_there_are_kept_and_not_drawn_again(
    world: World, tmp_path: Path
) -> None:
    first = _random_scores(world, tmp_path / "labels.csv", 6)
    queue = label_study(_scored(world), 20, labels=first)
    table = queue.table()
    assert table["score"].is_not_null().to_list() == [True] * 30 + [False] * 20
    assert set(table["probability"]) == {repr(50 / 300)}
    assert queue.drawn == 20 and table["annotation_id"].n_unique() == 50


def _filled(world: World, queue: LabelQueue, path: Path) -> Path:
    """The queue as its table, all labels filled in with the truth."""
    rows = queue.table().to_dicts()
    for row in rows:
        g, s = row["annotation_id"][1:].split("-")
        row["score"] = str(world.truth[int(g), int(s)])
    pl.DataFrame(rows).write_csv(path)
    return path


def test_labels_of_several_draws_count_as_one(
    world: World, tmp_path: Path
) -> None:
    study = _scored(world)
    labels = None
    for number in (1, 2, 3):
        queue = label_study(study, 25, labels=labels)
        assert set(queue.table()["probability"]) == {repr(25 * number / 300)}
        labels = _filled(world, queue, tmp_path / f"{number}.csv")
    board = correct_study(study, str(labels))
    assert board.labels == queue.table()["annotation_id"].n_unique() == 75


def test_labels_that_name_questions_are_copied_to_a_queue_of_annotations(
    world: World, tmp_path: Path
) -> None:
    """A people's run names questions, also of scores."""
    rows = [(f"s{g}-0", "5.0", "0.2") for g in range(12)]
    labels = _labels(tmp_path / "l.csv", rows, "question_id,score,probability")
    (tmp_path / "l.csv").write_text(
        labels.read_text().replace("score", "answer")
    )
    queue = label_study(_scored(world), 8, labels=tmp_path / "l.csv")
    assert queue.table()["score"].to_list() == ["5.0"] * 12 + [None] * 8
    assert not queue.problems
    with (tmp_path / "l.csv").open("a") as file:
        file.write("s59-4,64,0.2\n")
    (lost,) = label_study(_scored(world), 8, labels=tmp_path / "l.csv").problems
    assert "s59-4: answer: must be a number from 0 to 10, got '64'" in str(lost)


def test_scores_of_one_annotation_in_two_encodings_are_averaged(
    tmp_path: Path,
) -> None:
    once = World.of(12, 2).scoring_questions()
    again = [replace(q, id=f"x{q.id}", encoding="text_xyxy") for q in once]
    study = study_of(
        [*once, *again], {"judge": scores_of([*once, *again], 0.6)}
    )
    rows = [(once[3].id, "4"), (again[3].id, "7"), (once[0].id, "1")]
    labels = read_labels(
        _labels(tmp_path / "l.csv", rows, "question_id,answer")
    )
    placed, problems = place(labels, items(study, "scoring"), study)
    assert sorted(placed["y"].drop_nulls()) == [1.0, 5.5] and problems == ()


@pytest.mark.parametrize(
    ("answers", "label"),
    [
        ("A A B", "A"),
        ("A B", "tie"),
        ("tie A", "tie"),
        ("tie tie A", "tie"),
        ("ABC BCA", None),
        ("ABC BCA ABC", "ABC"),
        ("4 7", "5.5"),
    ],
)
def test_the_label_of_several_raters_is_their_majority_or_mean(
    tmp_path: Path, answers: str, label: str | None
) -> None:
    asked = World.of(2, 2).pair_questions()
    dataset = write_dataset(tmp_path / "ds", asked)
    run = write_run(tmp_path / "run", dataset, [], backend="people")
    rows = [
        {"id": name, "order": "AB", "value": value, "status": "ok", "repeat": k}
        for name, values in (("q", answers.split()), ("other", ["A"]))
        for k, value in enumerate(values)
    ]
    told = [
        {**row, "purpose": "question", "rater": f"r{row['repeat']}", "raw_response": "",
         "value": float(row["value"]) if row["value"].isdigit() else row["value"]}
        for row in rows
    ]  # fmt: skip
    (run / "verdicts.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in told)
    )
    assert (
        dict(read_labels(run).table.select("name", "said").rows()).get("q")
        == label
    )


def test_a_probability_that_is_none_is_named(
    world: World, tmp_path: Path
) -> None:
    path = _filled(world, label_study(_scored(world), 30), tmp_path / "a.csv")
    rows = pl.read_csv(path, infer_schema=False).to_dicts()
    rows[0]["probability"] = "1.5"
    pl.DataFrame(rows).write_csv(path)
    board = correct_study(_scored(world), path)
    assert board.labels == 29 and "probability" in str(board.problems[0])


def test_labels_drawn_with_different_probabilities_are_not_continued(
    world: World, tmp_path: Path
) -> None:
    path = _filled(world, label_study(_scored(world), 30), tmp_path / "a.csv")
    rows = pl.read_csv(path, infer_schema=False).to_dicts()
    rows[0]["probability"] = "0.5"
    pl.DataFrame(rows).write_csv(path)
    with pytest.raises(
        DataError, match="probability must be equal for all labels"
    ):
        label_study(_scored(world), 10, labels=path)


def test_the_queue_is_the_same_for_the_same_seed(world: World) -> None:
    study = _scored(world)
    one, again, other = (
        label_study(study, 20, seed=seed).table() for seed in (0, 0, 1)
    )
    assert one.equals(again) and not one.equals(other)


def test_more_labels_than_items_are_refused(world: World) -> None:
    with pytest.raises(DataError, match="at most the 300 annotations"):
        label_study(_scored(world), 301)


def test_labels_of_a_single_source_promise_no_number_of_labels_for_a_gap(
    world: World, tmp_path: Path
) -> None:
    labels = _labels(
        tmp_path / "one.csv",
        [(f"a{g}-0", str(world.truth[g, 0])) for g in range(12)],
    )
    board = correct_study(_scored(world), labels, gap=0.5)
    assert sum(row.corrected is not None for row in board.rows) == 1
    assert board.labels_for_gap is None
    assert (
        "a difference of 0.5: not known: no two compared models have enough labels"
        in " ".join(str(board).split())
    )


def test_scores_without_model_names_have_a_mean_by_task(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = []
    for k in range(120):
        task, true = ("art", 7) if k % 2 else ("maps", 3)
        score = float(np.clip(rng.normal(true, 1.0), 0, 10))
        said = float(np.clip(score + 1.5 + rng.normal(0, 0.5), 0, 10))
        rows.append(
            {"item": f"q{k}", "task": task, "verdict": said, "person": score}
        )
    table = [
        {name: row[name] for name in ("item", "task", "verdict")}
        for row in rows
    ]
    run = vj.open_run(vj.adopt(table, tmp_path / "study").runs[0])
    queue = vj.label(run, n=60).table()
    assert queue["task"].value_counts().sort("task")["count"].to_list() == [
        30,
        30,
    ]
    by_prompt = {row["item"]: row["person"] for row in rows}
    meta = json.loads(
        (tmp_path / "study/dataset/questions.json").read_text("utf-8")
    )
    person = {q["annotation_ids"][0]: by_prompt[q["image_id"]] for q in meta}
    filled = queue.with_columns(
        score=queue["annotation_id"].replace_strict(person)
    )
    filled.write_csv(tmp_path / "labels.csv")
    board = vj.correct(run, tmp_path / "labels.csv")
    means = {row.source: row for row in board.rows}
    assert set(means) == {"art", "maps"}
    for task, true in (("art", 7), ("maps", 3)):
        low, high = means[task].interval
        assert low < true < high
        assert means[task].naive - means[task].corrected == pytest.approx(
            1.5, abs=0.4
        )
        assert means[task].rank_set is None
    of_art = vj.label(run, n=60, tasks=["art"]).table()
    assert set(of_art["task"]) == {"art"}
    of_art.with_columns(
        score=of_art["annotation_id"].replace_strict(person)
    ).write_csv(tmp_path / "art.csv")
    alone = vj.correct(run, tmp_path / "art.csv", tasks=["art"])
    assert [row.source for row in alone.rows] == ["art"]
    assert alone.labels == 60


def test_pairs_without_model_names_can_be_labelled(tmp_path: Path) -> None:
    rows = [{"item": f"q{k}", "verdict": "AB"[k % 2]} for k in range(20)]
    run = vj.open_run(vj.adopt(rows, tmp_path / "study").runs[0])
    queue = vj.label(run, n=8)
    assert (queue.by, queue.drawn, queue.pool) == ("question_id", 8, 20)


def test_labels_of_another_dataset_are_told_with_the_first(
    world: World, tmp_path: Path
) -> None:
    path = _labels(tmp_path / "l.csv", [("other-7", "A")], "question_id,answer")
    with pytest.raises(
        DataError, match=r"l\.csv: question_id .* got 'other-7'"
    ):
        correct_study(_scored(world), path)
