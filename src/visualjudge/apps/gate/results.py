"""A check as text, as Markdown for a pull request, and as JUnit XML."""

from collections.abc import Iterator

from visualjudge.apps.gate.check import Check
from visualjudge.apps.gate.lock import Lock, TaskAccuracy
from visualjudge.apps.gate.score_lock import ScoreLock
from visualjudge.core.escaping import for_html, for_markdown
from visualjudge.core.text_tables import folded

SIGNS = {"holds": "✅", "broken": "❌", "can't tell": "❔", "stale": "⚠️"}


def text(check: Check) -> str:
    """Return the state, and an item per reason, as wide as the terminal."""
    return "\n".join(
        [
            f"gate: {check.state}",
            *(folded(f"- {reason}") for reason in check.reasons),
        ]
    )


def markdown(check: Check, lock: Lock | ScoreLock) -> str:
    """Return a summary for a pull request."""
    return "\n".join(_markdown(check, lock)) + "\n"


def _markdown(check: Check, lock: Lock | ScoreLock) -> Iterator[str]:
    yield f"### {SIGNS[check.state]} visualjudge gate: {check.state}\n"
    yield from (f"- {for_markdown(reason)}" for reason in check.reasons)
    model = for_markdown(str(lock.judge.get("model")))
    yield f"\nLocked: {model}, answer **{for_markdown(lock.answer)}**\n"
    if isinstance(lock, ScoreLock):
        yield f"{len(lock.scores)} scores"
        return
    yield (
        "| Task | Answer | Accuracy | 95 % | Questions | Images "
        "|\n|---|---|---:|---|---:|---:|"
    )
    whole: TaskAccuracy = {"answer": lock.answer, **lock.accuracy}
    for task, row in {"all": whole, **lock.tasks}.items():
        ends = row.get("ci95")
        interval = (
            "–"
            if ends is None
            else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"
        )
        cells = (
            for_markdown(task),
            for_markdown(str(row["answer"])),
            f"{100 * row['value']:.1f} %",
            interval,
            str(row["questions"]),
            str(row["images"]),
        )
        yield f"| {' | '.join(cells)} |"


def junit(check: Check) -> str:
    """Return JUnit XML with one test case, which fails where the gate does not hold."""
    reasons = for_html("\n".join(check.reasons))
    failures = int(check.state != "holds")
    body = (
        f'<failure message="{for_html(check.state)}">{reasons}</failure>'
        if failures
        else f"<system-out>{reasons}</system-out>"
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuite name="visualjudge gate" tests="1" failures="{failures}">\n'
        '<testcase classname="visualjudge" '
        f'name="gate">{body}</testcase>\n</testsuite>\n'
    )
