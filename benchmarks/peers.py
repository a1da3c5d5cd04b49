"""What other tools make of a judge's reply, beside visualjudge: one table, in Markdown.

Each tool's own reading function is called on the same replies to "which option is
better, A or B?":

- Inspect: ``parse_answers`` of its ``multiple_choice`` solver; an unread reply is
  incorrect.
- lmms-eval: ``parse_mmmu_multi_choice_response``, called 200 times, because it may draw
  an option.
- DeepEval: the JSON of ``ArenaGEval``; an unread reply raises ``ValueError``.

Needs their packages: ``pip install inspect-ai deepeval``, and the path of an unpacked
wheel or a clone of lmms-eval, whose own dependencies are not needed:

    python benchmarks/peers.py --lmms-eval path/to/lmms_eval
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import visualjudge as vj

REPLIES = {
    "the asked form": "Answer: B",
    "marked in bold, then reasons": "**Answer: B**\n\nOption A misses the dog on the "
    "left.",
    "JSON": '{"reasons": "A misses the dog.", "winner": "B"}',
    "a sentence": "Both are close, but option B follows the outline better.",
    "a correction": "Answer: A\n\nWait, A misses the dog.\n\nAnswer: B",
    "cut off while it weighs": "Answer: A would be right if the dog did not matter, "
    "but since",
    "a refusal": "I'm sorry, but I can't compare these images.",
    "a tie, which was not allowed": "Both options are equally good.",
    "both letters": "Answer: A or B",
    "empty": "",
}
CUT = "cut off while it weighs"


def ours(name: str, text: str) -> str:
    """The value that visualjudge reads, or the cause of the failure."""
    reading = vj.read_reply(
        text, "pairwise", finish_reason="length" if name == CUT else "stop"
    )
    return (
        str(reading.value)
        if reading.status == "ok"
        else f"failed: {reading.cause}"
    )


def inspects(text: str) -> str:
    """What Inspect's multiple choice reads."""
    from inspect_ai.solver._multiple_choice import parse_answers

    state: Any = SimpleNamespace(
        output=SimpleNamespace(completion=text), choices=[0, 1]
    )
    return ", ".join(sorted(parse_answers(state, False))) or "incorrect"


def deepevals(text: str) -> str:
    """The winner that DeepEval's arena reads."""
    from deepeval.metrics.utils import trimAndLoadJson

    try:
        return str(trimAndLoadJson(text)["winner"])
    except (KeyError, TypeError, ValueError) as error:
        return type(error).__name__


def lmms_evals(folder: Path) -> Any:
    """lmms-eval's module that reads letters."""
    spec = importlib.util.spec_from_file_location(
        "mmmu_mcq_utils", folder / "tasks/_task_utils/mmmu_mcq_utils.py"
    )
    if spec is None or spec.loader is None:
        raise SystemExit(
            f"--lmms-eval must be the folder lmms_eval, got {folder}"
        )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--lmms-eval", type=Path, help="folder lmms_eval of a wheel or clone"
    )
    options = parser.parse_args()
    read = lmms_evals(options.lmms_eval).parse_mmmu_multi_choice_response
    meaning = {"A": "first image", "B": "second image"}
    versions = [
        f"{one} {importlib.metadata.version(one)}"
        for one in ("inspect-ai", "deepeval")
    ]
    print(
        f"| Reply | visualjudge {vj.__version__} | {versions[0]} | lmms-eval | "
        f"{versions[1]} |"
    )
    print("|---|---|---|---|---|")
    for name, text in REPLIES.items():
        drawn = {read(text, ["A", "B"], meaning) for _ in range(200)}
        letter = drawn.pop() if len(drawn) == 1 else "A or B at random"
        print(
            f"| {name} | {ours(name, text)} | {inspects(text)} | {letter} | "
            f"{deepevals(text)} |"
        )


if __name__ == "__main__":
    main()
