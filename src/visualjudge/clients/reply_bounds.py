"""Size limits on server replies, documented in docs/security.md."""

from __future__ import annotations

LARGEST_BODY = 32 * 2**20
"""Maximum size of a decompressed reply body in bytes; client option ``largest_reply``."""
LARGEST_DOWNLOAD = 4 * 2**30
"""Maximum size of a file of batch replies in bytes."""
LONGEST_TRANSFER_S = 3600.0
"""Maximum time for the upload or download of a batch file in seconds."""
LONGEST_LINE = 2 * LARGEST_BODY
"""Maximum length of a line of batch replies in bytes; longer lines are skipped."""
LONGEST_WORD = 60
"""Maximum length of a batch's status or failure cause in characters."""
MOST_PAGES = 1_000
"""Maximum number of pages in a server's list of batches."""
MOST_TOKENS = 10**12
"""Token counts above this are invalid."""
LONGEST_MESSAGE = 400
"""Maximum length of a server's error message in characters; the rest is dropped."""
LONGEST_SEARCHED = 64 * 1024
"""Number of bytes of an error body that are searched for a message."""
DEEPEST_ERROR = 8
"""Number of levels of an error object that are searched for a message."""
MOST_REDIRECTS = 3
LARGEST_IMAGE_FILE = 64 * 2**20
"""Maximum size in bytes of an image file that is sent or downloaded."""
