"""The report as one HTML file that makes no requests. Its sections are in
``analysis/figures``; the terminal is in ``terminal.py``.
"""

import base64
import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import PurePath
from typing import Any

from jinja2 import Template
from markupsafe import Markup

import visualjudge
from visualjudge.analysis import figure_text as words
from visualjudge.analysis.decisions.card import JudgeCard
from visualjudge.analysis.decisions.checks import State
from visualjudge.analysis.decisions.model_answer import ORDER, Reasons
from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.plots.plot import LeftOut, Plot, page_style
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.report.citing import cite
from visualjudge.analysis.report.examples import examples
from visualjudge.analysis.report.headline import headline, headline_section
from visualjudge.analysis.report.table_forms import links
from visualjudge.analysis.report.two_judges import pair
from visualjudge.analysis.results import Analysis, Shown
from visualjudge.core.atomic import json_bytes
from visualjudge.core.escaping import for_html
from visualjudge.core.page_templates import environment
from visualjudge.core.text_tables import unbroken

# Number of judges with examples, which are most of the page.
MOST_WITH_EXAMPLES = 2
FIVE = (
    "Verdicts on pairs",
    "Images",
    "Accuracy (95 %)",
    "Same when swapped",
    "Without an answer",
)
ABSOLUTE = re.compile(r"/\w|\w:[\\/](?!/)|\\\\\w")
"""Begin of an absolute path, on any system."""
# Number of judges named in a line of the answer.
MOST_NAMES = 16


SIGNS = {"✓": "pass", "✗": "fail", "?": "undecided", "–": "not_measured"}
"""Classes of the reasons of an answer."""


def template(name: str) -> Template:
    """Return a template of a page."""
    env = environment(__package__)
    env.filters |= {
        "unbroken": _sentence,
        "plain": words.plain_name,
        "number": words.number,
    }
    return env.get_template(name)


def _sentence(text: str) -> Markup:
    """Return a sentence with its numbers unbroken, and its commands (in backticks) as
    code."""
    return Markup(
        re.sub("`([^`]+)`", r"<code>\1</code>", for_html(unbroken(text)))
    )


def asset(name: str) -> str:
    """Return a file of the templates' folder."""
    return (
        resources.files(__package__)
        .joinpath(f"templates/{name}")
        .read_text("utf-8")
    )


def _policy(script: str) -> str:
    """Return the content security policy: own style and script, embedded images, no
    requests."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src "
        f"'sha256-{digest}'"
    )


def _lines(
    cards: Sequence[JudgeCard], simulated: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the answers, each with its judges: of those with the same answer, one."""
    groups: dict[tuple[State, str, Reasons], list[str]] = {}
    for card in sorted(cards, key=lambda card: ORDER.index(card.models.state)):
        parts = (card.state, card.models.verdict, card.models.reasons)
        groups.setdefault(parts, []).append(card.judge)
    return [
        {
            "judge": "Judges" if names[1:] else "Judge",
            "names": words.listed(names, MOST_NAMES),
            "simulated": set(names) <= set(simulated),
            "state": state,
            "verdict": verdict,
            "reasons": reasons,
        }
        for (state, verdict, reasons), names in groups.items()
    ]


def drawn(analysis: Analysis) -> dict[str, Plot | LeftOut]:
    """Return every plot of the study by name."""
    displayed = analysis.shown
    plots = {
        name: plot.draw(displayed) for name, plot in analysis.plots.items()
    }
    for figure in analysis.figures:
        plots |= {plot.name: plot for plot in figure.more_plots(displayed)}
    return plots


def _question(cards: Sequence[JudgeCard]) -> str:
    """Return what the page answers."""
    asked = {card.models.question for card in cards}
    return (
        asked.pop() if len(asked) == 1 else "What may I use these judges for?"
    )


def sections(analysis: Analysis) -> list[Section]:
    """Return the sections of a page, without the plot beside the answer."""
    plots = drawn(analysis)
    return _sections(analysis.shown, plots, _first(analysis, plots))


def _first(
    analysis: Analysis, plots: Mapping[str, Plot | LeftOut]
) -> Plot | None:
    opening = (
        plots[plot.name] for plot in analysis.plots.values() if plot.opening
    )
    return next((plot for plot in opening if isinstance(plot, Plot)), None)


def _sections(
    view: Shown, drawn: Mapping[str, Plot | LeftOut], first: Plot | None
) -> list[Section]:
    """Return the sections with content: those of the figures, with their plots but the
    ``first``, which stands beside the answer; the examples and the headline.
    """
    out: dict[str, Section] = {}
    for figure in view.analysis.figures:
        section = view.section(figure)
        if section is None:
            continue
        names = [
            *(plot.name for plot in figure.plots),
            *(plot.name for plot in figure.more_plots(view)),
        ]
        plots = [drawn[name] for name in names if drawn[name] is not first]
        own = replace(section, plots=plots)
        asked = own.anchor in out
        out[own.anchor] = out[own.anchor].joined(own) if asked else own
    judges = view.judges[:MOST_WITH_EXAMPLES]
    collected = [
        (judge.name, rows)
        for judge in judges
        if (rows := examples(judge.study, judge.index))
    ]
    misses = Section(
        "questions",
        "Examples of errors",
        "Answers that were wrong by a wide margin, and replies that could not be read.",
        examples=collected,
    )
    every = [*out.values(), misses, headline_section(view.analysis)]
    return [section for section in every if section.filled]


def _summary(view: Shown) -> list[Section]:
    """Return what a page to pass on has below the answer: five numbers and three
    examples."""
    first = view.drawn[0]
    return [
        Section("numbers", "Five numbers", asked=[headline(view.drawn, FIVE)]),
        Section(
            "questions",
            "Examples of errors",
            examples=[(first.name, examples(first.study, first.index, 3))],
        ),
    ]


def context(
    analysis: Analysis,
    compare: tuple[int, int] | None = None,
    *,
    summary: bool = False,
) -> dict[str, Any]:
    """Return the template's variables."""
    card = card_of(analysis)
    displayed = analysis.shown
    plots = drawn(analysis)
    first = _first(analysis, plots)
    result = (
        _summary(displayed) if summary else _sections(displayed, plots, first)
    )
    script = asset("report.js")
    folders = [
        without_place(str(run.folder))
        for run in analysis.study.runs
        if run.folder is not None
    ]
    # absolute paths are not printed: what their names are relative to
    places = {
        run.folder.parent.name
        for run in analysis.study.runs
        if run.folder is not None and run.folder.is_absolute()
    }
    return {
        "pair": None if compare is None else pair(analysis, *compare),
        "results": analysis,
        "judges": analysis.judges,
        "drawn": len(displayed.drawn),
        "tabled": len(displayed.judges),
        "question": _question(card.judges),
        "answers": _lines(
            card.judges, [j.name for j in analysis.judges if j.simulated]
        ),
        "notes": [
            line
            for figure in analysis.of_study
            for line in figure.sentences(analysis[figure])
        ],
        "caution": max(own.models.caution for own in card.judges),
        "signs": SIGNS,
        "first": first,
        "left_out": [
            plot for plot in plots.values() if isinstance(plot, LeftOut)
        ],
        "sections": result,
        "summary": summary,
        "cite": "" if summary else cite(analysis),
        "table_links": links,
        "dataset_folder": without_place(analysis.dataset.path),
        "place": words.listed(sorted(places)),
        "studio": shlex.join(["visualjudge", "studio", *folders]),
        "command": shlex.join(
            [
                "visualjudge",
                "report",
                *folders,
                *analysis.study.part.words,
                "--out",
                "report.html",
            ]
        ),
        "version": visualjudge.__version__,
        "setups": [
            (judge.name, json_bytes(without_place(judge.info)).decode())
            for judge in analysis.judges
        ],
        "style": Markup(page_style(asset("report.css"))),
        "script": Markup(script),
        "policy": _policy(script),
    }


def without_place(value: Any) -> Any:
    """Return a value of run.json with the names of absolute paths in place of them: a
    page is passed on.
    """
    if isinstance(value, Mapping):
        return {name: without_place(own) for name, own in value.items()}
    if isinstance(value, list):
        return [without_place(own) for own in value]
    absolute = isinstance(value, str) and ABSOLUTE.match(value)
    return PurePath(value.replace("\\", "/")).name if absolute else value


def html(
    analysis: Analysis,
    compare: tuple[int, int] | None = None,
    *,
    summary: bool = False,
) -> str:
    """Return the whole page; ``compare`` gives the numbers of two judges to compare
    first, ``summary`` asks for one page to pass on.
    """
    return template("report.html.j2").render(
        context(analysis, compare, summary=summary)
    )
