"""``report.html``: one file that asks no host for anything. The answer first, then a section for
each question.
"""

from __future__ import annotations

import base64
import hashlib
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
from visualjudge.analysis.decisions.card import Answer, short_answer, usual_card
from visualjudge.analysis.decisions.checks import ICONS, LABELS
from visualjudge.analysis.figures import JudgeResult
from visualjudge.analysis.plots.figure import LeftOut, page_style
from visualjudge.analysis.report.accuracy_plots import MOST_SERIES
from visualjudge.analysis.report.grids import (
    headline_grid,
)
from visualjudge.analysis.report.methods import SOURCES, methods
from visualjudge.analysis.report.plots import PLOTS
from visualjudge.analysis.report.section import those_drawn
from visualjudge.analysis.report.sections import pair, sections


@dataclass(frozen=True)
class Line:
    """The answer on a judge, or on several with the same one: state with icon and word, and what
    else is to be said.
    """

    names: str
    colour: int | None
    """The colour of a single judge."""
    simulated: bool
    state: str
    icon: str
    word: str
    more: str


def environment() -> Environment:
    """Templates with everything escaped and no name left undefined."""
    env = Environment(
        loader=PackageLoader("visualjudge.analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals.update(
        headline=words.headline,
        answer=words.answer,
        leanings=words.leanings,
        unfinished=words.unfinished,
        other_warnings=words.other_warnings,
    )
    return env


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(f"templates/{name}").read_text("utf-8")


def _policy(script: str) -> str:
    """What a browser allows the page: its own style and script, images inside it, and no
    request.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src "
        f"'sha256-{digest}'"
    )


def _lines(judges: Sequence[JudgeResult], found: Sequence[Answer]) -> list[Line]:
    """A line a judge; of many judges a line an answer."""
    told = [_told(answer) for answer in found]
    if len(judges) <= MOST_SERIES:
        return [
            Line(j.name, k, j.simulated, *said)
            for k, (j, said) in enumerate(zip(judges, told, strict=True))
        ]
    groups: dict[tuple[str, str, str, str], list[JudgeResult]] = {}
    for judge, said in zip(judges, told, strict=True):
        groups.setdefault(said, []).append(judge)
    return [
        Line(", ".join(j.name for j in who), None, all(j.simulated for j in who), *said)
        for said, who in groups.items()
    ]


def _told(found: Answer) -> tuple[str, str, str, str]:
    """The state, its icon and word, and why: the checks that fail, or how many images are
    missing.
    """
    word, _, more = short_answer(found).partition(": ")
    if found.state in ("fail", "undecided") and not more:
        names = words.listed(
            [f"“{LABELS[line.name]}”" for line in found.checks if line.state == found.state]
        )
        more = f"{'it fails' if found.state == 'fail' else 'undecided:'} {names}"
    if found.state == "not_measured" and not more:
        more = next(
            (line.why for line in found.checks if line.name == "order_of_sources" and line.why), ""
        )
    return found.state, ICONS[found.state], word, more


def context(
    analysis: Analysis, questions: int = 0, compare: tuple[int, int] | None = None
) -> dict[str, Any]:
    """What the template is given."""
    results = analysis.results
    shown, rest = results.shown, results.appendix
    judges = [results.judges[i] for i in shown]
    card = usual_card(analysis)
    drawn = {name: draw(analysis) for name, draw in PLOTS.items()}
    script = _asset("report.js")
    return {
        "pair": None if compare is None else pair(analysis, compare),
        "results": results,
        "judges": judges,
        "answers": _lines(judges, [card.judges[i] for i in shown]),
        "many": len(judges) > MOST_SERIES,
        "sentences": [card.judges[i].answer for i in shown],
        "first": those_drawn(drawn["tasks"], drawn["sources"], drawn["checks"]),
        "left_out": [found for found in drawn.values() if isinstance(found, LeftOut)],
        "sections": sections(analysis, judges, card, drawn, questions),
        "simulated": rest,
        "appendix": headline_grid(rest) if rest else None,
        "methods": methods(results),
        "sources": SOURCES,
        "version": visualjudge.__version__,
        "setups": [
            (j.name, orjson.dumps(j.info, option=orjson.OPT_INDENT_2).decode())
            for j in results.judges
        ],
        "style": Markup(page_style(_asset("report.css"))),
        "script": Markup(script),
        "policy": _policy(script),
    }


def html(analysis: Analysis, questions: int = 0, compare: tuple[int, int] | None = None) -> str:
    """The whole page; ``questions``: how many of the most telling ones it shows (0: a few of each
    judge); ``compare``: two judges, by number, whose differences stand before all else.
    """
    return (
        environment().get_template("report.html.j2").render(context(analysis, questions, compare))
    )
