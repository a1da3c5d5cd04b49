"""Numbers of whole results, recorded: a change of a published figure is seen, and meant.

``check("name", value)`` compares all numbers of a result with ``recorded/name.json``: of
each part the count and a sum in which each place has a weight of its own. Words are not
compared, only the numbers in them. After a change that is meant (CONTRIBUTING,
"Releases and deprecation"), ``VISUALJUDGE_RECORD=1 pytest -k recorded`` writes anew.

Compared on Linux x86-64 only: elsewhere floating point and image libraries round
otherwise in the last digit, and a figure printed to one digit less may differ.
"""

from __future__ import annotations

import json
import os
import platform
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from visualjudge.core.records import Mask

FOLDER = Path(__file__).parent / "recorded"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]\d\d)?(?!\w)")
NEAR = 1e-6
Part = tuple[str, ...]


def numbers(value: Any, place: Part = ()) -> Iterator[tuple[Part, float]]:
    """Yield each number of a value with its place: fields, keys and positions."""
    if isinstance(value, float | int):
        yield place, float(value)
        return
    if isinstance(value, pl.DataFrame):
        value = value.to_dict(as_series=False)
    if isinstance(
        value, Mask
    ):  # of its pixels, not of the bytes that hold them
        value = {
            name: getattr(value, name)
            for name in ("size", "top", "left", "crop")
        }
    if is_dataclass(value) and not isinstance(value, type):
        value = {row.name: getattr(value, row.name) for row in fields(value)}
    if isinstance(value, np.ndarray):
        yield from _of_array(value, place)
    elif isinstance(value, Mapping):
        for k, (key, item) in enumerate(value.items()):
            name = f"key {k}" if " " in str(key) else str(key)
            yield from numbers(item, (*place, name))
    elif isinstance(value, AbstractSet):
        yield from numbers(sorted(value, key=str), place)
    elif isinstance(value, str):
        yield from _of_text(value, place)
    elif isinstance(value, Sequence):
        yield (*place, "length"), float(len(value))
        for k, item in enumerate(value):
            yield from numbers(item, (*place, str(k)))
    elif value is None:
        yield (*place, "none"), 1.0
    elif isinstance(value, np.generic):
        yield place, float(value)


def _of_array(value: np.ndarray, place: Part) -> Iterator[tuple[Part, float]]:
    yield from numbers(list(value.shape), (*place, "shape"))
    flat = value.astype(float).ravel()
    weights = np.random.default_rng(flat.size).uniform(1, 2, flat.size)
    yield (*place, "pixels"), float(np.nan_to_num(flat) @ weights)


def _of_text(text: str, place: Part) -> Iterator[tuple[Part, float]]:
    """Yield the numbers of a sentence, or a checksum of a single word; nothing of a
    folder of this run."""
    if "pytest-of-" in text or IMAGE.search(text):
        return
    if re.fullmatch(r"\S{1,60}", text):
        yield (*place, "word"), checksum(text)
    for k, found in enumerate(NUMBER.findall(text)):
        yield (*place, f"n{k}"), float(found)


def summed(value: Any, depth: int) -> dict[str, list[float]]:
    """Return count, weighted sum and weighted sum of sizes of the numbers of each part;
    a part is named by the first ``depth`` steps to it."""
    out: dict[str, list[float]] = {}
    for place, number in numbers(value):
        row = out.setdefault("/".join(place[:depth]), [0, 0.0, 0.0])
        weight = 1 + zlib.crc32("/".join(place).encode()) / 2**32
        finite = number if isfinite(number) else 7.0
        row[0] += 1
        row[1] += weight * finite
        row[2] += weight * abs(finite)
    return {
        name: [count, float(f"{total:.9g}"), float(f"{size:.9g}")]
        for name, (count, total, size) in out.items()
    }


IMAGE = re.compile(r"\.(png|jpg)$")
COMPARED_ON = ("Linux", "x86_64")
EXACT = ("prompt", "raw_response")
PASSING = re.compile(
    r"(_s|_at|base_url|seconds|created|started|finished|time|version|path|checksum|sha256|"
    r"digest|folder|pid|python|duration)$"
)
"""Ends of keys whose values differ from run to run, or from release to release."""


def files_in(folder: Path) -> set[str]:
    """Return the paths of all files in a folder."""
    return {
        os.path.join(place, name)  # noqa: PTH118 - a Path of each takes five times as long
        for place, _, names in os.walk(folder)
        for name in names
    }


def contents(
    folder: Path, *, without: AbstractSet[str] = frozenset()
) -> dict[str, Any]:
    """Return what is in the files of a folder by their paths, but for those
    ``without``, together those of a kind in a folder at the top."""
    kinds: dict[str, dict[str, Any]] = {}
    for path in sorted(map(Path, files_in(folder) - without)):
        name = path.relative_to(folder)
        kind = kinds.setdefault(f"{name.parts[0]}*{name.suffix}", {})
        kind[name.as_posix()] = _content(path)
    # an image's name may come from the folder that it was read from
    return {
        kind: sorted(map(_image_sum, files.values()))
        if IMAGE.search(kind)
        else files
        for kind, files in kinds.items()
    }


def _image_sum(pixels: np.ndarray) -> float:
    return sum(number for _, number in numbers(pixels))


def _content(path: Path) -> Any:
    match path.suffix:
        case ".json":
            return lasting(json.loads(path.read_text("utf-8")))
        case ".jsonl":
            lines = sorted(path.read_text("utf-8").splitlines())
            return [lasting(json.loads(line)) for line in lines]
        case ".png" | ".jpg":
            return np.asarray(Image.open(path))
        case ".npy":
            return np.load(path)
        case (
            ".csv"
            | ".tsv"
            | ".md"
            | ".txt"
            | ".yaml"
            | ".yml"
            | ".svg"
            | ".tex"
        ):
            return path.read_text("utf-8").splitlines()
    return None


def lasting(value: Any) -> Any:
    """Return JSON without times, versions, folders and what depends on them; texts that
    are sent or came back are compared to the letter."""
    if isinstance(value, dict):
        return {
            key: checksum(item) if key in EXACT else lasting(item)
            for key, item in value.items()
            if not PASSING.search(key)
        }
    return (
        [lasting(item) for item in value] if isinstance(value, list) else value
    )


def checksum(text: Any) -> float:
    """Return a number, 0 to 1, that another text nearly never has."""
    return zlib.crc32(str(text).encode()) / 2**32


def check(name: str, value: Any, *, depth: int = 2) -> None:
    """Compare a result with what is recorded of it.

    Parameters
    ----------
    name
        File in ``recorded/``.
    value
        Records, mappings, sequences, tables, arrays and what they hold.
    depth
        Steps after which the numbers of a part are summed.
    """
    here = platform.system(), platform.machine()
    if here != COMPARED_ON:
        pytest.skip(f"recorded on {COMPARED_ON}, this is {here}")
    path = FOLDER / f"{name}.json"
    actual = summed(value, depth)
    if os.environ.get("VISUALJUDGE_RECORD"):
        lines = [
            f"{json.dumps(part)}: {json.dumps(row)}"
            for part, row in actual.items()
        ]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        pytest.skip("recorded")
    stored = json.loads(path.read_text("utf-8"))
    assert list(actual) == list(stored), "other parts than recorded"
    other = [
        f"{part}: {row[:2]}, recorded {stored[part][:2]}"
        for part, row in actual.items()
        if row[0] != stored[part][0]
        or abs(row[1] - stored[part][1])
        > NEAR * max(row[2], stored[part][2], 1e-9)
    ]
    assert not other, "numbers other than recorded\n" + "\n".join(other[:40])
