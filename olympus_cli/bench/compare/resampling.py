"""The interval of a ratio of two measurements, by resampling the processes that measured them.

Processes of one program differ by more than their samples show: they have other memory addresses,
and threads start on other processors. Samples that are neighbours in time are correlated. Therefore
each process counts as one value, the median of its samples, and the bootstrap draws processes, not
samples within them (Davison and Hinkley, Bootstrap Methods and their Application, 1997, 3.8). The
percentiles of so few values give an interval that is too narrow, which Student's t corrects
(Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69, 2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

#: The samples of each process.
Rounds = Sequence[Sequence[float]]

_Array = NDArray[np.float64]

_SEED = 20180701  # fixed: the same samples always have the same interval
_MAX = 700.0  # a limit of a ratio's logarithm: its exponential is finite
_RESAMPLES = 10_000  # a tail of 1 in 1000 still has 10 of them


@dataclass(frozen=True)
class Interval:
    """A ratio, and its interval from `low` to `high`."""

    ratio: float
    low: float
    high: float

    def widened(self, longer: float, shorter: float) -> Interval:
        """Return the interval of a ratio whose true value is 1 / `longer` to 1 / `shorter` of it.

        >>> Interval(4.0, 2.0, 8.0).widened(2.0, 0.5)
        Interval(ratio=4.0, low=1.0, high=16.0)
        """
        low, high = math.log(self.low) - math.log(longer), math.log(self.high) - math.log(shorter)
        return Interval(self.ratio, _bounded_exp(low), _bounded_exp(high))


def ratio_interval(
    ours: Rounds, theirs: Rounds, *, paired: bool, tail: float, between: float = 0.0
) -> Interval:
    """Return the ratio ours / theirs with its interval; `tail` is the probability beyond each end.

    Each side has the samples of two or more processes, all positive. If they are `paired`, sample i
    of process r of one side ran next to sample i of process r of the other: the ratio is the median
    of a process's ratios of pairs, averaged over the processes. Otherwise it is the ratio of the
    medians of the processes, averaged on each side. Averages are geometric. With a `tail` of 0.025
    the interval has 95 % confidence.

    `between` is the standard deviation of the ratio's logarithm that all processes of a side share,
    so that the samples do not show it. It is normal, and independent of the differences between
    processes.

    Raises:
        ValueError: paired sides differ in processes or samples, or a side has fewer than two
            processes.

    >>> same = [[1.0, 1.1], [1.1, 1.0], [1.0, 1.1]]
    >>> ratio_interval([[2.0, 2.2], [2.2, 2.0], [2.0, 2.2]], same, paired=True, tail=0.025).ratio
    2.0
    """
    if min(len(ours), len(theirs)) < 2:
        raise ValueError("an interval needs two processes of each side")
    random = np.random.default_rng(_SEED)
    if paired:
        pairs = zip(ours, theirs, strict=True)
        center, drawn = _resampled([_log(a) - _log(b) for a, b in pairs], random)
    else:
        center, drawn = _resampled([_log(samples) for samples in ours], random)
        other_center, other_drawn = _resampled([_log(samples) for samples in theirs], random)
        center, drawn = center - other_center, drawn - other_drawn
    low, high = np.quantile(drawn, (tail, 1 - tail)) - center
    wider = _expansion(min(len(ours), len(theirs)), tail)
    # the percentiles of few values may exclude the estimate
    shared = -NormalDist().inv_cdf(tail) * between
    below, above = (math.hypot(wider * bound, shared) for bound in (min(low, 0.0), max(high, 0.0)))
    ends = center - below, center + above
    return Interval(*map(_bounded_exp, (center, *ends)))


def levels(ours: Rounds, theirs: Rounds, *, paired: bool) -> tuple[float, float]:
    """Return the values of both sides, in their unit; their quotient is `ratio_interval`'s ratio.

    For stored sides, each is the geometric mean of its processes' medians. For pairs, only the
    ratio is unaffected by disturbances of both sides: half of its logarithm is added to their
    common level, and half subtracted. This level is the geometric mean of the processes' medians of
    sqrt(a b).

    Raises:
        ValueError: paired sides differ in processes or samples.

    >>> now, before = levels([[4.0, 8.0, 80.0]] * 2, [[1.0, 2.0, 20.0]] * 2, paired=True)
    >>> round(now, 6), round(before, 6)
    (8.0, 2.0)
    """
    if not paired:
        one, other = (
            _mean_of_medians([_log(samples) for samples in side]) for side in (ours, theirs)
        )
    else:
        pairs = [(_log(a), _log(b)) for a, b in zip(ours, theirs, strict=True)]
        level = _mean_of_medians([(a + b) / 2 for a, b in pairs])
        half = _mean_of_medians([a - b for a, b in pairs]) / 2
        one, other = level + half, level - half
    return _bounded_exp(one), _bounded_exp(other)


def _mean_of_medians(rounds: Sequence[_Array]) -> float:
    return float(np.mean([np.median(samples) for samples in rounds]))


def _bounded_exp(logarithm: float) -> float:
    return math.exp(min(max(logarithm, -_MAX), _MAX))


def _log(samples: Sequence[float]) -> _Array:
    return np.log(np.asarray(samples, np.float64))


def _resampled(rounds: Sequence[_Array], random: np.random.Generator) -> tuple[float, _Array]:
    """Return the mean of the rounds' medians, and resamples of it."""
    medians = np.array([np.median(samples) for samples in rounds])
    chosen = random.integers(len(medians), size=(_RESAMPLES, len(medians)))
    return float(medians.mean()), medians[chosen].mean(axis=1)


def _expansion(rounds: int, tail: float) -> float:
    """Return the factor that corrects the width of the bootstrap's interval for few rounds.

    Resamples of n values have (n - 1) / n of the variance of the values, and their percentiles are
    those of a normal distribution instead of Student's t with n - 1 degrees of freedom.
    """
    normal = -NormalDist().inv_cdf(tail)
    return math.sqrt(rounds / (rounds - 1)) * student_quantile(tail, rounds - 1) / normal


@cache
def student_quantile(tail: float, degrees: int) -> float:
    """Return the value that Student's t exceeds with probability `tail`, below one half.

    >>> round(student_quantile(0.025, 4), 3)
    2.776
    """
    low, high = 0.0, 1.0
    while _exceeds(high, degrees) > tail:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _exceeds(middle, degrees) > tail else (low, middle)
    return high


def _exceeds(value: float, degrees: int) -> float:
    """Return P(t > value), by the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(value / math.sqrt(degrees))
    cosine = math.cos(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = 0.0
    for power in range(3 if odd else 2, degrees + 1, 2):
        total += term
        term *= cosine**2 * (power - 1) / power
    within = math.sin(angle) * total
    if odd:
        within = 2 / math.pi * (angle + within)
    return (1 - within) / 2
