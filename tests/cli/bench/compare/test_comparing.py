"""Comparisons on simulated machines: rates of false alarms and of detected changes."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_cli.bench.compare.comparing import Compared, Rounds, compare
from olympus_cli.bench.measurement import Measured, Metric
from olympus_cli.spec.bench import BenchSpec
from tests.cli.bench.compare.test_verdict import PAIRED, Machine
from tests.day import by_day

Array = np.ndarray

SAMPLES = 20


def process(call: Array, cpu: Array) -> Measured:
    metrics = {
        name: Metric("s", "lower", tuple(map(float, samples)))
        for name, samples in (("steady-call", call), ("steady-cpu", cpu))
    }
    return Measured("f", "m:f", "cpu", metrics, {"cpu": "a processor"}, {}, {})


def simulated(
    machine: Machine, call: float, cpu: float, seed: int, *, gates: int = 2, noise: float = 0.01
) -> Compared:
    """Compare with a program of `call` times the wall time and `cpu` times the processor time."""
    random = np.random.default_rng(seed)

    def measure(rounds: int) -> Rounds:
        shape = (1, 2, rounds, SAMPLES)
        walls = np.broadcast_to(machine(random, shape), shape)[0]
        cpus = np.exp(random.normal(0, noise, (2, rounds, 1)) + random.normal(0, 0.03, shape[1:]))
        ours = [process(call * a, cpu * b) for a, b in zip(walls[0], cpus[0], strict=True)]
        return ours, [process(a, b) for a, b in zip(walls[1], cpus[1], strict=True)]

    return compare("main", measure, paired=True, spec=BenchSpec(), gates=gates, rounds=5)


def differing(deviation: float) -> Machine:
    """A machine with processes that differ by `deviation`, and calls by 8 %."""

    def machine(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        of_process = random.normal(0, deviation, (*shape[:3], 1))
        return np.exp(of_process + random.normal(0, 0.08, shape))

    return machine


def failed(machine: Machine, call: float, cpu: float, runs: int, **more: float) -> int:
    return sum(bool(simulated(machine, call, cpu, seed, **more).worse) for seed in range(runs))


#: Two machines by day: a run on one takes seconds.
MACHINES = by_day(PAIRED, PAIRED[:2])


@pytest.mark.parametrize("machine", [*MACHINES, differing(0.1)])
def test_an_equal_program_does_not_fail(machine: Machine) -> None:
    assert failed(machine, 1.0, 1.0, 200) == 0


@pytest.mark.parametrize("machine", MACHINES)
def test_a_program_at_the_threshold_seldom_fails(machine: Machine) -> None:
    assert failed(machine, 1.05, 1.05, 100) <= 5


def test_a_change_larger_than_the_noise_of_processes_fails() -> None:
    noisy = differing(0.08)
    assert failed(noisy, 1.15, 1.15, 100, noise=0.08) >= 85
    assert failed(noisy, 1.3, 1.3, 50, noise=0.08) >= 49


@pytest.mark.parametrize("deviation", [0.1, 0.2])
def test_a_program_that_is_faster_on_more_threads_does_not_fail(deviation: float) -> None:
    assert failed(differing(deviation), 0.8, 1.3, 100) <= 1


def test_a_second_product_fails_if_only_processor_time_has_little_noise() -> None:
    assert failed(differing(0.15), 1.24, 1.2, 100, noise=0.03) == 100
    assert failed(differing(0.15), 1.24, 1.2, 100, noise=0.08) >= 97


def stored(factor: float, session: float, seed: int, *, gates: int = 2) -> Compared:
    """A comparison with a stored baseline; log speeds of sessions deviate by `session`."""
    random = np.random.default_rng(seed)

    def side(rounds: int, times: float) -> list[Measured]:
        noise = np.exp(random.normal(0, 0.02, (2, rounds, SAMPLES)))
        return [process(times * a, times * b) for a, b in zip(*noise, strict=True)]

    theirs, now = side(5, float(np.exp(random.normal(0, session)))), factor

    def measure(rounds: int) -> Rounds:
        return side(rounds, now), theirs

    return compare("main", measure, paired=False, spec=BenchSpec(), gates=gates, rounds=5)


def stored_failed(factor: float, session: float, runs: int, *, gates: int = 2) -> int:
    return sum(bool(stored(factor, session, seed, gates=gates).worse) for seed in range(runs))


def test_a_stored_baseline_of_a_faster_session_does_not_fail() -> None:
    assert stored_failed(1.0, 0.05, 200) == 0
    assert stored_failed(1.0, 0.1, 200) <= 6


@pytest.mark.parametrize("gates", [1, 200])
def test_a_program_that_takes_twice_as_long_fails_against_a_stored_baseline(gates: int) -> None:
    assert stored_failed(2.0, 0.05, 50, gates=gates) == 50


def test_a_stored_baseline_reports_the_least_change_that_it_shows() -> None:
    comparison = stored(1.1, 0.0, 1)
    reasons = {judgement.verdict.reason for judgement in comparison.judged if judgement.gate}
    (reason,) = reasons
    assert "a stored baseline shows a change above 21% at best; --baseline git:REV" in reason
    assert len(comparison.ours) == 5, "more rounds do not measure the difference of sessions"
