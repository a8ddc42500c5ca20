"""Warm-up: when the times of a program have no trend any more, and how many calls make a sample.

A program's first calls are slower: memory is new, caches and branch predictors are cold, threads
start, the clock of the CPU rises.  Calls are timed in batches; the program is warm when the later
half of them shows no trend, at three looks in a row.  The test is of ranks (Mann, "Nonparametric
tests against trend", Econometrica 13, 1945; Kendall, "Rank correlation methods", 1975), so that
neither spikes nor times of two kinds look like a trend, and a step, as of a clock, does.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["SAMPLE_SECONDS", "Clock", "WarmUp", "drift", "trend", "warm_up"]

Clock = Callable[[], float]

#: What a sample lasts at least, where a call is shorter: ten thousand times what the clock itself
#: takes, and long beside the microseconds in which the processor is given to somebody else.
SAMPLE_SECONDS = 1e-3
_WINDOW = 12  # batches: of fewer, the test cannot tell a trend from noise
_LOOKS = 3  # in a row that find no trend, and batches from one to the next
_MOST = 40  # batches that are compared, each with each
_SIGNIFICANT = 1.96  # standard deviations: 5 % of steady programs look as if they were not
_SMALL = 0.01  # a trend that changes the times by less than this does no harm
_GROWTH = 8  # how much larger the next batch is at most


@dataclass(frozen=True)
class WarmUp:
    """What the warm-up found: its `seconds` and `calls`, and the `batch` of calls for a sample.

    `steady` is whether it ended because there was no trend any more; None where the time was too
    short to tell.  `call` is the seconds of a call in the last batch.
    """

    seconds: float
    calls: int
    steady: bool | None
    batch: int
    call: float


def warm_up(
    timed: Callable[[int], float], time_limit: float, clock: Clock = time.perf_counter
) -> WarmUp:
    """Call a program, `timed(calls)` giving the seconds of so many, until it is warm or time is up.

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
        if total < SAMPLE_SECONDS:  # those before are of another kind
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
    """By what part of their median the values change from first to last; 0 where that is noise.

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
    # the slope of Theil and Sen: the median of those between any two values
    slope = statistics.median((values[j] - values[i]) / (j - i) for i, j in pairs)
    if slope == 0:  # most are equal, and those at the ends are not
        slope = (statistics.mean(values[count // 2 :]) - statistics.mean(values[: count // 2])) / (
            count / 2
        )
    change = slope * (count - 1) / middle
    return change if abs(change) >= _SMALL else 0.0


def drift(samples: Sequence[float]) -> float:
    """The trend of the samples themselves; 0 where there are too few to tell."""
    return trend(samples) if len(samples) >= _WINDOW else 0.0


def _thinned(values: Sequence[float]) -> Sequence[float]:
    """The medians of so many neighbours that few enough are left."""
    step = math.ceil(len(values) / _MOST)
    if step == 1:
        return values
    return [statistics.median(values[i : i + step]) for i in range(0, len(values), step)]
