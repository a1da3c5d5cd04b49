"""The question's own words in a reply. A model that repeats its prompt has said nothing by that."""

from __future__ import annotations

import re

# The sentences that close a question, as the prompts word them; "BCAED" is the example of the ranking prompt.
_INSTRUCTIONS = re.compile(
    r"respond with the ranking as a single string of letters only[^.\n]*\.?"
    r"|rank the predictions from best to worst\.?"
    r"|for example,? [`\"'*]*bcaed[`\"'*]*\.?"
    r"|please answer with (?:a or b|a single score from 0 to 10)(?: only)?\.?"
    r"|score the quality of the prediction from 0 to 10\.?"
    r"|0 = random guessing ?/ ?worst, 10 = best possible\.?",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"<image>", re.IGNORECASE)
_OPTION_AS_JSON = re.compile(
    r"^([ \t]*[A-H]\.)[ \t]*(?=[{\[])", re.MULTILINE
)  # "A. {...}", as text encodings are shown
_PLACEHOLDER = " imageplaceholder "  # a word that no lexicon has, so that "A. <image>" is no bare letter


def without_echo(text: str) -> str:
    """The text after the last instruction of the question that it repeats; all of it where it repeats none."""
    last = max((match.end() for match in _INSTRUCTIONS.finditer(text)), default=0)
    return _OPTION_AS_JSON.sub(rf"\1{_PLACEHOLDER}", _IMAGE.sub(_PLACEHOLDER, text[last:]))
