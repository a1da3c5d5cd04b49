"""How large a report page is, and how long a Chromium takes to open it.

    python benchmarks/page.py report.html other.html

Each page is opened ``--times`` times by a new profile of a headless Chromium; a line
for each page has its size and the median and worst time, from the start of the
navigation to the end of the load event and to the first paint.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

TIMES = """const [page] = performance.getEntriesByType("navigation");
const paint = performance.getEntriesByName("first-contentful-paint")[0];
return page.loadEventEnd && paint ? [page.loadEventEnd, paint.startTime] : null;"""


def opened(page: Path) -> tuple[float, float]:
    """Milliseconds until the page is loaded, and until something is painted."""
    from browsing import Browser

    with TemporaryDirectory() as profile:
        browser = Browser(Path(profile))
        try:
            browser.open(page.resolve().as_uri())
            loaded, painted = browser.until(TIMES)
            return loaded, painted
        finally:
            browser.driver.quit()


def main() -> None:
    """Print a line a page."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument(
        "--times", type=int, default=5, help="How often each page is opened."
    )
    told = parser.parse_args()
    for page in told.pages:
        loaded, painted = zip(
            *(opened(page) for _ in range(told.times)), strict=True
        )
        print(
            f"{page.name}: {page.stat().st_size / 1e6:.2f} MB, loaded in "
            f"{statistics.median(loaded):.0f} ms (worst {max(loaded):.0f}), painted "
            f"after {statistics.median(painted):.0f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
