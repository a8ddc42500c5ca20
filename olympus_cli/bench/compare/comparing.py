"""One target held against its other side, metric by metric, in as many rounds as that takes.

Where the rounds that are asked for decide no gate, or a gate says "worse", as many are measured
again.  It is worse if all rounds together say so, and the ratio of the last ones alone is beyond
the threshold too: a burst of load that one side met by chance is not met twice.  Where a gate seems
to be worse and none is known to be, as many are measured two times more at most.
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
from olympus_cli.bench.compare.sessions import ALIKE, Session, Skew
from olympus_cli.bench.compare.verdict import (
    CONFIDENCE,
    MEASUREMENTS,
    MetricVerdict,
    adjusted,
    judge,
)
from olympus_cli.bench.measure.rates import roofline_share
from olympus_cli.bench.model import Measured, Metric
from olympus_cli.spec.benching import GATED, JUDGED, THRESHOLD, BenchSpec
from olympus_cli.text.metrics import BENCH

__all__ = [
    "INTERLEAVED",
    "Compared",
    "Judged",
    "Rounds",
    "compare",
    "cut_short",
    "gate_count",
    "merged",
]

#: Both sides, a `Measured` for each process; ours come first.
Rounds = tuple[list[Measured], list[Measured]]

#: The metrics whose samples of the two sides are pairs, and that a bundle shares with a target.
INTERLEAVED = ("steady-call", "steady-cpu")


@dataclass(frozen=True)
class Judged:
    """A metric of both sides, and what became of it.

    `before` and `now` are the values, in `unit`, whose quotient now / before is the verdict's
    ratio: see `levels`; one is None where its side did not measure the metric, which is a gate.
    `verdict` is that of all rounds, and `again` that of the last measurement alone, where there was
    more than one.
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
        """Whether the ratio is beyond the threshold, however wide its interval is."""
        ratio, threshold = self.verdict.ratio, self.verdict.threshold
        return ratio is not None and ratio > 1 + threshold


@dataclass(frozen=True)
class Compared:
    """A target and its other side, which is called `label`.

    `paired` says that both ran in turns; `skew` is how their sessions differ where they did not.
    `ours` and `theirs` are all rounds that were measured.
    """

    target: str
    label: str
    paired: bool
    ours: tuple[Measured, ...]
    theirs: tuple[Measured, ...]
    judged: tuple[Judged, ...]
    notes: tuple[str, ...]
    skew: Skew | None = None

    @property
    def worse(self) -> tuple[Judged, ...]:
        """What fails the gate.

        Time of processors alone is not worse where the call may have been spread over more of them.
        """
        return _worse(self.judged)

    def document(self) -> dict[str, Any]:
        """JSON-like data with every number."""
        worse = {each.metric for each in self.worse}
        return {
            "target": self.target,
            "baseline": self.label,
            "interleaved": self.paired,
            "rounds": [len(self.ours), len(self.theirs)],
            "sessions": self.skew and self.skew.to_data(),
            "metrics": {
                each.metric: {**asdict(each), "fails": each.metric in worse} for each in self.judged
            },
            "notes": list(self.notes),
        }


def _worse(every: Sequence[Judged]) -> tuple[Judged, ...]:
    judged = {each.metric: each for each in every}
    return tuple(
        each
        for each in every
        if each.gate
        and each.verdict.word == "worse"
        and not (
            each.metric == "steady-cpu"
            and "steady-call" in judged
            and _spread(judged["steady-call"], each)
        )
    )


def _spread(call: Judged, cpu: Judged) -> bool:
    """Whether a call whose processors take longer may be one that is spread over more of them.

    So it is where the call is known to last no longer, where it seems to be faster, and where its
    time is known to have grown less than that of the processors.  A call that is worse is not.
    """
    if call.verdict.word == "worse":
        return False
    if call.verdict.word in ("better", "no change"):
        return True
    verdicts = [each for each in (call.verdict, call.again) if each is not None]
    if any(each.ratio is not None and each.ratio < 1 for each in verdicts):
        return True
    high, low = call.verdict.high, cpu.verdict.low
    return high is not None and low is not None and high < low


@dataclass(frozen=True)
class _Rule:
    """By what metrics are judged: those of `gates` can fail.

    `confidence` is that of a gate's interval where the verdict is final.  `named` says that
    olympus.toml names them: each has a verdict, measured or not.  `label` is the other side's name.
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
        """The rule of a target in a run in which `gates` metrics can fail."""
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
    """How many metrics of a target can fail.

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
    """Measure a target and judge it; `measure(n)` gives n new rounds, of theirs only if `paired`.

    Where they are not, theirs are always the same.  `gates` is how many metrics can fail the whole
    run, of all its targets, and `rounds` how many processes a side has at first.

    Raises:
        UsageError: the sides were measured on different machines or backends.
        OlympusError: what `measure` raises.
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
    """What is known of a comparison that ended before its verdicts, from the rounds by then.

    Its gates, and whatever else both sides have, are inconclusive.  None where the sides turn out
    to be of different machines or backends.
    """
    rule = _Rule.of(label, spec, 1, paired=paired)
    ours, theirs = sides
    if paired:  # the last round may be of one side
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
        replace(each, verdict=replace(each.verdict, word="inconclusive", reason=reason))
        for each in judged
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
    """Whether the first measurement asks for a second: a gate is worse, or none is decided.

    More processes do not tell how sessions differ, which leaves a stored baseline undecided.
    """
    words = [each.verdict.word for each in judged if each.gate and each.verdict.ratio is not None]
    undecided = bool(words) and all(word == "inconclusive" for word in words)
    return "worse" in words or (rule.paired and undecided)


def _is_doubtful(judged: Sequence[Judged], rule: _Rule) -> bool:
    """Whether a gate seems to be worse and none is known to be, after two measurements or more."""
    words = [each.verdict.word for each in judged if each.gate]
    seems = any(each.gate and each.seems_worse for each in judged)
    return seems and "inconclusive" in words and not _worse(judged)


def _suspects(judged: Sequence[Judged]) -> set[str]:
    """The gates that are worse, confirmed or not."""
    return {each.metric for each in judged if each.gate and each.verdict.word == "worse"}


def _confirmed(
    suspects: Collection[str], last: Sequence[Judged], whole: Sequence[Judged]
) -> list[Judged]:
    """The verdicts of all rounds, of which the last measurement confirms those of `suspects`."""
    alone = {each.metric: each.verdict for each in last}
    found = []
    for each in whole:
        newest, verdict = alone[each.metric], each.verdict
        confirmed = verdict.word == "worse" and newest.is_beyond(verdict)
        open_ = verdict.word in ("worse", "inconclusive")
        if each.metric in suspects and open_ and not confirmed:
            verdict = replace(verdict, word="inconclusive", reason=_unconfirmed(verdict, newest))
        found.append(replace(each, verdict=verdict, again=newest))
    return found


def _unconfirmed(whole: MetricVerdict, last: MetricVerdict) -> str:
    """Why what was worse is not, from the verdict of all rounds and of the last ones."""
    if last.is_beyond(whole):  # the last interval has more confidence than the first
        return whole.reason or "it was worse at first, and all rounds together leave it open"
    told = last.reason if last.ratio is None else f"its ratio is {last.ratio:.3f}"
    return f"it was worse, and the last measurement did not confirm it: {told}"


def _judged(
    ours: Sequence[Measured], theirs: Sequence[Measured], rule: _Rule, *, final: bool = False
) -> list[Judged]:
    """Every metric that all rounds of both sides have and that can be judged, and other gates.

    A gate that no side measured is left out, unless olympus.toml names it.
    """
    if not final:  # what is worse here is measured again
        rule = replace(rule, confidence=CONFIDENCE)
    every = [each.metrics for each in (*ours, *theirs)]
    kinds = {"load" in metrics for metrics in every}
    judged = JUDGED if len(kinds) == 1 else INTERLEAVED  # what loads a bundle compiles nothing
    names = [name for name in judged if all(name in metrics for metrics in every)]
    skew = ALIKE if rule.paired else _skew(ours, theirs)
    found = [
        _one(name, [m.metrics[name] for m in ours], [m.metrics[name] for m in theirs], rule, skew)
        for name in names
    ]
    missing = [
        name
        for name in rule.gates
        if name not in names and (rule.named or any(name in metrics for metrics in every))
    ]
    return found + [_unmeasured(name, ours, theirs, rule) for name in missing]


def _unmeasured(
    name: str, ours: Sequence[Measured], theirs: Sequence[Measured], rule: _Rule
) -> Judged:
    """A gate that cannot be judged, with the reason."""
    sides = {"the program": ours, rule.label: theirs}
    lacking = [
        told for told, side in sides.items() if not all(name in each.metrics for each in side)
    ]
    reason = "one side is a bundle, which is loaded, and the other is compiled"
    if lacking:
        reason = f"not measured on {' and '.join(lacking)}"
    return _undecided(name, reason, rule)


def _undecided(name: str, reason: str, rule: _Rule) -> Judged:
    """A gate of which there are no figures."""
    verdict = MetricVerdict("inconclusive", None, None, None, rule.threshold, CONFIDENCE, reason)
    return Judged(name, BENCH[name], None, None, verdict, gate=True)


def _one(name: str, ours: list[Metric], theirs: list[Metric], rule: _Rule, skew: Skew) -> Judged:
    if {each.unit for each in ours} != {each.unit for each in theirs}:
        raise ArtifactError(f"the baseline has {name} in {theirs[0].unit}, not in {ours[0].unit}")
    if name not in INTERLEAVED:  # their samples are in no order that both sides share
        ours, theirs = ([_whole(each) for each in side] for side in (ours, theirs))
    theirs = [replace(each, better=ours[0].better) for each in theirs]
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
    """The values to tell of both sides; the medians where there is no ratio of them."""
    sides = [[each.samples for each in side] for side in (ours, theirs)]
    if all(sample > 0 for side in sides for samples in side for sample in samples):
        return levels(*sides, paired=paired)
    now, before = (float(np.median([_median(each) for each in side])) for side in (ours, theirs))
    return now, before


def _median(metric: Metric) -> float:
    return float(np.median(metric.samples))


def _whole(metric: Metric) -> Metric:
    """The metric with one sample, the median of a process."""
    return replace(metric, samples=(_median(metric),))


def merged(rounds: Sequence[Measured]) -> Measured:
    """All rounds of a target as one: the samples of all, in the order they were taken."""
    first = rounds[0]
    names = [name for name in first.metrics if all(name in each.metrics for each in rounds)]
    metrics = {
        name: replace(
            first.metrics[name],
            samples=tuple(x for each in rounds for x in each.metrics[name].samples),
            batch=min(each.metrics[name].batch for each in rounds),
        )
        for name in names
    }
    notes: dict[str, str] = {}
    for note in (note for each in rounds for note in each.notes):
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
    """The conditions before the first round and after the last, and what others took in all."""
    last = rounds[-1].conditions
    after = {name: last[name] for name in last if name.endswith("_after")}
    others = {"others": Session.of(rounds).others} if "others" in last else {}
    return {**rounds[0].conditions, **after, **others}


def _kind(note: str) -> str:
    """What a note is about: its beginning, without the numbers, which differ from round to round.

    >>> _kind("the machine is busy: a load of 5 with 2 processors")
    'the machine is busy'
    """
    return re.sub(r"[0-9.]+", "", re.split("[:,]", note, maxsplit=1)[0])
