"""How well replies are read: misread and refused, by set and kind, beside simpler
rules.

usage: python benchmarks/replies.py FILE [--errors] [--by style]

FILE is a JSON-lines file of labelled replies (``set``, ``kind``, ``style``, ``reply``,
``finish``, ``n``, ``label``, ``ambiguous``), or a folder of GenAI-Bench transcripts
(``*/*/pairwise.json``): there the label is the mark that a reply gives without
contradiction, and each reply is also read with the mark rewritten.

A label is a value, or ``unreadable``, ``refusal``, ``truncated`` or ``tie``. *Misread*:
read as another value than the label. *Refused*: a clear value that is not read.
Ambiguous rows count as neither. The peers are made anew from their description: the
last match of a letter or number; VLMEvalKit's heuristics; GEditBench's JSON object with
its aliases.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from visualjudge.apps.mmbench.evaluate import read_vlmevalkit
from visualjudge.judges.judge_module import object_with
from visualjudge.replies import read_reply

Row = dict[str, Any]
FAILURES = ("unreadable", "refusal", "truncated", "tie")
MARK = re.compile(r"\[\[(A>B|B>A|A=B=Good|A=B=Bad)\]\]")
VALUES = {"A>B": "A", "B>A": "B", "A=B=Good": "tie", "A=B=Bad": "both_bad"}
REWRITTEN = {
    "as it is": None,
    "[[A]]": "[[{}]]",
    "boxed": "\\boxed{{{}}}",
    "Answer: A": "Answer: {}",
}


def ours(row: Row) -> Any:
    reading = read_reply(
        row["reply"],
        row["kind"],
        row["n"] or 2,
        finish_reason=row["finish"],
        ties=row.get("ties", ()),
    )
    return reading.value if reading.status == "ok" else None


def last_match(row: Row) -> Any:
    if row["kind"] == "scoring":
        numbers = re.findall(r"\d+(?:\.\d+)?", row["reply"])
        return float(numbers[-1]) if numbers else None
    letters = "ABCDE"[: row["n"] or 2]
    found = re.findall(
        rf"\b[{letters}]{{{len(letters) if row['kind'] == 'ranking' else 1}}}\b",
        row["reply"],
    )
    return found[-1] if found else None


def vlmevalkit(row: Row) -> Any:
    if row["kind"] != "pairwise":
        return None
    return read_vlmevalkit(row["reply"], {"A": "A", "B": "B"}).letter


def geditbench(row: Row) -> Any:
    key = "score" if row["kind"] == "scoring" else "winner"
    found = object_with(row["reply"], key)
    if found is None:
        return None
    if key == "score":
        return (
            float(found[key]) if isinstance(found[key], int | float) else None
        )
    aliases = {
        "image a": "A",
        "image_a": "A",
        "a": "A",
        "image b": "B",
        "image_b": "B",
        "b": "B",
    }
    return aliases.get(str(found[key]).lower())


READERS: dict[str, Callable[[Row], Any]] = {
    "visualjudge": ours,
    "last match": last_match,
    "VLMEvalKit": vlmevalkit,
    "GEditBench": geditbench,
}


def rows_of(path: Path) -> Iterator[Row]:
    """The labelled rows of a file, or of a folder of transcripts."""
    if path.is_file():
        yield from map(json.loads, path.read_text("utf-8").splitlines())
        return
    for file in sorted(path.glob("*/*/pairwise.json")):
        for vote in json.loads(file.read_text("utf-8")):
            text = str(vote["response"])
            marks = set(MARK.findall(text))
            if len(marks) != 1:
                continue
            value = VALUES[marks.pop()]
            for style, form in REWRITTEN.items():
                if form is None or value in "AB":
                    reply = (
                        text
                        if form is None
                        else MARK.sub(
                            form.format(value).replace("\\", r"\\"), text
                        )
                    )
                    yield {
                        "id": f"{vote['idx']}",
                        "set": f"{file.parent.parent.name}/{file.parent.name}",
                        "kind": "pairwise",
                        "style": style,
                        "reply": reply,
                        "finish": "stop",
                        "n": 2,
                        "label": value,
                        "ambiguous": False,
                        "ties": ("tie", "both_bad"),
                    }


def outcome(row: Row, value: Any) -> str:
    """right, misread, refused, or nothing to say."""
    label = row["label"]
    due = None if label in FAILURES and not row.get("ties") else label
    if row["ambiguous"]:
        return "ambiguous"
    if value is None:
        return "right" if due is None else "refused"
    same = due is not None and (
        float(value) == float(due) if row["kind"] == "scoring" else value == due
    )
    return "right" if same else "misread"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--by",
        default="set",
        choices=["set", "style"],
        help="what a line of the table is, beside kind",
    )
    parser.add_argument(
        "--errors",
        action="store_true",
        help="print each row that is misread or refused",
    )
    args = parser.parse_args()
    rows = list(rows_of(args.file))
    read_reply("A", "pairwise")  # the phrases are loaded once
    for name, reader in READERS.items():
        begun = time.process_time()
        values = [reader(row) for row in rows]
        spent = time.process_time() - begun
        table: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for row, value in zip(rows, values, strict=True):
            result = outcome(row, value)
            table[row[args.by], row["kind"]][result] += 1
            if (
                args.errors
                and name == "visualjudge"
                and result in ("misread", "refused")
            ):
                print(
                    f"{result} {row['id']} {row['kind']}: {row['label']!r} read as "
                    f"{value!r}: {row['reply'][:200]!r}"
                )
        print(f"\n{name}: {spent / max(len(rows), 1) * 1e3:.2f} ms a reply")
        print(
            f"{args.by:28} {'kind':9} {'n':>6} {'misread':>8} {'refused':>8}  ambiguous"
        )
        for (place, kind), counts in sorted(table.items()):
            n = sum(counts.values()) - counts["ambiguous"]
            shares = "".join(
                f" {counts[result] / max(n, 1):8.1%}"
                for result in ("misread", "refused")
            )
            print(f"{place:28} {kind:9} {n:6}{shares}  {counts['ambiguous']}")


if __name__ == "__main__":
    main()
