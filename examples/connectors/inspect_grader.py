"""Score a model's answers about images in Inspect with a grader that sees the images.

pip install 'visualjudge[inspect]' python examples/connectors/inspect_grader.py image.png "What is
on the table?" openai/gpt-4o-mini openai/gpt-4o
"""

from __future__ import annotations

import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText

from visualjudge.apps.connectors.inspect_tasks import graded


def main(image: str, request: str, model: str, grader: str) -> None:
    """Ask the model about one image; print the grade of its answer."""
    asked = ChatMessageUser(content=[ContentText(text=request), ContentImage(image=image)])
    (log,) = eval(Task(dataset=[Sample(input=[asked])], scorer=graded(grader)), model=model)
    print(log.location, log.results)


if __name__ == "__main__":
    main(*sys.argv[1:])
