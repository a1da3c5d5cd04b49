"""Rows for trainers: ``train`` and ``test`` files in one folder, split by image.

Images are named by absolute path, which every trainer can open; verl's parquet contains their
bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from visualjudge.apps.training.trainer_rewards import truth_text
from visualjudge.core.atomic import atomic_path, write_bytes, write_json
from visualjudge.core.parquet_files import write_parquet
from visualjudge.core.records import TURNED, Question
from visualjudge.dataset.exports import Format, Tick
from visualjudge.dataset.exports.jsonl import parts_of
from visualjudge.dataset.exports.media import answer_text, image_bytes
from visualjudge.dataset.folder import Dataset

ROWS = 200
"""Number of rows of a row group, each of which contains its images."""
Row = dict[str, Any]
MakeRow = Callable[[Dataset, Question], Row | None]

TEST_SHARE = 0.1
SEED = 42


def split_by_image(
    questions: Sequence[Question], share: float = TEST_SHARE
) -> dict[str, list[Question]]:
    """Return ``{"train": […], "test": […]}``; about ``share`` of the images are in test, at least
    one of two or more.

    The part of an image depends only on its id, so it is the same in each export of a dataset
    (except for the one chosen if none falls into test). Images are identified by ``image_id`` and,
    since one file may have two names, by the original shown.
    """
    groups = _groups(questions)
    places = {name: _place(name) for name in set(groups.values())}
    test = {name for name, place in places.items() if place < share}
    if len(places) > 1 and not 0 < len(test) < len(places):
        test = {min(places, key=places.__getitem__)}
    elif len(places) == 1:
        test = set()
    out: dict[str, list[Question]] = {"train": [], "test": []}
    for question in questions:
        out["test" if groups[question.image_id] in test else "train"].append(question)
    return out


def _place(name: str) -> float:
    """Return a number from 0 to 1 derived from a name."""
    return int.from_bytes(hashlib.sha256(f"{SEED}\0{name}".encode()).digest()[:8], "big") / 2**64


def _groups(questions: Sequence[Question]) -> dict[str, str]:
    """Return the group of each image_id: ids whose questions share an image file form a group."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    first: dict[str, str] = {}
    for question in questions:
        root(question.image_id)
        for path in question.images:
            one, other = root(first.setdefault(path, question.image_id)), root(question.image_id)
            parent[max(one, other)] = min(one, other)
    return {name: root(name) for name in parent}


def truth_row(question: Question) -> Row:
    """Return the columns that the reward reads; the answer is text, so that a column has
    one type.
    """
    return {
        "question_type": question.question_type,
        "answer": answer_text(question.answer),
        "final_scores": list(question.final_scores),
        "ties": list(question.ties or ()),
    }


def paths_of(dataset: Dataset, question: Question) -> list[str]:
    """Return the absolute paths of a question's images, in the order of their marks."""
    return [str(dataset.image_path(path).resolve()) for path in question.images]


def _wrong(question: Question) -> str | None:
    """Return a wrong answer: the other letter, or the ranking reversed; a score has no opposite."""
    if not isinstance(question.answer, str) or question.answer in (question.ties or ()):
        return None
    return (
        TURNED[question.answer] if question.question_type == "pairwise" else question.answer[::-1]
    )


def _trl_grpo(dataset: Dataset, question: Question) -> Row:
    prompt = [{"role": "user", "content": parts_of(question.prompt)}]
    return {
        "id": question.id,
        "prompt": prompt,
        "images": paths_of(dataset, question),
        **truth_row(question),
    }


def _trl_dpo(dataset: Dataset, question: Question) -> Row | None:
    wrong = _wrong(question)
    if wrong is None:
        return None

    def said(answer: str) -> list[Row]:
        return [{"role": "assistant", "content": [{"type": "text", "text": answer}]}]

    prompt = [{"role": "user", "content": parts_of(question.prompt)}]
    answers = {"chosen": said(answer_text(question.answer)), "rejected": said(wrong)}
    return {"id": question.id, "prompt": prompt, **answers, "images": paths_of(dataset, question)}


def _easyr1(dataset: Dataset, question: Question) -> Row:
    truth = truth_text(truth_row(question))
    return {
        "problem": question.prompt,
        "answer": truth,
        "images": paths_of(dataset, question),
        "id": question.id,
    }


def _swift(dataset: Dataset, question: Question) -> Row:
    messages = [{"role": "user", "content": question.prompt}]
    return {
        "messages": messages,
        "images": paths_of(dataset, question),
        "solution": truth_text(truth_row(question)),
        "id": question.id,
    }


def _verifiers(dataset: Dataset, question: Question) -> Row:
    row = _trl_grpo(dataset, question)
    return {
        "prompt": row["prompt"],
        "images": row["images"],
        "answer": truth_text(truth_row(question)),
        "info": {"id": question.id, "task": question.task, "encoding": question.encoding},
    }


def _llama_factory(dataset: Dataset, question: Question) -> Row | None:
    wrong = _wrong(question)
    if wrong is None:
        return None
    return {
        "conversations": [{"from": "human", "value": question.prompt}],
        "chosen": {"from": "gpt", "value": answer_text(question.answer)},
        "rejected": {"from": "gpt", "value": wrong},
        "images": paths_of(dataset, question),
    }


def write_lines(dataset: Dataset, out: Path, tick: Tick, *, row: MakeRow) -> list[Path]:
    """Write ``out/train.jsonl`` and ``out/test.jsonl``, one row per question."""
    files = []
    for name, rows in _split_rows(dataset, row, tick):
        path = out / f"{name}.jsonl"
        with atomic_path(path) as scratch, scratch.open("wb") as file:
            file.writelines(orjson.dumps(made) + b"\n" for made in rows)
        files.append(path)
    return files


def _split_rows(dataset: Dataset, make: MakeRow, tick: Tick) -> Iterator[tuple[str, Iterator[Row]]]:
    done, total = 0, len(dataset.questions)

    def rows(questions: Sequence[Question]) -> Iterator[Row]:
        nonlocal done
        for question in questions:
            row = make(dataset, question)
            done += 1
            tick(done, total)
            if row is not None:
                yield row

    for name, questions in split_by_image(list(dataset.questions)).items():
        yield name, rows(questions)


def write_llama_factory(dataset: Dataset, out: Path, tick: Tick) -> list[Path]:
    """Write ``train.json``, ``test.json`` (ShareGPT with ranking), and ``dataset_info.json``, which
    names them.
    """
    columns = {
        "messages": "conversations",
        "chosen": "chosen",
        "rejected": "rejected",
        "images": "images",
    }
    info, files = {}, []
    for name, rows in _split_rows(dataset, _llama_factory, tick):
        path = out / f"{name}.json"
        write_bytes(path, orjson.dumps(list(rows)))
        files.append(path)
        about = {
            "file_name": path.name,
            "formatting": "sharegpt",
            "ranking": True,
            "columns": columns,
        }
        info[f"visualjudge_{name}"] = about
    write_json(out / "dataset_info.json", info)
    return [*files, out / "dataset_info.json"]


def write_verl(dataset: Dataset, out: Path, tick: Tick) -> list[Path]:
    """Write ``train.parquet`` and ``test.parquet`` with the columns that verl's ``RLHFDataset``
    reads.
    """
    import polars as pl

    def row(read: Dataset, question: Question) -> Row:
        return {
            "data_source": "visualjudge",
            "prompt": [{"role": "user", "content": question.prompt}],
            "images": [
                {"bytes": image_bytes(read, path), "path": path} for path in question.images
            ],
            "ability": question.task,
            "reward_model": {"style": "rule", "ground_truth": truth_text(truth_row(question))},
            "extra_info": {"id": question.id, "encoding": question.encoding},
        }

    text = pl.String()
    schema = {
        "data_source": text,
        "prompt": pl.List(pl.Struct({"role": text, "content": text})),
        "images": pl.List(pl.Struct({"bytes": pl.Binary(), "path": text})),
        "ability": text,
        "reward_model": pl.Struct({"style": text, "ground_truth": text}),
        "extra_info": pl.Struct({"id": text, "encoding": text}),
    }
    files = []
    for name, rows in _split_rows(dataset, row, tick):
        path = out / f"{name}.parquet"
        with atomic_path(path) as scratch:
            frames = (pl.DataFrame(chunk, schema) for chunk in iter(partial(_next, rows), []))
            write_parquet(scratch, frames, schema, rows_a_group=ROWS)
        files.append(path)
    return files


def _next(rows: Iterator[Row]) -> list[Row]:
    return list(islice(rows, ROWS))


TRL_GRPO = Format(partial(write_lines, row=_trl_grpo), is_folder=True, training=True)
TRL_DPO = Format(partial(write_lines, row=_trl_dpo), is_folder=True, training=True)
VERL = Format(write_verl, is_folder=True, blow_up=1, training=True)
EASYR1 = Format(partial(write_lines, row=_easyr1), is_folder=True, training=True)
SWIFT = Format(partial(write_lines, row=_swift), is_folder=True, training=True)
LLAMA_FACTORY = Format(write_llama_factory, is_folder=True, training=True)
VERIFIERS = Format(partial(write_lines, row=_verifiers), is_folder=True, training=True)
