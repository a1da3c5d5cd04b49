"""Inputs of a plan: the pairs of a data folder, dataset or pilot, its judge, and its
tokens. What is planned from them is in ``study_designs.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from visualjudge.analysis.decisions.checks import STATES
from visualjudge.analysis.figure_text import many
from visualjudge.analysis.load import load_study, narrowed
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.stored_tables import merged
from visualjudge.analysis.study_table import unchanged
from visualjudge.apps.planning import judge_simulation
from visualjudge.apps.planning.judge_simulation import JudgeModel, Pool
from visualjudge.core.errors import DataError, UsageError, one_of
from visualjudge.data.folder import DataFolder
from visualjudge.data.import_mistakes import by_source, equal_sources
from visualjudge.dataset.folder import META, load_dataset
from visualjudge.dataset.plan import stems_of
from visualjudge.dataset.question_filter import stem_named
from visualjudge.dataset.sampling import Group, differs, group, pairs_of
from visualjudge.options import Caps, Selection
from visualjudge.runs.folder import RunFolder

USUAL = JudgeModel(
    0.75,
    0.5,
    (0.05, 0.35, 0.6),
    0.01,
    ("share right", *judge_simulation.LEVELS, "failed"),
)
"""An unknown judge, in round numbers; ``level`` holds its accuracy here."""
VERDICTS = (
    "task", "encoding", "cluster", "pair", "order", "repeat", "margin", "right", "usable",
    "tokens_in", "tokens_out",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Target:
    """Basis of a plan: the pool of one task, the judge, and the tokens of a call
    (input, output) in an encoding, which only a pilot tells.
    """

    kind: str
    place: str
    task: str
    pool: Pool
    judge: JudgeModel
    encoding: str
    tokens: tuple[float, float] | None
    groups: tuple[Group, ...] = ()
    """For a data folder: the records from which its questions are drawn."""
    pilot: str = ""
    """What the card of a pilot says of its accuracy."""


def read_target(
    place: str | Path, part: Selection, dataset: str | Path | None, seed: int
) -> Target:
    """Read the data folder, dataset or run at ``place``.

    Raises
    ------
    UsageError
        If it is something else, holds several tasks and none or several are named, or
        has no pairs of the task.
    """
    root = Path(place)
    encodings = part.encodings
    if len(part.tasks) > 1 or set(part.types) - {"pairwise"}:
        raise UsageError(
            "a plan is for the pairs of one task: name it with `tasks`, and no other `types`"
        )
    task = next(iter(part.tasks), None)
    if RunFolder(root).manifest_path.is_file():
        return _of_run(root, task, part, dataset)
    if (root / META).is_file():
        return _of_dataset(root, task, encodings, part.where)
    if part.where:
        raise UsageError(
            f"{root} is a data folder: `where` is for datasets and runs"
        )
    return _of_data(root, task, encodings, seed)


def _task_of(names: Sequence[str], task: str | None, place: Path) -> str:
    known = sorted(set(names))
    if task is None and len(known) == 1:
        return known[0]
    if task in known:
        return str(task)
    if not known:
        raise UsageError(
            f"{place}: no two predictions can be compared, so no pairwise question can "
            "be asked; import a second `source` into it, or make controlled errors "
            "(visualjudge perturb)"
        )
    raise UsageError(
        f"`tasks` must be one of {', '.join(known)}; a plan is for one task, got "
        f"{task or 'none'}"
    )


def _of_run(
    root: Path, task: str | None, part: Selection, dataset: str | Path | None
) -> Target:
    study = load_study([root], dataset=dataset, where=part.where)
    verdicts = study.kind(0, "pairwise", VERDICTS)
    name = _task_of(verdicts["task"].unique().to_list(), task, root)
    own = verdicts.filter(pl.col("task") == name)
    chosen = _chosen(own["encoding"].unique().to_list(), part.encodings, root)
    own = own.filter(pl.col("encoding").is_in(chosen))
    if not own["usable"].any():
        raise DataError(
            f"{root}: no reply to a pairwise question can be used; plan from its "
            "dataset"
        )
    pool = _pool(study.questions, name, root)
    judge = judge_simulation.fitted(own.drop_nulls("right"), USUAL)
    by = own.group_by("encoding").agg(
        pl.col("tokens_in", "tokens_out").mean(), right=pl.col("right").mean()
    )
    best = by.sort("right", "encoding", descending=True).row(0, named=True)
    encoding = next(iter(part.encodings), best["encoding"])
    spent = by.row(by_predicate=pl.col("encoding") == encoding, named=True)
    tokens = (
        None
        if spent["tokens_in"] is None
        else (spent["tokens_in"], spent["tokens_out"] or 0.0)
    )
    asked = narrowed(
        study,
        [RunFolder(root).dataset_path(dataset)],
        Selection(tasks=(name,), encodings=tuple(chosen)),
    )
    known = card_of(Analysis(asked)).judges[0].checks[0]
    pilot = (
        f"The pilot, {study.runs[0].name} on "
        f"{many(own['cluster'].n_unique(), 'image')}: accuracy {known.measured} "
        f"(must be {known.threshold.required}): {STATES[known.state]}. A new study, on other images, "
        "in which these answers do not count:"
    )
    return Target(
        "run",
        str(root),
        name,
        pool,
        judge,
        encoding,
        tokens,
        pilot=pilot,
    )


def _chosen(
    known: Sequence[str], wanted: Sequence[str], place: Path
) -> list[str]:
    for name in wanted:
        if name not in known:
            raise UsageError(
                f"`encodings` must be {one_of(stem_named(name, known), sorted(known))}, "
                f"got {name} ({place})"
            )
    return list(wanted) or sorted(known)


def _pool(questions: pl.DataFrame, task: str, place: Path) -> Pool:
    pairs = questions.filter(
        (pl.col("kind") == "pairwise")
        & (pl.col("task") == task)
        & pl.col("answer").is_in(["A", "B"])
        & unchanged()
    ).unique("pair", keep="first", maintain_order=True)
    if pairs.is_empty():
        raise UsageError(
            f"{place}: holds no pairwise question of {task} with a better option"
        )
    first = pl.col("answer") == "A"
    sources = [pl.col("sources").list.get(k, null_on_oob=True) for k in (0, 1)]
    return judge_simulation.pool_of(
        pairs.select(
            image=pl.col("cluster"),
            better=pl.when(first).then(sources[0]).otherwise(sources[1]),
            worse=pl.when(first).then(sources[1]).otherwise(sources[0]),
            margin="margin",
        )
    )


def _of_dataset(
    root: Path,
    task: str | None,
    encodings: Sequence[str],
    where: tuple[str, ...],
) -> Target:
    table, _ = merged([root])
    if where:
        chosen = load_dataset(root).choose(Selection(where=where))
        table = table.filter(
            pl.col("id").is_in([question.id for question in chosen])
        )
    pairwise = table.filter((pl.col("kind") == "pairwise") & unchanged())
    name = _task_of(pairwise["task"].unique().to_list(), task, root)
    styles = (
        pairwise.filter(pl.col("task") == name)["encoding"].unique().to_list()
    )
    return _unjudged(
        "dataset",
        root,
        name,
        _pool(table, name, root),
        _chosen(styles, encodings, root)[0],
    )


def _of_data(
    root: Path, task: str | None, encodings: Sequence[str], seed: int
) -> Target:
    folder = DataFolder(root)
    if task is not None and task not in folder.tasks:
        raise UsageError(
            f"`tasks` must be {one_of(task, folder.tasks)}, got {task}"
        )
    names = [task] if task else folder.tasks
    equal = [
        source
        for name in names
        for source in equal_sources(folder, by_source(folder, name))
    ]
    caps = Caps()
    by_task = {
        name: tuple(
            result
            for result in group(folder.entries(name))
            if differs(result, caps)
        )
        for name in names
    }
    if equal and not any(by_task.values()):
        raise UsageError(
            f"{root}: no two predictions can be compared: {'; '.join(equal)}"
        )
    name = _task_of(
        [name for name, groups in by_task.items() if groups], task, root
    )
    rows = []
    for result in by_task[name]:
        notes = {note.annotation_id: note for note in result}
        for pair in pairs_of(result, seed, caps):
            a, b = sorted(
                (notes[key] for key in pair), key=lambda note: -note.final_score
            )
            rows.append(
                (
                    a.image_id,
                    a.source,
                    b.source,
                    a.final_score - b.final_score,
                )
            )
    pool = judge_simulation.pool_of(
        pl.DataFrame(
            rows,
            schema={
                "image": pl.String,
                "better": pl.String,
                "worse": pl.String,
                "margin": pl.Float64,
            },
            orient="row",
        )
    )
    style = _chosen(stems_of(name).final, encodings, root)[0]
    return _unjudged("data folder", root, name, pool, style, by_task[name])


def _unjudged(
    kind: str,
    root: Path,
    task: str,
    pool: Pool,
    encoding: str,
    groups: tuple[Group, ...] = (),
) -> Target:
    """Return what no judge has answered: a usual one is assumed."""
    judge = USUAL.at(USUAL.level, pool)
    return Target(kind, str(root), task, pool, judge, encoding, None, groups)
