"""How much of the truth predictions leave out, which metrics of pixels count as wrong."""

# Smallest share of the truth that is told.
TOLD = 0.05


def unpredicted(what: str, predicted: int, total: int) -> str:
    """Return a sentence if many pixels of the truth have no prediction, else nothing."""
    share = 1 - predicted / max(total, 1)
    return (
        ""
        if share < TOLD
        else f"the predictions have no {what} on {100 * share:.0f} % of the pixels where "
        "the truth has one; each of these counts as wrong"
    )
