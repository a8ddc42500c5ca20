"""The summary of a list of samples: median, quartiles and an interval of the median.

A `Summary` has the unit of its samples. The interval uses order statistics, so it is valid for
samples of any distribution: timings are skewed and have outliers. On a shared machine the noise is
one-sided and has a long tail, which affects a mean but not a median.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """A summary of samples; `low` and `high` are None if there are too few for an interval."""

    count: int
    median: float
    q1: float
    q3: float
    minimum: float
    low: float | None
    high: float | None

    @property
    def precision(self) -> float | None:
        """Half the interval's width relative to the median; None if it is unknown."""
        if self.low is None or self.high is None or self.median == 0:
            return None
        return (self.high - self.low) / 2 / self.median


@cache
def median_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, int] | None:
    """Return the zero-based ranks of the two sorted samples that bracket the median.

    The median is above `k` or fewer of `n` samples with probability sum(C(n, i), i <= k) / 2^n
    (Conover, Practical Nonparametric Statistics, 3.2). The result is the tightest symmetric pair
    whose tails are within `1 - confidence`, or None if even the extremes are not, as for n < 6 at
    95 %.

    >>> median_ranks(5) is None
    True
    >>> median_ranks(10)
    (1, 8)
    """
    tail = (1 - confidence) / 2
    scale = 2**count
    term, below, rank = 1, 0, -1
    while rank + 1 < count / 2 and (below + term) / scale <= tail:
        below += term
        rank += 1
        term = term * (count - rank) // (rank + 1)
    return None if rank < 0 else (rank, count - 1 - rank)


def summarize(samples: Sequence[float]) -> Summary:
    """Return the summary of at least one sample; quartiles interpolate between neighbours.

    >>> summarize([3.0, 1.0, 2.0]).median
    2.0
    """
    ordered = sorted(samples)
    if len(ordered) == 1:
        only = ordered[0]
        return Summary(1, only, only, only, only, None, None)
    q1, median, q3 = statistics.quantiles(ordered, n=4, method="inclusive")
    ranks = median_ranks(len(ordered))
    low, high = (None, None) if ranks is None else (ordered[ranks[0]], ordered[ranks[1]])
    return Summary(len(ordered), median, q1, q3, ordered[0], low, high)
