"""Check the spelling of the pages against an English dictionary and the project's
vocabulary, tools/vocabulary.txt.

    python tools/spelling.py [PAGE ...]

Code blocks, code spans, links and names with digits, underscores or inner capitals are
skipped. Exit status 1 if a word is in neither list, or if the vocabulary holds a word
that no page uses.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from spellchecker import SpellChecker

ROOT = Path(__file__).parents[1]
VOCABULARY = ROOT / "tools/vocabulary.txt"
MADE = {
    "docs/gallery",
    "docs/prompts",
}  # written by commands; the prompts have words of their own
SKIPPED = re.compile(
    r"```.*?```|^---.*?^---|<!--.*?-->|`+[^`]+`+|\]\([^)]*\)|https?://\S+|<[^>]+>|\$[^$\n]+\$",
    re.DOTALL | re.MULTILINE,
)
WORD = re.compile(
    r"(?<![\w.\-/@'’])[A-Za-z][a-z]+(?:['’][a-z]+)?(?![\w/@]|\.\w)"
)


def pages() -> list[Path]:
    """README, CHANGELOG and every page of docs that a person wrote."""
    docs = [
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.parent.relative_to(ROOT).as_posix() not in MADE
    ]
    return [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *sorted(docs),
    ]


def words(page: Path) -> set[str]:
    """The words of a page's prose, in lower case, without a possessive ending."""
    prose = SKIPPED.sub(" ", page.read_text("utf-8"))
    return {
        re.sub(r"['’]s?$", "", found.lower()) for found in WORD.findall(prose)
    }


def main() -> None:
    """Print each unknown word with its page."""
    vocabulary = set(VOCABULARY.read_text("utf-8").split())
    english, used, wrong = SpellChecker(), set(), 0
    for page in [Path(name) for name in sys.argv[1:]] or pages():
        unknown = {word for word in words(page) if word not in english}
        used |= unknown
        for word in sorted(unknown - vocabulary):
            print(f"{page}: {word}", file=sys.stderr)
            wrong += 1
    stale = set() if sys.argv[1:] else vocabulary - used
    for word in sorted(stale):
        print(f"{VOCABULARY}: {word}: no page uses it", file=sys.stderr)
    sys.exit(1 if wrong or stale else 0)


if __name__ == "__main__":
    main()
