"""Changes of the level of a series of figures.

A counted figure, such as flops, is the same for the same program: each difference is a change. A
measured one has noise, and its changes are found by circular binary segmentation. It finds the
segment of a series whose mean differs most from that of the rest; the segment may be at an end or,
for a regression that is fixed later, in the middle. It counts if hardly any random order of the
same values has a segment that differs as much. The pieces are then searched in the same way
(Olshen, Venkatraman, Lucito and Wigler, Circular binary segmentation for the analysis of
array-based DNA copy number data, Biostatistics 5(4), 2004). Before the search, a value far from the
median of its neighbours is replaced by that median. After it, a change remains only if the ranks of
its two sides differ too, so that neither outliers nor a long tail cause one.

The library ruptures has no test of significance, and requires scipy.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.01  # the share of series without a change that may seem to have one
LEAST_EFFECT = 0.01  # of the level before: a smaller change is not reported
MOST_POINTS = 400  # the latest of a longer series; the work is quadratic in their number
_SIDES = 0.003  # the same for two sides whose border was chosen because they differ
_LEAST_PIECE = 3  # points on each side: fewer cannot be distinguished from outliers
_ORDERS = 999  # random orders, so that the smallest probability is 0.001
_FIRST_LOOK = 99  # of them: enough if the probability is then above `_PLAIN`
_PLAIN = 0.1
_FAR = 4.0  # typical differences of neighbours: four standard deviations of normal noise
_AT_ONCE = 2_000_000  # numbers in memory at a time

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
    """Return the changes of a measured figure, among its latest `MOST_POINTS` values.

    The result is deterministic.

    >>> [change.index for change in changepoints([1.00, 1.01, 0.99, 1.02, 0.98] * 3 + [2.0] * 5)]
    [15]
    """
    skipped = max(0, len(values) - MOST_POINTS)
    series = np.asarray(values[skipped:], dtype=np.float64)
    places = sorted(_places(series, 0, np.random.default_rng(0)))
    return [
        Changepoint(place + skipped, before, after, probability)
        for place, before, after, probability in _confirmed(series, places)
    ]


def _places(series: Floats, start: int, random: np.random.Generator) -> Iterator[int]:
    """Yield the places in a piece, which begins at `start`, where a level may end."""
    found = _stretch(series, random)
    if found is None:
        return
    ends = [end for end in found if 0 < end < len(series)]
    for first, last in zip([0, *ends], [*ends, len(series)], strict=True):
        if first:
            yield start + first
        yield from _places(series[first:last], start + first, random)


def _stretch(series: Floats, random: np.random.Generator) -> tuple[int, int] | None:
    """Return the start and end of the segment that differs from the rest; None if none does."""
    first, last = _stretches(len(series))
    if not len(first):
        return None
    calm = _without_outliers(series)
    calm -= calm.mean()
    if not calm.any():  # all values are equal
        return None
    lengths = (last - first).astype(np.float64)
    weights = 1 / (lengths * (len(series) - lengths))  # 1 / the variance of such a sum
    seen = _differences(calm[None, :], first, last, weights)[0]
    best = int(seen.argmax())
    if _probability(calm, (first, last, weights), float(seen[best]), random) > ALPHA:
        return None
    return int(first[best]), int(last[best])


def _stretches(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the starts and ends of all segments that leave no piece too short."""
    places = np.arange(count + 1)
    first, last = (each.ravel() for each in np.meshgrid(places, places, indexing="ij"))
    least, rest = _LEAST_PIECE, count - last
    fits = (last - first >= least) & (last - first <= count - least)
    fits &= ((first == 0) | (first >= least)) & ((rest == 0) | (rest >= least))
    fits &= (first > 0) | (rest > 0)
    return first[fits], last[fits]


def _without_outliers(series: Floats) -> Floats:
    """Return the values, with outliers replaced by the median of the five values around them.

    Three values on a new level remain. The threshold is relative to the typical difference of
    neighbours, on which steps have little effect.
    """
    typical = float(np.median(np.abs(np.diff(series))))
    around = np.lib.stride_tricks.sliding_window_view(np.pad(series, 2, mode="reflect"), 5)
    middle = np.median(around, axis=1)
    far = (np.abs(series - middle) > _FAR * typical) & (typical > 0)
    calm: Floats = np.where(far, middle, series)
    return calm


def _ranks(series: Floats) -> Floats:
    """Return the ranks around their mean; equal values have equal ranks."""
    _, place, counts = np.unique(series, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Floats = (ends - (counts - 1) / 2)[place]
    ranks -= ranks.mean()
    return ranks


def _differences(
    orders: Floats, first: NDArray[np.intp], last: NDArray[np.intp], weights: Floats
) -> Floats:
    """Return the squared sum of each segment, relative to its variance: a row for each order."""
    sums = np.zeros((len(orders), orders.shape[1] + 1))
    np.cumsum(orders, axis=1, out=sums[:, 1:])
    found: Floats = (sums[:, last] - sums[:, first]) ** 2 * weights
    return found


def _probability(
    values: Floats,
    stretches: tuple[NDArray[np.intp], NDArray[np.intp], Floats],
    seen: float,
    random: np.random.Generator,
) -> float:
    """Return the probability that a random order has a segment that differs as much as `seen`."""
    at_once = max(1, min(_FIRST_LOOK, _AT_ONCE // len(stretches[0])))
    done = as_much = 0
    while done < _ORDERS:
        many = min(at_once, _ORDERS - done)
        orders = random.permuted(np.tile(values, (many, 1)), axis=1)
        most = _differences(orders, *stretches).max(axis=1)
        as_much += int((most >= seen * (1 - 1e-12)).sum())
        done += many
        if done >= _FIRST_LOOK and (1 + as_much) / (1 + done) > _PLAIN:
            break
    return (1 + as_much) / (1 + done)


def _confirmed(series: Floats, places: Sequence[int]) -> Iterator[tuple[int, float, float, float]]:
    """Yield the places whose two sides differ, with the levels and the difference's probability.

    The least significant place is removed and its sides are joined, until all remaining ones
    differ.
    """
    kept = list(places)
    while kept:
        edges = [0, *kept, len(series)]
        pieces = [series[a:b] for a, b in pairwise(edges)]
        sides = list(pairwise(pieces))
        chances = [_rank_sum(*each) for each in sides]
        worst = max(range(len(kept)), key=lambda i: (_is_small(*sides[i]), chances[i]))
        if chances[worst] <= _SIDES and not _is_small(*sides[worst]):
            for place, (one, other), chance in zip(kept, sides, chances, strict=True):
                yield place, float(np.median(one)), float(np.median(other)), chance
            return
        del kept[worst]


def _is_small(one: Floats, other: Floats) -> bool:
    before, after = float(np.median(one)), float(np.median(other))
    return abs(after - before) < LEAST_EFFECT * abs(before)


def _rank_sum(one: Floats, other: Floats) -> float:
    """Return the probability that samples of one distribution differ as much in their ranks.

    It uses the exact permutation distribution of Wilcoxon's rank sum for small samples, and the
    normal approximation with a continuity correction otherwise.
    """
    ranks = _ranks(np.concatenate([one, other]))
    few = min(len(one), len(other))
    total = len(ranks)
    part = ranks[: len(one)] if len(one) == few else ranks[len(one) :]
    seen = abs(float(part.sum()))
    variance = few * (total - few) / (total * (total - 1)) * float((ranks**2).sum())
    if variance == 0:
        return 1.0
    if few <= 8 and total <= MOST_POINTS:
        return _exact(ranks, few, seen)
    score = max(0.0, seen - 0.5) / variance**0.5
    return 2 * (1 - statistics.NormalDist().cdf(score))


def _exact(ranks: Floats, few: int, seen: float) -> float:
    """Return the probability of a sum of `few` ranks as far from 0 as `seen`, by counting."""
    doubled = np.rint(2 * (ranks - ranks.min())).astype(np.int64)  # integers from 0
    most = int(np.sort(doubled)[-few:].sum())
    ways = np.zeros((few + 1, most + 1))
    ways[0, 0] = 1
    for rank in doubled:
        for size in range(few, 0, -1):
            ways[size, rank:] += ways[size - 1, : most + 1 - rank]
    sums = np.arange(most + 1) / 2 + few * ranks.min()
    far = np.abs(sums) >= seen - 1e-9
    return float(ways[few, far].sum() / ways[few].sum())
