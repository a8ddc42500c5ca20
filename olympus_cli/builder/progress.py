"""The progress of a build as lines for a terminal: targets, stages, times and the time left."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.schedule import LastBuild
from olympus_cli.terminal import console
from olympus_cli.terminal.tables import shortened
from olympus_cli.text.escaping import one_line

_BAR, _REST = "\u2501", "\u2500"
_LEAST_BAR, _MOST_BAR = 8, 24  # columns
_LEAST_NAME, _NAME = 10, 40  # columns of a name; a longer one is used if there is room
_TIME = 7  # columns
_BESIDE = 2 + 2 + 2 + _TIME + 1  # columns beside the name and the stage
_MINUTE, _HOUR = 60, 3600
_FIRST_ESTIMATE = 1.0  # seconds of a build


@dataclass
class Progress:
    """The targets of a running build. Times are in seconds, on the clock of `start`.

    `builds` are the last builds of the targets that have one.
    """

    targets: Collection[str]
    jobs: int
    start: float
    builds: Mapping[str, LastBuild] = field(default_factory=dict)
    ended: dict[str, Outcome] = field(default_factory=dict)
    _running: dict[str, tuple[float, str]] = field(default_factory=dict)  # their start and stage

    def estimate_by(self, builds: Mapping[str, LastBuild]) -> None:
        """Estimate the rest of the build by the last builds of the targets."""
        self.builds = builds

    def enter(self, target: str, stage: str, now: float) -> None:
        """Record the stage that a target enters."""
        start, _ = self._running.get(target, (now, ""))
        self._running[target] = start, stage

    def end(self, outcome: Outcome) -> None:
        """Record the end of a target."""
        self._running.pop(outcome.target, None)
        self.ended[outcome.target] = outcome

    def lines(self, columns: int, rows: int, now: float) -> list[str]:
        """Return the lines for a terminal: a summary, and one for each running target."""
        running = sorted(self._running.items(), key=lambda item: item[1][0])
        room = max(rows - 2, 1)
        more = len(running) - room + 1 if len(running) > room else 0
        shown = running[: len(running) - more]
        stages = max((len(stage) for _, (_, stage) in shown), default=0)
        lines = [self._summary(columns, now)]
        lines += [
            _line(target, stage, now - start, columns, stages) for target, (start, stage) in shown
        ]
        return lines + ([f"  and {more} more"] if more else [])

    def _summary(self, columns: int, now: float) -> str:
        """Return the line with the number of ended targets, the time and the time left."""
        failed = sum(outcome.failure is not None for outcome in tuple(self.ended.values()))
        count = f"{len(self.ended)}/{len(self.targets)}"
        failures = f"{failed} failed" if failed else ""
        time, left = _clock(now - self.start), self._estimate(now)
        forms = [
            [f"{count} targets", failures, time, left and f"about {left} left"],
            [count, failures, time, left and f"{left} left"],
            [count, failures, time],
        ]
        texts = ["  ".join(part for part in form if part) for form in forms]
        text = next((text for text in texts if len(text) < columns), texts[-1])
        width = min(columns - len(text) - 3, _MOST_BAR)
        if width < _LEAST_BAR:
            return text
        return f"{_bar(len(self.ended) / max(len(self.targets), 1), width)}  {text}"

    def _estimate(self, now: float) -> str:
        left = self.remaining(now)
        if left is None or now - self.start < _FIRST_ESTIMATE:
            return ""
        return _rounded(left)

    def remaining(self, now: float) -> float | None:
        """Return the estimate of the seconds that the build still takes; None without a basis.

        The estimate is by the last builds of the targets, times the ratio of this build to them so
        far. A target without a record takes the mean of the ended ones.
        """
        ended = tuple(self.ended.values())
        known = [outcome for outcome in ended if self._last(outcome.target)]
        before = sum(self._last(outcome.target) or 0.0 for outcome in known)
        ratio = sum(outcome.seconds for outcome in known) / before if known else 1.0
        mean = sum(outcome.seconds for outcome in ended) / len(ended) if ended else None
        left = []
        for target in self.targets:
            if target in self.ended:
                continue
            last = self._last(target)
            expected = mean if last is None else ratio * last
            if expected is None:
                return None
            start, _ = self._running.get(target, (now, ""))
            left.append(max(0.0, expected - (now - start)))
        return max([sum(left) / max(1, min(self.jobs, len(left))), *left], default=0.0)

    def _last(self, target: str) -> float | None:
        build = self.builds.get(target)
        return None if build is None else build.seconds


def _line(target: str, stage: str, seconds: float, columns: int, stages: int) -> str:
    """Return the line of a running target; `stages` is the length of the longest stage.

    A terminal that is too narrow gets no stage.
    """
    room = columns - stages - _BESIDE
    beside = f"{one_line(stage):<{stages}}  "
    if room < _LEAST_NAME:
        room, beside = columns - _BESIDE + 2, ""
    name = shortened(one_line(target), max(room, _LEAST_NAME))
    time = f"{seconds:.1f} s" if seconds < _MINUTE else _clock(seconds)
    return f"  {name:<{min(room, _NAME)}}  {beside}{time:>{_TIME}}"


def _bar(share: float, width: int) -> str:
    full = round(share * width)
    if console.can_write(_BAR + _REST, sys.stderr):
        return _BAR * full + _REST * (width - full)
    return "#" * full + "-" * (width - full)


def _clock(seconds: float) -> str:
    """Return a time as minutes and seconds.

    >>> _clock(5.2), _clock(3725.0)
    ('0:05', '1:02:05')
    """
    minutes, rest = divmod(int(seconds), _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _rounded(seconds: float) -> str:
    """Return an estimated time as text.

    >>> _rounded(0.2), _rounded(42.0), _rounded(100.0), _rounded(7200.0)
    ('1 s', '40 s', '2 min', '2.0 h')
    """
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    if seconds < _MINUTE:
        return f"{round(seconds, -1):.0f} s"
    if seconds < _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    return f"{seconds / _HOUR:.1f} h"
