"""Size limits on server replies, documented in docs/security.md."""

from __future__ import annotations

LARGEST_BODY = 32 * 2**20
"""Bytes of a reply's body, decompressed; client option ``largest_reply``."""
LARGEST_DOWNLOAD = 4 * 2**30
"""Bytes of a file of a batch's replies."""
LONGEST_TRANSFER_S = 3600.0
"""Seconds in which a file of a batch goes up or down."""
LONGEST_LINE = 2 * LARGEST_BODY
"""Bytes of a line in a file of a batch's replies; a longer one is skipped."""
LONGEST_WORD = 60
"""Characters of a batch's status or the cause of a failure in it."""
MOST_PAGES = 1_000
"""Pages of a server's list of batches."""
MOST_TOKENS = 10**12
"""A token count above this is not one."""
LONGEST_MESSAGE = 400
"""Characters of a server's error message that are kept."""
LONGEST_SEARCHED = 64 * 1024
"""Bytes of an error body in which a message is looked for."""
DEEPEST_ERROR = 8
"""Levels of an error object in which a message is looked for."""
MOST_REDIRECTS = 3
LARGEST_IMAGE_FILE = 64 * 2**20
"""Bytes of an image file that is sent or fetched."""
