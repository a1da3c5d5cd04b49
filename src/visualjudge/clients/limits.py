"""How much of a server's reply is read. docs/security.md lists these bounds."""

from __future__ import annotations

LARGEST_BODY = 32 * 2**20
"""Bytes of a reply's body, decompressed; client option ``largest_reply``."""
LARGEST_DOWNLOAD = 4 * 2**30
"""Bytes of a file of a batch's replies."""
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
