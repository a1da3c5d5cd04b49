"""Ask people the pairs of a dataset in Label Studio, and read their answers as a run.

python examples/connectors/label_studio.py ask DATASET FOLDER
python examples/connectors/label_studio.py read DATASET export.json RUN

Make a project with FOLDER/config.xml as its labelling interface, import FOLDER/tasks.json, and
export as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import visualjudge as vj
from visualjudge.apps.connectors.annotating import (
    label_studio_answers,
    label_studio_config,
    label_studio_tasks,
    people_run,
)


def ask(dataset: str, folder: str) -> None:
    """Write config.xml and tasks.json."""
    pairs = vj.load_dataset(dataset).filter(question_type="pairwise")
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, "config.xml").write_text(label_studio_config(pairs))
    Path(folder, "tasks.json").write_text(json.dumps(label_studio_tasks(pairs)))


def read(dataset: str, export: str, run: str) -> None:
    """Write the answers as a run."""
    pairs = vj.load_dataset(dataset).filter(question_type="pairwise")
    print(people_run(pairs, label_studio_answers(export), run))


if __name__ == "__main__":
    {"ask": ask, "read": read}[sys.argv[1]](*sys.argv[2:])
