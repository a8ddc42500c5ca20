"""Changes of the level of a series of figures.

A counted figure, such as flops, is the same for the same program: each difference is a change. A
measured one has noise, and its changes are found by circular binary segmentation: Olshen,
Venkatraman, Lucito and Wigler, Circular binary segmentation for the analysis of array-based DNA
copy number data, Biostatistics 5(4), 2004. It takes the segment of a series whose mean differs most
from the mean of the rest. The segment may be at an end or, for a regression that is fixed later, in
the middle. A permutation test accepts it if hardly any random order of the same values has a
segment that differs as much. The pieces are then searched in the same way. Before the search, as in
that article, outliers are replaced by the median of their neighbours.

The library ruptures has no test of significance, and requires scipy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.005  # the probability of an accepted segment in a random order of the values
LEAST_EFFECT = 0.01  # of the level before: a smaller change is not reported
MAX_POINTS = 400  # the latest of a longer series; the work is quadratic in their number
_MIN_PIECE = 3  # points on each side: fewer cannot be distinguished from outliers
_ORDERS = 999  # random orders, so that the smallest probability is 0.001
_FIRST_ORDERS = 99  # of them: enough if the probability is then above `_PLAIN`
_PLAIN = 0.1
_FAR = 6.0  # typical differences of neighbours: six standard deviations of normal noise
_ELEMENTS_PER_BATCH = 2_000_000  # numbers in memory at a time

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Changepoint:
    """A change at the value `index`, the first of the new level.

    `before` and `after` are the levels, medians of measured values. `probability` is the
    probability of such a difference by chance; None for a counted figure.
    """

    index: int
    before: float
    after: float
    probability: float | None

    @property
    def ratio(self) -> float | None:
        """The level after the change relative to the one before; None if that is 0."""
        return self.after / self.before if self.before else None


def every_change(values: Sequence[float]) -> list[Changepoint]:
    """Return the changes of a counted figure: each value that differs from the one before.

    >>> [change.index for change in every_change([8, 8, 12, 8])]
    [2, 3]
    """
    pairs = enumerate(pairwise(values), 1)
    return [Changepoint(i, before, after, None) for i, (before, after) in pairs if before != after]


def changepoints(values: Sequence[float]) -> list[Changepoint]:
    """Return the changes of a measured figure, among its latest `MAX_POINTS` values.

    The result is deterministic.

    >>> [change.index for change in changepoints([1.00, 1.01, 0.99, 1.02, 0.98] * 3 + [2.0] * 5)]
    [15]
    """
    skipped = max(0, len(values) - MAX_POINTS)
    series = np.asarray(values[skipped:], dtype=np.float64)
    places = dict(_places(series, 0, np.random.default_rng(0)))
    return [
        Changepoint(place + skipped, before, after, places[place])
        for place, before, after in _large_changes(series, sorted(places))
    ]


def _places(series: Floats, start: int, random: np.random.Generator) -> Iterator[tuple[int, float]]:
    """Yield the places in a piece, which begins at `start`, where the level changes.

    Each has the probability that a random order has a segment that differs as much.
    """
    segment = _segment(series, random)
    if segment is None:
        return
    first, last, probability = segment
    ends = [end for end in (first, last) if 0 < end < len(series)]
    for begin, end in zip([0, *ends], [*ends, len(series)], strict=True):
        if begin:
            yield start + begin, probability
        yield from _places(series[begin:end], start + begin, random)


def _segment(series: Floats, random: np.random.Generator) -> tuple[int, int, float] | None:
    """Return the start and end of the segment that differs from the rest, and its probability.

    The result is None if no segment differs.
    """
    starts, ends = _segments(len(series))
    if not len(starts):
        return None
    smoothed = _without_outliers(series)
    smoothed -= smoothed.mean()
    if not smoothed.any():  # all values are equal
        return None
    lengths = (ends - starts).astype(np.float64)
    weights = 1 / (lengths * (len(series) - lengths))  # 1 / the variance of such a sum
    differences = _differences(smoothed[None, :], starts, ends, weights)[0]
    best = int(differences.argmax())
    largest = float(differences[best])
    probability = _probability(smoothed, (starts, ends, weights), largest, random)
    return (int(starts[best]), int(ends[best]), probability) if probability <= ALPHA else None


def _segments(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the starts and ends of all segments that leave no piece too short."""
    places = np.arange(count + 1)
    starts, ends = (grid.ravel() for grid in np.meshgrid(places, places, indexing="ij"))
    least, rest = _MIN_PIECE, count - ends
    fits = (ends - starts >= least) & (ends - starts <= count - least)
    fits &= ((starts == 0) | (starts >= least)) & ((rest == 0) | (rest >= least))
    fits &= (starts > 0) | (rest > 0)
    return starts[fits], ends[fits]


def _without_outliers(series: Floats) -> Floats:
    """Return the values, with outliers replaced by the median of the five values around them.

    Three values on a new level remain. The threshold is relative to the typical difference of
    neighbours, on which steps have little effect.
    """
    typical = float(np.median(np.abs(np.diff(series))))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(series, 2, mode="reflect"), 5)
    medians = np.median(windows, axis=1)
    is_outlier = (np.abs(series - medians) > _FAR * typical) & (typical > 0)
    smoothed: Floats = np.where(is_outlier, medians, series)
    return smoothed


def _differences(
    orders: Floats, starts: NDArray[np.intp], ends: NDArray[np.intp], weights: Floats
) -> Floats:
    """Return the squared sum of each segment, relative to its variance: a row for each order."""
    sums = np.zeros((len(orders), orders.shape[1] + 1))
    np.cumsum(orders, axis=1, out=sums[:, 1:])
    differences: Floats = (sums[:, ends] - sums[:, starts]) ** 2 * weights
    return differences


def _probability(
    values: Floats,
    segments: tuple[NDArray[np.intp], NDArray[np.intp], Floats],
    largest: float,
    random: np.random.Generator,
) -> float:
    """Return the probability that a random order has a segment that differs by `largest`."""
    per_batch = max(1, min(_FIRST_ORDERS, _ELEMENTS_PER_BATCH // len(segments[0])))
    tried = as_large = 0
    while tried < _ORDERS:
        count = min(per_batch, _ORDERS - tried)
        orders = random.permuted(np.tile(values, (count, 1)), axis=1)
        largest_of_order = _differences(orders, *segments).max(axis=1)
        as_large += int((largest_of_order >= largest * (1 - 1e-12)).sum())
        tried += count
        if tried >= _FIRST_ORDERS and (1 + as_large) / (1 + tried) > _PLAIN:
            break
    return (1 + as_large) / (1 + tried)


def _large_changes(series: Floats, places: Sequence[int]) -> Iterator[tuple[int, float, float]]:
    """Yield the places whose levels differ by `LEAST_EFFECT`, with the levels on both sides.

    The place with the smallest difference is removed and its sides are joined, until all are large.
    """
    remaining = list(places)
    while remaining:
        levels = [float(np.median(series[a:b])) for a, b in pairwise([0, *remaining, len(series)])]
        margins = [
            abs(after - before) - LEAST_EFFECT * abs(before) for before, after in pairwise(levels)
        ]
        smallest = min(range(len(remaining)), key=lambda i: margins[i])
        if margins[smallest] >= 0:
            for place, (before, after) in zip(remaining, pairwise(levels), strict=True):
                yield place, before, after
            return
        del remaining[smallest]
