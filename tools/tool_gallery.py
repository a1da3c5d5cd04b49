"""Draw docs/tools.jpg: what the tools of a judge return for one question of the demo.

python tools/tool_gallery.py
"""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

import visualjudge as vj
from visualjudge.apps.demo.data import make_data
from visualjudge.clients.base import ImagePart, TextPart, ToolCall
from visualjudge.judges.base import Ask
from visualjudge.judges.toolbox import ToolBox, Tools
from visualjudge.vision.tools.table import check_names

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs/tools.jpg"
WIDE, HIGH, ACROSS = 330, 250, 4
CALLS = (
    ("object_detection", "zoom", {"image": "original", "x0": 150, "y0": 20, "x1": 290, "y1": 130}),
    ("object_detection", "grid", {"image": "original", "n": 5}),
    ("object_detection", "compare", {"x0": 100, "y0": 20, "x1": 330, "y1": 250}),
    ("object_detection", "difference", {}),
    ("object_detection", "toggle", {"option": "A", "photograph": True}),
    ("object_detection", "toggle", {"option": "A", "photograph": False}),
    ("lowlevel-deblur", "edges", {"image": "A"}),
    ("object_detection", "count", {"option": "A"}),
)


def box_of(task: str, data: Path) -> ToolBox:
    """The tools of the first pair of a task."""
    dataset = vj.build(vj.open_data(data), data.parent / task, tasks=[task], seed=1)
    question = next(
        q for q in dataset.questions if q.question_type == "pairwise" and "text" not in q.encoding
    )
    return Tools(dataset.root, check_names(["all"]), 6).box(Ask(question))


def card(box: ToolBox, name: str, arguments: dict[str, object]) -> Image.Image:
    """A result: its image above its name, arguments and text."""
    result = asyncio.run(box.run(ToolCall("call", name, json.dumps(arguments))))
    made = Image.new("RGB", (WIDE, HIGH + 74), "white")
    for part in result.parts:
        if isinstance(part, ImagePart):
            shown = Image.open(io.BytesIO(part.data)).convert("RGB")
            shown.thumbnail((WIDE - 12, HIGH - 8))
            made.paste(shown, (6, 4))
    text = " ".join(part.text for part in result.parts if isinstance(part, TextPart)).replace(
        "\n", "; "
    )
    pen, font = ImageDraw.Draw(made), ImageFont.load_default(12)
    told = f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"
    lines = [told[:52], *textwrap.wrap(text.replace("×", "x"), 54)[:3]]
    pen.multiline_text((6, HIGH), "\n".join(lines), "black", font=font)
    return made


def main() -> None:
    """Write the image."""
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        tasks = sorted({task for task, _, _ in CALLS})
        list(make_data(data, seed=1, tasks=tasks))
        boxes = {task: box_of(task, data) for task in tasks}
        cards = [card(boxes[task], name, dict(arguments)) for task, name, arguments in CALLS]
    rows = -(-len(cards) // ACROSS)
    page = Image.new("RGB", (ACROSS * WIDE, rows * (HIGH + 74)), "white")
    for k, made in enumerate(cards):
        page.paste(made, (k % ACROSS * WIDE, k // ACROSS * (HIGH + 74)))
    page.save(OUT, quality=82, optimize=True)
    print(f"wrote {OUT}")


if __name__ == "__main__":
    main()
