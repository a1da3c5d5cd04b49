"""Ask people the pairs of a dataset in Argilla, and read their answers as a run.

ARGILLA_API_URL=… ARGILLA_API_KEY=… python examples/connectors/argilla_pairs.py ask DATASET NAME
ARGILLA_API_URL=… ARGILLA_API_KEY=… python examples/connectors/argilla_pairs.py read DATASET NAME
RUN
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import argilla as rg

import visualjudge as vj
from visualjudge.apps.connectors.annotating import argilla_answers, argilla_dataset, people_run


def ask(client: rg.Argilla, dataset: str, name: str) -> None:
    """Create the Argilla dataset and log a record a pair."""
    settings, records = argilla_dataset(vj.load_dataset(dataset).filter(question_type="pairwise"))
    made = rg.Dataset(name, settings=settings, client=client)
    made.create()
    made.records.log(records)


def read(client: rg.Argilla, dataset: str, name: str, run: str) -> None:
    """Write the answers as a run."""
    pairs = vj.load_dataset(dataset).filter(question_type="pairwise")
    with TemporaryDirectory() as scratch:
        client.datasets(name).records.to_json(path := Path(scratch, "records.json"))
        print(people_run(pairs, argilla_answers(path), run))


if __name__ == "__main__":
    connected = rg.Argilla(
        api_url=os.environ["ARGILLA_API_URL"], api_key=os.environ["ARGILLA_API_KEY"]
    )
    {"ask": ask, "read": read}[sys.argv[1]](connected, *sys.argv[2:])
