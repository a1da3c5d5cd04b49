"""Replies whose label is known because they are put together: style × language ×
heading × bullets × dash × order × correction.

Nothing here comes from the reader or its phrases; a reply that could be argued about is
not made.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

OTHER = {"A": "B", "B": "A"}
FLAWS = (
    "misses the dog",
    "is blurry at the edges",
    "has a hole in the mask",
    "leaks into the background",
)
MERITS = (
    "finds everything",
    "keeps the fine structure",
    "follows the outline",
    "has tight boxes",
)
HEADINGS = (
    "Conclusion",
    "Summary",
    "Overall",
    "Comparison",
    "Evaluation",
    "Analysis",
    "Reasoning",
    "Final thoughts",
)
BULLETS, DASHES, BOLD = (
    ("- ", "* ", "• ", "1. "),
    (" – ", ": ", " - ", " — "),
    ("{}", "**{}**", "Option {}", "**Option {}**"),
)
MARKS = ("\\boxed{{{}}}", "<answer>{}</answer>", "[[{}]]", '{{"answer": "{}"}}', "Answer: {}", "**Answer:** {}", "Final answer: {}",
         "Verdict: {}", "答案：{}", "Antwort: {}", "Réponse : {}", "Respuesta: {}", "Ответ: {}", "答え：{}", "정답: {}", "Resposta: {}",
         "### Answer\n\n{}", "Winner: **{}**", "My choice: {}", "Better option: {}")  # fmt: skip
PROSE = ("{X} is better.", "{X} is clearly better than {Y}.", "I prefer {X} over {Y}.", "I would choose {X}.", "So the better prediction is {X}.",
         "Therefore, {X} is the better choice.", "The answer is {X}.", "{Y} is worse "
                                                                       "than {X}.", "{X} wins.", "Ich wähle {X}.", "我选择{X}。",
         "Je préfère {X}.", "La mejor opción es {X}.", "{X} лучше, чем {Y}.", "{X}の方が優れています。", "따라서 {X}를 선택합니다.", "I pick {Y} as the worse one.",
         "At first {Y} looks better, but {X} is better.", "Even though {Y} is sharper, "
                                                          "{X} is better.", "I was "
                                                                            "going to "
                                                                            "say {Y}, "
                                                                            "but {X} "
                                                                            "is better.",
         "Unlike {Y}, {X} is better.", "I reject {Y}.", "Overall, {X} has a better "
                                                        "balance of detail and noise.", "{Y} does not show the dog, so {X}.", "{X} better fulfills the task.",
         "In conclusion, {X} is better than {Y}.")  # fmt: skip
NO_ANSWER = ("Choose {X} if you like colour.", "{X} would be better if it had found "
                                               "the dog.", "I do not think that {X} is "
                                                           "better.",
             "Is {X} better than {Y}?", "{X} might be better.", "Some people would say "
                                                                "that {X} is better.", "{X} or {Y}?", "Please answer with A or B.",
             "Answer with A or B.\nAnswer:", "Answer: A or B", "Options:\n- A\n- B", "A. <image>\nB. <image>", "{X} is better only in colour, {Y} only in shape.",
             "Model A is better: [[A>B]]\nModel B is better: [[B>A]]\nTie: [[A=B]]", "It is not clear whether {X} is better.",
             "Answer: neither {X} nor {Y}", "I cannot say that {X} is better.",
             "{X} is sharper, {Y} is more complete.", "It depends: for edges {X}, for "
                                                      "colour {Y}.", "{X} is hardly "
                                                                     "better.", "Format: Answer: {X}",
             "If colour matters, {X} is better; if shape matters, {Y} is better.", "Answer: {X}\n\nWait, actually I am not sure.",
             "{X} is better in colour but {Y} is better in shape.", "Neither {X} nor "
                                                                    "{Y} is convincing.", "- A\n- B", "A/B", "a|b", "b|a", "a b",
             "1. A is better: [[A>B]]\nIt is sharp.\n\n2. B is better: [[B>A]]\nIt is "
             "complete.", "Overall, {X} has better edges; {Y} has better colour.",
             "Overall, {X} would be better with sharper edges.", "Both images are "
                                                                 "good. {X} has more "
                                                                 "detail.",
             "I do not think that, overall, {X} is better.", "If colour matters, "
                                                             "overall {X} is better.", "In the end it might be that finally {X} wins.",
             "{X} better matches the prompt; {Y} better matches the original.")  # fmt: skip
CORRECTIONS = (
    "Wait, no. ",
    "Actually, ",
    "On second thought, ",
    "Correction: ",
    "Hmm, let me check again. ",
    "Sorry, ",
    "Oh, sorry: ",
)
DOWN = (
    "Ranking from best to worst:",
    "Best to worst:",
    "Final ranking (best first):",
    "In descending order of quality:",
    "Du meilleur au pire :",
    "从好到差：",
)
UP = ("Worst to best:", "From worst to best:", "Ranking (worst first):", "From lowest "
                                                                         "to highest "
                                                                         "quality:", "Starting with the worst:", "From the weakest to the strongest:",
      "In ascending quality:", "Ordered by increasing quality:", "Listed worst first:", "In order from worst to best:", "Von schlechtesten zum besten:", "从差到好：", "De peor a mejor:")  # fmt: skip
SCORES = ("Score: {}", "{}/10", "**Score:** {}/10", "I would give it a {}.", "Rating: "
                                                                             "{} out "
                                                                             "of 10", "Overall: {}", '{{"score": {}}}', "\\boxed{{{}}}", "评分：{}", "Note : {}/10",
          "Bewertung: {}", "Оценка: {}", "I'd rate it {}/10.", "The score is {}.", "Score (0-10): {}", "On a scale of 0 to 10: {}", "Score of the prediction: {}",
          "The score of the prediction is {}.", "Score - {}")  # fmt: skip
NO_SCORE = ('{{"rating": {}, "max": 5}}', "{}/5", "{} %", "It finds {} of 9 dogs.", "between {} and 9", "less than {}", "Not a {}.", "Confidence: {}", "Sharpness: {}", "{} stars",
            "{} or 9", "It would be a {} if the dog were found.", "Deduct {}.", "It "
                                                                                "loses "
                                                                                "{} "
                                                                                "points.", "Max score: {}",
            "Anything over {} would be generous.", "Best: {}", "A perfect score is {}.")  # fmt: skip


@dataclass(frozen=True)
class Made:
    """``label`` is what is stated; None: nothing. ``marked``: it stands in a mark."""

    text: str
    kind: str
    n: int
    label: str | float | None
    finish: str = "stop"
    marked: bool = False


def replies(seed: int, count: int) -> Iterator[Made]:
    """``count`` replies of each family."""
    rng = random.Random(seed)
    for _ in range(count):
        yield from (
            _pairwise(rng),
            _nothing(rng),
            _truncated(rng),
            _ranking(rng),
            _scoring(rng),
            _no_score(rng),
            _mathematics(rng),
            _unknown(rng),
            _ended(rng),
            _upward(rng),
        )


def _listing(rng: random.Random, better: str) -> str:
    """A heading over a list of both options, which declares nothing."""
    bullet, dash, form = (
        rng.choice(BULLETS),
        rng.choice(DASHES),
        rng.choice(BOLD),
    )
    rows = [
        ("A", rng.choice(MERITS if better == "A" else FLAWS)),
        ("B", rng.choice(MERITS if better == "B" else FLAWS)),
    ]
    if rng.random() < 0.3:
        rows.reverse()
    lines = (
        f"{f'{k}. ' if bullet == '1. ' else bullet}{form.format(name)}{dash}{said}"
        for k, (name, said) in enumerate(rows, 1)
    )
    heading = rng.choice(("{}:", "**{}:**", "### {}", "{}")).format(
        rng.choice(HEADINGS)
    )
    return heading + "\n" + rng.choice(("", "\n")) + "\n".join(lines)


def _said(rng: random.Random, letter: str) -> tuple[str, bool]:
    if rng.random() < 0.5:
        return rng.choice(MARKS).format(letter), True
    name = rng.choice(("{}", "option {}", "Option {}", "image {}"))
    text = (
        rng.choice(PROSE)
        .replace("{X}", name.format(letter))
        .replace("{Y}", name.format(OTHER[letter]))
    )
    return text[0].upper() + text[1:], False


def _pairwise(rng: random.Random) -> Made:
    letter = rng.choice("AB")
    said, marked = _said(rng, letter)
    parts = [_listing(rng, letter)] if rng.random() < 0.7 else []
    if rng.random() < 0.2:
        first, _ = _said(rng, OTHER[letter])
        parts.append(first + "\n" + rng.choice(CORRECTIONS) + said)
    else:
        parts.append(said)
    if rng.random() < 0.2:
        parts.insert(0, "<think>" + _said(rng, OTHER[letter])[0] + "</think>")
    return Made(
        "\n\n".join(parts),
        "pairwise",
        2,
        letter,
        marked=marked and len(parts) == 1 and "\n" not in said,
    )


def _nothing(rng: random.Random) -> Made:
    letter = rng.choice("AB")
    text = (
        rng.choice(NO_ANSWER)
        .replace("{X}", letter)
        .replace("{Y}", OTHER[letter])
    )
    return Made(
        _listing(rng, letter) + "\n\n" + text if rng.random() < 0.3 else text,
        "pairwise",
        2,
        None,
    )


def _truncated(rng: random.Random) -> Made:
    return Made(
        _said(rng, rng.choice("AB"))[0], "pairwise", 2, None, finish="length"
    )


def _ranking(rng: random.Random) -> Made:
    n = rng.choice((3, 4))
    order = rng.sample("ABCD"[:n], n)
    up = rng.random() < 0.5
    shown = order[::-1] if up else order
    style = rng.choice(("list", "chain", "lines"))
    if style == "chain":
        body = rng.choice((", ", " , ")).join(shown)
    elif style == "list":
        body = "\n".join(
            f"{k}. "
            f"{rng.choice(BOLD).format(x)}{rng.choice(('', ' – ' + rng.choice(MERITS)))}"
            for k, x in enumerate(shown, 1)
        )
    else:
        body = "\n".join(f"- {x}" for x in shown)
    head = rng.choice(UP if up else DOWN)
    return Made(
        head + (" " if style == "chain" else "\n") + body,
        "ranking",
        n,
        "".join(order),
        marked=not up and style != "lines",
    )


def _scoring(rng: random.Random) -> Made:
    score = rng.choice((0, 1, 3, 6.5, 7, 8, 10, ".5"))
    form = rng.choice(SCORES if score != ".5" else SCORES[:3])
    text = form.format(score)
    if rng.random() < 0.4:
        text = f"It {rng.choice(FLAWS)}.\n\n{text}"
    return Made(text, "scoring", 1, float(score), marked=True)


def _no_score(rng: random.Random) -> Made:
    return Made(
        rng.choice(NO_SCORE).format(rng.choice((2, 3, 4, 5, 6, 7))),
        "scoring",
        1,
        None,
    )


QUOTED = ("x = \\boxed{12}", "\\boxed{x^2 + 1}", "Both reach \\boxed{\\frac{3}{4}}.", "[[1, 2], [3, 4]]", "The set is {a, b}.",
          "A.x + B.y = C", "f(A) > f(B)", "<output>42</output>", "P(A|B) = 0.3", "\\boxed{\\text{four}}")  # fmt: skip
CUT = ("length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens", "Truncated", "token_limit", "incomplete",
       "error", "abort", "network_error", "cancelled", "insufficient_system_resource", "content_filter", "SAFETY")  # fmt: skip
FIVE = ("From worst to best: 1. {} 2. {} 3. {}", "Von der schlechtesten zur besten: "
                                                 "{}, {}, {}", "Du pire au meilleur : "
                                                               "{}, {}, {}",
        "De peor a mejor: {}, {}, {}", "从低到高：1. {} 2. {} 3. {}", "От худшего к "
                                                                 "лучшему: {}, {}, {}")  # fmt: skip


def _mathematics(rng: random.Random) -> Made:
    """Marks that name no option, before or behind the one that does."""
    letter = rng.choice("AB")
    parts = rng.sample(QUOTED, rng.randint(1, 3))
    parts.insert(rng.randint(0, len(parts)), rng.choice(MARKS).format(letter))
    return Made("\n\n".join(parts), "pairwise", 2, letter, marked=True)


def _unknown(rng: random.Random) -> Made:
    """An answer that is no option, behind one that is or behind none."""
    before = rng.choice(
        ("", "A\n", "Comparison: A\n", "Reasoning first.\n", "Answer: B\n\n")
    )
    forms = [mark for mark in MARKS if "boxed" not in mark]
    return Made(
        before + rng.choice(forms).format(rng.choice("CDE")),
        "pairwise",
        2,
        None,
    )


def _ended(rng: random.Random) -> Made:
    return Made(
        _said(rng, rng.choice("AB"))[0],
        "pairwise",
        2,
        None,
        finish=rng.choice(CUT),
    )


def _upward(rng: random.Random) -> Made:
    order = rng.sample("ABC", 3)
    return Made(
        rng.choice(FIVE).format(*reversed(order)), "ranking", 3, "".join(order)
    )
