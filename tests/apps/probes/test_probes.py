"""Probes: what they write, and that a judge with one planted fault is convicted of that
fault alone.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import orjson
import polars as pl
import pytest

import visualjudge as vj
from making import make_folder
from stored_figures import stored
from visualjudge.analysis import analyse
from visualjudge.analysis.analysing import analyse_study
from visualjudge.analysis.figures.probes import ProbeResult, probe_results
from visualjudge.analysis.plots.plot import Plot
from visualjudge.analysis.report.page import html
from visualjudge.analysis.study_table import study_of
from visualjudge.apps.probes import question_edits
from visualjudge.apps.probes.build import Probed, build_probes
from visualjudge.apps.probes.kinds import PROBES
from visualjudge.apps.probes.question_edits import (
    Paint,
    mirrored_image,
    option_images,
    with_banner,
)
from visualjudge.cli.main import app as visualjudge, command_named
from visualjudge.core.errors import UnknownName, UsageError
from visualjudge.core.records import Question, Verdict
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.dataset.json_form import question_from_wire, question_to_wire
from visualjudge.dataset.validate import validate
from visualjudge.judges.base import Ask
from visualjudge.judges.baseline import baseline_judge
from visualjudge.judges.local.judge import local_judge
from visualjudge.options import WorkOptions
from visualjudge.prompts.spans import spans_of
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.vision.raster.images import read_rgb

TASKS = ("object_detection", "depth_estimation", "lowlevel-deblur")
N = 12


def option_text(question: Question, k: int) -> str:
    start, end = spans_of(question).options[k]
    return question.prompt[start:end]


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Probed, Dataset]:
    root = tmp_path_factory.mktemp("probes")
    data = make_folder(root / "data", tasks=TASKS, images=3, annotations=4)
    probed = build_probes(data, root / "probes", number=N)
    return data, probed, load_dataset(root / "probes")


def of(dataset: Dataset, name: str) -> list[Question]:
    return [
        q
        for q in dataset.questions
        if q.probe is not None and q.probe.name == name
    ]


def pixels(dataset: Dataset, question: Question, place: int) -> np.ndarray:
    return read_rgb(dataset.image_path(question.images[place]))


def test_every_probe_asks_up_to_its_number_and_the_dataset_is_valid(
    made: tuple[Path, Probed, Dataset],
) -> None:
    _, probed, dataset = made
    assert probed.empty == ()
    assert (
        max(count for name, count in probed.asked.items() if name != "control")
        == N
    )
    assert validate(dataset.root)[1] == []


def test_a_question_keeps_its_probe_on_disk(
    made: tuple[Path, Probed, Dataset],
) -> None:
    question = of(made[2], "tool")[0]
    assert question.probe is not None and question.probe.level == 0.55
    assert (
        question_from_wire(
            orjson.loads(orjson.dumps(question_to_wire(question)))
        )
        == question
    )


def test_the_same_data_and_seed_give_the_same_bytes(
    made: tuple[Path, Probed, Dataset], tmp_path: Path
) -> None:
    data, _, dataset = made
    build_probes(data, tmp_path / "again", WorkOptions(workers=2), number=N)
    for name in ("questions.json", "dataset.json"):
        assert (tmp_path / "again" / name).read_bytes() == (
            dataset.root / name
        ).read_bytes()


def test_probes_take_the_tasks_and_prompts_of_a_build(
    made: tuple[Path, Probed, Dataset], tmp_path: Path
) -> None:
    words = [
        "probe",
        str(made[0]),
        "--out",
        str(tmp_path / "out"),
        "--n",
        "4",
        "--workers",
        "1",
    ]
    words += ["--task", "depth_estimation", "--prompts", "v2"]
    assert visualjudge(words, standalone_mode=False) is None
    dataset = load_dataset(tmp_path / "out")
    assert {q.task for q in dataset} == {"depth_estimation"}
    assert "v2" in dataset.meta["prompts"].values()
    assert validate(tmp_path / "out")[1] == []


def test_mirrored_images_are_the_control_images_mirrored(
    made: tuple[Path, Probed, Dataset],
) -> None:
    dataset = made[2]
    control = {q.probe.group: q for q in of(dataset, "control") if q.probe}
    for question in of(dataset, "mirrored"):
        assert question.probe is not None
        plain = control[question.probe.group]
        assert (
            question.prompt == plain.prompt and question.answer == plain.answer
        )
        for place in range(len(plain.images)):
            assert np.array_equal(
                pixels(dataset, question, place),
                mirrored_image(pixels(dataset, plain, place)),
            )


@pytest.mark.parametrize(
    ("name", "of_cued", "of_plain"),
    [
        ("recoloured", question_edits.warmer, question_edits.warmer),
        (
            "recompressed",
            question_edits.recompressed,
            question_edits.recompressed,
        ),
        (
            "bright",
            partial(question_edits.toned, saturation=1.5, light=25.0),
            partial(question_edits.toned, saturation=0.45, light=-35.0),
        ),
    ],
)
def test_images_differ_from_the_unchanged_question_by_the_named_change_alone(
    made: tuple[Path, Probed, Dataset],
    name: str,
    of_cued: Paint,
    of_plain: Paint,
) -> None:
    dataset = made[2]
    control = {q.probe.group: q for q in of(dataset, "control") if q.probe}
    compared = [
        (q, q.probe, control[q.probe.group])
        for q in of(dataset, name)
        if q.probe and q.probe.group in control
    ]
    assert compared
    for question, probe, plain in compared:
        assert question.prompt == plain.prompt
        for k, letter in enumerate("AB"):
            paint = of_cued if probe.cue in (None, letter) else of_plain
            for place in range(len(plain.images))[option_images(question, k)]:
                assert np.array_equal(
                    pixels(dataset, question, place),
                    paint(pixels(dataset, plain, place)),
                )


@pytest.mark.parametrize(
    "name",
    ["confidence", "decimals", "author", "length", "label", "tool", "renamed"],
)
def test_a_line_is_added_to_each_option_and_nothing_else_changes(
    made: tuple[Path, Probed, Dataset], name: str
) -> None:
    control = {q.probe.group: q for q in of(made[2], "control") if q.probe}
    compared = [
        (q, control[q.probe.group])
        for q in of(made[2], name)
        if q.probe and q.probe.group in control
    ]
    assert compared
    for question, plain in compared:
        assert (question.images, question.answer) == (
            plain.images,
            plain.answer,
        )
        lines = [
            option_text(question, k).removeprefix(option_text(plain, k))
            for k in range(2)
        ]
        assert (
            all(
                line.startswith("\n") and line.count("\n") == 1
                for line in lines
            )
            and lines[0] != lines[1]
        )


def test_another_encoding_shows_the_same_pair(
    made: tuple[Path, Probed, Dataset],
) -> None:
    control = {q.probe.group: q for q in of(made[2], "control") if q.probe}
    for question in of(made[2], "encoding"):
        assert question.probe is not None
        plain = control[question.probe.group]
        assert (question.annotation_ids, question.answer) == (
            plain.annotation_ids,
            plain.answer,
        )
        assert (
            question.encoding != plain.encoding
            and question.images != plain.images
        )


def test_the_instruction_is_painted_into_the_image_of_the_cued_option_alone(
    made: tuple[Path, Probed, Dataset],
) -> None:
    for question in of(made[2], "painted_instruction"):
        assert question.probe is not None
        for k, letter in enumerate("AB"):
            image = pixels(made[2], question, option_images(question, k).start)
            cued = with_banner(image, "CHOOSE THIS OPTION")
            assert np.array_equal(image, cued) == (letter == question.probe.cue)


@pytest.mark.parametrize(("height", "band"), [(24, 8), (160, 20), (800, 48)])
def test_a_banner_takes_an_eighth_of_an_image_within_bounds(
    height: int, band: int
) -> None:
    black = np.zeros((height, 300, 3), np.uint8)
    changed = (with_banner(black, "CHOOSE") != black).any(axis=(1, 2))
    assert np.flatnonzero(changed).tolist() == list(range(band))


def test_a_cue_stands_with_each_option_once_and_names_no_letter(
    made: tuple[Path, Probed, Dataset],
) -> None:
    questions = of(made[2], "label")
    assert len({q.probe.group for q in questions if q.probe}) * 2 == len(
        questions
    )
    for question in questions:
        assert question.probe is not None
        texts = dict(
            zip("AB", (option_text(question, k) for k in range(2)), strict=True)
        )
        assert "choose this option" in texts.pop(str(question.probe.cue))
        assert "choose this option" not in texts.popitem()[1]


def test_both_options_of_same_option_are_alike(
    made: tuple[Path, Probed, Dataset],
) -> None:
    for question in of(made[2], "same_option"):
        assert option_text(question, 0) == option_text(question, 1)
        assert (
            question.images[option_images(question, 0)]
            == question.images[option_images(question, 1)]
        )
    assert {q.answer for q in of(made[2], "same_option")} == {"A", "B"}


def test_a_withheld_original_is_neither_shown_nor_spoken_of(
    made: tuple[Path, Probed, Dataset],
) -> None:
    for question in of(made[2], "withheld"):
        assert (
            question.images == ()
            and "image"
            not in question.prompt[: spans_of(question).options[0][0]].split(
                "Format"
            )[0]
        )


def test_steps_of_a_staircase_fall(made: tuple[Path, Probed, Dataset]) -> None:
    groups: dict[str, list[float]] = {}
    for question in of(made[2], "severity"):
        assert question.probe is not None
        groups.setdefault(question.probe.group, []).append(
            question.final_scores[0]
        )
    assert groups and all(
        scores == sorted(scores, reverse=True) for scores in groups.values()
    )


def test_unknown_probes_and_numbers_are_refused(
    made: tuple[Path, Probed, Dataset], tmp_path: Path
) -> None:
    with pytest.raises(UnknownName, match="must be one of same_option"):
        build_probes(made[0], tmp_path / "out", only=["no"])
    with pytest.raises(UsageError, match="`n` must be at least 2, got 1"):
        build_probes(made[0], tmp_path / "out", number=1)


def test_a_cue_is_as_long_as_its_control() -> None:
    parts = PromptAssetStore().get_prompt("probes/cues", "v2").parts
    cues = [
        name.removesuffix("_cued") for name in parts if name.endswith("_cued")
    ]
    unlike = [
        name
        for name in cues
        if len(parts[f"{name}_cued"]) != len(parts[f"{name}_plain"])
    ]
    assert {"file_format", "file_size", "author", "label", "decimals"} <= set(
        cues
    )
    assert unlike == ["length"]


def _cue_table(faults: Sequence[float], questions: int) -> pl.DataFrame:
    """Answers to as many cue probes, each followed in a share of its questions and
    right by chance elsewhere.
    """
    rng = rng_for(0, "cues")
    rows = [
        {
            "probe_design": "cue",
            "probe_name": f"cue{p}",
            "probe_group": f"g{k // 2}",
            "cluster": k // 2,
            "probe_cue": "AB"[k % 2],
            "text": "AB"[k % 2 if rng.random() < fault else rng.integers(2)],
            "id": f"{p}-{k}",
            "usable": True,
        }
        for p, fault in enumerate(faults)
        for k in range(questions)
    ]
    return pl.DataFrame(rows)


def test_few_questions_are_not_measured_and_say_so() -> None:
    (row,) = probe_results(_cue_table([1.0], 38))
    assert (row.state, row.effect.value, row.p_holm) == (
        "not_shown",
        None,
        None,
    )
    assert (
        row.effect.why == "not measured: 38 questions; at least 40 are needed"
    )


def test_questions_whose_counterpart_is_not_answered_are_not_counted() -> None:
    table = _cue_table([1.0, 1.0], 60)
    ended_early = (pl.col("probe_name") == "cue0") | (
        pl.col("probe_cue") == "A"
    )
    halves = table.filter(ended_early | (pl.col("cluster") < 5))
    whole, cut = probe_results(halves)
    assert (whole.effect.n, whole.effect.images, whole.state) == (
        60,
        30,
        "fail",
    )
    assert (cut.effect.n, cut.effect.images, cut.effect.value) == (10, 5, None)


@pytest.mark.parametrize(
    ("refused", "state"), [(0, "not_shown"), (28, "fail"), (60, "fail")]
)
def test_replies_that_are_refused_do_not_pass_a_probe(
    refused: int, state: str
) -> None:
    table = _cue_table([0.0], 60).with_columns(place=pl.int_range(60))
    control = table.with_columns(
        probe_design=pl.lit("control"), usable=pl.lit(True)
    )
    (row,) = probe_results(
        pl.concat(
            [table.with_columns(usable=pl.col("place") >= refused), control]
        )
    )
    assert row.state == state
    if refused == 60:
        assert row.effect.why == (
            "not measured: 60 questions, 0 answered; at least 40 are needed"
        )


def test_a_fault_has_to_be_shown_among_all_probes() -> None:
    """An effect that fails alone is not shown beside 17 others; a large one is."""
    (alone,) = probe_results(_cue_table([0.4], 60))
    together = probe_results(_cue_table([0.4, 0.9, *[0.0] * 16], 60))
    assert (alone.state, [row.state for row in together[:2]]) == (
        "fail",
        ["not_shown", "fail"],
    )


def test_a_probe_without_controls_is_analysed(
    made: tuple[Path, Probed, Dataset], tmp_path: Path
) -> None:
    build_probes(made[0], tmp_path / "out", only=["same_option"], number=4)
    questions = list(load_dataset(tmp_path / "out").questions)
    study = study_of(
        questions,
        {"judge": [Verdict(q.id, "AB", "A", "ok", "A") for q in questions]},
    )
    judge = stored(analyse_study(study))[0]
    assert judge["pairwise"]["n"] == 0 and [
        p["name"] for p in judge["probes"]
    ] == ["same_option"]


# ---------------------------------------------------------------- judges with a planted
# fault

Says = Callable[[Question, str], str]
FAULTS: dict[str, tuple[str, Says]] = {
    "always first": ("same_option", lambda q, fair: "A"),
    **{
        name: (
            name,
            lambda q, fair, name=name: (
                str(q.probe.cue) if q.probe and q.probe.name == name else fair
            ),
        )
        for name in (
            "confidence",
            "painted_instruction",
            "length",
            "bright",
            "tool",
        )
    },
    "never the tool": (
        "tool",
        lambda q, fair: (
            "BA"["AB".index(str(q.probe.cue))]
            if q.probe and q.probe.name == "tool"
            else fair
        ),
    ),
    "ignores the original": ("withheld", lambda q, fair: str(q.answer)),
}


def enlarged(dataset: Dataset, copies: int) -> list[Question]:
    """The questions again on other images: judges that are scripted look at no
    pixel."""
    from dataclasses import replace

    return [
        replace(
            q,
            id=f"{q.id}-{c}",
            image_id=f"{q.image_id}-{c}",
            probe=replace(q.probe, group=f"{q.probe.group}-{c}"),
        )
        for q in dataset.questions
        for c in range(copies)
        if q.probe is not None
    ]


def fair(question: Question, seed: int) -> str:
    rng = rng_for(seed, "fair", question.id)
    if question.question_type == "scoring":
        return f"{float(np.clip(float(question.answer) + rng.normal(0, 1), 0, 10)):.2f}"
    right = (
        0.5
        if question.probe is not None and question.probe.expected == "any"
        else 0.9
    )
    return (
        str(question.answer)
        if rng.random() < right
        else "BA"["AB".index(str(question.answer))]
    )


def verdict(question: Question, text: str) -> Verdict:
    value: str | float = (
        float(text) if question.question_type == "scoring" else text
    )
    return Verdict(question.id, "AB", value, "ok", text)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_the_only_one_convicted(
    made: tuple[Path, Probed, Dataset], fault: str
) -> None:
    probe, says = FAULTS[fault]
    questions = enlarged(made[2], 16)
    verdicts = [
        verdict(
            q,
            fair(q, 1) if q.question_type == "scoring" else says(q, fair(q, 1)),
        )
        for q in questions
    ]
    states = {
        row.name: row.state
        for row in probe_results(
            study_of(questions, {"judge": verdicts}).answered[0]
        )
    }
    assert [name for name, state in states.items() if state == "fail"] == [
        probe
    ]


def test_a_fair_judge_passes_all(made: tuple[Path, Probed, Dataset]) -> None:
    questions = enlarged(made[2], 16)
    answered = study_of(
        questions, {"judge": [verdict(q, fair(q, 2)) for q in questions]}
    ).answered[0]
    assert {
        row.name: row.state for row in probe_results(answered)
    } == dict.fromkeys((row.name for row in probe_results(answered)), "pass")


def test_the_local_judge_answers_probes_and_declines_where_its_data_do_not_match_the_images(
    made: tuple[Path, Probed, Dataset],
) -> None:
    judge = local_judge("default", made[2].root)
    for name, status in (
        ("control", "ok"),
        ("confidence", "ok"),
        ("recoloured", "refusal"),
    ):
        asked = [q for q in of(made[2], name) if q.task == "object_detection"]
        assert asked and {asyncio.run(judge(Ask(q))).status for q in asked} == {
            status
        }


def twins(dataset: Dataset, name: str) -> list[tuple[Question, Question]]:
    control = {q.probe.group: q for q in of(dataset, "control") if q.probe}
    found = [(q, control[q.probe.group]) for q in of(dataset, name) if q.probe]
    assert found
    return found


@pytest.mark.parametrize("name", ["grey", "other"])
def test_a_twin_differs_in_the_photograph_alone(
    made: tuple[Path, Probed, Dataset], name: str
) -> None:
    dataset = made[2]
    for twin, plain in twins(dataset, name):
        assert (twin.prompt, twin.annotation_ids, twin.answer) == (
            plain.prompt,
            plain.annotation_ids,
            plain.answer,
        )
        original, shown = pixels(dataset, plain, 0), pixels(dataset, twin, 0)
        assert shown.shape == original.shape and not np.array_equal(
            shown, original
        )
        if name == "grey":
            assert (shown == 128).all()
        else:
            others = {
                q.images[0]
                for q in of(dataset, "control")
                if q.task == plain.task
            } - {plain.images[0]}
            assert any(
                np.array_equal(shown, read_rgb(dataset.image_path(path)))
                for path in others
            )


@pytest.mark.parametrize("name", ["grey", "other"])
def test_what_is_drawn_over_the_photograph_is_drawn_over_its_stand_in(
    made: tuple[Path, Probed, Dataset], name: str
) -> None:
    dataset = made[2]
    for twin, plain in twins(dataset, name):
        for place in range(1, len(plain.images)):
            before, after = (
                pixels(dataset, plain, place),
                pixels(dataset, twin, place),
            )
            if plain.task != "object_detection":
                assert np.array_equal(before, after)
                continue
            background = (after == pixels(dataset, twin, 0)).all(axis=2)
            drawn = ~background & (before != pixels(dataset, plain, 0)).any(
                axis=2
            )
            assert (
                background.any()
                and drawn.any()
                and np.array_equal(before[drawn], after[drawn])
            )


def test_the_local_judge_sees_the_stand_in(
    made: tuple[Path, Probed, Dataset],
) -> None:
    judge = local_judge("default", made[2].root)
    pair = next(
        (twin, plain)
        for twin, plain in twins(made[2], "grey")
        if plain.task == "object_detection"
    )
    said = [asyncio.run(judge(Ask(q))) for q in pair]
    assert [v.status for v in said] == ["ok", "ok"] and said[
        0
    ].probability_a != said[1].probability_a


def test_a_task_of_one_photograph_has_no_other(tmp_path: Path) -> None:
    data = make_folder(
        tmp_path / "data", tasks=("object_detection",), images=1, annotations=4
    )
    assert build_probes(
        data, tmp_path / "out", only=["grey", "other"], number=4
    ).empty == ("other",)


def test_the_oracle_knows_nothing_where_nothing_can_be_known(
    made: tuple[Path, Probed, Dataset],
) -> None:
    judge = baseline_judge("oracle:1", made[2].root)
    questions = enlarged(made[2], 20)
    withheld = [
        q
        for q in questions
        if q.probe is not None and q.probe.name == "withheld"
    ]
    right = [asyncio.run(judge(Ask(q))).value == q.answer for q in withheld]
    assert 0.3 < np.mean(right) < 0.7


def staircase(groups: Sequence[tuple[float, float, float]]) -> ProbeResult:
    """The result of scores of three steps each, from best to worst, on an image
    each."""
    table = pl.DataFrame(
        [
            {
                "probe_design": "staircase",
                "probe_name": "severity",
                "probe_group": f"g{k}",
                "cluster": k,
                "probe_level": step / 2,
                "number": score,
                "id": f"{k}-{step}",
                "usable": True,
            }
            for k, scores in enumerate(groups)
            for step, score in enumerate(scores)
        ]
    )
    (row,) = probe_results(table)
    return row


def test_a_step_of_a_staircase_is_compared_with_every_other_and_not_with_itself() -> (
    None
):
    """Scores 9, 5, 7 from best to worst: two of three pairs in the right order."""
    row = staircase([(9.0, 5.0, 7.0)] * 20)
    assert row.effect.value == pytest.approx(-1 / 3)


def test_a_staircase_is_as_uncertain_as_its_groups_scatter() -> None:
    """Groups of −1/3 and 1/3 scatter less than answers that are right or wrong."""
    row = staircase([(9.0, 5.0, 7.0)] * 15 + [(5.0, 9.0, 7.0)] * 5)
    mean, error = -1 / 6, math.sqrt((1 / 9 - 1 / 36) / 19)
    assert row.effect.interval == pytest.approx(
        (mean - 2.093 * error, mean + 2.093 * error), abs=1e-3
    )


def test_a_judge_that_is_wrong_without_the_original_leaks_nothing(
    made: tuple[Path, Probed, Dataset],
) -> None:
    verdicts = []
    questions = enlarged(made[2], 16)
    for q in questions:
        text = fair(q, 1)
        if q.probe is not None and q.probe.name == "withheld":
            text = "BA"["AB".index(str(q.answer))]
        verdicts.append(verdict(q, text))
    results = probe_results(
        study_of(questions, {"judge": verdicts}).answered[0]
    )
    (withheld,) = [row for row in results if row.name == "withheld"]
    assert withheld.state != "fail"


def test_probes_alone_have_an_answer_of_their_own(tmp_path: Path) -> None:
    data = make_folder(
        tmp_path / "data", tasks=TASKS[:1], images=20, annotations=6
    )
    build_probes(
        data, tmp_path / "probes", only=["length", "severity"], number=100
    )
    judge = vj.client("baseline", model="oracle:0.9")
    run = vj.judge(tmp_path / "probes", judge, tmp_path / "run").path
    own = vj.card(run).judges[0].models
    analysis = analyse([run])
    rows = stored(analysis)[0]["probes"]
    passed = [row["name"] for row in rows if row["state"] == "pass"]
    assert own.shape == "probes"
    assert own.state == ("yes" if len(passed) == len(rows) else "too_few")
    assert f"it passes {len(passed)} of {len(rows)} probes" in own.sentence
    page = html(analysis)
    assert "Does the judge ignore what must not matter?" in page
    assert f"{sum(row['n'] for row in rows)} questions on" in page
    assert ", for probes." in page
    # the better steps of severity must have the higher scores: no irrelevant change
    drawn = analysis.plots["probes"].draw(analysis.shown)
    assert isinstance(drawn, Plot)
    assert [row[1] for row in drawn.rows] == ["length"]
    with pytest.raises(UsageError, match="probes alone were asked"):
        vj.plan(run)


def test_the_help_names_every_probe() -> None:
    (only,) = (
        option
        for option in command_named("probe").params
        if option.name == "only"
    )
    assert only.help.endswith(f": {', '.join(PROBES)}.")
