"""The metrics of all prediction types; the first metric of a type is its default. The
formulas are in ``vision/<type>/score.py``; ``score.py`` calls them.
"""

from visualjudge.core.registry import Registry
from visualjudge.vision.built_in_types import BUILT_IN
from visualjudge.vision.rows import Metric

METRICS: Registry[tuple[str, str], Metric] = Registry(
    "metric",
    {(row.type, row.name): row for kind in BUILT_IN for row in kind.metrics},
    home=f"{__name__}:METRICS",
)


def metrics_of(kind: str) -> dict[str, Metric]:
    """Return the metrics of a prediction type by name, the default first."""
    return {name: row for (of, name), row in METRICS.items() if of == kind}
