"""An option out of a reply, under the rules asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from visualjudge.mmbench.records import Rules
from visualjudge.mmbench.vlmevalkit import read_vlmevalkit
from visualjudge.replies.letters import ChoiceReading, read_strict

Reader = Callable[[str, Mapping[str, str]], ChoiceReading]
READERS: Mapping[Rules, Reader] = {"strict": read_strict, "vlmevalkit": read_vlmevalkit}


def extract(reply: str, options: Mapping[str, str], rules: Rules = "strict") -> ChoiceReading:
    """The letter of the option that ``reply`` names, or None, and why.

    ``options`` maps letters to texts. ``strict`` reads what is beyond doubt; ``vlmevalkit`` reads what VLMEvalKit's
    heuristics read.
    """
    return READERS[rules](reply, options)
