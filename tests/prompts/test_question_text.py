"""Questions word for word, and the rules that hold for every task, encoding and
type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from folding import each
from judged_records import pair
from visualjudge.core.records import IMAGE_MARK, QuestionType
from visualjudge.prompts.prompt_set import V1
from visualjudge.prompts.question_text import (
    Option,
    QuestionScene,
    format_text,
    question_prompt as built,
)
from visualjudge.prompts.spans import swapped
from visualjudge.vision.encode import encodings
from visualjudge.vision.tasks import TASKS

COUNT: dict[QuestionType, int] = {"pairwise": 2, "ranking": 4, "scoring": 1}
NATURAL = ("restoration", "generation")
ROWS = [(row, kind) for row in encodings() for kind in COUNT]


def question_prompt(*args: Any, **options: Any) -> str:
    text, _ = built(*args, **options)
    return text


def _shown(kind: str, prompt: str | None = None) -> Option:
    image = None if kind == "text" else "x.png"
    return Option(
        image,
        None if kind == "pixel" else "[\n1\n]",
        "Legend: dog = red (#FF0000)" if image else None,
        prompt,
    )


def _scene(task: str, stem: str, kind: str, **fields: object) -> QuestionScene:
    scene = QuestionScene(
        TASKS[task],
        stem,
        (480, 640),
        True,
        combo=kind == "combo",
        class_of_interest=("dog", "car"),
    )
    return replace(scene, **fields)  # type: ignore[arg-type]


def test_pairwise_question_with_images_word_for_word() -> None:
    scene = _scene("object_detection", "pixel_s1_m0", "pixel")
    options = [
        replace(_shown("pixel"), legend=f"Legend: {name} = red (#FF0000)")
        for name in ("dog", "car")
    ]
    assert question_prompt("pairwise", scene, options, paraphrase=1) == (
        "<image>\n\n"
        "You are a judge to decide the quality of answers to an object detection task "
        "based on "
        "my given image. "
        "The class(es) of interest is dog, car.\n\n"
        "Format of predictions: colored bounding boxes drawn on the original image. "
        "The color of "
        "a box tells its "
        "class, as in the legend, and a tag at each box names the class.\n\n"
        "Options:\n\n"
        "A. <image>\nLegend: dog = red (#FF0000)\n\n"
        "B. <image>\nLegend: car = red (#FF0000)\n\n"
        "Which option is a better execution of the vision task? Please answer with A "
        "or B."
    )


def test_ranking_of_texts_word_for_word() -> None:
    scene = _scene("keypoint", "text_part_keyed_json", "text")
    prompt = question_prompt(
        "ranking", scene, [Option(None, f"[{k}]") for k in range(3)]
    )
    head, _, options = prompt.partition("Options:\n\n")
    assert head.startswith(
        "<image>\n\nYou are a judge to decide the quality of answers to a keypoint "
        "detection task"
    )
    assert (
        "The task is pose estimation.\n\nFormat of predictions: a JSON array with one "
        "object per "
        "person" in head
    )
    assert (
        "Note: x=0.0, y=0.0 means the keypoint was not detected or is not visible."
        in head
    )
    assert options == (
        "A. [0]\n\nB. [1]\n\nC. [2]\n\n"
        "Rank the predictions from best to worst. Respond with the ranking as a single "
        "string of "
        "letters only "
        "(best first, worst last). For example, BCAED."
    )


def test_scoring_question_numbers_its_images() -> None:
    prompt = question_prompt(
        "scoring",
        _scene("depth_estimation", "plasma", "pixel"),
        [Option("x.png")],
    )
    assert prompt.endswith(
        "First image: original. Second image: encoded prediction.\n<image>\n\n"
        "Score the quality of the prediction from 0 to 10.\n0 = random guessing / "
        "worst, 10 = "
        "best possible.\n"
        "Please answer with a single score from 0 to 10 only."
    )
    assert "Format of prediction: the predicted depth map" in prompt
    assert "Bright yellow = closest, dark purple = farthest." in prompt


def test_combo_option_shows_format_text_image_and_legend_in_this_order() -> (
    None
):
    prompt = question_prompt(
        "pairwise",
        _scene("object_detection", "0305", "combo"),
        [_shown("combo")] * 2,
    )
    option = prompt.partition("A. ")[2].partition("\n\nB. ")[0]
    places = [
        option.index(mark)
        for mark in (
            "Format: the same detections",
            "Text:\n[\n1\n]",
            "Image: <image>",
            "Legend:",
        )
    ]
    assert places == sorted(places)
    assert "Format of predictions" not in prompt


def test_text_to_image_shows_no_original_and_gives_the_prompt() -> None:
    scene = _scene(
        "generation_t2i",
        "pixel",
        "pixel",
        original=False,
        size=None,
        class_of_interest=None,
    )
    prompt = question_prompt(
        "pairwise", scene, [Option("x.png", prompt="a cat, {{so}} cute")] * 2
    )
    assert prompt.startswith(
        "You are a judge to decide the quality of answers to a text-to-image "
        "generation task. The goal"
    )
    assert "The text prompt is 'a cat, {{so}} cute'." in prompt
    assert "given image" not in prompt
    assert prompt.count("<image>") == 2


def test_options_of_different_prompts_show_their_own() -> None:
    scene = _scene("referring_segmentation", "text_polygon", "text")
    options = [
        Option(None, "[]", prompt=name)
        for name in ("left cup", "right cup", "left cup")
    ]
    prompt = question_prompt("ranking", scene, options)
    assert (
        "The prompt is the referring expression shown in the options below."
        in prompt
    )
    assert "B. Referring expression: 'right cup'\n[]" in prompt


def test_mask_and_control_are_explained_where_they_are_shown() -> None:
    masked = _scene(
        "generation_inpainting_low_level", "pixel", "pixel", masked=True
    )
    assert "hatched" in question_prompt(
        "pairwise", masked, [Option("x.png")] * 2
    )
    assert "hatched" not in question_prompt(
        "pairwise", replace(masked, masked=False), [Option("x.png")] * 2
    )
    control = _scene("generation_controllable", "pixel", "pixel", control=True)
    prompt = question_prompt(
        "scoring", control, [Option("x.png", prompt="a cat")]
    )
    assert prompt.startswith("<image>\n<image>\n\nYou are")
    assert (
        "First image: original. Second image: control condition. Third image: encoded "
        "prediction." in prompt
    )


@each(
    ("row", "kind"),
    ROWS,
    ids=lambda v: v if isinstance(v, str) else f"{v.task}/{v.stem}",
)
def test_every_question_has_a_mark_a_image_a_role_and_a_format(
    row: object, kind: QuestionType
) -> None:
    task, stem, shape = TASKS[row.task], row.stem, row.kind  # type: ignore[attr-defined]
    scene = _scene(row.task, stem, shape)  # type: ignore[attr-defined]
    prompt = question_prompt(
        kind, scene, [_shown(shape, "a red cup")] * COUNT[kind]
    )
    assert prompt.count("<image>") == 1 + COUNT[kind] * (shape != "text")
    role = (
        f"You are a judge to decide the quality of answers to {task.article} "
        f"{task.prose} task"
    )
    assert prompt.startswith(f"<image>\n\n{role} based on my given image. ")
    assert "{{" not in prompt
    if task.type in NATURAL:
        assert "Format of" not in prompt
    elif shape != "combo" or kind == "scoring":
        assert (
            "Format of prediction: "
            if kind == "scoring"
            else "Format of predictions: "
        ) in prompt


@each("row", encodings(), ids=lambda r: f"{r.task}/{r.stem}")
@each("prompts", [("a cup", "a cup"), ("the red cup", "it"), ("A.", None)])
def test_turned_prompt_is_that_of_the_options_in_the_other_order(
    row: object, prompts: tuple[str | None, ...]
) -> None:
    scene = _scene(row.task, row.stem, row.kind)  # type: ignore[attr-defined]
    options = [
        replace(_shown(row.kind, said), legend=f"B.\n\n{said}")
        for said in prompts
    ]  # type: ignore[attr-defined]
    straight, spans = built("pairwise", scene, options, 3)
    turned, spans_turned = built("pairwise", scene, options[::-1], 3)
    images = tuple(map(str, range(straight.count(IMAGE_MARK))))
    shown = swapped(
        pair(
            0,
            (2.0, 1.0),
            prompt=straight,
            spans=spans,
            images=images,
        )
    )
    assert (shown.prompt, shown.spans) == (turned, spans_turned)
    assert swapped(shown).prompt == straight


@each(
    "row",
    [r for r in encodings() if TASKS[r.task].type not in NATURAL],
    ids=lambda r: f"{r.task}/{r.stem}",
)
def test_description_of_each_encoding_differs_from_its_siblings(
    row: object,
) -> None:
    siblings = [r for r in encodings(row.task) if r.stem != row.stem]  # type: ignore[attr-defined]
    own = format_text(_scene(row.task, row.stem, row.kind))  # type: ignore[attr-defined]
    assert own not in [
        format_text(_scene(r.task, r.stem, r.kind)) for r in siblings
    ]


def test_five_paraphrases_are_those_of_the_reference() -> None:
    assert V1.asset("layout").choices == (
        "Which prediction is better?",
        "Which option is a better execution of the vision task?",
        "Which option would you prefer as answer to the vision task?",
        "Which of the two is the better result?",
        "Which option better fulfills the task?",
    )


def test_grid_of_a_format_is_that_of_the_encoder() -> None:
    text = format_text(
        _scene("semantic_segmentation", "text_matrix", "text", size=(333, 500))
    )
    assert (
        "a coarse grid of 21 rows by 32 columns, each cell standing for 16×16 pixels"
        in text
    )
