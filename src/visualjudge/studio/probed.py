"""What the report says about one judge: the answer, and which probes it fails, passes
or leaves undecided, with an example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from visualjudge.core.errors import VisualJudgeError
from visualjudge.studio.places import RunPlace

if TYPE_CHECKING:
    import polars as pl

    from visualjudge.analysis.decisions.model_answer import ModelAnswer
    from visualjudge.analysis.figures.probes import ProbeResult

# A state in words; failed ones come first.
STATES = {"fail": "fails", "not_shown": "undecided", "pass": "passes"}
# The meaning of an effect, by design; see :mod:`visualjudge.analysis.figures.probes`.
UNITS: Mapping[str, str] = {
    "cue": "preference for the option with the cue (−0.5 to 0.5)",
    "change": "accuracy after the change minus accuracy before it (−1 to 1)",
    "same": "preference for the first place (−0.5 to 0.5)",
    "withheld": "right answers beyond chance (−0.5 to 0.5)",
    "staircase": "steps scored in the wrong order minus those in the right order (−1 "
    "to 1)",
}
# What a probe expects of a judge, by design.
EXPECTED: Mapping[str, str] = {
    "control": "The question as it is; probes change copies of it.",
    "cue": "A cue was added to one option, and to the other option in a second "
    "question of the "
    "group. The judge should choose the same option in both.",
    "change": "The change affects both options alike. The judge should answer as it "
    "does to the "
    "unchanged question.",
    "same": "Both options are the same, so no answer is right. Over many such "
    "questions, the judge "
    "should choose the first place as often as the second.",
    "withheld": "What the answer depends on is not shown, so no answer is right. Over "
    "many such "
    "questions, the judge should choose the better option no more often than the other.",
    "staircase": "Each step is worse than the one before, and its score should be "
    "lower. No single "
    "score is right or wrong.",
    "photograph": "The photograph is replaced. A judge that needs the photograph is "
    "right less "
    "often than on the unchanged question.",
}
# What the judge did in an example, by design.
COUNTED: Mapping[str, str] = {
    "cue": "chose the worse option, which has the cue",
    "change": "right before the change, wrong after it",
    "same": "chose the place that it prefers",
    "withheld": "chose the better option, although nothing shows which it is",
    "staircase": "scored higher than a better step",
}


@dataclass(frozen=True, slots=True)
class ShownProbe:
    """One probe of one judge.

    Attributes
    ----------
    example
        Id of a question that counts against the judge; None for a probe that it passes.
    unchanged
        Id of the original of the changed question, if it was asked.
    counted
        What the judge did in the example.
    """

    result: ProbeResult
    about: str
    example: str | None
    unchanged: str | None
    counted: str


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer of the card and the probe results of one judge, or the reason ``why``
    there are none.
    """

    judge: RunPlace
    answer: ModelAnswer | None = None
    photograph: str = ""
    probes: tuple[ShownProbe, ...] = ()
    why: str = ""

    @property
    def failing(self) -> list[str]:
        """Return the names of the probes that it fails."""
        failed = (
            probe.result
            for probe in self.probes
            if probe.result.state == "fail"
        )
        return [result.name.replace("_", " ") for result in failed]


def judged(job: tuple[Path, RunPlace]) -> Judged:
    """Return the card's answer and the report's state of every probe, failed ones
    first, of a run on the dataset at a path.
    """
    root, place = job
    from visualjudge.analysis import analyse
    from visualjudge.analysis.figures.photograph import PHOTOGRAPH
    from visualjudge.analysis.figures.probes import PROBES
    from visualjudge.analysis.report.card import card_of

    try:
        analysis = analyse([place.root], dataset=root)
        judge = analysis.judges[0]
        results = sorted(
            judge[PROBES], key=lambda row: [*STATES].index(row.state)
        )
        probes = tuple(_displayed(analysis.study.answered[0], results))
        photograph = "".join(PHOTOGRAPH.sentences(judge[PHOTOGRAPH]))
        return Judged(
            place, card_of(analysis).judges[0].models, photograph, probes
        )
    except VisualJudgeError as error:
        return Judged(place, why=str(error))


def _displayed(
    answered: pl.DataFrame, results: Sequence[ProbeResult]
) -> Iterator[ShownProbe]:
    from visualjudge.apps.probes.kinds import PROBES

    control = answered.filter(probe_design="control")
    unchanged = dict(
        control.unique("probe_group").select("probe_group", "id").iter_rows()
    )
    for result in results:
        table = answered.filter(probe_name=result.name)
        failed = failing(table, control, result)
        counted = COUNTED[result.design]
        about = PROBES[result.name].about if result.name in PROBES else ""
        if failed.is_empty():
            refused = table.filter(usable=False)
            answered_before = refused.join(
                control.filter("usable"), ["probe_group", "order"], how="semi"
            )
            failed = answered_before.vstack(refused)
            counted = "gave no answer"
        if result.state == "pass" or failed.is_empty():
            yield ShownProbe(result, about, None, None, "")
        else:
            identity, group = failed.select("id", "probe_group").row(0)
            yield ShownProbe(
                result, about, identity, unchanged.get(group), counted
            )


def failing(
    table: pl.DataFrame, control: pl.DataFrame, result: ProbeResult
) -> pl.DataFrame:
    """Return the verdicts on a probe that contribute to its effect; unread replies do
    not."""
    import polars as pl

    read = table.filter("usable")
    if result.design == "change":
        wrong = read.filter(~pl.col("right"))
        return wrong.join(
            control.filter("right"), ["probe_group", "order"], how="semi"
        )
    if result.design == "cue":
        return read.filter(
            (pl.col("text") == pl.col("probe_cue")) & ~pl.col("right")
        )
    if result.design == "same":
        return read.filter(
            pl.col("said_first") == ((result.effect.value or 0.0) >= 0)
        )
    if result.design == "withheld":
        return read.filter("right")
    worse = read.join(read, on="probe_group", suffix="_better").filter(
        pl.col("probe_level") > pl.col("probe_level_better"),
        pl.col("number") > pl.col("number_better"),
    )
    return worse.unique("id", maintain_order=True)
