"""Look at the questions of a dataset in FiftyOne, a group a question.

python examples/connectors/fiftyone_view.py DATASET NAME
"""

from __future__ import annotations

import sys

import fiftyone as fo

import visualjudge as vj
from visualjudge.apps.connectors.annotating import fiftyone_samples


def main(dataset: str, name: str) -> None:
    """Make the FiftyOne dataset and open it."""
    made = fo.Dataset(name, persistent=True)
    made.add_group_field("group", default="image_1")
    made.add_samples(fiftyone_samples(vj.load_dataset(dataset)))
    fo.launch_app(made).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
