"""Measuring one program for `olympus bench`: alone, in several processes, or with another side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from olympus.errors import UsageError
from olympus_cli.bench.against import Other
from olympus_cli.bench.comparing import (
    INTERLEAVED,
    Compared,
    Rounds,
    compare,
    gate_count,
    merged,
)
from olympus_cli.bench.model import Measured
from olympus_cli.bench.rounds import Side, alone, alternating
from olympus_cli.bench.sampler import Interrupted, OnStage, measure_target
from olympus_cli.bench.verdict import ROUNDS
from olympus_cli.bench.work import BundleWork, SamplerWork
from olympus_cli.faults.failure import Failure
from olympus_cli.spec.benching import BenchSpec

__all__ = ["Against", "Attempt", "attempted", "bench_spec", "total_gates"]

_IMPORTS = {"import", "import_program"}


@dataclass(frozen=True)
class Attempt:
    """One target as the user calls it: what was measured of it, or why it could not be.

    `rounds` are those of several processes, which `measured` has the samples of, and `compared` is
    what its baseline says of it.
    """

    name: str
    measured: Measured | None = None
    failure: Failure | None = None
    rounds: tuple[Measured, ...] = ()
    compared: Compared | None = None


@dataclass(frozen=True)
class Against:
    """What a bench is compared with, and how: `baseline` and `save` as their options say.

    `threshold` is put over what olympus.toml says; `rounds` is the number of processes of a side.
    """

    baseline: str | None = None
    save: str | None = None
    threshold: float | None = None
    rounds: int | None = None

    @property
    def processes(self) -> int:
        """How many processes measure a side: one, where nothing is compared or kept."""
        if self.rounds is not None:
            return self.rounds
        return ROUNDS if self.baseline or self.save else 1


def bench_spec(work: SamplerWork, against: Against) -> BenchSpec:
    """When the bench of a program fails: as its target says, and with the option's threshold."""
    own = BenchSpec() if isinstance(work.program, BundleWork) else work.program.bench
    return own.under(BenchSpec(threshold=against.threshold))


def total_gates(works: Sequence[SamplerWork], against: Against) -> int:
    """How many metrics of all programs can fail a run."""
    return sum(gate_count(bench_spec(work, against)) for work in works)


def attempted(
    work: SamplerWork, other: Other | None, against: Against, gates: int, on_stage: OnStage
) -> Attempt:
    """Measure a program, in turns with `other` if that runs too; `gates` is of the whole run.

    Raises:
        OlympusError: a stage of either side fails, or a process has died.
        UsageError: the other side was measured on another machine or backend, or has none of the
            metrics that olympus.toml names.
        Interrupted: Ctrl-C has come, and there are samples of the program: those of whole rounds
            and of the one under way.
    """
    if other is None and against.processes == 1:
        return Attempt(work.label, measure_target(work, on_stage=on_stage))
    whole: list[Measured] = []  # the rounds of ours
    try:
        if other is None:
            whole.extend(alone(Side(work), against.processes, on_stage))
            return Attempt(work.label, merged(whole), rounds=tuple(whole))
        return _compared(work, other, against, gates, on_stage, whole)
    except KeyboardInterrupt as error:
        under_way = [error.measured] if isinstance(error, Interrupted) else []
        if not (whole or under_way):
            raise
        cause = (error.__cause__ if isinstance(error, Interrupted) else None) or error
        raise Interrupted(_cut_short(whole, under_way, against)) from cause


def _cut_short(
    whole: Sequence[Measured], under_way: Sequence[Measured], against: Against
) -> Measured:
    """What is known when Ctrl-C has come."""
    found = merged([*whole, *under_way])
    verdict = f", and there is no verdict against {against.baseline}" if against.baseline else ""
    note = f"the measuring was interrupted (whole rounds: {len(whole)}){verdict}"
    facts = {**found.facts, "stopped_by": "interrupted"}
    return replace(found, facts=facts, notes=(*found.notes, note))


def _compared(
    work: SamplerWork,
    other: Other,
    against: Against,
    gates: int,
    on_stage: OnStage,
    whole: list[Measured],
) -> Attempt:
    """Measure a program and hold it against its other side; each round of ours joins `whole`."""
    spec = bench_spec(work, against)
    paired = isinstance(other, Side)
    if isinstance(other, Side):
        _check_gates(work, other.work, spec)

    def measure(count: int) -> Rounds:
        before = len(whole)
        if not isinstance(other, Side):
            whole.extend(alone(Side(work), count, on_stage))
            return whole[before:], list(other)
        sides = _quick(Side(work), spec), _quick(other, spec)
        beside: list[Measured] = []
        for ours, theirs in alternating(*sides, count, on_stage):
            whole.append(ours)
            beside.append(theirs)
        return whole[before:], beside

    found = compare(
        against.baseline or "",
        measure,
        paired=paired,
        spec=spec,
        gates=gates,
        rounds=against.processes,
    )
    return Attempt(work.label, merged(found.ours), rounds=found.ours, compared=found)


def _check_gates(ours: SamplerWork, theirs: SamplerWork, spec: BenchSpec) -> None:
    """Refuse to measure where no metric that olympus.toml names can be compared."""
    kinds = {isinstance(each.program, BundleWork) for each in (ours, theirs)}
    if len(kinds) > 1 and spec.metrics and not set(spec.metrics) & set(INTERLEAVED):
        raise UsageError(
            f"the metrics of target {ours.label!r} cannot be compared with a bundle: "
            + ", ".join(spec.metrics),
            hint=f"a target and a bundle share {' and '.join(INTERLEAVED)}; "
            "--baseline git:REV compares all",
        )


def _quick(side: Side, spec: BenchSpec) -> Side:
    """The side without what takes long beside a round, unless it can fail."""
    imports = bool(_IMPORTS & set(spec.metrics or ()))
    effort = replace(side.work.effort, imports=imports)
    return replace(side, work=replace(side.work, effort=effort))
