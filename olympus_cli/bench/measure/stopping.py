"""The end of sampling: the interval of the median is narrow enough, or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Literal

from olympus_cli.bench.statistics import summarize

MIN_SAMPLES = 12  # with fewer, the interval of the median is nearly the range of all samples
MAX_SAMPLES = 1000

Reason = Literal["precision", "time limit", "samples"]


class Stopping:
    """The samples so far, and the decision whether they are enough; the clock starts now.

    `precision` is half the interval's width relative to the median; `time_limit` is in seconds. At
    least one sample is requested, however long it lasts; another one only if it ends in time,
    assuming the duration of the last one.
    """

    def __init__(
        self, precision: float, time_limit: float, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._precision, self._clock = precision, clock
        self._since = clock()
        self._until = self._since + time_limit
        self._last = 0.0  # seconds of the last sample
        self._next_look = MIN_SAMPLES
        self.samples: list[float] = []

    def add(self, seconds: float) -> None:
        """Add a sample."""
        self.samples.append(seconds)
        self._last, self._since = self._clock() - self._since, self._clock()

    def reason(self) -> Reason | None:
        """Return the reason why no more samples are needed; None if more are needed."""
        count = len(self.samples)
        if count >= self._next_look:
            precision = summarize(self.samples).precision
            if precision is not None and precision <= self._precision:
                return "precision"
            self._next_look = count + max(1, count // 4)  # a check sorts, which takes time
        if count >= MAX_SAMPLES:
            return "samples"
        return "time limit" if count and self._clock() + self._last > self._until else None


def repetitions(
    time_limit: float,
    last: Callable[[], float],
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[None]:
    """Yield while one more repetition, of `last()` seconds, ends within `time_limit` seconds.

    >>> len(list(repetitions(0, lambda: 1.0)))
    0
    """
    until = clock() + time_limit
    while clock() + last() <= until:
        yield
