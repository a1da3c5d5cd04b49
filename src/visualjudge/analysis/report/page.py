"""``report.html``: one file that asks no host for anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

import visualjudge
from visualjudge.analysis import words
from visualjudge.analysis.analyse import Analysis
from visualjudge.analysis.decisions.opening import opening
from visualjudge.analysis.report import charts
from visualjudge.analysis.report.disagreements import worst

_FILTERS = {
    "percent": words.percent,
    "percents": words.percents,
    "number": words.number,
    "span": words.span,
    "p": words.p_value,
    "points": words.points,
}


def environment() -> Environment:
    """Templates with everything escaped and no name left undefined."""
    env = Environment(
        loader=PackageLoader("visualjudge.analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(_FILTERS)
    env.globals.update(whisker=charts.whisker)
    return env


def heat(share: float | None, n: int) -> str:
    """CSS of a heat-map cell: how far from chance (50 %), above or below, paler with few verdicts (n / (n + 8))."""
    if share is None:
        return ""
    side = "--warm" if share >= 0.5 else "--cold"
    strength = 144 * abs(share - 0.5) * n / (n + 8)
    return f"background:color-mix(in oklab,var({side}) {min(72.0, strength):.0f}%,var(--card))"


def _heat_map(judge: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a task, its encodings in the catalogue's alphabetical order."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for block in judge["by_encoding"].values():
        cell = block["pairwise"]
        if cell["n"]:
            rows.setdefault(cell["task"], []).append({**cell, "style": heat(cell["accuracy"], cell["n"])})
    return [
        {"task": task, "all": judge["by_task"][task]["pairwise"], "cells": cells}
        for task, cells in sorted(rows.items())
    ]


def _sensitivity_chart(judges: list[Mapping[str, Any]], against: str, label: str) -> Any:
    rows = [
        row for judge in judges for row in judge["sensitivity"] if row["scope"] == "all" and row["against"] == against
    ]
    title = f"Share of right answers against {label}"
    return charts.curves(rows, label, title) if rows else ""


def _sensitivity_table(judges: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a set of questions and distance, one entry a judge (None where that judge has none)."""
    order: dict[tuple[str, str, str], dict[str, Any]] = {}
    for judge in judges:
        for row in judge["sensitivity"]:
            order.setdefault((row["scope"], row["value"], row["against"]), {})[judge["judge"]] = row
    scopes = {"all": 0, "task": 1, "error_type": 2}
    keys = sorted(order, key=lambda key: (key[2], scopes[key[0]], key[1]))
    return [{"value": k[1], "against": k[2], "entries": [order[k].get(j["judge"]) for j in judges]} for k in keys]


def _leaks(metrics: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All questions together, and every task's flagged rules."""
    return [row for row in metrics["leak_audit"] if row["scope"] == "all" or row["flagged"]]


def context(analysis: Analysis) -> dict[str, Any]:
    """What the template is given."""
    metrics = analysis.metrics
    judges = metrics["judges"]
    known = {judge.name: judge for judge in analysis.results.judges}

    def of(function: Any) -> Any:
        return lambda judge: function(known[judge["judge"]])

    return {
        "opening": opening(analysis).html(),
        "headline": of(words.headline),
        "leanings": of(words.leanings),
        "unfinished": of(words.unfinished),
        "other_warnings": of(words.other_warnings),
        "failed": of(words.failed),
        "one_place": lambda judge: None,
        "jnd_text": lambda row: (
            row["reason"] if row["jnd"] is None else f"{words.number(row['jnd'])} ({words.span(row['ci95'])})"
        ),
        "metrics": metrics,
        "judges": judges,
        "maps": [_heat_map(judge) for judge in judges],
        "worst": [worst(analysis.study, i) for i in range(len(judges))],
        "margin_chart": _sensitivity_chart(judges, "margin", "difference between the options' scores"),
        "severity_chart": _sensitivity_chart(judges, "severity", "difference in severity"),
        "sensitivity": _sensitivity_table(judges),
        "variance_told": any(row["total"] for judge in judges for row in judge["variance"]),
        "leaks": _leaks(metrics),
        "version": visualjudge.__version__,
        "setups": [orjson.dumps(judge["info"], option=orjson.OPT_INDENT_2).decode() for judge in judges],
    }


def html(analysis: Analysis) -> str:
    """The whole page."""
    return environment().get_template("report.html.j2").render(context(analysis))
