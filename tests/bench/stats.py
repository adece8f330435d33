"""The few figures that a row consists of."""

from statistics import median


def spread(values):
    """Median, smallest and largest, and how far these two are apart as a share of the median: the noise."""
    middle = median(values)
    return {"median": middle, "min": min(values), "max": max(values),
            "noise": (max(values) - min(values)) / middle if middle else 0.0}


def middle(values):
    """The median of those that are known, or None."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def paired(one, other):
    """The median of one[round] / other[round] over the rounds that both have."""
    ratios = [one[number] / other[number] for number in one if other.get(number)]
    return median(ratios) if ratios else None
