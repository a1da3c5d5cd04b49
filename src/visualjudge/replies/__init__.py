"""READ: the only readers of a judge's replies. They never guess: an unreadable reply is
a failure with a cause.
"""

from visualjudge.replies.reply_to_value import Reading, read_reply

__all__ = ["Reading", "read_reply"]
