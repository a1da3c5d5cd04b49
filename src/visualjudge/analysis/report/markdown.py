"""The report as Markdown tables, for papers and pull requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from visualjudge.analysis.analyse import Analysis
from visualjudge.analysis.report import words
from visualjudge.analysis.report.words import number, p_value, percent, percents, points, span


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; empty text where there are no rows."""
    body = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    if not body:
        return ""
    return "\n".join(["| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *body]) + "\n"


def _headline_rows(judges: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    rows = []
    for judge in judges:
        p, r, s = (judge[name] for name in ("pairwise", "ranking", "scoring"))
        name = judge["judge"] + (" (simulated)" if judge["simulated"] else "")
        shares = (percent(p["answered_a"]), percent(p["swap_consistency"]))
        orders = (number(r["kendall_tau"]), number(s["spearman"]))
        right = (number(p["n"]), percent(p["accuracy"]), percents(p["ci95"]), words.failed(judge))
        rows.append([name, *right, *shares, *orders])
    return rows


def _task_rows(judge: Mapping[str, Any], block: str) -> list[list[str]]:
    cells = ((name, entry.get("pairwise", entry)) for name, entry in judge[block].items())
    return [
        [name, number(c["n"]), percent(c["accuracy"]), percents(c["ci95"]), number(c["failed"])]
        for name, c in cells
        if c["n"]
    ]


def _judge_parts(judge: Mapping[str, Any]) -> Iterable[str]:
    left = words.unfinished(judge)
    yield f"## {judge['judge']}\n\n" + (f"**{left}**\n\n" if left else "") + f"{words.headline(judge)}\n"
    told = [words.failures(judge), words.one_place(judge), *words.leanings(judge)]
    lines = [*filter(None, told), *judge["problems"], *words.other_warnings(judge)]
    yield from (f"- {_cell(line)}" for line in lines)
    for block, title in (
        ("by_task", "Task"),
        ("by_encoding", "Encoding"),
        ("by_error_type", "Error type"),
        ("by_margin", "Margin"),
    ):
        yield "\n" + table([title, "n", "Accuracy", "95 %", "Failed"], _task_rows(judge, block))
    curves = [[f"{r['scope']}: {r['value']}", r["against"], words.jnd_text(r)] for r in judge["sensitivity"]]
    yield "\n" + table(["Questions", "Distance", "75 % point (95 %)"], curves)
    yield "\n" + table(
        ["Task", "Recommended encoding"],
        ([t["task"], t["recommended"] or f"none: {t['reason']}"] for t in judge["encodings"]),
    )
    board = judge["leaderboard"]["rows"]
    yield "\n" + table(
        ["Source", "Strength", "95 %", "Rank by truth"],
        ([r["source"], number(r["strength"]), span(r["ci95"]), r["true_rank"]] for r in board),
    )


def markdown(analysis: Analysis) -> str:
    """The whole report."""
    metrics = analysis.metrics
    header = [
        "Judge",
        "n",
        "Accuracy",
        "95 %",
        "Failed",
        "Answered A",
        "Same when swapped",
        "Kendall τ-b",
        "Spearman ρ",
    ]
    parts = ["# Judge report\n", *(f"**{_cell(line)}**\n" for line in metrics["warnings"])]
    for judge in metrics["judges"]:
        left = words.unfinished(judge)
        parts += [f"**{_cell(judge['judge'])}: {left}**\n"] if left else []
    parts.append(table(header, _headline_rows(metrics["judges"])))
    pairs = [
        [
            c["a"],
            c["b"],
            number(c["n"]),
            points(c["difference"]),
            percents(c["ci95"]),
            p_value(c["p_holm"]),
            p_value(c["mcnemar_p"]),
        ]
        for c in metrics["comparisons"]
    ]
    parts.append(table(["First", "Second", "Common questions", "Difference", "95 %", "p (Holm)", "McNemar p"], pairs))
    for judge in metrics["judges"]:
        parts += _judge_parts(judge)
    dataset = metrics["dataset"]
    parts.append(
        f"\nDataset `{dataset['questions_sha256']}`, {dataset['questions']} questions, {dataset['images']} images.\n"
    )
    return "\n".join(part for part in parts if part.strip()) + "\n"
