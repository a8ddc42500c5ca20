"""Sweeps: times against size, over the combinations of a target's matrix along a numeric axis."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from olympus_cli.bench.measurement import Measured
from olympus_cli.bench.statistics import summarize
from olympus_cli.reports.charts.axis import plain_number
from olympus_cli.reports.charts.plot import Plot, Series
from olympus_cli.spec.matrix import Values, suffix
from olympus_cli.text.units import count, duration


@dataclass(frozen=True)
class SweepPoint:
    """A size, the steady call in seconds with its interval, and the program's flops."""

    x: float
    seconds: float
    low: float | None
    high: float | None
    flops: float | None


@dataclass(frozen=True)
class SweepLine:
    """The points along an axis with the same other values of the matrix, `fixed`."""

    fixed: Mapping[str, float | str]
    points: tuple[SweepPoint, ...]

    @property
    def label(self) -> str:
        """The values of the matrix that distinguish it from the other lines of its sweep."""
        return suffix(self.fixed).removeprefix("@") or "steady-call"


@dataclass(frozen=True)
class Sweep:
    """One target along one axis of its matrix."""

    target: str
    axis: str
    lines: tuple[SweepLine, ...]

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data; times are in seconds."""
        return asdict(self)

    @property
    def title(self) -> str:
        """The title of its table and its plot."""
        return f"{self.target}: steady-call against {self.axis}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its table; a single line needs no name."""
        names = (self.axis, "steady-call", "interval", "flops")
        return names if len(self.lines) == 1 else ("line", *names)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows of its table."""
        several = len(self.lines) > 1
        return tuple(
            (*([line.label] if several else []), *_cells(point))
            for line in self.lines
            for point in line.points
        )

    @property
    def is_logarithmic(self) -> bool:
        """True if all sizes have a logarithm."""
        return all(p.x > 0 for line in self.lines for p in line.points)

    @property
    def plot(self) -> Plot:
        """Its plot; the axis of sizes is logarithmic if all sizes have a logarithm."""
        series = [
            Series(
                line.label,
                [p.x for p in line.points],
                [p.seconds for p in line.points],
                [p.low for p in line.points],
                [p.high for p in line.points],
            )
            for line in self.lines
        ]
        return Plot(
            series,
            title=self.title,
            x=self.axis,
            y="time",
            log_x=self.is_logarithmic,
            log_y=True,
            y_text=duration,
        )


def sweep_page(sweeps: Sequence[Sweep]) -> str:
    """Return the plots of sweeps as one SVG, one below the other."""
    pictures = [sweep.plot.svg() for sweep in sweeps]
    if len(pictures) == 1:
        return pictures[0]
    parts, top = [], 0
    for picture in pictures:
        opening, rest = picture.split(">", 1)
        parts.append(f'{opening} y="{top}">{rest}')
        top += _size(picture, "height")
    width = max(_size(picture, "width") for picture in pictures)
    size = f'viewBox="0 0 {width} {top}" width="{width}" height="{top}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{"".join(parts)}</svg>\n'


def _size(picture: str, name: str) -> int:
    """Return the width or height of an SVG in pixels, from its attribute."""
    (size,) = re.findall(rf' {name}="(\d+)"', picture.partition(">")[0])
    return int(size)


def _cells(point: SweepPoint) -> tuple[str, ...]:
    return (plain_number(point.x), duration(point.seconds), _interval(point), count(point.flops))


def _interval(point: SweepPoint) -> str:
    if point.low is None or point.high is None:
        return "-"
    return f"{duration(point.low)} .. {duration(point.high)}"


def axes_of(combinations: Iterable[tuple[str, Values]]) -> list[tuple[str, str]]:
    """Return the targets and their numeric axes with at least two different values.

    `combinations` are names of targets and their values of the matrix.

    >>> axes_of([("f@n=1", {"n": 1, "mode": "a"}), ("f@n=2", {"n": 2, "mode": "b"})])
    [('f', 'n')]
    """
    targets: dict[str, list[Values]] = {}
    for name, values in combinations:
        targets.setdefault(_base(name), []).append(values)
    return [
        (name, axis)
        for name, members in targets.items()
        for axis in members[0]
        if _are_sizes([values.get(axis) for values in members])
    ]


def _base(target: str) -> str:
    return target.partition("@")[0]


def _are_sizes(values: Sequence[object]) -> bool:
    return len(set(values)) > 1 and all(isinstance(value, int | float) for value in values)


def sweeps_of(measured: Sequence[Measured]) -> list[Sweep]:
    """Return a sweep for each target and each numeric axis; programs without calls have none."""
    measured = [program for program in measured if "steady-call" in program.metrics]
    return [
        Sweep(
            name,
            axis,
            _lines([program for program in measured if _base(program.target) == name], axis),
        )
        for name, axis in axes_of((program.target, program.matrix) for program in measured)
    ]


def _lines(members: Sequence[Measured], axis: str) -> tuple[SweepLine, ...]:
    lines: dict[str, list[Measured]] = {}
    for measured in members:
        lines.setdefault(suffix(_others(measured, axis)), []).append(measured)
    return tuple(_line(measured, axis) for measured in lines.values())


def _others(member: Measured, axis: str) -> dict[str, float | str]:
    return {key: value for key, value in member.matrix.items() if key != axis}


def _line(members: Sequence[Measured], axis: str) -> SweepLine:
    points = tuple(sorted((_point(measured, axis) for measured in members), key=lambda p: p.x))
    return SweepLine(_others(members[0], axis), points)


def _point(member: Measured, axis: str) -> SweepPoint:
    steady = summarize(member.metrics["steady-call"].samples)
    flops = member.facts.get("flops")
    return SweepPoint(
        float(member.matrix[axis]),
        steady.median,
        steady.low,
        steady.high,
        flops if isinstance(flops, int | float) else None,
    )
