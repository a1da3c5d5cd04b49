"""Many sources on few images: processor time and memory of the report and the card.

``python benchmarks/many_sources.py --sources 2000 --images 20``: on each image the
sources are paired at random, each once as often as ``--rounds`` says; a judge that sees
the scores with noise answers in one order.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from visualjudge.analysis import study_of
from visualjudge.analysis.analysing import analyse_study
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.report.page import html
from visualjudge.analysis.study_table import Study
from visualjudge.core.records import Question, Verdict


def study(sources: int, images: int, rounds: int, seed: int = 0) -> Study:
    """Pairwise questions, and one judge's verdicts."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(7, 3, sources)
    questions, verdicts = [], []
    for g in range(images):
        score = np.clip(quality + rng.normal(0, 0.8, sources), 0, 10).round(3)
        for _ in range(rounds):
            for a, b in (
                rng.permutation(sources)[: sources // 2 * 2]
                .reshape(-1, 2)
                .tolist()
            ):
                name = f"q{len(questions)}"
                seen = score[[a, b]] + rng.normal(0, 1, 2)
                questions.append(
                    Question(
                        id=name,
                        task="generation_t2i",
                        encoding="pixel",
                        question_type="pairwise",
                        subset=("judge_analysis",),
                        image_id=f"i{g}",
                        class_of_interest=None,
                        error_type=None,
                        annotation_ids=(f"s{a}:i{g}", f"s{b}:i{g}"),
                        final_scores=(float(score[a]), float(score[b])),
                        sources=(f"s{a}", f"s{b}"),
                        prompt="",
                        images=(),
                        answer="A" if score[a] >= score[b] else "B",
                    )
                )
                verdicts.append(
                    Verdict(
                        name, "AB", "A" if seen[0] > seen[1] else "B", "ok", ""
                    )
                )
    return study_of(questions, {"noisy": verdicts})


def main() -> None:
    """Print a row."""
    options = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--sources", type=int, default=2000)
    options.add_argument("--images", type=int, default=20)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--part", choices=("card", "report"), default="report")
    chosen = options.parse_args()
    made = study(chosen.sources, chosen.images, chosen.rounds)
    before, peak = (
        time.process_time(),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    )
    analysis = analyse_study(made)
    figures = time.process_time() - before
    card_of(analysis)
    whole = time.process_time() - before
    size = 0
    if chosen.part == "report":
        page = html(analysis)
        size = len(page) + len(analysis.metrics)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = (
        f"{figures:.1f} | {whole:.1f} | {time.process_time() - before:.1f}"
    )
    print(f"| {chosen.sources} | {chosen.images} | {len(made.questions)} | {seconds} | "
          f"{peak / 1024:.0f} | {after / 1024:.0f} | {size / 1e6:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
