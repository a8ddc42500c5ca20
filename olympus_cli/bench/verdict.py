"""Whether a metric got better or worse, from the samples of two sides.

The interval of the ratio is held against a threshold.  "worse" and "better" need all of it beyond
the threshold, "no change" all of it within; what is left is "inconclusive".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from olympus_cli.bench.model import Metric
from olympus_cli.bench.resampling import Interval, ratio_interval

__all__ = [
    "CONFIDENCE",
    "MIN_ROUNDS",
    "ROUNDS",
    "THRESHOLD",
    "MetricVerdict",
    "VerdictWord",
    "adjusted",
    "confirming",
    "judge",
]

VerdictWord = Literal["better", "worse", "no change", "inconclusive"]

THRESHOLD = 0.05  # the least change of a ratio that is one
CONFIDENCE = 0.95
ROUNDS = 5  # processes of each side
_CONFIRMING_TAIL = 0.1  # of a second measurement, at most
MIN_ROUNDS = 3  # fewer do not tell how processes differ


@dataclass(frozen=True)
class MetricVerdict:
    """What became of a metric: `ratio` is ours / theirs, and lies between `low` and `high`.

    The three are None where too little was measured; `reason` says what was missing.
    """

    word: VerdictWord
    ratio: float | None
    low: float | None
    high: float | None
    threshold: float
    confidence: float
    reason: str = ""


def judge(
    ours: Sequence[Metric],
    theirs: Sequence[Metric],
    *,
    paired: bool,
    threshold: float = THRESHOLD,
    confidence: float = CONFIDENCE,
) -> MetricVerdict:
    """The verdict on a metric of which each side has one measurement a process.

    `paired` says that sample i of process r of one side ran next to sample i of process r of the
    other, so that what disturbs the machine disturbs both.  A `threshold` of 0.05 is a ratio of
    1.05 one way and of 1 / 1.05 the other, so that the two sides change places with the two words.
    `confidence` is that of the interval: (1 - confidence) / 2 is the probability that it lies
    beyond the ratio on one side.

    Raises:
        ValueError: the two sides' units differ, or paired sides differ in number.

    Example: `judge(now, before, paired=True).word`.
    """
    units = {(each.unit, each.better) for each in (*ours, *theirs)}
    if len(units) > 1:
        raise ValueError("the two sides measure different things")
    unknown = MetricVerdict("inconclusive", None, None, None, threshold, confidence)
    if reason := _missing(ours, theirs):
        return replace(unknown, reason=reason)
    tail = (1 - confidence) / 2
    sides = [each.samples for each in ours], [each.samples for each in theirs]
    found = ratio_interval(*sides, paired=paired, tail=tail)
    ((_, better),) = units
    word = _word(found, threshold, higher_is_better=better == "higher")
    return MetricVerdict(word, found.ratio, found.low, found.high, threshold, confidence)


def _missing(ours: Sequence[Metric], theirs: Sequence[Metric]) -> str:
    """Why the two sides cannot be compared, or nothing."""
    rounds = min(len(ours), len(theirs))
    if rounds < MIN_ROUNDS:
        return f"it was measured in {rounds} of at least {MIN_ROUNDS} processes"
    samples = [sample for each in (*ours, *theirs) for sample in each.samples]
    if not all(each.samples for each in (*ours, *theirs)) or min(samples) <= 0:
        return "a process has no sample above 0"
    return ""


def _word(found: Interval, threshold: float, *, higher_is_better: bool) -> VerdictWord:
    low, high = math.log(found.low), math.log(found.high)
    if higher_is_better:
        low, high = -high, -low
    limit = math.log1p(threshold)
    if low > limit:
        return "worse"
    if high < -limit:
        return "better"
    return "no change" if -limit <= low and high <= limit else "inconclusive"


def adjusted(confidence: float, gates: int, *, independent: bool) -> float:
    """The confidence of each interval where `gates` of them can fail a run.

    All together they raise a false alarm no more often than one alone may, (1 - confidence) / 2
    (Bonferroni).  A gate fails only where a second measurement says "worse" too.  Where the two are
    `independent`, as they are of sides that both run again, each may be wrong as often as the root
    of what both together may; that never lowers the confidence.

    >>> adjusted(0.95, 10, independent=True), round(adjusted(0.95, 10, independent=False), 4)
    (0.95, 0.995)
    """
    tail = (1 - confidence) / 2
    share = tail / max(gates, 1)
    return 1 - 2 * min(tail, math.sqrt(share)) if independent else 1 - 2 * share


def confirming(confidence: float, gates: int, *, independent: bool) -> float:
    """The confidence of a second measurement, after a first of `adjusted` confidence was worse.

    Both together may raise a false alarm as often as one of `gates` may, so that the second may be
    wrong as often as the quotient of that share and the first's: it need not prove again what the
    first has.  It is never wrong more often than in one of ten cases.  Where the two are not
    `independent`, the first alone keeps the share.

    >>> round(confirming(0.95, 2, independent=True), 4), confirming(0.95, 40, independent=True)
    (0.8, 0.95)
    """
    share = (1 - confidence) / 2 / max(gates, 1)
    first = (1 - adjusted(confidence, gates, independent=independent)) / 2
    tail = min(share / first, _CONFIRMING_TAIL) if independent else _CONFIRMING_TAIL
    return 1 - 2 * tail
