"""READ: the only readers of a judge's replies. They never guess: an unreadable reply is
a failure with a cause.

``reply_to_value`` reads a reply with the others: ``stripped_text`` removes what
surrounds an answer, ``json_answers``, ``marked_answers`` and ``statements`` find it,
``words`` has their words, ``refusals`` finds what declines, and ``criteria`` reads a
rubric's answers.
"""

from visualjudge.replies.reply_to_value import Reading, read_reply

__all__ = ["Reading", "read_reply"]
