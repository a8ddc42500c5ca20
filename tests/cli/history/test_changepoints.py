"""Changes of the level of a figure: on simulated series, with the documented rates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from olympus_cli.history.changepoints import (
    MAX_POINTS,
    changepoints,
    every_change,
)

Series = Callable[[np.random.Generator], np.ndarray]


def places(make: Series, runs: int) -> list[list[int]]:
    """The positions of the changes in each of `runs` simulated series."""
    seeds = map(np.random.default_rng, range(runs))
    return [[change.index for change in changepoints(make(random))] for random in seeds]


def noise(random: np.random.Generator, count: int, level: float = 1.0) -> np.ndarray:
    """Values around `level` with a deviation of 2%."""
    return level * (1 + 0.02 * random.standard_normal(count))


def steps(*levels: tuple[int, float]) -> Series:
    return lambda random: np.concatenate([noise(random, *level) for level in levels])


def with_outliers(random: np.random.Generator) -> np.ndarray:
    values = noise(random, 50)
    values[random.choice(50, 4, replace=False)] *= 3
    return values


def with_a_tail(random: np.random.Generator) -> np.ndarray:
    return 1 + 0.02 * random.standard_exponential(50) * (1 + 5 * (random.random(50) < 0.1))


def drifting(random: np.random.Generator) -> np.ndarray:
    return np.linspace(1, 1.2, 50) * noise(random, 50)


@pytest.mark.parametrize(
    "make",
    [steps((8, 1.0)), steps((50, 1.0)), with_outliers, with_a_tail],
    ids=["few", "many", "outliers", "tail"],
)
def test_noise_is_seldom_a_change(make: Series) -> None:
    assert sum(map(bool, places(make, 100))) <= 4


@pytest.mark.parametrize(
    ("before", "after", "level"),
    [(30, 30, 1.06), (20, 5, 1.1), (20, 4, 0.9), (6, 6, 1.12)],
)
def test_a_step_is_found_at_its_position(before: int, after: int, level: float) -> None:
    series = places(steps((before, 1.0), (after, level)), 50)
    assert sum(len(changes) == 1 and abs(changes[0] - before) <= 2 for changes in series) >= 46


def test_a_step_among_outliers_is_found() -> None:
    def make(random: np.random.Generator) -> np.ndarray:
        return with_outliers(random) * np.repeat([1.0, 1.15], 25)

    series = places(make, 50)
    assert sum(any(abs(place - 25) <= 2 for place in changes) for changes in series) >= 45


def test_a_regression_and_its_fix_are_two_changes() -> None:
    series = places(steps((20, 1.0), (6, 1.1), (20, 1.0)), 50)
    near = [e for e in series if len(e) == 2 and abs(e[0] - 20) <= 2 and abs(e[1] - 26) <= 2]
    assert len(near) >= 46


def test_a_drift_is_several_steps() -> None:
    counts = [len(changes) for changes in places(drifting, 40)]
    assert min(counts) >= 1
    assert max(counts) <= 6


def test_a_single_outlier_at_the_end_is_no_change() -> None:
    series = places(lambda random: np.append(noise(random, 30), 1.5), 50)
    assert sum(map(bool, series)) <= 2


def test_too_few_runs_have_no_change() -> None:
    for count in range(6):
        assert changepoints([1.0] * count) == []
    assert changepoints([1.0, 1.0, 1.0, 2.0, 2.0]) == []


def test_a_very_small_change_is_omitted() -> None:
    assert changepoints([1.0, 1.0001] * 10 + [1.005, 1.0051] * 10) == []
    assert [c.index for c in changepoints([1.0, 1.0001] * 10 + [1.05, 1.0501] * 10)] == [20]


def test_a_change_has_its_levels_and_its_probability() -> None:
    (change,) = changepoints([2.0, 2.02, 1.98] * 5 + [3.0, 3.02, 2.98] * 5)
    assert (change.index, change.before, change.after) == (15, 2.0, 3.0)
    assert change.ratio == 1.5
    assert change.probability == 0.001, "none of 999 random orders has such a segment"


def test_the_same_values_give_the_same_changes() -> None:
    values = steps((30, 1.0), (30, 1.03))(np.random.default_rng(7))
    assert changepoints(values) == changepoints(values)


def test_only_the_latest_values_of_a_very_long_series_are_used() -> None:
    values = [5.0] * 50 + [1.0, 1.01] * (MAX_POINTS // 2 - 50) + [2.0, 2.01] * 50
    assert [change.index for change in changepoints(values)] == [len(values) - 100]


def test_every_difference_of_a_counted_figure_is_a_change() -> None:
    changes = every_change([8, 8, 8.5, 8.5, 8, 0, 8])
    assert [change.index for change in changes] == [2, 4, 5, 6]
    assert [change.ratio for change in changes][-1] is None
    assert every_change([]) == every_change([1]) == []
