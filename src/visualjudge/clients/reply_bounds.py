"""Size limits on server replies, documented in docs/security.md."""

from __future__ import annotations

from visualjudge.core.untrusted import BOUNDS

# Maximum size of a decompressed reply body in bytes.
LARGEST_BODY = BOUNDS["body"].size
# Maximum number of objects and arrays in it, each of which takes far more memory than its bytes.
MOST_VALUES = BOUNDS["body"].items
# Maximum length of a reply's text in characters. One more shows that it was cut: it is not read.
LONGEST_REPLY = BOUNDS["reply"].size
# Maximum size of a file of batch replies in bytes.
LARGEST_DOWNLOAD = 2**30
# Maximum length of a batch's status or failure cause in characters.
LONGEST_WORD = 60
# Maximum number of pages in a server's list of batches.
MOST_PAGES = 1_000
# Token counts above this are invalid.
MOST_TOKENS = 10**12
# Maximum length of a server's error message in characters; the rest is dropped.
LONGEST_MESSAGE = 400
# Number of bytes of an error body that are searched for a message.
LONGEST_SEARCHED = 64 * 1024
# Number of levels of an error object that are searched for a message.
DEEPEST_ERROR = 8
# Maximum size in bytes of an image file that is sent or downloaded.
LARGEST_IMAGE_FILE = 64 * 2**20
