"""A question for tests of judges, which read no dataset."""

from __future__ import annotations

from visualjudge.core.records import Question

PROMPT = (
    "<image>\n\nYou are a judge. The class(es) of interest is A.\n\nFormat of "
    "predictions: "
    "boxes.\n\nOptions:\n\n"
    'A. <image>\n{"label":"left"}\nLegend: dog = red\n\nB. '
    '<image>\n{"label":"right"}\nLegend: '
    "cat = blue\n\n"
    "Which of the two is the better result? Please answer with A or B."
)


def question(
    kind: str = "pairwise",
    prompt: str = PROMPT,
    images: tuple[str, ...] = ("o", "a", "b"),
    n: int = 2,
) -> Question:
    return Question(
        id="q",
        task="object_detection",
        encoding="0305",
        question_type=kind,  # type: ignore[arg-type]
        subset=("judge_analysis",),
        image_id="i",
        class_of_interest=("dog",),
        error_type=None,
        annotation_ids=tuple(map(str, range(n))),
        final_scores=tuple(map(float, range(n))),
        sources=(None,) * n,
        prompt=prompt,
        images=images,
        answer="B",
    )
