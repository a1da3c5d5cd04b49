"""Write the first image of README and site, ``docs/first.svg``: a question and the
card's answer.

    python tools/docs_first.py [DEMO] [OUT]

Both come from the study in the demo's folder (``demo-out`` by default), so run ``make
demo`` first.
"""

from __future__ import annotations

import base64
import io
import re
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from PIL import Image

import visualjudge as vj
from visualjudge.core.atomic import write_bytes
from visualjudge.options import Caps

ROOT = Path(__file__).parents[1]
WIDTH, TILE = 760, (245, 184)
"""Of the image, and (width, height) of a photograph or option, in pixels."""
ENCODING, IMAGE = "pixel_s1_m0", "astronaut_024"
SVG = "http://www.w3.org/2000/svg"
TEXT = "font-family='DejaVu Sans, Verdana, sans-serif' fill='#111'"


def main(demo: str = "demo-out", out: str = "docs/first.svg") -> None:
    """Build the questions again, ask the simulated judge of README, and draw both."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        caps = Caps(judge_groups=100, judge_pairs=100)
        tasks = ["object_detection"]
        dataset = vj.build(
            f"{demo}/study/data", place / "dataset", tasks=tasks, caps=caps
        )
        judge = vj.client("baseline", model="oracle:0.97")
        run = vj.judge(
            dataset, judge, place / "judge", swap=True, progress=False
        )
        vj.analyse([run]).plot.ranking().save(place / "ranking.svg")
        ranking = (place / "ranking.svg").read_text("utf-8")
        question = next(
            one
            for one in dataset.filter(question_type="pairwise")
            if (one.encoding, one.image_id) == (ENCODING, IMAGE)
        )
        tiles = [_tile(place / "dataset" / name) for name in question.images]
        answer = vj.card([run]).judges[0].answer.sentence.partition(";")[0]
    scores = zip("AB", question.final_scores, strict=True)
    told = ", ".join(f"{letter} {score:.1f}" for letter, score in scores)
    asked = "A question to the judge: which prediction is better, A or B?"
    known = f"What it does not see: the scores against the ground truth, {told} of 10."
    ranked = "After 100 images: may four detectors be ranked with this judge?"
    top = 60 + TILE[1]
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {top + 316}'>",
        f"<rect width='{WIDTH}' height='{top + 316}' fill='#fff'/>",
        f"<text x='4' y='22' font-size='15' {TEXT}>{asked}</text>",
        *(_option(n, tile) for n, tile in enumerate(tiles)),
        f"<text x='4' y='{top + 6}' font-size='13' {TEXT}>{known}</text>",
        f"<text x='4' y='{top + 46}' font-size='15' {TEXT}>{ranked}</text>",
        f"<text x='4' y='{top + 68}' font-size='15' font-weight='bold' {TEXT}>"
        f"{answer}.</text>",
        f"<g transform='translate(4 {top + 82}) scale(1.4)'>{_inlined(ranking)}</g></svg>",
    ]
    write_bytes(ROOT / out, ("\n".join(parts) + "\n").encode())


def _tile(path: Path) -> str:
    """The image at ``path``, cut to a tile, as the address of its bytes."""
    shown = Image.open(path).convert("RGB")
    scale = max(TILE[0] / shown.width, TILE[1] / shown.height)
    shown = shown.resize(
        (round(shown.width * scale), round(shown.height * scale))
    )
    data = io.BytesIO()
    shown.crop((0, 0, *TILE)).save(data, "JPEG", quality=85)
    return (
        f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}"
    )


def _option(number: int, address: str) -> str:
    left = 4 + number * (TILE[0] + 8)
    name = ("Photograph", "A", "B")[number]
    return (
        f"<image x='{left}' y='34' width='{TILE[0]}' height='{TILE[1]}' "
        f"href='{address}'/><rect x='{left}' y='34' width='{16 + 9 * len(name)}' "
        f"height='26' fill='#fff'/><text x='{left + 7}' y='52' font-size='15' "
        f"font-weight='bold' {TEXT}>{name}</text>"
    )


def _inlined(plot: str) -> str:
    """The plot with the rules of its style sheet at each element: converters to PDF and
    PNG read no classes."""
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(plot)
    sheet = root.find(f"{{{SVG}}}style")
    assert sheet is not None and sheet.text is not None
    rules = [
        (selector.split()[-1], declared)
        for selectors, declared in re.findall(r"([^{}]+){([^}]*)}", sheet.text)
        for selector in selectors.split(",")
    ]
    root.remove(sheet)
    for element in root.iter():
        classes = {f".{name}" for name in element.get("class", "").split()}
        kind = element.tag.rpartition("}")[2]
        own = [
            declared
            for selector, declared in rules
            if selector == kind
            or (
                selector[0] == "."
                and {f".{name}" for name in selector[1:].split(".")} <= classes
            )
        ]
        if own:
            element.set("style", ";".join(own))
            element.attrib.pop("class", None)
    return ElementTree.tostring(root, "unicode")


if __name__ == "__main__":
    main(*sys.argv[1:])
