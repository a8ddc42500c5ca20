"""Order statistics. In: samples in any unit. Out: medians with their quartiles.

Medians and quartiles, not means and deviations: on a shared machine the noise is one-sided and
has a long tail, which a mean follows and a median does not.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """The middle half of some samples: `low` and `high` are the first and third quartiles."""

    low: float
    median: float
    high: float
    count: int


def summarize(samples: Sequence[float]) -> Summary:
    """The quartiles of `samples`, in their unit, interpolated linearly as NumPy does.

    Raises ValueError when there are no samples.

    >>> summarize([4.0, 1.0, 2.0, 3.0, 5.0])
    Summary(low=2.0, median=3.0, high=4.0, count=5)
    """
    if not samples:
        raise ValueError("a summary needs at least one sample, got none")
    if len(samples) == 1:
        return Summary(samples[0], samples[0], samples[0], 1)
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Summary(low, median, high, len(samples))


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Summary:
    """The quartiles of ours[i] / theirs[i], where sample i of each side ran next to the other.

    A pair shares the machine's load and clock of its moment, so what drifts over a run cancels.
    Raises ValueError when the two sides have different numbers of samples.

    >>> paired_ratio([1.0, 4.0], [2.0, 8.0]).median
    0.5
    """
    if len(ours) != len(theirs):
        raise ValueError(f"pairs need as many samples of each, got {len(ours)} and {len(theirs)}")
    return summarize([a / b for a, b in zip(ours, theirs, strict=True)])
