"""Build a dataset from a data folder: check, sample, render image by image, and move
the result into place. Its steps are in ``plan.py``, ``sampling.py``, ``render.py`` and
``write_dataset.py``.

Everything is written to a folder next to the target and renamed to the target once
complete.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from visualjudge.core.atomic import write_json
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.core.jsons import Json
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import Question
from visualjudge.core.registry import in_use
from visualjudge.core.workers import CORES, WORTH_PROCESSES, Workers
from visualjudge.data.folder import DataFolder
from visualjudge.data.import_mistakes import by_source, equal_sources
from visualjudge.dataset.folder import MEDIA, META, VERSION
from visualjudge.dataset.json_form import (
    QUESTIONS,
    question_json,
    question_of_json,
    write_questions,
)
from visualjudge.dataset.plan import (
    CHUNK,
    Progress,
    jobs_of,
    read_tasks,
    sample_tasks,
)
from visualjudge.dataset.predictions_file import PREDICTIONS
from visualjudge.dataset.question_filter import chosen
from visualjudge.dataset.question_identity import turned
from visualjudge.dataset.render import Renderer
from visualjudge.dataset.sampling import Drawn, deal, drawn_of
from visualjudge.dataset.write_dataset import (
    FORMS,
    MOST_IN_JSON,
    TOOL,
    Spool,
    check_target,
    counts,
    pack,
    staged,
)
from visualjudge.options import (
    JUDGE_ANALYSIS,
    SUBSETS,
    BuildOptions,
    Selection,
    WorkOptions,
)
from visualjudge.prompts.prompt_set import PromptSet
from visualjudge.vision.tasks import TASKS, task_named


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a build."""

    questions: int
    images: int
    problems: tuple[Problem, ...]
    compared: int = 0
    """Number of questions that compare annotations: pairs and rankings."""
    equal: tuple[str, ...] = ()
    """Why nothing is compared, if sources have the same predictions."""
    other_ranges: tuple[str, ...] = ()
    """Tasks whose scores look like another range than 0 to 10."""
    undecidable: Mapping[str, Mapping[str, Mapping[str, int]]] = field(
        default_factory=dict
    )
    """Questions not asked because two options look the same: task → encoding → question
    type → count.
    """
    unseen_error_types: Mapping[str, Mapping[str, Sequence[str]]] = field(
        default_factory=dict
    )
    """Error types that an encoding does not show in any pair of the sample: task →
    encoding → error types.
    """
    drawn: Mapping[str, Drawn] = field(default_factory=dict)
    """How many pairs and images of each task judge_analysis asks about, of those that
    there are."""


def build(
    data: str | Path,
    out: str | Path,
    options: BuildOptions | None = None,
    *,
    progress: Progress = lambda stage, done, total: None,
) -> Built:
    """Build the dataset of the data folder ``data`` at ``out``.

    Parameters
    ----------
    data, out
        Folders. ``out`` must not exist, unless it is an older dataset and ``force`` is
        given.
    options
        What is asked about and how. The output does not depend on ``workers`` and
        ``engine``.
    progress
        Called with each step.

    Raises
    ------
    UsageError
        If ``data`` is not a data folder, ``out`` exists, or an option is invalid.
    DataError
        If a whole file cannot be read, or no question can be asked.
    """
    stated = options or BuildOptions()
    if stated.form not in (None, *FORMS):
        raise UsageError(
            f"`form` must be one of {', '.join(FORMS)}, got {stated.form!r}"
        )
    target = Path(out)
    check_target(target, stated.force)
    folder = DataFolder(data, stated.score_range)
    tasks = asked_tasks(folder, stated)
    with (
        staged(target, Path(data)) as stage,
        open_workers(folder, tasks, stated) as running,
    ):
        built = _fill(stage, folder, tasks, stated, running, progress)
        if stated.form == "parquet" or (
            stated.form is None and built.questions > MOST_IN_JSON
        ):
            pack(stage)
        return built


def _fill(
    stage: Path,
    folder: DataFolder,
    names: Sequence[str],
    options: BuildOptions,
    workers: Workers,
    progress: Progress,
) -> Built:
    tasks = read_tasks(folder, names, workers, progress)
    subsets = options.subsets or SUBSETS
    items = sample_tasks(tasks, subsets, options.caps, options.seed)
    if not items:
        raise DataError(
            f"{folder.name}: no question can be asked{_why_none(folder, names)}"
        )
    if options.types or options.encodings or options.where:
        part = Selection(
            types=options.types,
            encodings=options.encodings,
            where=options.where,
        )
        items = list(chosen(items, part))
    (stage / MEDIA).mkdir()
    render = Renderer(folder.root, stage, options.prompts, options.max_side)
    spool = Spool(stage, len(items))
    files: dict[str, str] = {}
    left_out: set[int] = set()
    failed: set[int] = set()
    with (stage / PREDICTIONS).open("wb") as predictions:
        for piece in workers.map(render, jobs_of(items, tasks)):
            spool.add(piece.questions)
            predictions.writelines(piece.predictions)
            files.update(piece.files)
            left_out.update(piece.undecidable)
            failed.update(piece.failed)
            folder.problems += piece.problems
            progress(
                "rendering questions",
                spool.count + len(left_out) + len(failed),
                len(items),
            )
    selected = [k for k in range(len(items)) if k not in left_out | failed]
    asked = [items[k] for k in selected]
    if not asked:
        why = (
            "the options of each look the same"
            if not failed
            else str(folder.problems[-1])
        )
        raise DataError(f"{folder.name}: no question can be asked: {why}")
    files[PREDICTIONS] = file_sha256(stage / PREDICTIONS)
    lines = (
        question_json(turned(question_of_json(spool.line(place))))
        if turn
        else spool.line(place)
        for place, turn in zip(selected, deal(asked, options.seed), strict=True)
    )
    files[QUESTIONS] = write_questions(stage / QUESTIONS, lines)
    spool.close()
    undecidable = counted(items, left_out)
    unseen = unseen_errors(items, left_out | failed)
    write_json(
        stage / META,
        {
            **_meta(options, asked, files, len(folder.problems)),
            "undecidable": undecidable,
            "unseen_error_types": unseen,
        },
    )
    compared = sum(item.question_type != "scoring" for item in asked)
    equal = () if compared else _equal_sources(folder, names)
    problems = tuple(folder.problems)
    ranges = tuple(folder.other_ranges(names))
    drawn = {
        task.name: drawn_of(
            task.name,
            task.entries,
            asked,
            options.caps,
        )
        for task in tasks
        if JUDGE_ANALYSIS in subsets
    }
    return Built(
        len(asked),
        len(files) - 2,
        problems,
        compared,
        equal,
        ranges,
        undecidable,
        unseen,
        drawn,
    )


def _meta(
    options: BuildOptions,
    items: Sequence[Question],
    files: dict[str, str],
    invalid: int,
) -> Json:
    # No times, paths or numbers of workers, which would differ between builds of the
    # same data.
    part = {
        "types": options.types,
        "encodings": options.encodings,
        "where": options.where,
    }
    return {
        "version": VERSION,
        "tool": TOOL,
        "seed": options.seed,
        "options": {
            "subsets": sorted(set(options.subsets or SUBSETS)),
            "tasks": sorted(set(options.tasks)) or None,
            "max_side": options.max_side,
            **{name: list(value) for name, value in part.items() if value},
            **(
                {"score_range": options.score_range}
                if options.score_range
                else {}
            ),
            **asdict(options.caps),
        },
        "prompts": options.prompts.used(),
        **own_prompts(options.prompts),
        **plugins_in_use(items),
        "invalid_records": invalid,
        "counts": counts(items),
        "files": dict(sorted(files.items())),
    }


def plugins_in_use(items: Sequence[Question]) -> Json:
    asked = {(item.task, item.encoding) for item in items}
    types = {task: TASKS[task].type for task, _ in asked}
    rows = {("task", task) for task in types} | {
        ("prediction type", name) for name in types.values()
    }
    used = in_use(
        rows | {("encoding", (types[task], stem)) for task, stem in asked}
    )
    return {"plugins": used} if used else {}


def own_prompts(prompts: PromptSet) -> Json:
    own = prompts.digests()
    return {"own_prompts": own} if own else {}


def asked_tasks(folder: DataFolder, options: WorkOptions) -> list[str]:
    """Return the names of the requested tasks.

    Raises
    ------
    UsageError
        If ``folder`` is not a data folder, or has no annotations of a task.
    """
    for name in options.tasks:
        task_named(name)
    if not options.tasks:
        if not folder.tasks:
            why = (
                folder.problems[0]
                if folder.problems
                else "annotations/<task>_annotations.json not found; "
                f"`visualjudge init {folder.name}` says what it has"
            )
            raise UsageError(f"{folder.name} is not a data folder: {why}")
        return list(folder.tasks)
    missing = [name for name in options.tasks if name not in folder.tasks]
    if missing:
        raise UsageError(
            f"{folder.name}: has no annotations of {', '.join(missing)}; it has "
            f"{', '.join(folder.tasks)}"
        )
    return [name for name in folder.tasks if name in options.tasks]


def open_workers(
    folder: DataFolder, tasks: Sequence[str], options: WorkOptions
) -> Workers:
    if options.engine != "local":
        return Workers(options.workers or CORES, options.engine)
    most = max(1, sum(len(folder.entries(name)) for name in tasks) // CHUNK)
    if options.workers is None:
        return Workers(min(CORES, most), after=WORTH_PROCESSES)
    return Workers(min(options.workers, most))


def _equal_sources(folder: DataFolder, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        source
        for name in names
        for source in equal_sources(folder, by_source(folder, name))
    )


def _why_none(folder: DataFolder, names: Sequence[str]) -> str:
    if folder.problems:
        return (
            f": {pluralize(len(folder.problems), 'record')} cannot be used, the first: "
            f"{folder.problems[0]}"
        )
    return ": " + (
        "; ".join(_equal_sources(folder, names))
        or "no two annotations of a group differ in their score"
    )


COMPARED = ("pairwise", "ranking")
"""Question types that compare options; others are always decidable."""
Counts = dict[str, dict[str, dict[str, int]]]


def counted(items: Sequence[Question], left_out: Collection[int]) -> Counts:
    """Count the omitted questions by task, encoding and type, for encodings that omit
    any."""
    counts: Counts = {}
    for place in sorted(left_out):
        item = items[place]
        cell = counts.setdefault(item.task, {}).setdefault(
            item.encoding, dict.fromkeys(COMPARED, 0)
        )
        cell[item.question_type] += 1
    return counts


def unseen_errors(
    items: Sequence[Question],
    left_out: Collection[int],
) -> dict[str, dict[str, list[str]]]:
    """Return the error types that an encoding does not show in any sampled pair: task →
    encoding → sorted error types.
    """
    asked: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for place, item in enumerate(items):
        error_type = item.error_type
        if item.question_type == "pairwise" and error_type is not None:
            asked[item.task, item.encoding, error_type].append(
                place not in left_out
            )
    unseen: dict[str, dict[str, list[str]]] = {}
    for (task, stem, error_type), places in sorted(asked.items()):
        if not any(places):
            unseen.setdefault(task, {}).setdefault(stem, []).append(error_type)
    return unseen
