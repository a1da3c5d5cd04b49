"""The plan of judges as text, Markdown, HTML and JSON, and the commands that run it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

from visualjudge import __version__
from visualjudge.analysis.figure_text import many, number, percent, percents
from visualjudge.apps.planning.cheapest_judges import Asked, Candidate, JudgePlan
from visualjudge.apps.planning.plan_page import document
from visualjudge.core.atomic import write_json, write_text
from visualjudge.core.case_noun import in_cases, in_cases_of
from visualjudge.core.errors import must_end_in
from visualjudge.core.text_tables import Table, folded, markdown_text
from visualjudge.runs.budget import money

TITLE = "Which judges keep the risk at least cost?"
SHOWN = 15
"""Number of candidates in the table: the chosen one, the front, each single judge, then the
cheapest.
"""
IMPORTED = ("None", "published", "adopted", "panel", "cascade", "people")
"""Backends of runs that no command can repeat."""


def named(asked: Asked) -> str:
    """Return the judge and how it is asked: gpt, both orders, 2 repeats."""
    parts = [asked.judge, *(["both orders"] if asked.orders == 2 else [])]
    return ", ".join([*parts, *([many(asked.repeats, "repeat")] if asked.repeats > 1 else [])])


def title(one: Candidate) -> str:
    """Describe the candidate in words."""
    names = [named(member) for member in one.members]
    if one.kind == "panel":
        asked = names[0].removeprefix(one.members[0].judge)
        return f"majority of {' + '.join(member.judge for member in one.members)}{asked}"
    if one.rule is None:
        return names[0]
    return f"{names[0]}, then {names[1]} below {one.rule.by} {one.rule.threshold:.3f}"


def price(plan: JudgePlan, cost: float) -> str:
    """Return the cost of 1,000 questions."""
    if not plan.priced:
        return many(round(1000 * cost), "call")
    return f"{1000 * cost:,.2f}" if cost >= 0.001 else money(1000 * cost)


def answer(plan: JudgePlan) -> str:
    """Return the recommendation and its certainty."""
    one, risk = plan.chosen, percent(plan.risk, 0)
    ends = one.error.interval
    if not plan.reached:
        start = f"No candidate keeps a risk of {risk}. The one that errs least: "
    elif ends is not None and ends[1] <= plan.risk:
        start = f"Within a risk of {risk}, at least cost: "
    elif ends is not None and ends[0] > plan.risk:
        kept_on = in_cases("the images of the choice")
        start = f"A risk of {risk} was kept on {kept_on}, and not on the others: "
    else:
        start = f"Probably within a risk of {risk}; judge {in_cases('more images')} to show it: "
    return (
        f"{start}{title(one)}. Wrong on the other {many(plan.images[1], 'image')}: "
        f"{percent(one.error.value)} ({percents(ends)}), {price(plan, one.cost)} for 1,000 "
        "questions."
    )


def shown(plan: JudgePlan) -> list[Candidate]:
    """Return the candidates of the table, cheapest first."""

    def rank(one: Candidate) -> int:
        return 0 if one is plan.chosen else 1 if one.front else 2 if one.kind == "one call" else 3

    kept = sorted(plan.candidates, key=rank)[:SHOWN]
    return [one for one in plan.candidates if one in kept]


def table(plan: JudgePlan) -> Table:
    """Return the candidates with their costs and error rates on the other images."""
    rows = tuple(
        (
            title(one),
            one.kind,
            price(plan, one.cost),
            percent(one.error.value),
            percents(one.error.interval),
            percent(one.chosen_error),
            "–" if one.later is None else percent(one.later, 0),
            "chosen" if one is plan.chosen else "front" if one.front else "",
        )
        for one in shown(plan)
    )
    columns = (
        "Judges", "Kind", "Cost of 1,000", "Wrong", "95 %", "Wrong where chosen", "Asks second", ""
    )  # fmt: skip
    chosen_on, measured_on = zip(plan.images, plan.questions, strict=True)
    note = (
        f"Chosen on {many(chosen_on[0], 'image')} ({many(chosen_on[1], 'question')}), measured on "
        f"{number(measured_on[0])} others ({number(measured_on[1])}). Front: nothing as cheap errs "
        f"less where chosen. {len(plan.candidates)} candidates were tried; --json has all."
    )
    return Table(columns, rows, (note, *plan.remarks.lines), keys=2)


def commands(plan: JudgePlan, file: str = "judges.json") -> list[str]:
    """Return the command lines that judge a dataset as chosen; ``file`` is where the plan
    is saved.
    """
    one = plan.chosen
    folders = [f"runs/{k + 1}" for k in range(len(one.members))]

    def asked(member: Asked, out: str, more: Sequence[str] = ()) -> str:
        words = ["visualjudge", "judge", "DATASET", "--type", "pairwise", *more]
        words += ["--backend", member.backend] if member.backend not in IMPORTED else []
        words += ["--model", member.model]
        words += ["--swap"] if member.orders == 2 else []
        words += ["--repeats", str(member.repeats)] if member.repeats > 1 else []
        return shlex.join([*words, "--out", out])

    if one.rule is not None:
        rule = ["--cascade", file, "--cheap", folders[0]]
        return [asked(one.members[0], folders[0]), asked(one.members[1], "runs/cascade", rule)]
    lines = [asked(member, folder) for member, folder in zip(one.members, folders, strict=True)]
    if one.kind == "panel":
        votes = [word for folder in folders for word in ("--panel", folder)]
        words = ["visualjudge", "judge", "DATASET", "--type", "pairwise", *votes]
        words += ["--swap"] if one.members[0].orders == 2 else []
        repeats = one.members[0].repeats
        words += ["--repeats", str(repeats)] if repeats > 1 else []
        lines.append(shlex.join([*words, "--out", "runs/panel"]))
    return lines


@in_cases_of
def text(plan: JudgePlan) -> str:
    """Return the plan for a terminal."""
    return "\n\n".join([folded(answer(plan)), table(plan).text()])


@in_cases_of
def body(plan: JudgePlan) -> str:
    """Return the answer, the table and the commands."""
    return (
        f"<p><strong>{escape(answer(plan))}</strong></p>{table(plan).html()}"
        f"<pre style='overflow-x:auto'>{escape(chr(10).join(commands(plan)))}</pre>"
    )


def as_json(plan: JudgePlan) -> dict[str, object]:
    """Return all candidates; ``rule`` is that of the chosen cascade, as in `visualjudge cascade
    --json`.
    """

    def candidate(one: Candidate) -> dict[str, object]:
        found = asdict(one)
        ends = one.error.interval
        error = {"value": one.error.value, "ci95": None if ends is None else list(ends)}
        return {**found, "error": error, "name": title(one), "chosen": one is plan.chosen}

    rule = plan.chosen.rule
    return {
        "version": __version__,
        "risk": plan.risk,
        "reached": plan.reached,
        "cost": "money" if plan.priced else "calls",
        "images": dict(zip(("chosen_on", "measured_on"), plan.images, strict=True)),
        "questions": dict(zip(("chosen_on", "measured_on"), plan.questions, strict=True)),
        "rule": None if rule is None else asdict(rule),
        "candidates": [candidate(one) for one in plan.candidates],
        "commands": commands(plan),
    }


@in_cases_of
def save(plan: JudgePlan, path: Path) -> Path:
    """Write ``.json``, ``.html`` or ``.md``.

    Raises
    ------
    UsageError
        If the name ends in anything else.
    """
    must_end_in("path", path, [".json", ".html", ".md"])
    kind = path.suffix.lower()
    if kind == ".json":
        write_json(path, as_json(plan))
    elif kind == ".html":
        write_text(path, document(TITLE, body(plan)))
    else:
        block = "```sh\n" + "\n".join(commands(plan)) + "\n```"
        parts = [f"# {TITLE}", markdown_text(answer(plan)), table(plan).markdown(), block]
        write_text(path, "\n\n".join(parts) + "\n")
    return path
