"""The lines that show the progress of a build."""

from __future__ import annotations

import pytest

from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.progress import Progress
from olympus_cli.builder.schedule import LastBuild
from olympus_cli.faults.failure import Failure

LONG = "a_rather_long_name_of_a_target@batch=64"


@pytest.fixture(autouse=True)
def has_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("olympus_cli.terminal.console.can_write", lambda *_: False)


def running() -> Progress:
    """A build of ten targets after 20 seconds: two have ended, one of them failed, two run."""
    names = [f"t{n}" for n in range(8)]
    progress = Progress([*names, LONG, "short"], 2, start=100.0)
    progress.enter("t0", "trace", 100.0)
    progress.end(Outcome("t0", "built", seconds=4.0))
    progress.end(Outcome("t1", "failed", seconds=2.0, failure=Failure("TraceError", "no")))
    progress.enter(LONG, "load", 106.0)
    progress.enter(LONG, "compile for gpu", 110.0)
    progress.enter("short", "trace", 119.5)
    return progress


def test_the_lines_for_a_wide_terminal() -> None:
    assert running().lines(100, 24, 120.0) == [
        "#####-------------------  2/10 targets  1 failed  0:20  about 10 s left",
        f"  {LONG:<40}  compile for gpu   14.0 s",
        f"  {'short':<40}  trace              0.5 s",
    ]


def test_the_lines_for_a_narrow_terminal() -> None:
    assert running().lines(40, 24, 120.0) == [
        "2/10  1 failed  0:20  10 s left",
        "  a_ra...h=64  compile for gpu   14.0 s",
        "  short        trace              0.5 s",
    ]
    assert running().lines(25, 24, 120.0) == [
        "2/10  1 failed  0:20",
        "  a_rat...ch=64   14.0 s",
        "  short            0.5 s",
    ]


@pytest.mark.parametrize("columns", range(24, 130))
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    assert all(len(line) <= columns for line in running().lines(columns, 24, 120.0))


def test_a_low_terminal_shows_the_first_targets() -> None:
    progress = running()
    progress.enter("t5", "load", 120.0)
    assert [line.split()[0] for line in progress.lines(80, 5, 120.0)[1:]] == [
        LONG,
        "short",
        "t5",
    ]
    assert progress.lines(80, 4, 120.0)[2:] == ["  and 2 more"]


def test_the_time_left_is_by_the_last_builds_and_the_ratio_to_them() -> None:
    progress = Progress(["a", "b", "c", "d"], jobs=2, start=0.0)
    assert progress.remaining(0.0) is None
    progress.builds = {name: LastBuild(10.0) for name in "abcd"}
    assert progress.remaining(0.0) == 20.0
    progress.enter("a", "trace", 0.0)
    progress.enter("b", "trace", 0.0)
    assert progress.remaining(4.0) == 16.0
    progress.end(Outcome("a", "built", seconds=5.0))  # this build takes half of the time
    assert progress.remaining(5.0) == 5.0
    progress.builds = {"a": LastBuild(10.0), "d": LastBuild(100.0)}
    assert progress.remaining(5.0) == 50.0, "it takes at least as long as the longest target"
    for name in "bcd":
        progress.end(Outcome(name, "built", seconds=1.0))
    assert progress.remaining(9.0) == 0.0


def test_a_target_without_a_record_takes_the_mean_of_those_that_ended() -> None:
    progress = Progress(["a", "b", "c"], jobs=1, start=0.0)
    progress.end(Outcome("a", "built", seconds=3.0))
    assert progress.remaining(3.0) == 6.0
