"""The work of every ``visualjudge import`` command: read, score, write, report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from visualjudge.cli.import_options import DetectorOptions, ImportOptions
from visualjudge.cli.listing import following, say, tell

if TYPE_CHECKING:
    from visualjudge.data.importing import Imported, Intake
    from visualjudge.formats.sample import Found


def run_import(
    task: str,
    out: Path,
    sources: list[str] | None,
    pred: list[str] | None,
    classes: list[str] | None,
    how: ImportOptions,
    file: str,
    read: Callable[[str | None], Found],
    **options: Any,
) -> None:
    """Import each source in turn; report every problem in a line; exit 1 where there is any, unless skipped."""
    from visualjudge.core.confine import importing
    from visualjudge.core.errors import UsageError
    from visualjudge.data.writer import FolderWriter
    from visualjudge.vision.raster.images import stored_frames

    if how.exif not in ("apply", "ignore"):
        raise UsageError(f"--exif must be apply or ignore, got {how.exif!r}")
    intake = _intake(how)
    wrong = written = 0
    frames = nullcontext() if how.exif == "apply" else stored_frames()
    with importing(outside=how.allow_outside), frames, _warnings_told():
        for source, one in _named(sources, pred):
            with FolderWriter(out, task, replace=how.replace) as writer:
                done = _one(writer, read(one), source, one, tuple(classes or ("each",)), file, intake, options)
            _tell(done, task, source, out, predicted=one is not None)
            wrong += len(done.problems)
            written += done.annotations
    if written:
        following("build", out, "--out", "DATASET")
    if wrong and not how.skip_invalid:
        say(f"invalid records left out: {wrong}")
        raise typer.Exit(1)


def _named(sources: list[str] | None, pred: list[str] | None) -> list[tuple[str | None, str | None]]:
    """(source, predictions) of each import."""
    from visualjudge.core.errors import UsageError

    preds: Sequence[str | None] = [*pred] if pred else [None]
    if sources and len(preds) != len(sources):
        told = f"once for each --pred, in the same order, got {len(sources)} for {len(preds)}"
        raise UsageError(f"--source must be given {told if pred else 'once without --pred'}")
    names: Sequence[str | None] = sources or [None for _ in preds]
    return list(zip(names, preds, strict=True))


@contextmanager
def _warnings_told() -> Iterator[None]:
    """What a reader warns of, in a line on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: say(f"warning: {message}")
        yield


def _intake(how: ImportOptions) -> Intake:
    from visualjudge.data.importing import Intake
    from visualjudge.formats.ids import Ids

    ids = Ids(how.id_prefix, how.id_from)
    if isinstance(how, DetectorOptions):
        return Intake(ids, how.min_score, how.top_k, how.score_at)
    return Intake(ids)


def _one(
    writer: Any,
    samples: Found,
    source: str | None,
    pred: str | None,
    classes: tuple[str, ...],
    file: str,
    intake: Intake,
    options: Any,
) -> Imported:
    from visualjudge.cli.progress import stages
    from visualjudge.data.importing import Imported, check_predicted, import_samples

    done = Imported()
    with stages() as progress:
        states = import_samples(writer, samples, source=source, classes=classes, file=file, intake=intake, **options)
        for number, state in enumerate(states, 1):
            done = state
            progress(f"importing {source or file}", number, number + 1)
    tell(done.problems)
    if pred is not None:
        check_predicted(done, pred)
    if len(writer):
        writer.commit()
    return done


def _tell(done: Imported, task: str, source: str | None, out: Path, *, predicted: bool) -> None:
    from visualjudge.data.importing import notices, precision_of

    named = source or "sources of the table"
    print(
        f"{out}: {task}: {named}: annotations {done.annotations}, images {len(done.images)}, "
        f"truths {done.truths}, predictions {done.predictions}"
    )
    for line in notices(task, done):
        print(line)
    ap = precision_of(task, done)
    if ap is not None:
        print(f"AP {ap[0]:.3f}, AP50 {ap[1]:.3f} (COCO's definition, of all predictions)")
    if predicted and done.annotations > 1 and done.exact == done.annotations:
        say(
            f"warning: all {done.annotations} predictions equal their truth (score 10); "
            "are --pred and --gt the same files?"
        )
