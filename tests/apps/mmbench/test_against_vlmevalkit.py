"""Replies read by the rules of VLMEvalKit, beside the functions of a clone of it."""

from __future__ import annotations

import ast
import asyncio
import copy
import os
import re
import string
from typing import Any

import pytest
from tables import image, row, write

from clones import clone, functions_of
from scripted_client import ScriptedClient
from visualjudge.apps.mmbench.evaluate import evaluate, reading_of
from visualjudge.apps.mmbench.llm_matcher import match, unread
from visualjudge.apps.mmbench.table import read_table
from visualjudge.apps.mmbench.table_images import image_parts
from visualjudge.core.seeding import rng_for

WORDS = """A B C D E Z a b c the answer is Answer: **B** (C) (a) D. cat dog owl red Cat not
option because it best The"""
SEED = int(os.environ.get("VISUALJUDGE_SEED", "0"))


def replies(count: int) -> list[str]:
    rng = rng_for(SEED, "replies")
    words = WORDS.split()
    return [
        " ".join(rng.choice(words, rng.integers(1, 10))) for _ in range(count)
    ]


@pytest.fixture(scope="module")
def can_infer() -> Any:
    path = clone("VLMEvalKit") / "vlmeval/utils/matching_util.py"
    (pattern,) = re.findall(
        r"_VERBOSE_ANSWER_RE = re\.compile\(r\"(.*)\"\)",
        path.read_text("utf-8"),
    )
    known = {"cp": copy, "os": os, "re": re, "string": string}
    known["_VERBOSE_ANSWER_RE"] = re.compile(pattern)
    names = ("can_infer_option", "can_infer_text", "can_infer")
    return functions_of(path, names, **known)["can_infer"]


def test_the_matcher_is_read_as_the_kit_reads_it(
    tmp_path: Any, can_infer: Any
) -> None:
    said = replies(300)
    rows = [row(index) for index in range(1, len(said) + 1)]
    table = read_table(write(tmp_path / "t.tsv", rows))
    vague = dict.fromkeys(
        table.by_index, "the barking creature of the yard " * 9
    )
    lines = unread(evaluate(table, vague, "vlmevalkit"))
    assert len(lines) == len(said)
    letters = asyncio.run(match(lines, ScriptedClient(said), "vlmevalkit"))
    for line, reply in zip(lines, said, strict=True):
        theirs = can_infer(reply, dict(line.row.options))
        ours = letters[line.row.index]
        assert (ours or "Z") == (theirs or "Z"), reply


def test_several_right_answers_are_evaluated_as_the_kit_does(
    tmp_path: Any,
) -> None:
    path = clone("VLMEvalKit") / "vlmeval/dataset/image_mcq.py"
    tree = ast.parse(path.read_text("utf-8"))
    (xlrs,) = (
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == "XLRSBench"
    )
    own = tmp_path / "xlrs.py"
    own.write_text(ast.unparse(xlrs), "utf-8")
    characters = functions_of(own, ["extract_characters_regex"], re=re)
    is_match = functions_of(path, ["is_match"])["is_match"]
    rng = rng_for(SEED, "lists")
    rows = [
        row(1, answer="AC"),
        row(2, answer="['C', 'A']"),
        row(3, answer="['B']"),
    ]
    table = read_table(write(tmp_path / "t.tsv", rows))
    letters, several, one = table.rows
    for reply in replies(300):
        theirs = set(characters["extract_characters_regex"](reply))
        read = reading_of(reply, letters, "vlmevalkit").letter
        assert set(read or "") == theirs, reply
    for _ in range(100):
        reply = str(rng.choice(list("ABC"), rng.integers(1, 4)).tolist())
        for line in (several, one):
            cells = {"answer": line.cells["answer"], "prediction": reply}
            read = reading_of(reply, line, "vlmevalkit").letter
            assert (read == line.answer) == is_match(None, cells), reply


def test_images_in_a_list_are_those_that_the_kit_reads(tmp_path: Any) -> None:
    path = clone("VLMEvalKit") / "vlmeval/smp/misc.py"
    toliststr = functions_of(path, ["toliststr"])["toliststr"]
    cells = [image(), str([image(), image((20, 200, 30))])]
    rows = [row(k, image=cell) for k, cell in enumerate(cells)]
    table = read_table(write(tmp_path / "t.tsv", rows))
    for cell, line in zip(cells, table.rows, strict=True):
        ours = [part.base64.decode() for part in image_parts(table, line)]
        assert ours == toliststr(cell)
