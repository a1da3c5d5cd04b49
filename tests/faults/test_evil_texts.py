"""Forty texts that act somewhere, as every text of a study: no output of any command,
and no page of the studio, has other elements, commands, formulas or rows than with
plain texts.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import polars as pl
import pytest
from fastapi.testclient import TestClient
from markdown_it import MarkdownIt

from analysed_once import analyse_once
from commanding import command
from core.test_escaping import EVIL
from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from visualjudge.core.records import Question, Served
from visualjudge.core.seeding import rng_for
from visualjudge.core.yamls import loads
from visualjudge.runs.verdicts import verdict_line
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

WRITABLE = [
    text for text in EVIL if "\ud800" not in text
]  # JSON cannot hold the other
PLAIN = [f"plain{k}" for k in range(len(WRITABLE))]
BY_WIDTH = {"\\", "\\resizebox", "\\textwidth"}
"""Commands that a long text may bring."""
BY_LENGTH = {"text", "title", "line", "code", "wbr", "br", "mark", "span"}
"""Elements whose number depends on how long a text is, its backticks, and what is read
of it."""
GRID = re.compile('<polyline class="grid"[^>]*></polyline>')
"""Lines of a plot, of which there are as many as the names beside them leave room
for."""
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe]"
)
ACTS = re.compile(r"[=+\-@\t\r](?![\d.]+(e[-+]?\d+)?$)")


class Elements(HTMLParser):
    """Counts the elements, attributes and comments of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.feed(text)
        self.close()

    def handle_starttag(
        self, tag: str, attrs: Sequence[tuple[str, Any]]
    ) -> None:
        if tag not in BY_LENGTH:
            self.counts.update([tag, *(f"{tag} {name}" for name, _ in attrs)])

    def handle_endtag(self, tag: str) -> None:
        if tag not in BY_LENGTH:
            self.counts[f"/{tag}"] += 1

    def handle_comment(self, data: str) -> None:
        self.counts["<!--"] += 1


def _questions(texts: Sequence[str]) -> Iterator[Question]:
    tasks = ("object_detection", texts[0], texts[1])
    for i in range(len(texts)):
        first, second, third = (texts[(i + k) % len(texts)] for k in range(3))
        name = " ".join(f"{first}{i}".split())  # no address has a line end
        fields: dict[str, Any] = {
            "id": name,
            "task": tasks[i % 3],
            "encoding": "text_xyxy" if i % 2 else third,
            "image_id": f"{second}{i % 12}",
            "error_type": third,
            "class_of_interest": (first, second),
            "annotation_ids": (f"{first}{i}a", f"{second}{i}b"),
            "sources": (first, second),
            "prompt": f"{third}\nA. {first}\nB. {second}",
        }
        yield pair(i, (2.0 + i * 7 % 8, 1.5 + i * 5 % 7), **fields)
        one = {name: fields[name][:1] for name in ("annotation_ids", "sources")}
        yield scoring(i, i * 7 % 11, **{**fields, **one, "id": f"s{name}"})
        if i % 4 == 0:
            three = {
                "annotation_ids": (
                    f"{first}{i}a",
                    f"{second}{i}b",
                    f"{third}{i}c",
                ),
                "sources": (first, second, third),
            }
            scores = (1.0, 5.0, 9.0)
            yield ranking(i, scores, **{**fields, **three, "id": f"r{name}"})


def _run(
    home: Path, dataset: Path, questions: Sequence[Question], k: int
) -> Path:
    texts = [*questions[0].sources, *questions[2].sources]
    name, other, third = (str(texts[(k + i) % len(texts)]) for i in range(3))
    fields = {"judge": name, "model": other, "base_url": third, "stopped": name}
    served = Served(name, other, third)
    run = write_run(
        home,
        dataset,
        [],
        backend="api",
        swap=True,
        repeats=1,
        parameters={name: other},
        identity=[
            {"model": name, "fingerprint": other, "provider": third, "n": 5}
        ],
        **fields,
    )
    draws = rng_for(k, "answers").random(len(questions))
    failed = {0: "unparseable", 1: "api_error"}
    lines = []
    for i, question in enumerate(questions):
        text = question.prompt.partition("\n")[0]
        status = failed.get(i % 11, "ok")
        wrong = {"A": "B", "B": "A"}.get(str(question.answer), question.answer)
        value = question.answer if draws[i] < 0.8 else wrong
        for order in (
            ("AB", "BA") if question.question_type == "pairwise" else ("AB",)
        ):
            cause = None if status == "ok" else text
            verdict = said(
                question, value, order, status, cause=cause, served=served
            )
            extra = {
                "error": text,
                "note": text,
                "tool_calls": [{"name": text}],
            }
            own = replace(verdict, raw_response=text, extra=extra)
            lines.append(json.dumps(verdict_line(own)) + "\n")
    (run / "verdicts.jsonl").write_text("".join(lines))
    return run


@dataclass
class Outputs:
    """Text by file name: what commands wrote and printed, and the pages of the
    studio."""

    files: dict[str, str]


def _outputs(root: Path, texts: Sequence[str]) -> Outputs:
    questions = list(_questions(texts))
    dataset = write_dataset(root / "ds", questions)
    runs = [_run(root / f"runs/{k}", dataset, questions, k) for k in range(2)]
    out = root / "out"
    out.mkdir()
    ratings, table, replies = (
        root / name for name in ("r.csv", "t.tsv", "p.jsonl")
    )
    with ratings.open("w", newline="") as file:
        names = ("item", "source", "rater", "dimension", "score")
        rows = ((i, texts[0], rater, texts[5], i % 7) for i in range(9) for rater in texts[1:4])  # fmt: skip
        csv.writer(file).writerows([names, *rows])
    cell = {k: " ".join(text.split()).replace('"', "") or "x" for k, text in enumerate(texts)}  # fmt: skip
    head = "index\tquestion\tA\tB\tanswer\tcategory\timage\n"
    body = (
        f"{k}\t{cell[k]}\t{cell[1]} 1\t{cell[2]} 2\tA\t{cell[3]}\tx\n"
        for k in cell
    )
    table.write_text(head + "".join(body))
    rows_of = (
        {"index": k, "prediction": f"A or B {text}"}
        for k, text in enumerate(texts)
    )
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows_of))
    commands = {
        "report": f"report {runs[0]} {runs[1]} --out OUT/r.html --summary OUT/s.html "
        "--csv OUT/csv",
        "markdown": f"report {runs[0]} --table paper --out OUT/p.md",
        "latex": f"report {runs[0]} --table paper --out OUT/p.tex",
        "card": f"card {runs[0]} {runs[1]} --details",
        "label": f"label {runs[0]} --out OUT/l.csv",
        "agreement": f"agreement {ratings} --out OUT/a.html",
        "write": f"gate write {runs[0]} --out OUT/lock",
        "check": f"gate check {runs[1]} --lock OUT/lock --junit OUT/j.xml --summary "
        "OUT/g.md",
        "mmbench": f"mmbench eval {replies} --data {table} --out OUT/m.html",
        "describe": f"describe {dataset}",
        "preferences": f"export {dataset} --format trl --out OUT/t.jsonl",
        "vlmevalkit": f"export {dataset} --format vlmevalkit --out OUT/v",
        "parquet": f"export {dataset} --format parquet --out OUT/hub",
        "eee": f"export {runs[0]} --format eee --out OUT/e.json",
        "model card": f"export {runs[0]} --format hf --out OUT/hf.yaml",
    }
    files: dict[str, str] = {}
    for name, words in commands.items():
        done = command(*words.replace("OUT", str(out)).split())
        assert "Traceback" not in done.stderr
        files[f"{name}.txt"] = f"{done.returncode}\n{done.stdout}{done.stderr}"
    for path in out.rglob("*.*"):
        if path.is_file():
            name = path.relative_to(out).as_posix()
            files[name] = (
                _rows(path)
                if path.suffix == ".parquet"
                else path.read_bytes().decode()
            )
    return Outputs(files | _studio(root, questions[0].id))


def _rows(path: Path) -> str:
    return json.dumps(pl.read_parquet(path).rows())


def _studio(root: Path, identity: str) -> dict[str, str]:
    site = Site(find_places([root]), root / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    dataset, run = site.places.datasets[0].slug, site.places.runs[0].slug
    slug = f"/d/{dataset}"
    pages = {
        "home": "/",
        "grid": slug,
        "judges": f"{slug}/judges",
        "slices": f"{slug}/slices",
        "run": f"/r/{run}",
        "question": f"{slug}/q/{quote(identity, safe='')}",
    }
    return {f"studio/{name}.html": client.get(page).text for name, page in pages.items()}  # fmt: skip


def _structure(name: str, text: str) -> Counter[str]:
    """The parts that a text of others must not change."""
    suffix = name.rpartition(".")[2]
    text = GRID.sub("", text)
    if suffix == "html":
        return Elements(text).counts
    if suffix in ("svg", "xml"):
        tags = (one.tag.rpartition("}")[2] for one in ElementTree.fromstring(text).iter())  # fmt: skip
        return Counter(tag for tag in tags if tag not in BY_LENGTH)
    if suffix == "md":
        lines = Counter(lines=text.count("\n"))
        return (
            Elements(MarkdownIt().enable("table").render(text)).counts | lines
        )
    if suffix == "tex":
        commands = re.findall(
            r"\\\\|\\[a-z]+(?![a-z]|\{\})|(?<!\\)[&$%#_]", text
        )
        return Counter(word for word in commands if word not in BY_WIDTH)
    if suffix == "csv":
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert [cell for row in rows for cell in row if ACTS.match(cell)] == []
        return Counter(rows=len(rows), cells=sum(map(len, rows)))
    if suffix == "tsv":
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
        return Counter(rows=len(rows), cells=sum(map(len, rows)))
    if suffix in ("json", "parquet"):
        return _shape(json.loads(text))
    if suffix == "yaml":
        return _shape(loads(text))
    if suffix == "jsonl":
        return sum(map(_shape, map(json.loads, text.splitlines())), Counter())
    return Counter()


def _shape(value: Any) -> Counter[str]:
    """How many objects and lists of which length a value holds."""
    if not isinstance(value, dict | list):
        return Counter()
    inner = value.values() if isinstance(value, dict) else value
    own = Counter([f"{type(value).__name__} of {len(value)}"])
    return sum(map(_shape, inner), own)


def test_no_text_changes_the_structure_of_an_output(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyse_once(monkeypatch)
    plain = _outputs(tmp_path_factory.mktemp("plain"), PLAIN)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    evil = _outputs(tmp_path_factory.mktemp("evil"), WRITABLE).files
    assert evil.keys() == plain.files.keys()
    for name, text in evil.items():
        assert _structure(name, text) == _structure(name, plain.files[name]), (
            name
        )
        if name.endswith((".jsonl", ".tsv", ".parquet")):
            continue  # data, whose texts are as they were
        hidden = HIDDEN.search(text.replace("\r\n", "\n"))
        assert hidden is None, (name, text[max(0, hidden.start() - 50) :][:100])
        if name.endswith((".txt", ".md")):
            lines = [line.strip() for line in text.splitlines()]
            commands = [line for line in lines if line.startswith("::") or "##[" in line]  # fmt: skip
            assert commands == [], name
