"""Which tools were called, what a right answer cost, and the size of what questions show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from judged_records import pair, said, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.report.paired import tool_lines, tool_tables
from visualjudge.analysis.tool_use import answer_cost, by_size, tool_use
from visualjudge.core.records import OptionFeatures

AREAS = (0.001, 0.005, 0.05, 0.5, 0.6, None)


def run_of(root: Path, dataset: Path, name: str, right: list[bool], tools: list[list[str]]) -> Path:
    """A run whose verdicts called these tools; of each, the second call failed."""
    verdicts = [said(pair(k, (1.0, 9.0)), "B" if good else "A") for k, good in enumerate(right)]
    write_run(root / name, dataset, verdicts, judge=name)
    journal = root / name / "verdicts.jsonl"
    lines = []
    for line, names in zip(journal.read_text().splitlines(), tools, strict=True):
        trace = [{"name": tool, "failed": k == 1} for k, tool in enumerate(names)]
        usage = {"prompt_tokens": 100 * (1 + len(names)), "completion_tokens": 10}
        lines.append(
            json.dumps({**json.loads(line), "usage": usage, "latency_s": 2.0, "tool_calls": trace})
        )
    journal.write_text("\n".join(lines) + "\n")
    return root / name


def test_tools_costs_and_sizes(tmp_path: Path) -> None:
    questions = [
        replace(
            pair(k, (1.0, 9.0)), features=(OptionFeatures(area=area), OptionFeatures(area=area))
        )
        for k, area in enumerate(AREAS)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    plain = run_of(tmp_path, dataset, "plain", [True, False, False, True, False, False], [[]] * 6)
    called = [["zoom"], ["zoom", "zoom"], ["zoom", "count"], [], [], ["count"]]
    tools = run_of(tmp_path, dataset, "tools", [True, True, True, True, False, False], called)
    analysis = analyse([plain, tools])
    zoom, count = tool_use(analysis.study, 1)
    assert (zoom.tool, zoom.calls, zoom.failed, zoom.verdicts) == ("zoom", 4, 1, 3)
    assert (zoom.right.value, zoom.right_without.value) == (1.0, 1 / 3)
    assert (count.tool, count.calls, count.failed, count.verdicts) == ("count", 2, 1, 2)
    assert tool_use(analysis.study, 0) == ()
    cost = answer_cost(analysis.study, 1)
    assert (cost.right, cost.calls) == (4, 6)
    assert cost.tokens == (6 * 110 + 6 * 100) / 4
    assert cost.seconds == 6 * 2.0 / 4
    found = by_size(analysis.study)
    number = dict(analysis.study.questions.select("question", "id").iter_rows())
    ids = [question.id for question in questions]
    named = {label: sorted(number[k] for k in numbers) for label, numbers in found.items()}
    assert named == {"under 1 %": ids[:2], "1 to 10 %": ids[2:3], "over 10 %": ids[3:5]}
    gains = tool_tables(analysis, (0, 1))[3]
    assert [row[:2] for row in gains.rows] == [
        ("under 1 %", "2"),
        ("1 to 10 %", "1"),
        ("over 10 %", "2"),
    ]
    assert any("under 1 %" in line for line in tool_lines(analysis, (0, 1)))


def test_runs_without_tools_have_no_tables(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "ds", [pair(k, (1.0, 9.0)) for k in range(6)])
    runs = [run_of(tmp_path, dataset, name, [True] * 6, [[]] * 6) for name in ("one", "two")]
    assert tool_tables(analyse(runs), (0, 1)) == []
    assert tool_lines(analyse(runs), (0, 1)) == []
