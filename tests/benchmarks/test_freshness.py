"""The benchmark of builds with nothing to do: that it runs, and the limits of their time."""

from __future__ import annotations

import statistics

import pytest

from benchmarks import freshness

# Beside other work both times vary; on an idle machine a build takes half of these.
LONGEST = 0.25  # seconds of processor time
MOST = 5.0  # times `python -c "import click"`


def test_the_ratio_is_of_medians() -> None:
    times = freshness.Times(9.0, 3.0, [0.1, 0.2, 0.9], [0.3, 0.1, 0.01], 9.0)
    assert times.ratio == pytest.approx(2.0)


@pytest.mark.night
def test_a_short_measurement_has_all_builds(capsys: pytest.CaptureFixture[str]) -> None:
    assert freshness.main(["--short"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "`python -m benchmarks.freshness --short`" in lines[0] and "4 targets" in lines[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in lines[4:]]
    assert rows == [
        "first, without stored results",
        "bare XLA, for the same modules in one process",
        "without a change",
        "`import click`, beside it",
        "a comment changed in a file that all import",
    ]


@pytest.mark.night
def test_200_fresh_targets_are_within_the_limits() -> None:
    times = freshness.measured(freshness.TARGETS, freshness.FILES, freshness.ROUNDS)
    assert statistics.median(times.same) <= LONGEST
    assert times.ratio <= MOST
