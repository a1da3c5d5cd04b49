"""Replies that could not be read, by cause. A cause is worded in
``analysis/answers.py`` and comes from ``replies/reply_to_value.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.answers import EXTRACTED
from visualjudge.analysis.figures.figure_parts import (
    DECLINED_ONES,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    Shown,
    as_named,
    by_rows,
    number,
    of_row,
    percent,
    with_status,
)
from visualjudge.analysis.pairwise_verdicts import (
    CANNOT_TELL,
    DECLINED,
    NO_REPLY,
    of_status,
)


@dataclass(frozen=True)
class Unread:
    """Failed replies of all question types by cause. For ``extracted`` ones a second
    reader gave a value, which no other figure uses.
    """

    n: int
    failed: int
    causes: Mapping[str, int]
    extracted: int = 0

    @property
    def unanswered(self) -> str:
        """The replies without an answer: "240 of 480", with the declined ones."""
        declined = of_status(self.causes, DECLINED)
        unsure = of_status(self.causes, CANNOT_TELL)
        text = f"{self.failed - declined - unsure:,} of {self.n:,}"
        text += f"; {declined:,} declined" if declined else ""
        return text + (f"; {unsure:,} cannot tell" if unsure else "")


def _rows(judge: JudgeResult) -> Unread:
    """Return the failed replies of all question types by cause, most frequent first; of
    probes where nothing else was asked.
    """
    table = judge.joined if judge.joined.height else judge.answered
    failed = table.filter(~pl.col("usable"))
    causes = (
        failed.group_by("cause")
        .len()
        .sort(["len", "cause"], descending=[True, False])
    )
    extracted = failed.filter(pl.col("status") == EXTRACTED).height
    return Unread(
        table.height,
        failed.height,
        {str(cause): int(n) for cause, n in causes.iter_rows()},
        extracted,
    )


def _section(view: Shown) -> Section:
    cells = {
        (
            f"Cause: {cause}",
            judge.name,
        ): f"{number(n)} ({percent(n / judge[UNREAD].n)})"
        for judge in view.judges
        for cause, n in judge[UNREAD].causes.items()
    }
    return Section(
        "unread",
        "What could not be read",
        "A reply that could not be read counts as wrong, as does a question that a "
        "judge declined or that a person could not answer.",
        [by_rows("All question types", view.judges, cells, "0")],
        detail=True,
    )


UNREAD = JudgeFigure(
    "unread",
    _rows,
    Layout[Unread](
        *as_named("n", "failed", "causes", "extracted"),
        *DECLINED_ONES,
        with_status("no_reply", NO_REPLY),
    ),
    place=170,
    headline=Layout[Unread](
        of_row("Without an answer", lambda row: row.unanswered)
    ),
    section=_section,
)
