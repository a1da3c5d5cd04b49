"""How far can a judge get where people disagree? Ceilings from benchmarks with several annotators.

    python benchmarks/ceilings.py FOLDER [FOLDER …]

FOLDER is a clone of nitaytech/AltTest (annotations of CeBaB, WAX and others: each folder that holds
`human_annotations.json` and `llm_annotations.json`), or of TIGER-AI-Lab/ImagenHub's human ratings
(`TASK/NAME_raterN.tsv`). For each set: the people, Krippendorff's α, and how often a person, and
each judge, gives the most probable answer (label), its mean probability (truth), and what a fresh
person says (`visualjudge agreement --truth`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from visualjudge.analysis.people_agreement import Panel, alpha_row, panels
from visualjudge.analysis.rating_table import read_viescore
from visualjudge.analysis.uncertain_truth import truth_rows


def of_alttest(folder: Path) -> Iterator[Panel]:
    """One set: answers of people and of models by item, any text or number."""
    rows = [
        (item, "s", rater, folder.name, str(answer), kind)
        for kind, file in (("person", "human"), ("judge", "llm"))
        for rater, answers in json.loads(
            (folder / f"{file}_annotations.json").read_text("utf-8")
        ).items()
        for item, answer in answers.items()
        if answer is not None
    ]
    names = ["item", "source", "rater", "dimension", "text", "kind"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    code = pl.col("text").rank("dense").cast(pl.Float64)
    yield from panels(table.with_columns(score=code).drop("text"))


def of_folder(root: Path) -> Iterator[Panel]:
    for file in sorted(root.rglob("human_annotations.json")):
        yield from of_alttest(file.parent)
    if any(root.rglob("*_rater*.tsv")):
        people = pl.col("kind") == "person"  # the judge's scale is 0 to 10, the people's 0 to 1
        yield from panels(
            read_viescore(root)[0].filter(people & ~pl.col("dimension").str.ends_with("/O"))
        )


def show(panel: Panel) -> None:
    people = panel.people.shape[0]
    if people < 2:
        return
    found = alpha_row(panel, "nominal")
    alpha = "–" if found.alpha is None else f"{found.alpha:.2f}"
    print(f"\n{panel.dimension}: {people} people, {found.units} units, α (nominal) {alpha}")
    print(f"{'rater':22} {'items':>6} {'label':>7} {'truth':>7} {'95 %':>13} {'person':>7}")
    for row in truth_rows(panel):
        if row.kind != "person":
            ends = "" if row.ends is None else f"{100 * row.ends[0]:.1f}–{100 * row.ends[1]:.1f}"
            print(
                f"{row.rater:22} {row.items:6} {row.label:7.1%} {row.truth:7.1%} {ends:>13} "
                f"{row.person or 0:7.1%}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="+", type=Path)
    for root in parser.parse_args().folder:
        for panel in of_folder(root):
            show(panel)
