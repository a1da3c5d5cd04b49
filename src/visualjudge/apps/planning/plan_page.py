"""A plan as text, HTML, and JSON, which `build --plan` reads."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

from visualjudge import __version__
from visualjudge.analysis.decisions.card_page import style
from visualjudge.analysis.figure_text import many, percent
from visualjudge.apps.planning.judge_simulation import Power
from visualjudge.apps.planning.study_designs import Option, Plan
from visualjudge.core.atomic import write_json, write_text
from visualjudge.core.errors import must_end_in
from visualjudge.core.text_tables import Table, folded
from visualjudge.runs.budget import money

QUESTIONS = {
    "rank": "May the models be ranked with this judge?",
    "right": "Is the judge right often enough?",
}


def with_error(power: Power) -> str:
    """Format a share with twice the simulation's standard error: 81 % ± 2."""
    return f"{percent(power.value, 0)} ± {200 * power.error:.0f}"


def duration(minutes: float | None) -> str:
    """Format minutes as a duration."""
    if minutes is None:
        return "–"
    if minutes < 1:
        return "under 1 min"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def shape(one: Option) -> str:
    """Describe a design apart from its images: 3 pairs, both orders."""
    design = one.design
    parts = [many(design.pairs, "pair"), "both orders" if design.orders == 2 else "one order"]
    parts += [many(design.repeats, "repeat")] if design.repeats > 1 else []
    return ", ".join(parts)


def answer(plan: Plan) -> str:
    """Return the recommendation in one or two sentences."""
    one = plan.chosen
    spent = f"{many(one.calls, 'call')}" + (
        f", cost {money(one.cost)}" if one.cost is not None else ""
    )
    spent += f", {many(one.labels, 'label')}" if one.labels else ""
    asked = f"{many(one.design.images, 'image')} with {shape(one)} ({spent})"
    if plan.goal_reached:
        return f"Ask about {asked}: power {with_error(one.power)}."
    there = plan.target.pool.images
    if one.missing:
        return (
            f"These {many(there, 'image')} cannot settle it with a power of "
            f"{percent(plan.wanted, 0)}: collect "
            f"{one.missing} more. Then ask about {asked}: power {with_error(one.power)}."
        )
    limit = "within this budget" if plan.terms.budget is not None else f"on {many(there, 'image')}"
    return (
        f"No design {limit} has a power of {percent(plan.wanted, 0)}. The best asks about {asked}: "
        "power "
        f"{with_error(one.power)}."
    )


def _short(plan: Plan) -> str:
    """Return a short answer to whether the study can reach its goal."""
    if plan.goal_reached:
        return f"{many(plan.chosen.design.images, 'image')} will do"
    if plan.chosen.missing:
        return f"Not on these images: {plan.chosen.missing} more are needed"
    return "Not within these limits"


def designs_table(plan: Plan) -> Table:
    """Return the best designs, the chosen one first."""
    rows = [
        (
            str(one.design.images), shape(one), f"{one.calls:,}", f"{one.labels:,}",
            "–" if one.cost is None else money(one.cost), duration(one.minutes),
            with_error(one.power), str(one.missing) if one.missing else "–",
        )
        for one in plan.options
    ]  # fmt: skip
    columns = (
        "Images",
        "Each with",
        "Calls",
        "Labels",
        "Cost",
        "Time",
        "Power, %",
        "Images missing",
    )
    note = "Power ± twice the error of the simulation."
    return Table(columns, tuple(rows), (note,), keys=0)


def commands(plan: Plan, file: str = "plan.json") -> tuple[str, str]:
    """Return the command lines that build and judge exactly the chosen design."""
    design, target = plan.chosen.design, plan.target
    data = target.place if target.kind == "data folder" else "DATA"
    made = shlex.join(["visualjudge", "build", data, "--plan", file, "--out", "dataset"])
    words = judge_options(plan.encodings, swap=design.orders == 2, repeats=design.repeats)
    asked = ["visualjudge", "judge", "dataset", *words, "--model", "MODEL", "--out", "RUN"]
    return made, shlex.join(asked)


def judge_options(encodings: Sequence[str], *, swap: bool, repeats: int) -> list[str]:
    """Return the options of `judge` that ask only the design's questions."""
    words = ["--type", "pairwise", *(word for name in encodings for word in ("--encoding", name))]
    words += ["--swap"] if swap else []
    return [*words, "--set", f"repeats={repeats}"] if repeats > 1 else words


def text(plan: Plan) -> str:
    """Return the plan for a terminal."""
    parts = [folded(f"{QUESTIONS[plan.goal]} {answer(plan)}"), folded(f"Assumed: {plan.claim}.")]
    notes = "\n".join(folded(line) for line in plan.notes)
    return "\n\n".join([*parts, designs_table(plan).text(), notes])


def body(plan: Plan) -> str:
    """Return the answer and the table."""
    state = "pass" if plan.goal_reached else "undecided"
    notes = "".join(f"<p>{escape(note)}</p>" for note in plan.notes)
    return (
        f'<div class="answer {state}"><strong>{escape(_short(plan))}</strong>'
        f"<p>{escape(answer(plan))}</p></div><p>Assumed: {escape(plan.claim)}.</p>"
        f"{designs_table(plan).html()}"
        f"<pre style='overflow-x:auto'>{escape(chr(10).join(commands(plan)))}</pre>{notes}"
    )


def html(plan: Plan) -> str:
    """Return one self-contained page."""
    return document(f"Plan: {QUESTIONS[plan.goal]}", body(plan))


def document(title: str, content: str) -> str:
    """Return a self-contained page of HTML ``content``."""
    said = escape(title)
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{said}</title><style>{style()}</style>"
    )
    page = f"<main><h1>{said}</h1>{content}</main>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{page}</body></html>\n'


def as_json(plan: Plan) -> dict[str, object]:
    """Return the plan as a file: what is built and asked, expected, and assumed."""

    def option(one: Option) -> dict[str, object]:
        return {**asdict(one.design), "calls": one.calls, "labels": one.labels, "cost": one.cost,
                "minutes": one.minutes, "images_missing": one.missing, "power": one.power.value,
                "power_error": one.power.error}  # fmt: skip

    design = plan.chosen.design
    return {
        "version": __version__,
        "goal": plan.goal,
        "supposed": plan.claim,
        "wanted_power": plan.wanted,
        "reached": plan.goal_reached,
        "build": {"task": plan.target.task, "seed": plan.seed, "caps": asdict(plan.caps)},
        "judge": {"type": "pairwise", "encodings": list(plan.encodings), "swap": design.orders == 2,
                  "repeats": design.repeats},
        "designs": [option(one) for one in plan.options],
        "model": asdict(plan.target.judge),
        "notes": list(plan.notes),
    }  # fmt: skip


def save(plan: Plan, path: Path) -> Path:
    """Write ``.json`` or ``.html``.

    Raises
    ------
    UsageError
        If the name ends in anything else.
    """
    must_end_in("path", path, [".json", ".html"])
    if path.suffix.lower() == ".json":
        write_json(path, as_json(plan))
    else:
        write_text(path, html(plan))
    return path
