"""The verdict on a metric, from the samples of two sides.

The interval of the ratio is compared with a threshold. It is "worse" or "better" if all of it is
beyond the threshold, "no change" if all of it is within, and otherwise "inconclusive".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

from olympus_cli.bench.compare.resampling import Interval, ratio_interval
from olympus_cli.bench.compare.sessions import NO_SKEW, Skew
from olympus_cli.bench.measurement import Metric

VerdictWord = Literal["better", "worse", "no change", "inconclusive"]

THRESHOLD = 0.05  # the smallest change of a ratio that counts
CONFIDENCE = 0.95
ROUNDS = 5  # processes of each side
MEASUREMENTS = 4  # at most, with `ROUNDS` processes each, if both sides run
MIN_ROUNDS = 3  # fewer do not show how processes differ

#: The standard deviation of the factor by which all times of a session are longer than those of
#: another session on the same machine: clock, temperature, memory addresses, and other load. It
#: cannot be estimated from one session, so it is assumed, as that of otherwise idle machines.
SESSION = 0.05


@dataclass(frozen=True)
class MetricVerdict:
    """The verdict on a metric: `ratio` is ours / theirs, with an interval from `low` to `high`.

    The three are None if too little was measured; `reason` names the missing part.
    """

    word: VerdictWord
    ratio: float | None
    low: float | None
    high: float | None
    threshold: float
    confidence: float
    reason: str = ""

    def is_beyond(self, other: MetricVerdict) -> bool:
        """Return True if the ratio is beyond the threshold, in the direction of `other`'s ratio."""
        if self.ratio is None or other.ratio is None:
            return False
        change = math.log(self.ratio)
        return (change if other.ratio > 1 else -change) > math.log1p(self.threshold)


def judge(
    ours: Sequence[Metric],
    theirs: Sequence[Metric],
    *,
    paired: bool,
    threshold: float = THRESHOLD,
    confidence: float = CONFIDENCE,
    skew: Skew = NO_SKEW,
) -> MetricVerdict:
    """Return the verdict on a metric; each side has one measurement per process.

    `paired` means that sample i of process r of one side ran next to sample i of process r of the
    other, so that a disturbance of the machine affects both. Unpaired sides are from two sessions.
    Their times differ by `SESSION` each, in addition to the differences between processes, and by
    `skew`. Its effect on a program is unknown: the interval covers everything from no effect to the
    full effect.

    A `threshold` of 0.05 is a ratio of 1.05 or of 1 / 1.05, so that exchanging the two sides
    exchanges the words.

    `confidence` is the confidence of the interval: (1 - confidence) / 2 is the probability that the
    interval is beyond the ratio on one side.

    Raises:
        ValueError: the two sides' units differ, or paired sides differ in number.

    Example: `judge(now, before, paired=True).word`.
    """
    units = {(metric.unit, metric.better) for metric in (*ours, *theirs)}
    if len(units) > 1:
        raise ValueError("the two sides measure different things")
    unknown = MetricVerdict("inconclusive", None, None, None, threshold, confidence)
    if reason := _missing(ours, theirs):
        return replace(unknown, reason=reason)
    tail = (1 - confidence) / 2
    sides = [metric.samples for metric in ours], [metric.samples for metric in theirs]
    ((unit, better),) = units
    between = 0.0 if paired or unit == "B" else math.sqrt(2) * SESSION  # no clock
    interval = ratio_interval(*sides, paired=paired, tail=tail, between=between)
    if between:
        ends = skew.longer, skew.shorter
        interval = interval.widened(*(ends if better != "higher" else (1 / ends[1], 1 / ends[0])))
    word = _word(interval, threshold, higher_is_better=better == "higher")
    verdict = MetricVerdict(
        word, interval.ratio, interval.low, interval.high, threshold, confidence
    )
    if word == "inconclusive" and between:
        seen = ratio_interval(*sides, paired=paired, tail=tail)
        if _word(seen, threshold, higher_is_better=better == "higher") != word:
            return replace(verdict, reason=_sessions(threshold, tail, between, skew))
    return verdict


def _sessions(threshold: float, tail: float, between: float, skew: Skew) -> str:
    """Return the reason why a stored baseline does not decide a change that the processes show."""
    if skew.is_beyond(threshold):
        return skew.reason()
    wider = math.log(max(skew.longer, 1 / skew.shorter)) - NormalDist().inv_cdf(tail) * between
    least = math.expm1(math.log1p(threshold) + wider)
    return (
        f"two sessions on a machine differ too, and a stored baseline shows a change above "
        f"{least:.0%} at best; --baseline git:REV shows smaller ones"
    )


def _missing(ours: Sequence[Metric], theirs: Sequence[Metric]) -> str:
    """Return the reason why the two sides cannot be compared, or ""."""
    rounds = min(len(ours), len(theirs))
    if rounds < MIN_ROUNDS:
        return f"it was measured in {rounds} of at least {MIN_ROUNDS} processes"
    samples = [sample for metric in (*ours, *theirs) for sample in metric.samples]
    if not all(metric.samples for metric in (*ours, *theirs)) or min(samples) <= 0:
        return "a process has no sample above 0"
    return ""


def _word(interval: Interval, threshold: float, *, higher_is_better: bool) -> VerdictWord:
    low, high = math.log(interval.low), math.log(interval.high)
    if higher_is_better:
        low, high = -high, -low
    limit = math.log1p(threshold)
    if low > limit:
        return "worse"
    if high < -limit:
        return "better"
    return "no change" if -limit <= low and high <= limit else "inconclusive"


def adjusted(confidence: float, gates: int, looks: int) -> float:
    """Return the confidence of each interval that can fail a run with `gates` such metrics.

    All together raise a false alarm no more often than one alone may, (1 - confidence) / 2
    (Bonferroni). A gate can fail after each measurement but the first: each of these `looks` has an
    equal part of the gate's error probability.

    >>> round(adjusted(0.95, 1, 3), 6), round(adjusted(0.95, 10, 3), 6)
    (0.983333, 0.998333)
    """
    return 1 - (1 - confidence) / (looks * max(gates, 1))
