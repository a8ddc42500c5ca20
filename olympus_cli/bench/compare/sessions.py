"""Differences of times between two sessions that other programs and the clock explain.

A stored baseline is from another session. Longer times in the session with more load or a lower
clock are no evidence about the program, as far as load and clock can explain them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any

from olympus_cli.bench.measurement import Measured

_MIN_LEFT = 0.01  # the minimum share of the processors that is left by others
_SHARED = 0.5  # the largest share of a processor that a thread loses to one other thread
_THREADS = 2.0  # a core shared with another program's thread at most doubles the time of both
_MAX = 100.0  # the largest factor of one cause
_HIGHEST = 1e12  # hertz or processors: the maximum accepted from a file
_SLIGHT = 1.005  # the smallest factor not shown as 1.00


@dataclass(frozen=True)
class Session:
    """The state of the machine during measurements; None if unknown.

    `others` is the mean number of processors that other programs took, out of `threads` that the
    process might run on; `limit` is the number of processors that its control group allowed.
    `clock_hz` is in hertz.
    """

    others: float | None = None
    threads: float | None = None
    limit: float | None = None
    clock_hz: float | None = None

    @staticmethod
    def of(rounds: Sequence[Measured]) -> Session:
        """Return the session in which the rounds of a target were measured."""

        def figures(*names: str) -> list[float]:
            """Return the first known figure of `names` for each round, without impossible ones."""
            values = ([measured.conditions.get(name) for name in names] for measured in rounds)
            known = ([x for x in row if isinstance(x, int | float)] for row in values)
            return [float(row[0]) for row in known if row and 0 <= row[0] <= _HIGHEST]

        others = figures("others")
        threads, limits, clocks = (
            [figure for figure in figures(*names) if figure > 0]
            # a processor that has just worked has the clock of the measurement
            for names in (("threads",), ("cpu_limit",), ("clock_hz_after", "clock_hz"))
        )
        return Session(
            mean(others) if others else None,
            min(threads, default=None),
            min(limits, default=None),
            median(clocks) if clocks else None,
        )


@dataclass(frozen=True)
class Skew:
    """The factors by which the times of the session `now` may be longer than those of `before`.

    The times of one program may be up to `longer` times as long now, and down to `shorter` times as
    long; both are 1 if nothing is known. If `waits` is False, times are processor times, which do
    not include waiting.

    >>> Skew(Session(clock_hz=3e9), Session(clock_hz=2e9)).longer
    1.5
    """

    before: Session
    now: Session
    waits: bool = True

    @property
    def longer(self) -> float:
        """The product of the factors that make times longer now, 1 or more."""
        return math.prod(max(factor, 1.0) for factor in self._factors())

    @property
    def shorter(self) -> float:
        """The product of the factors that make times shorter now, 1 or less."""
        return math.prod(min(factor, 1.0) for factor in self._factors())

    def _factors(self) -> tuple[float, ...]:
        before, now = self.before, self.now
        clock = _bounded(_quotient(before.clock_hz, now.clock_hz))
        if not self.waits:
            return _bounded(_waiting(before, now), _THREADS), clock
        allowed = _bounded(_quotient(_allowed(before), _allowed(now)))
        return _bounded(_waiting(before, now)), clock, allowed

    def is_beyond(self, threshold: float) -> bool:
        """Return True if times may differ by more than a verdict's threshold."""
        return max(self.longer, 1 / self.shorter) > max(1 + threshold, _SLIGHT)

    def reason(self) -> str:
        """Return a sentence: the measured differences, their effect on times, and a remedy."""
        factors = {"now": self.longer, "of the baseline": 1 / self.shorter}
        effects = (
            f"times {whose} up to {factor:.2f} times as long"
            for whose, factor in factors.items()
            if factor > _SLIGHT
        )
        return (
            f"the sessions differ: {', '.join(self._differences())}, which may have made "
            f"{' and '.join(effects)}; measure again when the machine is quiet, or compare with "
            "--baseline git:REV"
        )

    def _differences(self) -> list[str]:
        before, now = self.before, self.now
        differences = []
        if before.others is not None and now.others is not None:
            of = "" if now.threads is None else f" of {now.threads:g}"
            differences.append(
                f"other programs took {before.others:.2f}{of} processors then and "
                f"{now.others:.2f} now"
            )
        if before.clock_hz is not None and now.clock_hz is not None:
            clocks = before.clock_hz / 1e9, now.clock_hz / 1e9
            differences.append(
                f"the clock was {clocks[0]:.2f} GHz then and {clocks[1]:.2f} GHz now"
            )
        if before.limit != now.limit:
            limits = (
                "none" if limit is None else f"{limit:g}" for limit in (before.limit, now.limit)
            )
            differences.append("the limit of processors was {} then and {} now".format(*limits))
        return differences

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data with every number."""
        sides = {"before": asdict(self.before), "now": asdict(self.now)}
        return {**sides, "longer": self.longer, "shorter": self.shorter}


#: Two sessions without known differences.
NO_SKEW = Skew(Session(), Session())


def _allowed(session: Session) -> float | None:
    known = [number for number in (session.threads, session.limit) if number is not None]
    return min(known, default=None)


def _bounded(factor: float, most: float = _MAX) -> float:
    return min(max(factor, 1 / most), most)


def _quotient(before: float | None, now: float | None) -> float:
    return 1.0 if before is None or now is None else before / now


def _waiting(before: Session, now: Session) -> float:
    """Return the factor by which a program may wait longer now; below 1, by which it may wait less.

    A thread may lose all additional processor time of others, up to half of its processor, which it
    then shares with another program's thread; the program's other threads wait for it. If others
    take more than half of all processors, the program has the rest.
    """
    if before.others is None or now.others is None:
        return 1.0
    if now.others < before.others:
        return 1 / _waiting(now, before)
    shared = 1 / (1 - min(now.others - before.others, _SHARED))
    return max(shared, _left(before) / _left(now))


def _left(session: Session) -> float:
    """Return the share of the processors that others leave."""
    if session.others is None or session.threads is None:
        return 1.0
    return max(1 - session.others / session.threads, _MIN_LEFT)
