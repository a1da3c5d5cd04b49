"""The folder of these tests is importable, for their tables."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
