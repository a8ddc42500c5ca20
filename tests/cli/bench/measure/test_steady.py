"""Warm-up and the end of measuring, on simulated clocks with several kinds of noise."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import olympus
from olympus_cli.bench.compare.attempts import Against, expected_time
from olympus_cli.bench.compare.rounds import LEAST_PAIRS, Side, turns
from olympus_cli.bench.measure.steady import SAMPLE_SECONDS, drift, trend, warm_up
from olympus_cli.bench.measure.stopping import MAX_SAMPLES, MIN_SAMPLES, Stopping, repetitions
from olympus_cli.bench.measure.work import BundleWork, Effort, SamplerWork
from olympus_cli.commands import bench
from tests.documents.documents import ROOT


class World:
    """A clock that advances only in calls, each by the next of `durations`."""

    def __init__(self, durations: Iterator[float]) -> None:
        self.now = 0.0
        self.calls = 0
        self._durations = durations

    def clock(self) -> float:
        return self.now

    def timed(self, calls: int) -> float:
        begin = self.now
        for _ in range(calls):
            self.calls += 1
            self.now += next(self._durations)
        return self.now - begin


def always(*durations: float) -> Iterator[float]:
    while True:
        yield from durations


def noisy(seconds: float, spread: float, seed: int) -> Iterator[float]:
    """One-sided noise with a long tail, as on a shared machine."""
    rng = random.Random(seed)
    while True:
        yield seconds * (1 + spread * rng.expovariate(1.0))


def slow_start(calls: int, factor: float, seed: int) -> Iterator[float]:
    """Times of calls that get faster over `calls` calls, from `factor` times as slow."""
    noise = noisy(0.01, 0.05, seed)
    for number in range(calls):
        yield next(noise) * (1 + (factor - 1) * math.exp(-3 * number / calls))
    yield from noise


def test_equal_times_are_steady_after_the_fewest_calls() -> None:
    world = World(always(0.25))
    warm = warm_up(world.timed, 100, world.clock)
    assert (warm.steady, warm.batch, warm.calls, warm.call) == (True, 1, 18, 0.25)


def test_a_program_longer_than_the_limit_is_called_once() -> None:
    world = World(always(64.0))
    warm = warm_up(world.timed, 1, world.clock)
    assert (warm.steady, warm.calls, warm.seconds) == (None, 1, 64.0)


@pytest.mark.parametrize("seconds", [2.0**-24, 2.0**-20, 2.0**-12])
def test_short_calls_are_batched_beyond_the_clock_resolution(seconds: float) -> None:
    world = World(always(seconds))
    warm = warm_up(world.timed, 10, world.clock)
    assert warm.batch * seconds >= SAMPLE_SECONDS > warm.batch * seconds / 20
    assert warm.steady is True


def test_the_batch_is_for_the_warm_program() -> None:
    def cold() -> Iterator[float]:
        yield 0.5
        yield from always(2.0**-17)

    world = World(cold())
    warm = warm_up(world.timed, 10, world.clock)
    assert warm.batch * 2.0**-17 >= SAMPLE_SECONDS


@pytest.mark.parametrize("seed", range(8))
def test_warm_up_lasts_until_a_slow_start_ends(seed: int) -> None:
    calls = 60
    world = World(slow_start(calls, 5.0, seed))
    warm = warm_up(world.timed, 100, world.clock)
    assert warm.steady is True
    assert warm.calls >= 0.6 * calls  # the excess is a tenth by then
    assert warm.call < 0.02


@pytest.mark.parametrize("seed", range(4))
def test_an_endless_drift_uses_all_the_time_and_is_not_steady(seed: int) -> None:
    noise = noisy(0.01, 0.05, seed)
    world = World(next(noise) * (1 + 0.02 * number) for number in range(10**6))
    warm = warm_up(world.timed, 8, world.clock)
    assert warm.steady is False
    assert 8 <= warm.seconds < 9


def test_bimodal_noise_and_spikes_are_no_trend() -> None:
    rng = random.Random(5)
    two = [0.01 if rng.random() < 0.5 else 0.02 for _ in range(200)]
    spikes = [0.1 if i % 37 == 36 else 0.01 + 1e-5 * rng.random() for i in range(200)]
    assert drift(two) == 0
    assert drift(spikes) == 0
    for durations in (always(*two), always(*spikes), noisy(0.01, 0.5, 1)):
        world = World(durations)
        assert warm_up(world.timed, 100, world.clock).steady is True


def test_a_step_is_a_trend_of_its_size() -> None:
    assert trend([2.0] * 6 + [1.0] * 6) < -0.5
    assert trend([1.0] * 20 + [1.3] * 20) > 0.2
    assert drift([2.0, 1.0] * 5) == 0.0  # too few


def test_steady_noise_is_seldom_a_trend() -> None:
    wrong = sum(
        trend([next(noise) for _ in range(24)]) != 0
        for noise in (noisy(1.0, 0.3, seed) for seed in range(200))
    )
    assert wrong <= 20  # 5 % of 200, and three standard deviations


class Timed:
    """Samples that advance the clock of a `Stopping`."""

    def __init__(self, precision: float, limit: float) -> None:
        self.now = 0.0
        self.stopping = Stopping(precision, limit, lambda: self.now)

    def run(self, durations: Iterator[float]) -> str:
        while (reason := self.stopping.reason()) is None:
            seconds = next(durations)
            self.now += seconds
            self.stopping.add(seconds)
        return reason


def test_equal_times_need_the_fewest_samples() -> None:
    timed = Timed(0.01, 100)
    assert timed.run(always(0.25)) == "precision"
    assert timed.stopping.samples == [0.25] * MIN_SAMPLES


def test_a_call_longer_than_the_limit_has_one_sample() -> None:
    timed = Timed(0.01, 1)
    assert timed.run(always(64.0)) == "time limit"
    assert timed.stopping.samples == [64.0]


def test_scattered_times_are_measured_until_the_limit() -> None:
    timed = Timed(0.01, 32)
    assert timed.run(always(0.5, 1.5)) == "time limit"
    assert 30 <= timed.now <= 32


def test_the_number_of_samples_is_bounded() -> None:
    timed = Timed(1e-9, 1e9)
    assert timed.run(always(0.5, 1.5)) == "samples"
    assert len(timed.stopping.samples) == MAX_SAMPLES


@pytest.mark.parametrize(("seconds", "limit", "count"), [(4.0, 10, 2), (11.0, 10, 0), (5.0, 10, 2)])
def test_a_stage_is_repeated_only_if_it_ends_in_time(
    seconds: float, limit: float, count: int
) -> None:
    world = World(always(seconds))
    count_of_samples = sum(
        world.timed(1) > 0 for _ in repetitions(limit, lambda: seconds, world.clock)
    )
    assert count_of_samples == count


def test_a_long_sample_does_not_start_after_the_limit() -> None:
    timed = Timed(0.01, 100)
    assert timed.run(always(30.0, 31.0)) == "time limit"
    assert timed.now == 91.0


def test_all_parts_of_a_measurement_end_within_the_limit() -> None:
    effort = Effort(time_limit=8.0)
    assert effort.calls_limit + effort.stages_limit == 8.0


@pytest.mark.parametrize(
    ("number", "against", "words"),
    [
        (
            1,
            Against(),
            "the measuring of 1 program takes up to 5 s; the start, imports, compilation and first "
            "call of 1 process comes on top",
        ),
        (3, Against(), "3 programs takes up to 15 s"),
        (
            1,
            Against(save="main"),
            "up to 5 s; the start, imports, compilation and first call of 5 processes come on top",
        ),
        (
            2,
            Against(baseline="main"),
            "up to 10 s, or 20 s if it is repeated; the start, imports, "
            "compilation and first call of 10 to 20 processes",
        ),
        (
            1,
            Against(baseline="git:HEAD"),
            "up to 10 s, or 40 s if it is repeated; the start, "
            "imports, compilation and first call of 10 to 40 processes come on top; each of 5 "
            "rounds of a comparison in turns has at least 4 pairs of samples, whatever the time "
            "limit",
        ),
        (2, Against(baseline="git:HEAD", rounds=3), "each of 6 rounds of a comparison in turns"),
    ],
)
def test_the_expected_time(number: int, against: Against, words: str) -> None:
    bundle = BundleWork(Path("f.olympus"), olympus.target("cpu"))
    work = SamplerWork("f", "f.olympus", bundle, effort=Effort(time_limit=5.0))
    sides = {None: None, "main": (), "git:HEAD": Side(work)}
    side = sides[against.baseline]
    assert words in expected_time([work] * number, [side] * number, against)


def test_the_minimum_of_pairs_is_measured_and_documented() -> None:
    pairs = list(turns(lambda calls: 1.0, lambda calls: 1.0, 1, seconds=-1.0))
    assert len(pairs) == LEAST_PAIRS
    for name in ("reference/metrics", "how-to/baselines"):
        text = " ".join((ROOT / "docs" / f"{name}.md").read_text().split())
        assert f"at least {LEAST_PAIRS} pairs of samples" in text
    (option_help,) = (option.help for option in bench.command.params if option.name == "time_limit")
    assert f"at least {LEAST_PAIRS} pairs of samples a round" in option_help
