"""The comparison of a target with its other side, metric by metric, in as many rounds as needed.

If the first rounds decide no gate, or a gate is "worse", the same number of rounds is measured
again. A gate is worse if all rounds together are worse, and the ratio of the last ones alone is
beyond the threshold too: a burst of load that affects one side by chance does not occur twice. If a
gate seems to be worse and none is known to be, the measurement is repeated at most twice more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from olympus.errors import ArtifactError, OlympusError
from olympus_cli.bench.baselines import check_comparable, differences
from olympus_cli.bench.compare.resampling import levels
from olympus_cli.bench.compare.sessions import NO_SKEW, Session, Skew
from olympus_cli.bench.compare.verdict import (
    CONFIDENCE,
    MEASUREMENTS,
    MetricVerdict,
    adjusted,
    judge,
)
from olympus_cli.bench.measure.rates import roofline_share
from olympus_cli.bench.measurement import Measured, Metric
from olympus_cli.spec.bench import GATED, JUDGED, THRESHOLD, BenchSpec
from olympus_cli.text.metrics import BENCH

#: Both sides, a `Measured` for each process; ours is first.
Rounds = tuple[list[Measured], list[Measured]]

#: The metrics whose samples of the two sides are pairs, and that bundles and targets share.
INTERLEAVED = ("steady-call", "steady-cpu")


@dataclass(frozen=True)
class Judged:
    """A metric of both sides, and its verdict.

    `before` and `now` are the values, in `unit`; their quotient now / before is the verdict's
    ratio: see `levels`. Both are None for a gate without figures of both sides.
    `verdict` uses all rounds; `again` uses the last measurement alone, and is None after one
    measurement.
    """

    metric: str
    unit: str
    before: float | None
    now: float | None
    verdict: MetricVerdict
    gate: bool
    again: MetricVerdict | None = None

    @property
    def seems_worse(self) -> bool:
        """True if the ratio is beyond the threshold, for any width of its interval."""
        ratio, threshold = self.verdict.ratio, self.verdict.threshold
        return ratio is not None and ratio > 1 + threshold


@dataclass(frozen=True)
class Compared:
    """The comparison of a target with its other side, `label`.

    `paired` is True if both ran in turns; otherwise `skew` is the difference of their sessions.
    `ours` and `theirs` are all measured rounds. `headings` are the names of the other side and of
    the target in a table.
    """

    target: str
    label: str
    paired: bool
    ours: tuple[Measured, ...]
    theirs: tuple[Measured, ...]
    judged: tuple[Judged, ...]
    notes: tuple[str, ...]
    skew: Skew | None = None
    headings: tuple[str, str] = ("before", "now")

    @property
    def worse(self) -> tuple[Judged, ...]:
        """The metrics that fail the gate.

        Processor time alone is not worse if the call may have been spread over more processors.
        """
        return _worse(self.judged)

    def document(self) -> dict[str, Any]:
        """Return JSON-like data with every number."""
        worse = {judgment.metric for judgment in self.worse}
        return {
            "target": self.target,
            "baseline": self.label,
            "interleaved": self.paired,
            "rounds": [len(self.ours), len(self.theirs)],
            "sessions": self.skew and self.skew.to_data(),
            "metrics": {
                judgment.metric: {**asdict(judgment), "fails": judgment.metric in worse}
                for judgment in self.judged
            },
            "notes": list(self.notes),
        }


def _worse(every: Sequence[Judged]) -> tuple[Judged, ...]:
    judged = {judgment.metric: judgment for judgment in every}
    return tuple(
        judgment
        for judgment in every
        if judgment.gate
        and judgment.verdict.word == "worse"
        and not (
            judgment.metric == "steady-cpu"
            and "steady-call" in judged
            and _spread(judged["steady-call"], judgment)
        )
    )


def _spread(call: Judged, cpu: Judged) -> bool:
    """Return True if a call with more processor time may only be spread over more processors.

    This is so if the call is known to last no longer, if it seems to be faster, or if its time is
    known to have grown less than the processor time. It is not so if the call is worse.
    """
    if call.verdict.word == "worse":
        return False
    if call.verdict.word in ("better", "no change"):
        return True
    verdicts = [verdict for verdict in (call.verdict, call.again) if verdict is not None]
    if any(verdict.ratio is not None and verdict.ratio < 1 for verdict in verdicts):
        return True
    high, low = call.verdict.high, cpu.verdict.low
    return high is not None and low is not None and high < low


@dataclass(frozen=True)
class _Rule:
    """The rule for verdicts on metrics: the metrics in `gates` can fail.

    `confidence` is the confidence of a gate's interval for a final verdict. If `named` is True,
    olympus.toml names the gates, and each has a verdict, measured or not. `label` is the other
    side's name.
    """

    label: str
    paired: bool
    threshold: float
    gates: tuple[str, ...]
    named: bool
    confidence: float
    measurements: int

    @staticmethod
    def of(label: str, spec: BenchSpec, gates: int, *, paired: bool) -> _Rule:
        """Return the rule of a target in a run in which `gates` metrics can fail."""
        measurements = MEASUREMENTS if paired else 2
        return _Rule(
            label,
            paired,
            THRESHOLD if spec.threshold is None else spec.threshold,
            GATED if spec.metrics is None else spec.metrics,
            spec.metrics is not None,
            adjusted(CONFIDENCE, gates, measurements - 1),
            measurements,
        )


def gate_count(spec: BenchSpec) -> int:
    """Return the number of metrics of a target that can fail.

    >>> gate_count(BenchSpec(metrics=("compile",)))
    1
    """
    return len(GATED if spec.metrics is None else spec.metrics)


def compare(
    label: str,
    measure: Callable[[int], Rounds],
    *,
    paired: bool,
    spec: BenchSpec,
    gates: int,
    rounds: int,
) -> Compared:
    """Measure a target and judge it; `measure(n)` returns n new rounds, of theirs only if `paired`.

    If not `paired`, their rounds are always the same. `gates` is the number of metrics that can
    fail the whole run, of all its targets; `rounds` is the initial number of processes of a side.

    Raises:
        UsageError: the sides were measured on different machines or backends.
        OlympusError: an error of `measure`.
    """
    rule = _Rule.of(label, spec, gates, paired=paired)
    ours, theirs = measure(rounds)
    check_comparable(ours[0], theirs, label)
    judged = _judged(ours, theirs, rule)
    suspects: set[str] = set()
    for number in range(1, rule.measurements):
        if not (_is_open if number == 1 else _is_doubtful)(judged, rule):
            break
        more, other = measure(rounds)
        ours, theirs = ours + more, theirs + other if paired else theirs
        whole = _judged(ours, theirs, rule, final=True)
        suspects |= _suspects(judged) | _suspects(whole)
        judged = _confirmed(suspects, _judged(more, other, rule), whole)
    return _compared(ours[0].target, ours, theirs, judged, rule)


def cut_short(
    target: str, label: str, sides: Rounds, *, paired: bool, spec: BenchSpec
) -> Compared | None:
    """Return an interrupted comparison, from the rounds so far.

    The verdicts on all gates and shared metrics are inconclusive. None is returned if the sides are
    from different machines or backends.
    """
    rule = _Rule.of(label, spec, 1, paired=paired)
    ours, theirs = sides
    if paired:  # the last round may have one side only
        ours, theirs = ours[: len(theirs)], theirs[: len(ours)]
    reason = f"interrupted after {len(ours)} round{'' if len(ours) == 1 else 's'}"
    if not (ours and theirs):
        judged = [_undecided(name, reason, rule) for name in rule.gates]
        return _compared(target, ours, theirs, judged, rule)
    try:
        check_comparable(ours[0], theirs, label)
        judged = _judged(ours, theirs, rule)
    except OlympusError:
        return None
    open_ones = [
        replace(judgment, verdict=replace(judgment.verdict, word="inconclusive", reason=reason))
        for judgment in judged
    ]
    return _compared(target, ours, theirs, open_ones, rule)


def _compared(
    target: str,
    ours: Sequence[Measured],
    theirs: Sequence[Measured],
    judged: Sequence[Judged],
    rule: _Rule,
) -> Compared:
    notes = differences(ours[0], theirs[0]) if ours and theirs else ()
    skew = None if rule.paired else _skew(ours, theirs)
    sides = tuple(ours), tuple(theirs)
    return Compared(target, rule.label, rule.paired, *sides, tuple(judged), tuple(notes), skew)


def _skew(ours: Sequence[Measured], theirs: Sequence[Measured]) -> Skew:
    return Skew(before=Session.of(theirs), now=Session.of(ours))


def _is_open(judged: Sequence[Judged], rule: _Rule) -> bool:
    """Return True if a second measurement is needed: a gate is worse, or none is decided.

    More processes do not show how sessions differ, so a stored baseline remains undecided.
    """
    words = [
        judgment.verdict.word
        for judgment in judged
        if judgment.gate and judgment.verdict.ratio is not None
    ]
    undecided = bool(words) and all(word == "inconclusive" for word in words)
    return "worse" in words or (rule.paired and undecided)


def _is_doubtful(judged: Sequence[Judged], rule: _Rule) -> bool:
    """Return True if a gate seems worse and none is known to be, after two measurements."""
    words = [judgment.verdict.word for judgment in judged if judgment.gate]
    seems = any(judgment.gate and judgment.seems_worse for judgment in judged)
    return seems and "inconclusive" in words and not _worse(judged)


def _suspects(judged: Sequence[Judged]) -> set[str]:
    """Return the gates that are worse, confirmed or not."""
    return {
        judgment.metric for judgment in judged if judgment.gate and judgment.verdict.word == "worse"
    }


def _confirmed(
    suspects: Collection[str], last: Sequence[Judged], whole: Sequence[Judged]
) -> list[Judged]:
    """Return the verdicts of all rounds; suspects remain worse if the last ones confirm it."""
    alone = {judgment.metric: judgment.verdict for judgment in last}
    judgments = []
    for judgment in whole:
        newest, verdict = alone[judgment.metric], judgment.verdict
        confirmed = verdict.word == "worse" and newest.is_beyond(verdict)
        open_ = verdict.word in ("worse", "inconclusive")
        if judgment.metric in suspects and open_ and not confirmed:
            verdict = replace(verdict, word="inconclusive", reason=_unconfirmed(verdict, newest))
        judgments.append(replace(judgment, verdict=verdict, again=newest))
    return judgments


def _unconfirmed(whole: MetricVerdict, last: MetricVerdict) -> str:
    """Return the reason why a gate that was worse is not, from the two verdicts."""
    if last.is_beyond(whole):  # the last interval has a higher confidence than the first
        return whole.reason or "it was worse at first, and all rounds together leave it open"
    reason = last.reason if last.ratio is None else f"its ratio is {last.ratio:.3f}"
    return f"it was worse, and the last measurement did not confirm it: {reason}"


def _judged(
    ours: Sequence[Measured], theirs: Sequence[Measured], rule: _Rule, *, final: bool = False
) -> list[Judged]:
    """Return the verdicts on the metrics that all rounds of both sides have, and on other gates.

    A gate that neither side measured is omitted, unless olympus.toml names it.
    """
    if not final:  # a worse metric is measured again
        rule = replace(rule, confidence=CONFIDENCE)
    every = [measured.metrics for measured in (*ours, *theirs)]
    kinds = {"load" in metrics for metrics in every}
    judged = JUDGED if len(kinds) == 1 else INTERLEAVED  # loading a bundle compiles nothing
    names = [name for name in judged if all(name in metrics for metrics in every)]
    skew = NO_SKEW if rule.paired else _skew(ours, theirs)
    judgments = [
        _one(name, [m.metrics[name] for m in ours], [m.metrics[name] for m in theirs], rule, skew)
        for name in names
    ]
    missing = [
        name
        for name in rule.gates
        if name not in names and (rule.named or any(name in metrics for metrics in every))
    ]
    return judgments + [_unmeasured(name, ours, theirs, rule) for name in missing]


def _unmeasured(
    name: str, ours: Sequence[Measured], theirs: Sequence[Measured], rule: _Rule
) -> Judged:
    """Return the verdict on a gate that cannot be judged, with the reason."""
    sides = {"the program": ours, rule.label: theirs}
    lacking = [
        name_of_side
        for name_of_side, side in sides.items()
        if not all(name in measured.metrics for measured in side)
    ]
    reason = "one side is a bundle, which is loaded, and the other is compiled"
    if lacking:
        reason = f"not measured on {' and '.join(lacking)}"
    return _undecided(name, reason, rule)


def _undecided(name: str, reason: str, rule: _Rule) -> Judged:
    """Return the verdict on a gate without figures."""
    verdict = MetricVerdict("inconclusive", None, None, None, rule.threshold, CONFIDENCE, reason)
    return Judged(name, BENCH[name], None, None, verdict, gate=True)


def _one(name: str, ours: list[Metric], theirs: list[Metric], rule: _Rule, skew: Skew) -> Judged:
    if {metric.unit for metric in ours} != {metric.unit for metric in theirs}:
        raise ArtifactError(f"the baseline has {name} in {theirs[0].unit}, not in {ours[0].unit}")
    if name not in INTERLEAVED:  # their samples are not paired
        ours, theirs = ([_whole(metric) for metric in side] for side in (ours, theirs))
    theirs = [replace(metric, better=ours[0].better) for metric in theirs]
    gate = name in rule.gates
    verdict = judge(
        ours,
        theirs,
        paired=rule.paired,
        threshold=rule.threshold,
        confidence=rule.confidence if gate else CONFIDENCE,
        skew=replace(skew, waits=name != "steady-cpu"),
    )
    now, before = _levels(ours, theirs, rule.paired)
    return Judged(name, ours[0].unit, before, now, verdict, gate)


def _levels(ours: list[Metric], theirs: list[Metric], paired: bool) -> tuple[float, float]:
    """Return the values to show of both sides: the medians if their ratio is undefined."""
    sides = [[metric.samples for metric in side] for side in (ours, theirs)]
    if all(sample > 0 for side in sides for samples in side for sample in samples):
        return levels(*sides, paired=paired)
    now, before = (
        float(np.median([_median(metric) for metric in side])) for side in (ours, theirs)
    )
    return now, before


def _median(metric: Metric) -> float:
    return float(np.median(metric.samples))


def _whole(metric: Metric) -> Metric:
    """Return the metric with one sample, the median of a process."""
    return replace(metric, samples=(_median(metric),))


def merged(rounds: Sequence[Measured]) -> Measured:
    """Return all rounds of a target as one, with all samples in the order of measurement."""
    first = rounds[0]
    names = [name for name in first.metrics if all(name in measured.metrics for measured in rounds)]
    metrics = {
        name: replace(
            first.metrics[name],
            samples=tuple(x for measured in rounds for x in measured.metrics[name].samples),
            batch=min(measured.metrics[name].batch for measured in rounds),
        )
        for name in names
    }
    notes: dict[str, str] = {}
    for note in (note for measured in rounds for note in measured.notes):
        notes.setdefault(_kind(note), note)
    facts = {**first.facts, "processes": len(rounds)}
    if "steady-call" in metrics:
        facts["roofline_share"] = roofline_share(metrics["steady-call"], facts)
    return replace(
        first,
        metrics=metrics,
        conditions=_conditions(rounds),
        facts=facts,
        notes=tuple(notes.values()),
    )


def _conditions(rounds: Sequence[Measured]) -> dict[str, float | str | None]:
    """Return the conditions before the first round and after the last; "others" is the mean."""
    last = rounds[-1].conditions
    after = {name: last[name] for name in last if name.endswith("_after")}
    others = {"others": Session.of(rounds).others} if "others" in last else {}
    return {**rounds[0].conditions, **after, **others}


def _kind(note: str) -> str:
    """Return the kind of a note: its beginning, without the numbers, which differ between rounds.

    >>> _kind("the machine is busy: a load of 5 with 2 processors")
    'the machine is busy'
    """
    return re.sub(r"[0-9.]+", "", re.split("[:,]", note, maxsplit=1)[0])
