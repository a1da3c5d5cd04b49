"""The report as one HTML file that makes no requests."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Sequence
from importlib import resources
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import visualjudge
from visualjudge.analysis import figure_text as words
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import JudgeCard, card_of, gamed
from visualjudge.analysis.decisions.checks import ICONS, State
from visualjudge.analysis.decisions.model_answer import SHORT
from visualjudge.analysis.plots.figure import page_style, unbroken
from visualjudge.analysis.report.paired import pair
from visualjudge.analysis.report.plots import MOST_TABLED, PLOTS, order
from visualjudge.analysis.report.sections import sections, summary_sections
from visualjudge.core.escaping import for_html

# Number of judges named in a line of the answer.
MOST_NAMES = 16


def environment() -> Environment:
    """Return the template environment, with autoescaping and strict undefined names."""
    env = Environment(
        loader=PackageLoader("visualjudge.analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {
        "unbroken": _sentence,
        "plain": words.plain_name,
        "number": words.number,
    }
    return env


def _sentence(text: str) -> Markup:
    """Return a sentence with its numbers unbroken, and its commands (in backticks) as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", for_html(unbroken(text))))


def asset(name: str) -> str:
    """Return a file of the templates' folder."""
    return resources.files(__package__).joinpath(f"templates/{name}").read_text("utf-8")


def _policy(script: str) -> str:
    """Return the content security policy: own style and script, embedded images, no requests."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src "
        f"'sha256-{digest}'"
    )


def _lines(
    cards: Sequence[JudgeCard], simulated: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the answers, each with its judges: of those with the same answer, one."""
    groups: dict[tuple[State, str, str], list[str]] = {}
    for card in sorted(cards, key=lambda card: list(SHORT).index(card.models.state)):
        short = SHORT[card.models.state]
        rest = card.models.sentence.removeprefix(short).lstrip(":, ")
        groups.setdefault((card.state, short, rest), []).append(card.judge)
    return [
        {
            "names": words.listed(names, MOST_NAMES),
            "simulated": set(names) <= set(simulated),
            "state": state,
            "icon": ICONS[state],
            "word": word,
            "rest": rest,
        }
        for (state, word, rest), names in groups.items()
    ]


def context(
    analysis: Analysis, compare: tuple[int, int] | None = None, *, summary: bool = False
) -> dict[str, Any]:
    """Return the template's variables."""
    results, card = analysis.results, card_of(analysis)
    shown, tabled = order(analysis), order(analysis, MOST_TABLED)
    drawn = {name: draw(analysis) for name, draw in PLOTS.items()}
    found = (
        summary_sections(analysis, shown)
        if summary
        else sections(analysis, tabled, card, drawn)
    )
    script = asset("report.js")
    folders = [str(run.folder) for run in analysis.study.runs if run.folder is not None]
    return {
        "pair": None if compare is None else pair(analysis, *compare),
        "results": results,
        "judges": results.judges,
        "drawn": len(shown),
        "tabled": len(tabled),
        "answers": _lines(card.judges, [j.name for j in results.judges if j.simulated]),
        "gamed": gamed(analysis),
        "plots": drawn,
        "sections": found,
        "summary": summary,
        "command": shlex.join(
            ["visualjudge", "report", *folders, "--out", "report.html"]
        ),
        "version": visualjudge.__version__,
        "setups": [
            (judge.name, orjson.dumps(judge.info, option=orjson.OPT_INDENT_2).decode())
            for judge in results.judges
        ],
        "style": Markup(page_style(asset("report.css"))),
        "script": Markup(script),
        "policy": _policy(script),
    }


def html(
    analysis: Analysis, compare: tuple[int, int] | None = None, *, summary: bool = False
) -> str:
    """Return the whole page; ``compare`` gives the numbers of two judges to compare first,
    ``summary`` asks for one page to pass on.
    """
    found = context(analysis, compare, summary=summary)
    return environment().get_template("report.html.j2").render(found)
