"""Measurements in rounds, each in separate processes: of one side, or of two sides in turns.

Two sides take turns within a round: ours, theirs, theirs, ours, and so on. Other load on the
machine affects both, and a slow drift cancels. The first side changes from round to round.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace

from olympus_cli.bench.measure.sampler import Interrupted, Sampler, measure_target
from olympus_cli.bench.measure.work import SamplerWork
from olympus_cli.bench.measurement import Measured
from olympus_cli.workers.call import OnStage

Clock = Callable[[], float]
Sample = Callable[[int], float]

#: The least number of pairs of samples of a round, however long a call takes: two turns.
LEAST_PAIRS = 4

_SECONDS = 4e-3  # the minimum for a sample: about the scheduler's time slice
_PAIRS = 40  # samples of each side in a round, whose median is used: more add little


@dataclass(frozen=True)
class Side:
    """A program to measure; `adding_to_errors` is a context that names its revision in errors."""

    work: SamplerWork
    adding_to_errors: Callable[[], AbstractContextManager[object]] = field(default=nullcontext)


def alone(side: Side, rounds: int, on_stage: OnStage) -> Iterator[Measured]:
    """Measure one side in `rounds` processes, one after the other, which share its time limit.

    Each round is yielded when it is complete.

    Raises:
        OlympusError: a stage fails, or a process has died.
        Interrupted: Ctrl-C occurred, and the current round has samples.
    """
    work = _share(side.work, rounds)
    for _ in range(rounds):
        with side.adding_to_errors():
            measured = measure_target(work, on_stage=on_stage)
        yield measured


def alternating(
    ours: Side, theirs: Side, rounds: int, on_stage: OnStage
) -> Iterator[tuple[Measured, Measured]]:
    """Measure two sides in turns, in `rounds` pairs of processes; sample i of both is a pair.

    Each round is yielded when it is complete.

    Raises:
        OlympusError: a stage of either side fails, or a process has died.
        Interrupted: Ctrl-C occurred, and our side has samples in the current round.
    """
    for number in range(rounds):
        yield _round(ours, theirs, rounds, number, on_stage)


def _round(
    ours: Side, theirs: Side, rounds: int, number: int, on_stage: OnStage
) -> tuple[Measured, Measured]:
    """Measure one pair of processes; the other side is first in every second round."""
    sides = (ours, theirs) if number % 2 == 0 else (theirs, ours)
    with ExitStack() as stack:
        opened: list[tuple[Side, Sampler]] = []
        slowest = warm_up = 0.0
        for side in sides:
            with side.adding_to_errors():
                sampler = stack.enter_context(closing(Sampler(_share(side.work, rounds), on_stage)))
                prepared = sampler.prepare()
            slowest, warm_up = max(slowest, prepared.call), max(warm_up, prepared.warm_up)
            opened.append((side, sampler))
        calls = max(1, math.ceil(_SECONDS / max(slowest, 1e-9)))
        samples = [_sampling(side, sampler) for side, sampler in opened]
        left = _share(ours.work, rounds).effort.calls_limit - warm_up
        pairs = 0
        try:
            for _ in turns(samples[0], samples[1], calls, 2 * left):
                pairs += 1
        except KeyboardInterrupt as error:
            if not pairs:
                raise
            raise Interrupted(_finished(*opened[number % 2], "interrupted")) from error
        measured = [_finished(side, sampler) for side, sampler in opened]
    return (measured[0], measured[1]) if number % 2 == 0 else (measured[1], measured[0])


def turns(
    one: Sample, other: Sample, calls: int, seconds: float, clock: Clock = time.perf_counter
) -> Iterator[tuple[float, float]]:
    """Yield pairs of samples of two sides in turns, for about `seconds`; at least four pairs.

    Each sample is the time of `calls` calls in a row.

    >>> len(list(turns(lambda calls: 1.0, lambda calls: 1.0, 1, seconds=0)))
    4
    """
    until = clock() + seconds
    for number in range(_PAIRS):
        if number >= LEAST_PAIRS and number % 2 == 0 and clock() >= until:
            return
        if number % 2 == 0:
            first = one(calls)
            yield first, other(calls)
        else:
            second = other(calls)
            yield one(calls), second


def _sampling(side: Side, sampler: Sampler) -> Sample:
    def sample(calls: int) -> float:
        with side.adding_to_errors():
            return sampler.sample(calls)

    return sample


def _finished(side: Side, sampler: Sampler, stopped: str = "samples") -> Measured:
    """Return a side's measurement without the load of others, as that includes the other side."""
    with side.adding_to_errors():
        measured = sampler.finish(stopped)
    return replace(measured, conditions={**measured.conditions, "others": None})


def _share(work: SamplerWork, rounds: int) -> SamplerWork:
    """Return the work of one of `rounds` rounds."""
    effort = replace(work.effort, time_limit=work.effort.time_limit / rounds)
    return replace(work, effort=effort)
