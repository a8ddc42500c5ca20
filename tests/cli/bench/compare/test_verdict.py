"""Verdicts on simulated machines: rates of false and of missed alarms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from olympus_cli.bench.compare.resampling import ratio_interval, student_quantile
from olympus_cli.bench.compare.verdict import ROUNDS, adjusted, judge
from olympus_cli.bench.measurement import Direction, Metric
from tests.day import by_day
from tests.drawn import examples

Random = np.random.Generator
Array = np.ndarray
#: (random, shape of runs, sides, processes, samples) -> seconds
Machine = Callable[[Random, tuple[int, int, int, int]], Array]

SAMPLES = 20


def quiet(random: Random, shape: tuple[int, ...]) -> Array:
    return np.exp(random.normal(0, 0.03, shape))


def processes(random: Random, shape: tuple[int, ...]) -> Array:
    """The speeds of processes differ."""
    return quiet(random, shape) * np.exp(random.normal(0, 0.03, (*shape[:3], 1)))


def two_modes(random: Random, shape: tuple[int, ...]) -> Array:
    """Half of the processes are 8 % slower, throughout."""
    return quiet(random, shape) * (1 + 0.08 * (random.random((*shape[:3], 1)) < 0.5))


def drift(random: Random, shape: tuple[int, ...]) -> Array:
    """The machine gets slower and faster; both sides, which take turns, have the same drift."""
    runs, _, rounds, count = shape
    walk = np.cumsum(random.normal(0, 0.03, (runs, 1, rounds * count)), axis=2)
    return quiet(random, shape) * np.exp(walk.reshape(runs, 1, rounds, count))


def bursts(random: Random, shape: tuple[int, ...]) -> Array:
    """In 4 of 10 processes of each side, a third of the samples takes twice as long."""
    count = shape[3]
    start = random.integers(count, size=(*shape[:3], 1))
    place = np.arange(count)
    hit = (place >= start) & (place < start + count // 3)
    return quiet(random, shape) * (1 + (hit & (random.random((*shape[:3], 1)) < 0.4)))


def preempted(random: Random, shape: tuple[int, ...]) -> Array:
    """A third of all samples takes 1.2 to 2 times as long."""
    return quiet(random, shape) * (
        1 + (random.random(shape) < 1 / 3) * random.uniform(0.2, 1, shape)
    )


def correlated(random: Random, shape: tuple[int, ...]) -> Array:
    """Consecutive samples are correlated, on one side without the other."""
    noise = random.normal(0, 0.04, shape)
    for i in range(1, shape[3]):
        noise[..., i] = 0.9 * noise[..., i - 1] + math.sqrt(1 - 0.81) * noise[..., i]
    return np.exp(noise)


def two_clocks(random: Random, shape: tuple[int, ...]) -> Array:
    """The processor's clock changes between two speeds, at the same time for both sides."""
    runs, _, rounds, count = shape
    slow = random.random((runs, 1, rounds, count // 4)) < 0.5
    return quiet(random, shape) * np.where(np.repeat(slow, 4, axis=3), 1.3, 1.0)


def stray(random: Random, shape: tuple[int, ...]) -> Array:
    """One process of 20 is slow from its start to its end."""
    return quiet(random, shape) * np.where(random.random((*shape[:3], 1)) < 0.05, 1.5, 1.0)


PAIRED = [processes, two_modes, drift, bursts, preempted, correlated, two_clocks, stray]
APART = [processes, two_modes, bursts, preempted, correlated, stray]
#: The machines that are simulated by day: each run of one takes a second.
BY_DAY = [processes, drift, bursts, two_clocks]


def metric(samples: Array, better: Direction = "lower") -> Metric:
    return Metric("s", better, tuple(map(float, samples)))


def words(
    machine: Machine, ratio: float, *, runs: int, paired: bool, rounds: int = ROUNDS
) -> Counter[str]:
    """The number of runs with each verdict if one side takes `ratio` times as long."""
    times = machine(np.random.default_rng(1), (runs, 2, rounds, SAMPLES))
    times = np.broadcast_to(times, (runs, 2, rounds, SAMPLES)) * np.array([ratio, 1.0]).reshape(
        1, 2, 1, 1
    )
    return Counter(
        judge([metric(x) for x in ours], [metric(x) for x in theirs], paired=paired).word
        for ours, theirs in times
    )


@pytest.mark.parametrize("machine", by_day(PAIRED, BY_DAY))
def test_a_program_is_not_worse_than_itself(machine: Machine) -> None:
    counts = words(machine, 1.0, runs=250, paired=True)
    assert counts["worse"] + counts["better"] <= 2


@pytest.mark.parametrize("machine", by_day(APART, BY_DAY))
def test_a_program_is_not_worse_than_its_stored_baseline(machine: Machine) -> None:
    counts = words(machine, 1.0, runs=250, paired=False)
    assert counts["worse"] + counts["better"] <= 3


@pytest.mark.parametrize("machine", by_day(PAIRED, BY_DAY))
def test_a_program_that_takes_twice_as_long_is_worse(machine: Machine) -> None:
    counts = words(machine, 2.0, runs=50, paired=True)
    assert counts["worse"] >= 45
    assert not counts["better"]


@pytest.mark.parametrize("machine", by_day(PAIRED, BY_DAY))
def test_a_ratio_at_the_threshold_is_worse_at_most_at_the_rate_of_the_confidence(
    machine: Machine,
) -> None:
    counts = words(machine, 1.05, runs=200, paired=True)
    assert counts["worse"] <= 10  # 2.5 % is 5, and chance adds as much


@pytest.mark.parametrize("machine", [drift, bursts, two_clocks])
def test_a_tenth_more_time_is_worse_if_both_sides_have_the_same_noise(machine: Machine) -> None:
    assert words(machine, 1.10, runs=50, paired=True)["worse"] >= 40
    assert words(machine, 1 / 1.10, runs=50, paired=True)["better"] >= 40


def test_a_drift_makes_a_stored_baseline_inconclusive() -> None:
    counts = words(drift, 1.10, runs=50, paired=False)
    assert counts["worse"] + counts["better"] < 5


def test_nothing_changes_on_a_quiet_machine() -> None:
    assert words(quiet, 1.0, runs=100, paired=True) == {"no change": 100}


def sides(
    ours: list[float], theirs: list[float], better: Direction = "lower"
) -> list[list[Metric]]:
    return [[Metric("s", better, (value,)) for value in side] for side in (ours, theirs)]


def test_a_ratio_by_hand() -> None:
    verdict = judge(*sides([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]), paired=True)
    assert (verdict.word, verdict.ratio, verdict.low, verdict.high) == ("worse", 2.0, 2.0, 2.0)
    assert judge(*sides([1.0] * 3, [2.0] * 3), paired=True).word == "better"
    assert judge(*sides([1.04] * 3, [1.0] * 3), paired=True).word == "no change"
    assert judge(*sides([1.06] * 3, [1.0] * 3), paired=True).word == "worse"
    assert judge(*sides([1.06] * 3, [1.0] * 3), paired=True, threshold=0.1).word == "no change"
    assert judge(*sides([1.0, 1.2, 1.4], [1.0] * 3), paired=True).word == "inconclusive"


def test_a_higher_rate_is_better() -> None:
    assert judge(*sides([2.0] * 3, [1.0] * 3, "higher"), paired=False).word == "better"
    assert judge(*sides([1.0] * 3, [2.0] * 3, "higher"), paired=False).word == "worse"


@given(
    st.lists(st.floats(0.1, 10), min_size=3, max_size=6),
    st.lists(st.floats(0.1, 10), min_size=3, max_size=6),
)
@examples(25)
def test_exchanged_sides_have_the_opposite_verdict(ours: list[float], theirs: list[float]) -> None:
    verdict = judge(*sides(ours, theirs), paired=False)
    exchanged = judge(*sides(theirs, ours), paired=False)
    assert verdict.low is not None and verdict.ratio is not None and verdict.high is not None
    assert verdict.low <= verdict.ratio <= verdict.high
    assert exchanged.ratio == pytest.approx(1 / verdict.ratio)
    if {verdict.word, exchanged.word} <= {"better", "worse"}:
        assert verdict.word != exchanged.word
    again = judge(*sides(ours, theirs), paired=False)
    assert again == verdict, "the same samples have the same verdict"


def test_too_few_values_are_inconclusive_with_the_reason() -> None:
    verdict = judge(*sides([9.0, 9.0], [1.0, 1.0, 1.0]), paired=False)
    assert (verdict.word, verdict.ratio) == ("inconclusive", None)
    assert verdict.reason == "it was measured in 2 of at least 3 processes"
    assert judge([], [], paired=False).word == "inconclusive"
    for wrong in (sides([0.0, 1.0, 1.0], [1.0] * 3), [[Metric("s", "lower", ())] * 3] * 2):
        verdict = judge(*wrong, paired=False)
        assert (verdict.word, verdict.reason) == ("inconclusive", "a process has no sample above 0")


def test_extreme_numbers_give_finite_results() -> None:
    verdict = judge(*sides([1e-300, 1e300, 1e-300], [1e300, 1e-300, 1e300]), paired=False)
    assert verdict.word == "inconclusive"
    assert verdict.high is not None and math.isfinite(verdict.high)


def test_only_the_same_figure_is_compared() -> None:
    with pytest.raises(ValueError, match="different things"):
        judge([Metric("s", "lower", (1.0,))], [Metric("B", "lower", (1.0,))], paired=False)
    with pytest.raises(ValueError):
        ratio_interval([[1.0]] * 3, [[1.0]] * 4, paired=True, tail=0.025)
    with pytest.raises(ValueError, match="two processes"):
        ratio_interval([[1.0]], [[1.0]], paired=False, tail=0.025)


@pytest.mark.parametrize("degrees", range(1, 12))
@pytest.mark.parametrize("tail", [0.2, 0.025, 1e-4])
def test_students_t_equals_scipys(degrees: int, tail: float) -> None:
    assert student_quantile(tail, degrees) == pytest.approx(stats.t.isf(tail, degrees))


def test_an_interval_of_normal_values_is_students_t() -> None:
    random = np.random.default_rng(2)
    inside = 0
    for _ in range(400):
        ours, theirs = np.exp(random.normal(0, 0.1, (2, 5, 1)))
        interval = ratio_interval(ours, theirs, paired=True, tail=0.05)
        inside += interval.low <= 1 <= interval.high
    assert 340 <= inside <= 380, "90 % of the intervals contain the ratio"


def test_many_gates_have_at_most_the_alarm_rate_of_one() -> None:
    for gates in (1, 2, 20, 200):
        for looks in (1, 3):
            assert looks * gates * (1 - adjusted(0.95, gates, looks)) / 2 == pytest.approx(0.025)
