"""Warm-up: the calls until a program's times have no trend, and the calls of a sample.

A program's first calls are slower: memory is new, caches and branch predictors are cold, threads
start, the clock of the CPU rises. Calls are timed in batches; the program is warm if the later half
of them has no trend in three checks in a row. The test uses ranks (Mann, "Nonparametric tests
against trend", Econometrica 13, 1945; Kendall, "Rank correlation methods", 1975), so that spikes
and bimodal times are not a trend, and a step, for example of the clock, is one.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Clock = Callable[[], float]

#: The least duration of a sample, if a call is shorter: ten thousand times the duration of reading
#: the clock, and long compared with the microseconds of a context switch.
SAMPLE_SECONDS = 1e-3
_WINDOW = 12  # batches: with fewer, the test cannot separate a trend from noise
_LOOKS = 3  # checks in a row without a trend, and batches between checks
_MAX = 40  # batches that are compared, each with each
_SIGNIFICANT = 1.96  # standard deviations: 5 % of steady programs seem not to be steady
_SMALL = 0.01  # a trend that changes the times by less than this is ignored
_GROWTH = 8  # the largest growth of a batch


@dataclass(frozen=True)
class WarmUp:
    """The result of a warm-up: its `seconds` and `calls`, and the `batch` of calls for a sample.

    `steady` is True if the last check found no trend, and None if the time was too short for a
    check. `call` is the seconds of a call in the last batch.
    """

    seconds: float
    calls: int
    steady: bool | None
    batch: int
    call: float


def warm_up(
    timed: Callable[[int], float], time_limit: float, clock: Clock = time.perf_counter
) -> WarmUp:
    """Call a program until it is warm or time is up; `timed(calls)` returns the seconds of calls.

    At least one batch is timed, however long it lasts.

    >>> warm_up(lambda calls: 1e-5 * calls, time_limit=1).batch >= 100
    True
    """
    start = clock()
    batch, calls = 1, 0
    batches: list[float] = []
    still = 0
    while True:
        total = timed(batch)
        calls += batch
        batches.append(total / batch)
        if total < SAMPLE_SECONDS:  # batches of another size are not comparable
            wanted = SAMPLE_SECONDS / max(total, 1e-9)
            batch, batches = math.ceil(batch * min(max(wanted, 1.1), _GROWTH)), []
        elif len(batches) >= _WINDOW and len(batches) % _LOOKS == 0:
            is_still = trend(batches[-max(_WINDOW, len(batches) // 2) :]) == 0
            still = still + 1 if is_still else 0
        if still == _LOOKS or clock() - start >= time_limit:
            looked = len(batches) >= _WINDOW
            steady = still > 0 if looked else None
            return WarmUp(clock() - start, calls, steady, batch, total / batch)


def trend(values: Sequence[float]) -> float:
    """Return the change of the values from first to last, relative to their median; 0 for noise.

    >>> trend([1.0, 1.1, 0.9, 1.05] * 5)
    0.0
    >>> round(trend([2.0 - 0.05 * i for i in range(20)]), 1)
    -0.6
    """
    values = _thinned(values)
    count, middle = len(values), statistics.median(values)
    pairs = list(itertools.combinations(range(count), 2))
    score = sum((values[j] > values[i]) - (values[j] < values[i]) for i, j in pairs)
    ties = (n for n in Counter(values).values() if n > 1)
    spread = count * (count - 1) * (2 * count + 5) - sum(n * (n - 1) * (2 * n + 5) for n in ties)
    if spread <= 0 or middle <= 0 or (abs(score) - 1) / math.sqrt(spread / 18) <= _SIGNIFICANT:
        return 0.0
    # the slope of Theil and Sen: the median of the slopes between any two values
    slope = statistics.median((values[j] - values[i]) / (j - i) for i, j in pairs)
    if slope == 0:  # most are equal, except those at the ends
        slope = (statistics.mean(values[count // 2 :]) - statistics.mean(values[: count // 2])) / (
            count / 2
        )
    change = slope * (count - 1) / middle
    return change if abs(change) >= _SMALL else 0.0


def drift(samples: Sequence[float]) -> float:
    """Return the trend of the samples; 0 if there are too few for the test."""
    return trend(samples) if len(samples) >= _WINDOW else 0.0


def _thinned(values: Sequence[float]) -> Sequence[float]:
    """Return the medians of groups of neighbours, at most `_MAX` of them."""
    step = math.ceil(len(values) / _MAX)
    if step == 1:
        return values
    return [statistics.median(values[i : i + step]) for i in range(0, len(values), step)]
