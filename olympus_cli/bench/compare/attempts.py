"""Measurements of one program by `olympus bench`: alone, in several processes, or in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from olympus.errors import UsageError
from olympus_cli.bench.compare.comparing import (
    INTERLEAVED,
    Compared,
    Rounds,
    compare,
    cut_short,
    gate_count,
    merged,
)
from olympus_cli.bench.compare.other_side import Other
from olympus_cli.bench.compare.rounds import LEAST_PAIRS, Side, alone, alternating
from olympus_cli.bench.compare.verdict import MEASUREMENTS, ROUNDS
from olympus_cli.bench.measure.sampler import Interrupted, measure_target
from olympus_cli.bench.measure.work import BundleWork, SamplerWork
from olympus_cli.bench.measurement import Measured
from olympus_cli.faults.failure import Failure
from olympus_cli.program.runnable import label_to_run
from olympus_cli.spec.bench import GATED, BenchSpec
from olympus_cli.spec.model import TargetSpec
from olympus_cli.text.units import counted
from olympus_cli.workers.call import OnStage

_IMPORTS = {"import", "import-program"}
_STORED_MEASUREMENTS = 2  # at most, with a stored baseline


@dataclass(frozen=True)
class Attempt:
    """One target, by the user's name for it: its measurement, or the failure.

    `rounds` are the measurements of several processes; `measured` has the samples of all.
    `compared` is the comparison with the baseline.
    """

    name: str
    measured: Measured | None = None
    failure: Failure | None = None
    rounds: tuple[Measured, ...] = ()
    compared: Compared | None = None


class CutShort(KeyboardInterrupt):
    """Ctrl-C or SIGTERM, its cause; `attempt` is the result for the target so far."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__()
        self.attempt = attempt


@dataclass(frozen=True)
class Against:
    """The options of a comparison: `baseline` and `save` are the values of these options.

    `threshold` overrides that of olympus.toml; `rounds` is the number of processes of a side. With
    `jax`, the other side is JAX, which fails no bench without a `threshold`.
    """

    baseline: str | None = None
    save: str | None = None
    threshold: float | None = None
    rounds: int | None = None
    jax: bool = False

    @property
    def label(self) -> str:
        """The name of the other side."""
        return "jax" if self.jax else self.baseline or ""

    @property
    def headings(self) -> tuple[str, str]:
        """The names of the other side and of the target in a table."""
        return ("jax", "olympus") if self.jax else ("before", "now")

    @property
    def processes(self) -> int:
        """The number of processes of a side: 1 without a comparison or a saved baseline."""
        if self.rounds is not None:
            return self.rounds
        return ROUNDS if self.baseline or self.save or self.jax else 1


def bench_spec(work: SamplerWork, against: Against) -> BenchSpec:
    """Return the conditions on which a program's bench fails: the target's, with our threshold."""
    own = BenchSpec() if isinstance(work.program, BundleWork) else work.program.bench
    if against.jax and against.threshold is None:
        own = replace(own, metrics=())  # a report
    return own.under(BenchSpec(threshold=against.threshold))


def total_gates(works: Sequence[SamplerWork], against: Against) -> int:
    """Return the number of metrics of all programs that can fail a run."""
    return sum(gate_count(bench_spec(work, against)) for work in works)


def expected_time(
    works: Sequence[SamplerWork], others: Sequence[Other | None], against: Against
) -> str:
    """Return a sentence: the seconds of measuring within the time limits, and the additional work.

    The time limit applies to a target, or to each side that runs, in one measurement; an undecided
    comparison is measured again. A comparison in turns takes `LEAST_PAIRS` pairs of samples a
    round, even if their calls take longer than the limit.
    """
    least = most = 0.0
    processes = [0, 0]
    for work, other in zip(works, others, strict=True):
        sides = 2 if isinstance(other, Side) else 1
        times = 1 if other is None else MEASUREMENTS if sides == 2 else _STORED_MEASUREMENTS
        limit = sides * work.effort.time_limit
        least, most = least + limit, most + times * limit
        processes[0] += sides * against.processes
        processes[1] += times * sides * against.processes
    pairs = sum(isinstance(other, Side) for other in others) * against.processes
    least_pairs = (
        f"; each of {counted(pairs, 'round')} of a comparison in turns has at least "
        f"{LEAST_PAIRS} pairs of samples, whatever the time limit"
    )
    again = f", or {most:g} s if it is repeated" if most > least else ""
    more = f" to {processes[1]}" if processes[1] > processes[0] else ""
    return (
        f"the measuring of {counted(len(works), 'program')} takes up to {least:g} s{again}; the "
        f"start, imports, compilation and first call of {processes[0]}{more} "
        f"{'process comes' if processes == [1, 1] else 'processes come'} on top"
        + (least_pairs if pairs else "")
    )


def attempted(
    work: SamplerWork, other: Other | None, against: Against, gates: int, on_stage: OnStage
) -> Attempt:
    """Measure a program, in turns with `other` if that runs; `gates` counts the whole run's gates.

    Raises:
        OlympusError: a stage of either side fails, or a process dies.
        BackendError: a comparison or a baseline needs the device, which is absent.
        UsageError: the other side was measured on another machine or backend, or has none of the
            metrics that olympus.toml names.
        CutShort: Ctrl-C occurred, and the program has samples: those of complete rounds
            and of the current one.
    """
    whole: Rounds = [], []
    if (other is not None or against.processes > 1) and work.absent_label is not None:
        assert isinstance(work.program, TargetSpec)
        label_to_run(work.program)  # raises BackendError
    try:
        if other is not None:
            return _compared(work, other, against, gates, on_stage, whole)
        if against.processes == 1:
            return Attempt(work.label, measure_target(work, on_stage=on_stage))
        whole[0].extend(alone(Side(work), against.processes, on_stage))
        return Attempt(work.label, merged(whole[0]), rounds=tuple(whole[0]))
    except KeyboardInterrupt as error:
        if not (whole[0] or isinstance(error, Interrupted)):
            raise
        cause = (error.__cause__ if isinstance(error, Interrupted) else None) or error
        raise CutShort(_cut_short(work, other, against, whole, error)) from cause


def _cut_short(
    work: SamplerWork,
    other: Other | None,
    against: Against,
    whole: Rounds,
    error: KeyboardInterrupt,
) -> Attempt:
    """Return the results until Ctrl-C: of the program, and of whole rounds of both sides."""
    ours, theirs = whole
    under_way = [error.measured] if isinstance(error, Interrupted) else []
    measured = merged([*ours, *under_way])
    if other is not None or against.processes > 1:
        note = f"the measuring was interrupted (whole rounds: {len(ours)})"
        facts = {**measured.facts, "stopped_by": "interrupted"}
        measured = replace(measured, facts=facts, notes=(*measured.notes, note))
    if other is None:
        return Attempt(work.label, measured, rounds=tuple(ours))
    paired = isinstance(other, Side)
    sides = ours, (theirs if isinstance(other, Side) else list(other))
    compared = cut_short(
        work.name,
        against.label,
        sides,
        paired=paired,
        spec=bench_spec(work, against),
    )
    if compared is not None:
        compared = replace(compared, headings=against.headings)
    return Attempt(work.label, measured, rounds=tuple(ours), compared=compared)


def _compared(
    work: SamplerWork,
    other: Other,
    against: Against,
    gates: int,
    on_stage: OnStage,
    whole: Rounds,
) -> Attempt:
    """Measure a program and compare it with its other side; add each round to `whole`."""
    spec = bench_spec(work, against)
    if isinstance(other, Side):
        _check_gates(work, other.work, spec)
    else:
        _check_stored(work, other, spec, against.label)

    def measure(count: int) -> Rounds:
        ours, theirs = whole
        before = len(ours)
        if not isinstance(other, Side):
            ours.extend(alone(Side(work), count, on_stage))
            return ours[before:], list(other)
        sides = _quick(Side(work), spec), _quick(other, spec)
        for one, another in alternating(*sides, count, on_stage):
            ours.append(one)
            theirs.append(another)
        return ours[before:], theirs[before:]

    comparison = compare(
        against.label,
        measure,
        paired=isinstance(other, Side),
        spec=spec,
        gates=gates,
        rounds=against.processes,
    )
    comparison = replace(comparison, headings=against.headings)
    return Attempt(work.label, merged(comparison.ours), rounds=comparison.ours, compared=comparison)


def _check_gates(ours: SamplerWork, theirs: SamplerWork, spec: BenchSpec) -> None:
    """Raise UsageError if none of the metrics in olympus.toml can be compared."""
    kinds = {isinstance(side.program, BundleWork) for side in (ours, theirs)}
    if len(kinds) > 1 and spec.metrics and not set(spec.metrics) & set(INTERLEAVED):
        raise UsageError(
            f"the metrics of target {ours.label!r} cannot be compared with a bundle: "
            + ", ".join(spec.metrics),
            hint=f"a target and a bundle share {' and '.join(INTERLEAVED)}; "
            "--baseline git:REV compares all",
        )


def _check_stored(
    work: SamplerWork, stored: Sequence[Measured], spec: BenchSpec, label: str
) -> None:
    """Raise UsageError if a stored baseline has none of the metrics that can fail."""
    gates = GATED if spec.metrics is None else spec.metrics
    if any(all(name in measured.metrics for measured in stored) for name in gates):
        return
    raise UsageError(
        f"the baseline {label} cannot judge target {work.name!r}: it needs {' or '.join(gates)}, "
        f"and has {', '.join(stored[0].metrics) or 'no metric'}",
        hint=f"olympus bench {work.label} --save-baseline NAME measures them",
    )


def _quick(side: Side, spec: BenchSpec) -> Side:
    """Return the side without the slow import metrics, unless these can fail."""
    imports = bool(_IMPORTS & set(spec.metrics or ()))
    effort = replace(side.work.effort, imports=imports)
    return replace(side, work=replace(side.work, effort=effort))
