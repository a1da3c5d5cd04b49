"""Write docs/findings.md and the table of README.md from docs/findings.json."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from visualjudge.core.atomic import write_bytes

Json = Mapping[str, Any]
BEGIN, END = "<!-- judges -->", "<!-- end of judges -->"
BLOCK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
USE = {"yes": "yes", "in_part": "part", "no": "no", "too_few": "open"}
BEST_OF_A_SET = 3
"""New judges of each set in README."""
OLDER = 2024
"""Year of the models up to which only the best are shown."""
GITHUB = "https://github.com/"
HEAD = """# Findings

What public verdicts of vision-language models say when they are measured with the image, the
video, the prompt of OpenING, or the item as the unit (where files name no image, each item counts as
its own, and intervals may be too narrow): verdicts that others published, read from their
repositories; no model was asked here. Each
finding was tried in other ways before it was written down.
"""
AGAIN = """## Make it again

Clone the repositories above into one folder, at the commits above, then:

```text
python tools/atlas.py CLONES                     # this page, README's table, docs/findings.json
python tools/atlas.py CLONES --tables tables     # the rows of each set, for the commands above
```

Two runs give the same bytes. A set whose clone is missing keeps its figures.
`tests/docs/test_findings.py` computes the figure of each finding again with pandas. Left out:
UIJudgeBench and ImagenWorld (labels and replies are larger than could be read), MMRB2 (its
replies are samples of the format).
"""


def write_pages(root: Path, document: Json) -> Iterator[Path]:
    """Write both; yield their paths."""
    page = root / "docs/findings.md"
    write_bytes(page, findings_page(document).encode())
    yield page
    readme = root / "README.md"
    made = block(document["rows"])
    text = readme.read_text("utf-8")
    write_bytes(readme, BLOCK.sub(lambda _: made, text, count=1).encode())
    yield readme


def findings_page(document: Json) -> str:
    """The page of findings."""
    parts = [HEAD]
    for number, found in enumerate(document["findings"], 1):
        parts.append(finding(number, found))
    rows = document["rows"]
    parts += [
        "## Judges",
        "ρ (Spearman’s) of scores with people’s, or the share of pairs that are "
        "decided as people decide them, ties being an answer; 95 % intervals by image. "
        "*Lean*: mean difference from people in points of the scale, or the preference "
        "for the option shown first in percentage points. *Use?*: [may I use its "
        "scores](scores.md), or [may I rank models with it](decide.md): `part` is in "
        "part, `open` is not decided. *Year*: of the model. All judges of 2025 or "
        "later, and the best of each set of older ones; [findings.json](findings.json) "
        f"has all {len(rows)} rows.",
        table(chosen(rows), COLUMNS),
        "## Figures of the sources",
        published(document["published"]),
        "## Sources",
        sources(document["sources"]),
        AGAIN,
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def finding(number: int, found: Json) -> str:
    """A finding, with what is behind it."""
    ends = (
        f" ({figure(found['low'])} to {figure(found['high'])})"
        if found["low"] is not None
        else ""
    )
    title, rest = found["sentence"].split(": ", 1)
    return "\n\n".join(
        (
            f"## {number}. {title}",
            rest[0].upper() + rest[1:],
            "\n".join(
                (
                    f"- Figure: {found['figure']}, {figure(found['value'])}{ends}; "
                    f"{found['n']:,} cases.",
                    f"- Tried: {'; '.join(found['tried'])}.",
                    f"- What would change it: {found['changes']}",
                    f"- Command: `{found['command']}`",
                )
            ),
        )
    )


def figure(value: float) -> str:
    """A figure with two decimals, one from 1 on."""
    shown = f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"
    return shown.replace("-", "−")


def share(row: Json, name: str) -> str:
    """A value of a row as its figure is shown: .31 of ρ, 52 of a percentage."""
    value = row[name]
    if value is None:
        return "–"
    if row["figure"] == "%":
        return f"{100 * value:.0f}"
    return f"{value:.2f}".replace("-", "−").replace("0.", ".", 1)


def agree(row: Json) -> str:
    """The figure of a judge."""
    value = share(row, "value")
    return f"{value} %" if row["figure"] == "%" else f"ρ {value}"


def lean(row: Json) -> str:
    """The bias of a judge."""
    if row["bias"] is None:
        return "–"
    shown = round(row["bias"], 1)
    return f"{shown:+.1f}".replace("-", "−") if shown else "0.0"


SHORT = {
    "Judge": lambda row: row["judge"],
    "Year": lambda row: str(row["year"]),
    "Asked about": lambda row: row["shown"],
    "As people": agree,
    "95 %": lambda row: f"{share(row, 'low')}–{share(row, 'high')}",
    "Use?": lambda row: USE[row["use"]],
}
COLUMNS = {
    **SHORT,
    "Cases": lambda row: f"{row['n']:,}",
    "Images": lambda row: f"{row['images']:,}",
    "Lean": lean,
    "Unread": lambda row: f"{100 * row['unread']:.0f} %",
}


def table(rows: Sequence[Json], columns: Mapping[str, Any]) -> str:
    """A table in Markdown, padded so that it is one in a terminal too."""
    cells = [
        list(columns),
        *([cell(row) for cell in columns.values()] for row in rows),
    ]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(
        f"|{'|'.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))}|"
        for line in cells
    )


def chosen(rows: Sequence[Json], most: int | None = None) -> list[Json]:
    """Rows that pages show, the newest first: all judges of models of 2025 or later, or
    the best ``most`` of each set; of older ones of each set, the best two of 2024, else
    the best one.
    """
    out = []
    for _, own in groupby(rows, key=lambda row: row["set"]):
        ranked = sorted(own, key=lambda row: -(row["value"] or 0))
        out += [row for row in ranked if row["year"] > OLDER][:most]
        recent = [row for row in ranked if row["year"] == OLDER]
        old = [row for row in ranked if row["year"] < OLDER]
        out += recent[:2] or old[:1]
    return sorted(out, key=lambda row: -row["year"])


def block(rows: Sequence[Json]) -> str:
    """README's table."""
    return "\n".join([BEGIN, table(chosen(rows, BEST_OF_A_SET), SHORT), END])


def published(rows: Sequence[Json]) -> str:
    """How many published figures are reproduced, and each that is not."""
    lines = ["| Set | Figures | Equal | Where |", "|---|---|---|---|"]
    differing = []
    for name, own in groupby(rows, key=lambda row: row["set"]):
        of_set = list(own)
        equal = [row for row in of_set if same(row)]
        differing += [row for row in of_set if not same(row)]
        places = ", ".join(
            f"`{place}`"
            for place in dict.fromkeys(row["place"] for row in of_set)
        )
        lines.append(f"| {name} | {len(of_set)} | {len(equal)} | {places} |")
    text = (
        "Figures that the repositories hold, computed from the same verdicts by the "
        "same rule. The others (T2IScoreScore’s are means over walks of its graphs; "
        "gpt4v-t2i-evals and MLLM-as-a-Judge have none of judges beside people) are "
        "not compared."
    )
    rest = [
        f"- {row['set']}, {row['judge']}, {row['figure']}: "
        f"{row['theirs']:.{row['digits']}f} there, "
        f"{row['ours']:.{row['digits']}f} here: "
        f"{row['why'] or 'the reason is not known'}."
        for row in differing
    ]
    return "\n".join([text, "", *lines, "", *rest])


def same(row: Json) -> bool:
    """Whether ours, rounded as theirs, is the same."""
    return round(row["ours"], row["digits"]) == round(
        row["theirs"], row["digits"]
    )


def sources(rows: Sequence[Json]) -> str:
    """The repositories with their commits and licences."""
    lines = ["| Repository | Commit | Licence |", "|---|---|---|"]
    lines += [
        f"| [{row['repository']}]({GITHUB}{row['repository']}) | {row['commit']} | "
        f"{row['licence']} |"
        for row in rows
    ]
    return "\n".join(lines)
