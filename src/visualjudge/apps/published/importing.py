"""Import a local copy of a benchmark as a dataset, and its published replies as run folders next to
it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from visualjudge.apps.published.benchmarks import BENCHMARKS
from visualjudge.apps.published.prompts import PROMPT, own_wording, wording
from visualjudge.apps.published.reading import Benchmark, Copy, ImageSource, Item, kept_replies
from visualjudge.apps.published.runs import published_run
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import LETTERS, OptionFeatures, Question
from visualjudge.dataset.folder import MEDIA, META, load_dataset
from visualjudge.dataset.staging import staged
from visualjudge.dataset.write_dataset import write_dataset
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.runs.folder import RunFolder
from visualjudge.vision.raster.images import opened, rgb_of, write_png


def fetch(row: Benchmark, folder: Path) -> Path:
    """Download ``row`` with the ``datasets`` library into ``folder/[<part>/]<split>.parquet``, with
    images as bytes.

    Raises
    ------
    UsageError
        If the Hub lacks the benchmark in a form that its reader supports, ``datasets`` is not
        installed, or the download fails.
    """
    if row.hub is None:
        raise UsageError(
            f"--hub: {row.name} is not on the Hub in a form that can be read; see {row.source}"
        )
    try:
        import datasets
    except ImportError:
        raise UsageError("--hub: needs the datasets library; run: pip install datasets") from None
    try:
        parts = {part: datasets.load_dataset(row.hub, part) for part in row.hub_parts}
    except Exception as error:  # anything that the library or the network may raise
        raise UsageError(
            f"--hub: {row.hub} cannot be read: {' '.join(str(error).split())[:300]}"
        ) from None
    for part, splits in parts.items():
        home = folder / (part or "")
        home.mkdir(exist_ok=True)
        for name, rows in splits.items():
            rows.to_parquet(str(home / f"{name}.parquet"))
    return folder


ENCODING = "published"
SCORES = {"A": (10.0, 0.0), "B": (0.0, 10.0), "tie": (10.0, 10.0), "both_bad": (0.0, 0.0)}
Prompt = Literal["ours", "own"]


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: ``runs`` has the folder and the number of verdicts of each judge.

    ``left_out`` names the records without a usable label.
    """

    questions: int
    labels_only: bool
    runs: tuple[tuple[Path, int], ...]
    left_out: tuple[str, ...] = ()


def import_benchmark(
    name: str,
    folder: str | Path | None,
    out: str | Path,
    *,
    replies: Sequence[str] = (),
    prompt: Prompt = "ours",
    hub: bool = False,
    force: bool = False,
) -> Imported:
    """Read the benchmark ``name`` from ``folder``; write a dataset at ``out`` and a run folder for
    each of ``replies``.

    Parameters
    ----------
    name
        A row of :data:`~visualjudge.apps.published.catalogue.BENCHMARKS`.
    folder
        A local copy as described in the benchmark's row; None with ``hub``.
    replies
        Judges whose published replies become runs, ``out/../<judge>``.
    prompt
        ``ours``: our prompt and reply format; ``own``: the benchmark's. Questions without one are
        left out.
    hub
        Download the benchmark with the ``datasets`` library instead; otherwise nothing is
        downloaded.
    force
        Replace an older dataset and older runs.

    Raises
    ------
    UsageError
        If the benchmark or judge is unknown, a folder to be written exists, or the hub is
        unavailable.
    DataError
        If a file of the copy cannot be read, the copy has no question, or no reply belongs to one.
    """
    row, target = BENCHMARKS.find(name), Path(out)
    if hub == (folder is not None):
        raise UsageError("give either --from FOLDER or --hub")
    if folder is None:
        with TemporaryDirectory(prefix="visualjudge-hub-") as scratch:
            return _imported(row, fetch(row, Path(scratch)), target, replies, prompt, force)
    if not Path(folder).is_dir():
        raise UsageError(f"--from: {folder} must be a folder with {row.layout}")
    return _imported(row, Path(folder), target, replies, prompt, force)


def _imported(
    row: Benchmark, home: Path, target: Path, replies: Sequence[str], prompt: Prompt, force: bool
) -> Imported:
    with _foreign(row, home):
        copy = row.read(home)
        copy = replace(copy, replies={**kept_replies(home), **copy.replies})
    _check_replies(copy, replies, home)
    runs = {model: target.resolve().parent / folder_name(model) for model in replies}
    check_targets(target, runs.values(), force)
    asked = _asked(row, copy, prompt)
    with _foreign(row, home):
        _check_match(asked, replies, home)
    questions = _write(row, asked, target, "ours" if copy.labels_only else prompt)
    # Runs come last because they contain the checksum of the finished dataset.
    dataset = load_dataset(target)
    with _foreign(row, home):
        written = [
            (path, published_run(row, copy, questions, dataset, model, path))
            for model, path in runs.items()
        ]
    return Imported(len(questions), copy.labels_only, tuple(written), tuple(asked.left_out))


@contextmanager
def _foreign(row: Benchmark, home: Path) -> Iterator[None]:
    """Report any unforeseen error of a reader as an error in the copy."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{home}: does not have the layout of {row.name}: {type(error).__name__}: {error}"
        ) from error


def _asked(row: Benchmark, copy: Copy, prompt: Prompt) -> Copy:
    """Return the copy with only the items that can be asked with ``prompt``.

    Raises
    ------
    DataError
        If there are none.
    """
    if copy.labels_only:
        return replace(copy, items=tuple(map(_without_images, copy.items)))
    if prompt == "ours":
        return copy
    items = tuple(item for item in copy.items if item.own is not None)
    if not items:
        needed = f"; it must hold {row.own}" if row.own else ""
        raise DataError(
            f"--prompt own: the copy has no prompt of {row.name}{needed}; use --prompt ours"
        )
    lacking = [
        f"{item.key}: the benchmark has no prompt of its own for it"
        for item in copy.items
        if not item.own
    ]
    return replace(copy, items=items, left_out=(*copy.left_out, *lacking))


def _check_match(copy: Copy, replies: Sequence[str], home: Path) -> None:
    """Refuse a copy without questions, and replies that match no question."""
    if not copy.items:
        raise DataError(f"{home}: has no usable question{_first(copy.left_out)}")
    keys = {item.key for item in copy.items}
    for model in replies:
        found = [reply.key for reply in copy.replies[model]()]
        if keys.isdisjoint(found):
            shown = f"{found[0]!r} is not one of them" if found else "it has none"
            raise DataError(
                f"{home}: replies of {model}: no id belongs to a question of the copy; {shown}; "
                f"ids of the copy look like {copy.items[0].key!r}"
            )


def _first(left_out: Sequence[str]) -> str:
    return f"; the first that was left out: {left_out[0]}" if left_out else ""


def _check_replies(copy: Copy, replies: Sequence[str], home: Path) -> None:
    for model in replies:
        if model not in copy.replies:
            known = ", ".join(copy.replies) or "none"
            raise UsageError(f"--replies: {home} holds no replies of {model!r}; it holds: {known}")
    if len(set(replies)) < len(replies):
        raise UsageError("--replies must name each judge once")


def folder_name(model: str) -> str:
    """Return the folder name of a judge's run."""
    return (
        "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in model).strip(
            "."
        )
        or "judge"
    )


def check_targets(
    target: Path, runs: Iterable[Path], force: bool, backend: str = "published"
) -> None:
    """Refuse to write a dataset at ``target`` and ``runs`` over anything except, with ``force``, an
    earlier import.

    Raises
    ------
    UsageError
        If something else exists, or a run would have the dataset's path.
    """
    for path in runs:
        if path == target.resolve():
            raise UsageError(f"--out: {target} is also the name of a run; choose another")
        if path.exists() and not (force and RunFolder(path).manifest().get("backend") == backend):
            raise UsageError(f"{path} already exists; --force replaces an older import")
    if target.exists() and not (force and (target / META).is_file()):
        raise UsageError(f"{target} already exists; --force replaces an older dataset")


# ---------------------------------------------------------------- the dataset


def _write(row: Benchmark, copy: Copy, target: Path, prompt: Prompt) -> dict[str, Question]:
    """Write the dataset; return its questions by the item's key."""
    store = PromptAssetStore()
    with staged(target) as stage:
        (stage / MEDIA).mkdir()
        media = MediaFiles(stage)
        questions = {item.key: _question(row, item, prompt, media, store) for item in copy.items}
        write_dataset(stage, list(questions.values()), _meta(row, copy, prompt, questions.values()))
    return questions


def _without_images(item: Item) -> Item:
    options = tuple(replace(option, images=(), marked=None) for option in item.options)
    return replace(item, images=(), own=None, options=options)


class MediaFiles:
    """The images of a benchmark as PNG files of the dataset, each written once."""

    def __init__(self, stage: Path) -> None:
        self.stage = stage
        self._names: dict[bytes, str] = {}

    def add(self, source: ImageSource) -> str:
        """Add ``source`` and return its path in the dataset."""
        key = hashlib.sha256(source if isinstance(source, bytes) else str(source).encode()).digest()
        if key not in self._names:
            name = f"{MEDIA}/{key.hex()[:16]}.png"
            with opened(io.BytesIO(source) if isinstance(source, bytes) else source) as image:
                write_png(self.stage / name, rgb_of(image))
            self._names[key] = name
        return self._names[key]


def _question(
    row: Benchmark, item: Item, prompt: Prompt, media: MediaFiles, store: PromptAssetStore
) -> Question:
    said = own_wording(item.own) if prompt == "own" and item.own else wording(item, store=store)
    texts = tuple(OptionFeatures(text_chars=len(option.text)) for option in item.options)
    return Question(
        id=hashlib.sha256(f"{row.name}\0{item.key}".encode()).hexdigest()[:16],
        task=item.task,
        encoding=ENCODING,
        question_type=item.kind,
        subset=(row.name,),
        image_id=item.cluster,
        class_of_interest=None,
        error_type=None,
        annotation_ids=tuple(
            option.id or f"{item.key}/{letter}"
            for letter, option in zip(LETTERS, item.options, strict=False)
        ),
        final_scores=_scores(item),
        sources=tuple(option.source for option in item.options),
        prompt=said.prompt,
        images=tuple(media.add(source) for source in said.images),
        answer=item.answer,
        features=texts if all(option.text for option in item.options) else None,
        spans=said.spans,
        ties=said.ties or None,
    )


def _scores(item: Item) -> tuple[float, ...]:
    if item.scores is not None:
        return item.scores
    if isinstance(item.answer, str) and item.kind == "ranking":
        last = len(item.answer) - 1
        return tuple(
            10.0 * (last - item.answer.index(letter)) / last for letter in LETTERS[: last + 1]
        )
    return SCORES[item.answer] if isinstance(item.answer, str) else (item.answer,)


def _meta(
    row: Benchmark, copy: Copy, prompt: Prompt, questions: Iterable[Question]
) -> dict[str, Any]:
    parts = tuple(dict.fromkeys(question.task for question in questions))
    own = {
        item.own.asset for item in copy.items if item.own is not None and item.own.asset is not None
    }
    return {
        "seed": None,
        "options": {},
        "prompts": {PROMPT: "v1"} if prompt == "ours" else dict(own),
        "benchmark": {
            "name": row.name,
            "title": row.title,
            "licence": row.licence,
            "use": row.use,
            "source": row.source,
            "labels_only": copy.labels_only,
            "left_out": len(copy.left_out),
            "scores": [asdict(score) for score in row.scores(parts)],
        },
    }
