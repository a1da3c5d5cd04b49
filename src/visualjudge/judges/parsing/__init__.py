"""Reading a judge's reply without guessing.

:func:`read_reply` gives the value that a reply states, or why there is none. ``lexicon`` holds the words, ``tokens``
the lexer, ``markup`` what surrounds answers (thoughts, boxes, JSON), ``grammar``, ``kinds``, ``scores`` and
``rankings`` the productions, ``refusals`` the sentences that decline.
"""

from visualjudge.judges.parsing.reading import Reading, read_reply

__all__ = ["Reading", "read_reply"]
