"""Chooses the questions of a study, from a selection, a queue or a file of ids, and its
known items.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from visualjudge.analysis.decisions.label_files import read_queue
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.jsons import Fields
from visualjudge.core.records import QuestionType
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.question_filter import read_ids
from visualjudge.options import Selection
from visualjudge.studio.people.plan import Item, Plan, Settings
from visualjudge.studio.selection import Shelf, State

# How the predictions of a question are shown, by ``--show``; others show all.
_KINDS = {"drawn": {"pixel"}, "text": {"text"}}


def named_rows(shelf: Shelf, path: Path) -> list[int]:
    """Return the rows of the ids in a file.

    Raises
    ------
    UsageError
        If the file cannot be read, or an id is not in the dataset.
    """
    names = read_ids(path)
    rows = shelf.study.rows_of(names)
    missing = next(
        (name for name, row in zip(names, rows, strict=True) if row < 0), None
    )
    if missing is not None:
        raise UsageError(
            f"`questions`: question {missing!r} is not in the dataset"
        )
    return rows


def drawn_rows(shelf: Shelf, queue: Path) -> dict[int, float]:
    """Return the question for each item of the queue, with its probability of
    selection.

    Raises
    ------
    DataError
        If the queue cannot be read, or has an item that no question of the dataset
        asks.
    """
    by, drawn = read_queue(queue)
    study = shelf.study
    if by == "question_id":
        row_by_name = dict(zip(drawn, study.rows_of(drawn), strict=True))
    else:
        row_by_name = dict.fromkeys(drawn, -1)
        for row in shelf.select(State((("type", ("scoring",)),), copies=True)):
            question = study.question(row)
            annotation = question.annotation_ids[0]
            for name in (annotation, f"{question.task}/{annotation}"):
                if row_by_name.get(name) == -1:
                    row_by_name[name] = row
    missing = next((name for name, row in row_by_name.items() if row < 0), None)
    if missing is not None:
        raise DataError(
            f"{queue}: {by}: no question of the dataset asks about {missing}"
        )
    return {row: drawn[name] for name, row in row_by_name.items()}


def plan_of(
    shelf: Shelf,
    settings: Settings,
    drawn: Mapping[int, float] | None = None,
    named: Sequence[int] | None = None,
) -> Plan:
    """Return the plan: the questions from the selection, the queue (``drawn``), the ids
    (``named``) or a sample, and the easiest as known and practice questions.
    """
    facts = _facts(shelf)
    fit = _selected(shelf, settings.filter)
    kinds = [form for *_, form in facts]
    allowed = _KINDS.get(settings.encoding, {*kinds})
    rows = [row for row in fit if kinds[row] in allowed]
    left_out = len(fit) - len(rows)
    for some in (drawn, named):
        rows = [row for row in rows if some is None or row in some]
    if settings.sample is not None and settings.sample < len(rows):
        order = (
            rng_for(settings.seed, "people", "sample")
            .permutation(len(rows))
            .tolist()
        )
        rows = [rows[place] for place in sorted(order[: settings.sample])]
    if not rows:
        raise UsageError(
            f"`show` {settings.encoding or 'all'}: no question that is selected is "
            "shown this way; choose another (drawn, text or all)"
        )
    names = dict(zip(rows, shelf.study.identities(rows), strict=True))
    drawn = drawn or {}
    items = tuple(
        Item(names[row], *facts[row][:2], drawn.get(row)) for row in rows
    )
    easy = [names[row] for row in _easiest(rows, facts)]
    checks = easy[: settings.known]
    practice = easy[settings.known :][: settings.practice]
    textual = sum(kinds[row] == "text" for row in rows)
    return Plan(
        settings, items, tuple(checks), tuple(practice), textual, left_out
    )


# Type, number of options, margin, whether a probe changed it, and how predictions are
# shown.
Facts = tuple[QuestionType, int, float | None, bool, str]


def _facts(shelf: Shelf) -> list[Facts]:
    values: Fields = shelf.study.values
    records = shelf.study.all(
        "SELECT of_type, options, difference, changed, of_form FROM question ORDER BY "
        "row"
    )
    return [
        (values["type"][k][0], *rest, values["form"][f][0])
        for k, *rest, f in records
    ]


def _selected(shelf: Shelf, text: str) -> list[int]:
    """Return the rows of the questions that ``text`` selects."""
    if not text:
        return sorted(shelf.select(State(copies=True)))
    if not text.startswith("{"):
        raise UsageError(
            f"this study asks the questions of a grid's address ({text}), which 1.1 "
            "does not read; give their ids with `questions`, and another folder"
        )
    dataset = load_dataset(shelf.study.root).choose(Selection.of_text(text))
    return shelf.study.rows_of(question.id for question in dataset)


def _easiest(rows: Sequence[int], facts: Sequence[Facts]) -> list[int]:
    """Return the questions that any attentive rater answers correctly, easiest first.

    Pairs with a positive margin whose options are drawn, widest margin first; then
    those whose options are text. Rankings and scores have no obvious answer.
    """
    fit = []
    for row in rows:
        kind, _, margin, changed, form = facts[row]
        if kind == "pairwise" and margin and not changed:
            fit.append((form == "text", -margin, row))
    return [row for _, _, row in sorted(fit)]
