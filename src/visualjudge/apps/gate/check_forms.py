"""A check as text, as Markdown for a pull request, and as JUnit XML. How a check is
made is in ``check.py``.
"""

from visualjudge.apps.gate.check import Check
from visualjudge.apps.gate.lock import Lock
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
    model = for_markdown(str(lock.judge.get("model")))
    content = (
        f"{100 * lock.accuracy.value:.2f} % of all answers right"
        if isinstance(lock, Lock)
        else f"{len(lock.scores)} scores"
    )
    lines = [
        f"### {SIGNS[check.state]} visualjudge gate: {check.state}\n",
        *(f"- {for_markdown(reason)}" for reason in check.reasons),
        f"\nThe lock is of {model}, whose answer was **{for_markdown(lock.answer)}** "
        f"({content}): “holds” means no loss beyond the tolerance, not that the judge "
        "is good.",
    ]
    return "\n".join(lines) + "\n"


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
