"""All numbers of a people's run, recorded: what raters are sent, what is written of their
answers, and what the person who runs it sees."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from mixed_study import SEED, make_study
from recording import check, lasting
from stored_figures import whole_of
from visualjudge.analysis import analyse
from visualjudge.prompts.rubric import rubric_of
from visualjudge.studio.people.pages import ADMIN, people_app, people_pages
from visualjudge.studio.people.plan import Settings
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

SETTINGS = Settings(
    seed=5,
    overlap=0.8,
    raters_per_question=2,
    repeats=4,
    known=6,
    sample=110,
    practice=3,
    encoding="all",
    rubric=rubric_of("reason").json(),
)
RATERS = ("anna", "ben", "carl")
SECRET = re.compile(r"\b[0-9a-f]{22,32}\b|\d{4}-\d\d-\d\d \d\d:\d\d")


def _answer(question: Any, rng: np.random.Generator) -> dict[str, Any]:
    """An answer that fits: one in twelve cannot tell."""
    letters = [option["letter"] for option in question["options"]]
    values = {
        "pairwise": ("A", "A", "B", *question["ties"]),
        "ranking": ("".join(letters), "".join(reversed(letters))),
        "scoring": (2, 5.5, 8),
    }[question["type"]]
    criteria = {
        own["id"]: own["words"][int(rng.integers(len(own["words"])))]
        for own in question["criteria"]
    }
    return {
        "slot": question["slot"],
        "seconds": round(float(rng.uniform(1, 9)), 3),
        "value": values[int(rng.integers(len(values)))],
        "criteria": criteria,
        "cannot_tell": bool(rng.random() < 1 / 12),
    }


def _public(text: str) -> str:
    """Return a page without the links' tokens, the names of slots and times."""
    return SECRET.sub("", text)


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("people")
    make_study(root)
    site = Site(find_places([root]), root / "cache")
    folder = root / "rated"
    pages = people_pages(site, folder, SETTINGS, RATERS)
    client = TestClient(people_app(pages), base_url="http://127.0.0.1:1")
    sent: dict[str, list[Any]] = {}
    with client:
        for number, rater in enumerate(RATERS):
            headers = {"x-studio-token": pages.tokens.token(rater)}
            rng = np.random.default_rng((SEED, number))
            at = f"/people/{rater}"
            state = client.get(f"{at}/next", headers=headers).json()
            seen = sent.setdefault(rater, [])
            # the last rater stops early
            while state["question"] and len(seen) < 90 - 20 * number:
                seen.append(json.loads(_public(json.dumps(state))))
                body = _answer(state["question"], rng)
                got = client.post(f"{at}/answer", headers=headers, json=body)
                assert got.status_code == 200, got.text
                state = got.json()
            back = client.get(f"{at}/back?steps=3", headers=headers)
            seen.append(json.loads(_public(back.text)))
        overview = client.get(pages.link(ADMIN)).text
    pages.run.close()
    return {
        "sent": sent,
        "overview": _public(overview).splitlines(),
        "folder": folder,
        "dataset": root / "ds",
    }


def test_what_people_see(rated: dict[str, Any]) -> None:
    check(
        "people_pages",
        {
            **rated["sent"],
            "overview": rated["overview"],
        },
        depth=1,
    )


def test_what_is_written_of_people(rated: dict[str, Any]) -> None:
    folder: Path = rated["folder"]
    lines = (folder / "verdicts.jsonl").read_text().splitlines()
    verdicts = [json.loads(line) for line in lines]
    written = sorted({name for verdict in verdicts for name in verdict})
    written.remove("answered")  # when
    manifest = lasting(json.loads((folder / "run.json").read_text()))
    report = analyse([folder], dataset=rated["dataset"])
    check(
        "people_run",
        {
            "verdicts": {
                name: [verdict.get(name) for verdict in verdicts]
                for name in written
            },
            "run": {**manifest, "dataset": None},
            "report": lasting(whole_of(report.judges[0])),
        },
        depth=2,
    )
