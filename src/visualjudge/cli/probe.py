"""``visualjudge probe``: questions whose answer is known without ground truth. The
probes are in ``apps/probes/kinds.py``.
"""

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.apps.probes import ABOUT
from visualjudge.cli.console import following, say, tell
from visualjudge.core.plurals import pluralize
from visualjudge.core.registry import added
from visualjudge.core.text_tables import Table
from visualjudge.options import WorkOptions


def probe(
    data: Annotated[Path, typer.Argument(help="Data folder.", metavar="DATA")],
    out: Annotated[
        Path, typer.Option(help="Folder of the new dataset.", metavar="DATASET")
    ],
    options: WorkOptions,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Only this probe; repeatable: {', '.join([*ABOUT, *added('probe')])}.",
            metavar="PROBE",
        ),
    ] = None,
    n: Annotated[
        int,
        typer.Option(
            "--n", help="Maximum number of questions per probe.", metavar="N"
        ),
    ] = 200,
) -> None:
    """Build a dataset that tests whether irrelevant changes influence a judge. Judge it
    and report on it like any dataset: the report then has a section on probes.

    Example: visualjudge probe data --out probes --only tool --only mirrored --n 100
    """
    from visualjudge.analysis.figures.probes import LEAST_QUESTIONS
    from visualjudge.apps.probes.build import build_probes

    made = build_probes(data, out, options, only=only, number=n)
    tell(made.problems)
    print(
        Table(
            ("Probe", "Questions", "What is changed"),
            tuple(
                (
                    name,
                    str(n),
                    {
                        "control": "nothing: others are compared with it",
                        **ABOUT,
                    }.get(name, ""),
                )
                for name, n in made.asked.items()
                if n
            ),
            (
                f"A probe with answers to fewer than {LEAST_QUESTIONS} is not measured.",
            ),
        ).text()
    )
    say(
        *(
            f"{name}: no record of {data} fits; the probe is left out"
            for name in made.empty
            if name != "control"
        )
    )
    print(f"{pluralize(made.questions, 'question')} in {out}")
    following("judge", out, "--model", "MODEL", "--out", "RUN")
