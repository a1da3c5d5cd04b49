"""``report.html``: a self-contained file with the answer first, then a section for each
question.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import visualjudge
from visualjudge.analysis import figure_text as words
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import Answer, JudgeCard, usual_card
from visualjudge.analysis.decisions.checks import ICONS
from visualjudge.analysis.decisions.model_answer import short_answer
from visualjudge.analysis.decisions.report_opening import gamed
from visualjudge.analysis.figures import JudgeResult
from visualjudge.analysis.plots.figure import page_style, unbroken
from visualjudge.analysis.report.accuracy_plots import MOST_SERIES, order
from visualjudge.analysis.report.methods import SOURCES, TERMS, methods
from visualjudge.analysis.report.plots import PLOTS, not_drawn
from visualjudge.analysis.report.section import those_drawn
from visualjudge.analysis.report.sections import pair, sections

BEST_FIRST = ("pass", "undecided", "fail", "not_measured")
MOST_NAMES = 16
"""Number of judges named in a line of the answer; the section names all in words."""


Reason = tuple[str, str]
"""Text, and the anchor of the section it refers to, or ""."""


@dataclass(frozen=True)
class Line:
    """The answer for a judge, or for several with the same answer: state with icon and word, and
    further notes.
    """

    names: str
    colour: int | None
    """Colour of a single judge."""
    simulated: bool
    state: str
    icon: str
    word: str
    more: tuple[Reason, ...]
    several: bool = False


def environment() -> Environment:
    """Return the template environment, with autoescaping and strict undefined names."""
    env = Environment(
        loader=PackageLoader("visualjudge.analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals.update(
        answer=words.answer,
        leanings=words.leanings,
        unfinished=words.unfinished,
        other_warnings=words.other_warnings,
    )
    env.filters["unbroken"] = unbroken
    return env


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(f"templates/{name}").read_text("utf-8")


def _policy(script: str) -> str:
    """Return the content security policy: own style and script, embedded images, no requests."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src "
        f"'sha256-{digest}'"
    )


def _lines(judges: Sequence[JudgeResult], found: Sequence[JudgeCard]) -> list[Line]:
    """Return a line for each judge; for many judges a line for each answer, the best first."""
    if len(judges) <= MOST_SERIES:
        return [
            Line(judge.name, k, judge.simulated, *_told(card), _reason(card))
            for k, (judge, card) in enumerate(zip(judges, found, strict=True))
        ]
    groups: dict[tuple[str, str, str], list[str]] = {}
    for card in sorted(found, key=lambda card: BEST_FIRST.index(card.state)):
        groups.setdefault(_told(card), []).append(card.judge)
    simulated = all(judge.simulated for judge in judges)
    return [
        Line(words.listed(names, MOST_NAMES), None, simulated, *told, (), len(names) > 1)
        for told, names in groups.items()
    ]


def _told(found: Answer) -> tuple[str, str, str]:
    """Return the state, its icon and its word."""
    return found.state, ICONS[found.state], short_answer(found)


def _reason(found: Answer) -> tuple[Reason, ...]:
    """Return the sentence after its first words, which stand before the judge's name."""
    rest = found.models.sentence.removeprefix(short_answer(found)).lstrip(":, ")
    return ((rest, "figure-pairs"),)


FIRST_ANSWERS = {"figure-pairs": "Which models does it separate?"}
"""Questions that figures of the first screen answer."""


def context(
    analysis: Analysis, questions: int = 0, compare: tuple[int, int] | None = None
) -> dict[str, Any]:
    """Return the template's variables."""
    results = analysis.results
    best = set(order(analysis))
    shown = [i for i in results.shown if i in best]
    judges = [results.judges[i] for i in shown]
    card = usual_card(analysis)
    drawn = {name: draw(analysis) for name, draw in PLOTS.items()}
    script = _asset("report.js")
    found = sections(analysis, shown, card, drawn, questions)
    first = those_drawn(*(drawn[name] for name in ("pairs", "tasks")))
    folders = [str(run.folder) for run in analysis.study.runs if run.folder is not None]
    anchors = {
        *(section.anchor for section in found),
        *(f"figure-{figure.name}" for figure in first),
    }
    return {
        "pair": None if compare is None else pair(analysis, compare),
        "results": results,
        "judges": judges,
        "best": ""
        if len(judges) == len(results.shown)
        else (
            "The headline figures and metrics.json (--json) have all "
            f"{words.number(len(results.shown))} judges; everything else has the {len(judges)} "
            "most accurate."
        ),
        "answers": _lines(judges, [card.judges[i] for i in shown]),
        "many": len(judges) > MOST_SERIES,
        "most": MOST_SERIES,
        "sentences": [card.judges[i].answer for i in shown],
        "first": first,
        "gamed": gamed(analysis, card),
        "left_out": not_drawn(analysis, drawn.values()),
        "sections": found,
        "anchors": anchors,
        "first_answers": [(a, title) for a, title in FIRST_ANSWERS.items() if a in anchors],
        "command": shlex.join(["visualjudge", "report", *folders, "--out", "report.html"]),
        "methods": methods(results),
        "sources": SOURCES,
        "terms": TERMS,
        "version": visualjudge.__version__,
        "setups": [
            (j.name, orjson.dumps(j.info, option=orjson.OPT_INDENT_2).decode())
            for j in (results.judges if len(results.shown) == len(shown) else judges)
        ],
        "style": Markup(page_style(_asset("report.css"))),
        "script": Markup(script),
        "policy": _policy(script),
    }


def html(analysis: Analysis, questions: int = 0, compare: tuple[int, int] | None = None) -> str:
    """Return the whole page.

    ``questions`` is the number of most informative questions to show (0: a few for each judge);
    ``compare`` gives the numbers of two judges to compare first.
    """
    return (
        environment().get_template("report.html.j2").render(context(analysis, questions, compare))
    )
