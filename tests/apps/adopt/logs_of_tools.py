"""Small logs in the form in which each tool writes them: three pairs, or three graded
answers.

The pairs' truth is A, B, A; the judge says A, B and nothing that can be read.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import polars as pl
from backports import zstd

TRUTH = ("A", "B", "A")
REPLIES = ("[[A]]", "I prefer B. [[B]]", "no idea")
GRADES = (0.8, 0.3, None)
"""What a grader says of three answers; the third time it fails."""
PEOPLE = (1, 0, 1)


def zip_with_zstandard(path: Path, members: dict[str, bytes]) -> None:
    """As Inspect writes it: method 93, which ``zipfile`` writes from Python 3.14
    only."""
    body, central = b"", b""
    for name, content in members.items():
        packed = zstd.compress(content)
        sizes = (zlib.crc32(content), len(packed), len(content), len(name), 0)
        shared = struct.pack("<HHHHHLLLHH", 63, 0, 93, 0, 33, *sizes)
        at = len(body)
        body += b"PK\3\4" + shared + name.encode() + packed
        central += b"PK\1\2" + struct.pack("<H", 63) + shared
        central += struct.pack("<HHHLL", 0, 0, 0, 0, at) + name.encode()
    end = struct.pack(
        "<HHHHLLH", 0, 0, len(members), len(members), len(central), len(body), 0
    )
    path.write_bytes(body + central + b"PK\5\6" + end)


def inspect_sample(
    number: int, epoch: int, score: dict[str, Any], target: str
) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": REPLIES[number],
        "model": "mockllm/model",
    }
    return {
        "id": f"q{number}",
        "epoch": epoch,
        "input": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Which is better?"}],
            }
        ],
        "target": target,
        "output": {
            "model": "mockllm/model",
            "choices": [{"message": message, "stop_reason": "stop"}],
            "completion": REPLIES[number],
            "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        },
        "scores": score,
        "metadata": {
            "image_id": f"i{number}",
            "model_a": "x",
            "model_b": "y",
            "order": "AB",
        },
    }


def inspect(path: Path) -> Path:
    head = {"version": 2, "eval": {"task": "judge", "model": "mockllm/model"}}
    members = {"header.json": json.dumps(head).encode()}
    for epoch in (1, 2):
        for number, answer in enumerate(("A", "B", "Failed")):
            score = {"verdict": {"value": float("nan"), "answer": answer}}
            sample = inspect_sample(number, epoch, score, TRUTH[number])
            members[f"samples/q{number}_epoch_{epoch}.json"] = json.dumps(
                sample
            ).encode()
    zip_with_zstandard(path / "2026_judge.eval", members)
    return path / "2026_judge.eval"


def inspect_grades(path: Path) -> Path:
    """A log of ``model_graded_qa``, packed as older versions did, people's grades as
    metadata."""
    head = {"version": 2, "eval": {"task": "qa", "model": "openai/gpt-4o"}}
    with zipfile.ZipFile(
        path / "qa.eval", "w", zipfile.ZIP_DEFLATED
    ) as archive:
        archive.writestr("header.json", json.dumps(head))
        for number, grade in enumerate(("C", "I", "N")):
            score = {
                "model_graded_qa": {"value": grade, "answer": REPLIES[number]}
            }
            sample = inspect_sample(number, 1, score, "Paris")
            sample["metadata"] = {"human": "CIC"[number]}
            archive.writestr(
                f"samples/q{number}_epoch_1.json", json.dumps(sample)
            )
    return path / "qa.eval"


def lmms_eval(path: Path) -> Path:
    folder = path / "org__judge-7b"
    folder.mkdir()
    lines = [
        {
            "doc_id": number,
            "target": TRUTH[number],
            "filtered_resps": REPLIES[number],
            "token_counts": [{"input_tokens": 3, "output_tokens": 2}],
            "doc_hash": "ab",
            "input": "Which is better?",
            "right": float(number < 2),
        }
        for number in range(3)
    ]
    file = folder / "20261124_091500_samples_pairs.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return file


def vlmevalkit(path: Path, kind: str = "xlsx") -> Path:
    table = pl.DataFrame(
        {
            "index": [0, 1, 2],
            "question": ["Which is better?"] * 3,
            "A": ["left"] * 3,
            "B": ["right"] * 3,
            "answer": TRUTH,
            "category": ["quality"] * 3,
            "prediction": REPLIES,
        }
    )
    file = path / f"Judge-7B_Pairs.{kind}"
    if kind == "xlsx":
        table.write_excel(file)
    else:
        table.write_csv(file, separator="\t")
    return file


def promptfoo(path: Path) -> Path:
    results = [
        {
            "testIdx": number,
            "promptIdx": 0,
            "provider": {"id": "openai:gpt-4o", "label": ""},
            "prompt": {"raw": "Tell.", "label": "Tell."},
            "vars": {"topic": "whales"},
            "response": {
                "output": f"answer {number}",
                "tokenUsage": {"prompt": 9},
            },
            "gradingResult": {
                "pass": True,
                "score": 0.5,
                "componentResults": [
                    {
                        "pass": True,
                        "score": GRADES[number] or 0,
                        "reason": "well",
                        "assertion": {
                            "type": "llm-rubric",
                            "value": "is right",
                        },
                        "metadata": {"graderError": True}
                        if GRADES[number] is None
                        else {},
                    },
                    {
                        "pass": True,
                        "score": 1,
                        "assertion": {"type": "contains", "value": "a"},
                    },
                    {
                        "pass": True,
                        "score": PEOPLE[number],
                        "assertion": {"type": "human"},
                    },
                ],
            },
        }
        for number in range(3)
    ]
    file = path / "results.json"
    file.write_text(
        json.dumps(
            {"evalId": "e", "results": {"version": 3, "results": results}}
        )
    )
    return file
