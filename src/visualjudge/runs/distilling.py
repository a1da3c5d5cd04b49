"""Train the local judge on another judge's verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from visualjudge.core.errors import DataError
from visualjudge.core.records import LETTERS, Question, Verdict
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.judges.local.fit import Pair, Sample
from visualjudge.judges.local.model import shipped
from visualjudge.judges.local.questions import QuestionFeatures, changed
from visualjudge.judges.local.training import Trained, train
from visualjudge.runs.folder import RunFolder, check_questions

Progress = Callable[[int, int], None]


def distill(
    run: str | Path,
    *,
    dataset: str | Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Trained:
    """Fit the local judge to the verdicts of a run: pairs and rankings show which option is better,
    scores calibrate.

    Parameters
    ----------
    run
        Folder of a run.
    dataset
        Folder of its dataset, if it has moved.

    Raises
    ------
    DataError
        If the run has no usable verdicts or too few images, or names a dataset that it was not
        asked from.
    """
    folder = RunFolder(run)
    manifest = folder.manifest()
    asked = load_dataset(folder.dataset_path(dataset))
    problem = check_questions(folder.path, manifest, asked.digest, named=dataset is not None)
    pairs, samples = lessons(asked, _by_question(folder), progress)
    done = train(
        pairs, samples, f"the verdicts of {manifest.get('judge', Path(run).name)}", prior=shipped()
    )
    if not done.fits:
        raise DataError(
            f"{run}: nothing to learn from: "
            f"{'; '.join(f'{k}: {v}' for k, v in done.declined.items())}"
        )
    return replace(done, problems=(problem,)) if problem else done


def _by_question(folder: RunFolder) -> dict[str, list[Verdict]]:
    found: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in folder.verdicts().values():
        if verdict.status == "ok":
            found[verdict.id].append(verdict)
    return found


def lessons(
    dataset: Dataset, verdicts: Mapping[str, list[Verdict]], progress: Progress
) -> tuple[dict[str, list[Pair]], dict[str, list[Sample]]]:
    pairs: defaultdict[str, list[Pair]] = defaultdict(list)
    samples: defaultdict[str, list[Sample]] = defaultdict(list)
    looks = QuestionFeatures(dataset.root)
    known = [
        question
        for question in dataset.questions
        if question.id in verdicts and not changed(question)
    ]
    for k, question in enumerate(known, 1):
        progress(k, len(known))
        features = looks.options(question)
        for verdict in verdicts[question.id]:
            if question.question_type == "scoring":
                value = float(verdict.value)
                samples[question.task].append(
                    Sample(question.image_id, question.id, features[0], value)
                )
            pairs[question.task] += [
                Pair(question.image_id, str(question.error_type), features[better], features[worse])
                for better, worse in _preferences(question, verdict)
            ]
    return pairs, samples


def _preferences(question: Question, verdict: Verdict) -> list[tuple[int, int]]:
    """Yield (better, worse) indices of the options that the verdict compares; none for a score or a
    tie.
    """
    said = [LETTERS.find(letter) for letter in str(verdict.value)]
    if question.question_type == "ranking":
        return list(combinations(said, 2))
    if question.question_type == "pairwise" and said in ([0], [1]):
        return [(said[0], 1 - said[0])]
    return []
