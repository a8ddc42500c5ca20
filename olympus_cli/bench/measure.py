"""Repeating a call until its time is known well enough.

The clock is a parameter so that the loop itself can be tested without one.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from olympus_cli.bench.statistics import Summary, summarize

__all__ = ["Clock", "Samples", "measure"]

Clock = Callable[[], float]

SHORT_CALL = 50e-6  # seconds: below this the clock itself would show in the numbers
MIN_SAMPLES = 6  # the fewest that have a 95 % interval of the median
MAX_SAMPLES = 4096
WARM_UP_SHARE = 0.1  # of the time limit,
WARM_UP_MOST = 1.0  # and no more seconds than this


@dataclass(frozen=True)
class Samples:
    """Seconds of one call; each sample is the mean of `batch` calls made in a row."""

    batch: int
    seconds: list[float] = field(default_factory=list)

    @property
    def summary(self) -> Summary:
        return summarize(self.seconds)


def measure(
    call: Callable[[], object],
    *,
    precision: float,
    time_limit: float,
    clock: Clock = time.perf_counter,
) -> Samples:
    """Time `call` until the interval of its median is within `precision` or time is up.

    `precision` is half the interval's width relative to the median (0.02 is 2 %); `time_limit` is
    in seconds and counts the warm-up.  At least one sample is taken, however long it lasts.

    >>> measure(lambda: None, precision=0.1, time_limit=0.01).batch > 1
    True
    """
    start = clock()
    single = _warm_up(call, start + min(time_limit * WARM_UP_SHARE, WARM_UP_MOST), clock)
    batch = max(1, math.ceil(SHORT_CALL / max(single, 1e-9)))
    samples = Samples(batch)
    next_look = MIN_SAMPLES
    with _no_collector():
        while not samples.seconds or clock() - start < time_limit:
            samples.seconds.append(_time(call, batch, clock))
            count = len(samples.seconds)
            if count >= next_look:
                if count >= MAX_SAMPLES or _tight(samples.summary, precision):
                    break
                next_look = count + max(1, count // 4)  # a look sorts: it costs time itself
    return samples


def _warm_up(call: Callable[[], object], until: float, clock: Clock) -> float:
    """Call at least once and until the clock says `until`; the fastest call's seconds."""
    fastest = math.inf
    while True:
        fastest = min(fastest, _time(call, 1, clock))
        if clock() >= until:
            return fastest


def _time(call: Callable[[], object], batch: int, clock: Clock) -> float:
    begin = clock()
    for _ in range(batch):
        call()
    return (clock() - begin) / batch


def _tight(summary: Summary, precision: float) -> bool:
    return summary.precision is not None and summary.precision <= precision


@contextmanager
def _no_collector() -> Iterator[None]:
    """Keep Python's garbage collector out of the samples."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
